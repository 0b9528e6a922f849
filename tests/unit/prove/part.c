/* SPDX-License-Identifier: Apache-2.0
 * Parts of other tensors: where each lies, counted by hand, and what is no part. */
#include "../plan/programs.h"

#include "prove/part.h"
#include "rules/rules.h"

/* What the kernel of a step states here. */
typedef struct Stated {
    Join join;
    bool boxed;
    Box box;
} Stated;

static Join stated_join(const Step *step)
{
    return ((const Stated *)step->params)->join;
}

static bool stated_box(const Step *step, Box *box)
{
    const Stated *stated = step->params;
    *box = stated->box;
    return stated->boxed;
}

static const KernelRules rules = { .join = stated_join, .box = stated_box };
static const KernelRow kernel = {
    .name = "parts",
    .params_size = sizeof(Stated),
    .rules = &rules,
};

/* Images of 3 and 5 channels, 4 rows of 6 pixels, side by side. */
typedef struct Parts {
    World w;
    Stated stated;
    Step *step;
    Home *homes;
    Tensor *x[2], *y;
} Parts;

static void open_parts(Parts *parts)
{
    World *w = &parts->w;
    world_open(w, 1);
    parts->x[0] = add_image(w, 4, 6, 3);
    parts->x[1] = add_image(w, 4, 6, 5);
    parts->y = add_image(w, 4, 6, 8);
    const In in[] = {
        { parts->x[0], { .kind = ROWS_SAME }, REUSE_NONE },
        { parts->x[1], { .kind = ROWS_SAME }, REUSE_NONE },
    };
    parts->step = add_step(w, &kernel, parts->y, 2, in, 0);
    parts->stated = (Stated){ .join = { JOIN_PIXELS, 2 } };
    parts->step->params = &parts->stated;
    parts->homes = NEW_ARRAY(&w->arena, Home, w->graph->next_id + 8);
}

/* Operand 2 of a step like it that reads its second image. */
static Operand reader_of(const Parts *parts)
{
    Operand reader = operand_of(parts->x[1]);
    reader.read = true;
    return reader;
}

static void lies_in_pixels(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    const Step *step = parts.step;
    assert_int_equal(concat_inputs(step), 2);
    assert_int_equal(concat_part(step, 1), 3);
    assert_int_equal(concat_part(step, 2), 5);
    assert_int_equal(concat_lane(step, 1), 0);
    assert_int_equal(concat_lane(step, 2), 12);
    assert_null(part_settle(parts.homes, step, 2, false));
    assert_string_equal(part_settle(parts.homes, step, 2, false),
                        "is not done, and what it moves is part of another "
                        "tensor, too");
    Operand reader = reader_of(&parts);
    assert_null(part_resolve(parts.homes, step, &reader, true));
    assert_ptr_equal(reader.tensor, parts.y);
    assert_int_equal(reader.part, 5);
    assert_int_equal(reader.pixel, 8);
    assert_int_equal(reader.row_bytes, 192);
    assert_int_equal(reader.offset, 12);
    world_close(&parts.w);
}

/* Two rows down in the narrow image is two rows down in the wide one. */
static void rows_become_wider(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    Operand reader = reader_of(&parts);
    reader.part = 2;
    reader.offset = 2 * 120 + 8;
    assert_null(part_resolve(parts.homes, parts.step, &reader, true));
    assert_int_equal(reader.part, 2);
    assert_int_equal(reader.offset, 2 * 192 + 8 + 12);
    world_close(&parts.w);
}

/* Of an image without bytes the first is where it begins. */
static void rows_may_be_empty(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    parts.step->operand[0].row_bytes = 0;
    parts.step->operand[2].row_bytes = 0;
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    Operand reader = reader_of(&parts);
    reader.row_bytes = 0;
    assert_null(part_resolve(parts.homes, parts.step, &reader, true));
    assert_int_equal(reader.offset, 12);
    world_close(&parts.w);
}

static void lies_as_a_block(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    parts.stated.join.way = JOIN_BLOCKS;
    assert_int_equal(concat_part(parts.step, 2), 0);
    assert_int_equal(concat_lane(parts.step, 2), 4 * 6 * 3 * 4);
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    Operand reader = reader_of(&parts);
    reader.strided = false;
    reader.offset = 40;
    assert_null(part_resolve(parts.homes, parts.step, &reader, true));
    assert_ptr_equal(reader.tensor, parts.y);
    assert_int_equal(reader.offset, 288 + 40);
    assert_int_equal(reader.part, 0);
    assert_int_equal(reader.pixel, 5);
    parts.stated.join.way = JOIN_NOT;
    assert_int_equal(concat_inputs(parts.step), 0);
    world_close(&parts.w);
}

static const char *settle_changed(Parts *parts, int change)
{
    Operand *x = parts->step->operand + 2;
    Tensor *other = add_image(&parts->w, 9, 9, 9);
    switch (change) {
    case 0:
        x->tensor->slot = 0;
        break;
    case 1:
        x->tensor->storage = STORE_WEIGHTS;
        break;
    case 2:
        x->offset = 4;
        break;
    case 3:
        x->part = 1;
        break;
    case 4:
        x->tensor = NULL;
        break;
    case 5:
        x->tensor->view_of = other;
        break;
    case 6:
        x->tensor->view_of = other;
        x->tensor->view_offset = 4;
        break;
    case 7:
        x->rows = 3;
        break;
    default:
        x->row_bytes += 4;
    }
    return part_settle(parts->homes, parts->step, 2, false);
}

static void is_no_part(void **state)
{
    (void)state;
    enum { CHANGES = 9, OF_SHAPE = 7 };
    for (int change = 0; change < CHANGES; change++) {
        Parts parts;
        open_parts(&parts);
        const char *why = settle_changed(&parts, change);
        assert_string_equal(
            why, change < OF_SHAPE
                     ? "is not done, and what it moves is no tensor that "
                       "could lie elsewhere"
                     : "is not done, and its inputs are no images that could "
                       "be written in place");
        world_close(&parts.w);
    }
}

/* A whole view of a tensor is that tensor. */
static void views_of_all_are_it(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    Tensor *root = add_image(&parts.w, 6, 4, 5);
    parts.x[1]->view_of = root;
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    assert_ptr_equal(parts.homes[root->id].y, parts.step->operand);
    assert_null(parts.homes[parts.x[1]->id].y);
    world_close(&parts.w);
}

static const char *follow_changed(const Parts *parts, int change)
{
    Operand reader = reader_of(parts);
    switch (change) {
    case 0:
        reader.strided = false;
        break;
    case 1:
        reader.offset = 4;
        break;
    case 2:
        reader.rows = 3;
        break;
    case 3:
        reader.row_bytes = 60;
        break;
    default:
        reader.pixel = 10;
    }
    parts->step->units = change ? 4 : 3;
    return part_resolve(parts->homes, parts->step, &reader, true);
}

static void cannot_be_followed(void **state)
{
    (void)state;
    enum { CHANGES = 5 };
    for (int change = 0; change < CHANGES; change++) {
        Parts parts;
        open_parts(&parts);
        assert_null(part_settle(parts.homes, parts.step, 2, false));
        assert_string_equal(follow_changed(&parts, change),
                            "is part of another tensor, which this step "
                            "cannot follow");
        world_close(&parts.w);
    }
}

/* A concatenation follows parts row by row though its operands say nothing of strides. */
static void concatenations_follow(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    Operand reader = reader_of(&parts);
    reader.strided = false;
    assert_null(part_resolve(parts.homes, parts.step, &reader, true));
    Operand second = reader_of(&parts);
    second.strided = false;
    parts.stated.join.way = JOIN_NOT;
    assert_non_null(part_resolve(parts.homes, parts.step, &second, true));
    world_close(&parts.w);
}

/* A view into the middle of a part has no place of its own in pixels. */
static void views_are_not_followed(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    assert_null(part_settle(parts.homes, parts.step, 2, false));
    Tensor *view = add_image(&parts.w, 2, 6, 5);
    view->view_of = parts.x[1];
    view->view_offset = 240;
    Operand reader = operand_of(view);
    assert_non_null(part_resolve(parts.homes, parts.step, &reader, true));
    reader.part = 1;
    assert_non_null(part_resolve(parts.homes, parts.step, &reader, true));
    world_close(&parts.w);
}

/* Of what is copied the reader may mean either, the writer its own. */
static void copies_have_both(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        Parts parts;
        open_parts(&parts);
        assert_null(part_settle(parts.homes, parts.step, 2, true));
        Operand reader = reader_of(&parts);
        reader.write = way == 1;
        reader.part = way == 2;
        assert_null(part_resolve(parts.homes, parts.step, &reader, way != 3));
        assert_ptr_equal(reader.tensor, way ? parts.x[1] : parts.y);
        world_close(&parts.w);
    }
}

/* A slice of 3 of 8 channels from row 1 and channel 4 on. */
static void slices_lie_in_their_input(void **state)
{
    (void)state;
    for (int change = 0; change < 4; change++) {
        Parts parts;
        open_parts(&parts);
        World *w = &parts.w;
        Tensor *y = add_image(w, 3, 6, change == 3 ? 8 : 3);
        const In in = { parts.y, { .kind = ROWS_SAME }, REUSE_NONE };
        Step *slice = add_step(w, &kernel, y, 1, &in, 0);
        Stated stated = { .boxed = change != 1, .box = { 1, 4 } };
        slice->params = &stated;
        Home *homes = NEW_ARRAY(&w->arena, Home, w->graph->next_id + 1);
        if (change == 2)
            slice->operand->row_bytes += 4;
        const char *why = part_settle_slice(homes, slice);
        if (change == 1 || change == 2) {
            assert_string_equal(why, "is not done");
        } else {
            assert_null(why);
            const Home *home = homes + y->id;
            assert_ptr_equal(home->y, slice->operand + 1);
            assert_ptr_equal(home->own, slice->operand);
            assert_int_equal(home->offset, 192 + 16);
            assert_int_equal(home->part, change == 3 ? 0 : 3);
            assert_false(home->block);
        }
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_in_pixels),
        cmocka_unit_test(rows_become_wider),
        cmocka_unit_test(rows_may_be_empty),
        cmocka_unit_test(lies_as_a_block),
        cmocka_unit_test(is_no_part),
        cmocka_unit_test(views_of_all_are_it),
        cmocka_unit_test(cannot_be_followed),
        cmocka_unit_test(concatenations_follow),
        cmocka_unit_test(views_are_not_followed),
        cmocka_unit_test(copies_have_both),
        cmocka_unit_test(slices_lie_in_their_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
