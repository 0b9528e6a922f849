/* SPDX-License-Identifier: Apache-2.0
 * Strips: which columns a step needs for those of its result, by each rule that a kernel may state,
 * where they lie, and each claim that does not hold. */
#include "../plan/programs.h"

#include "prove/strips.h"
#include "rules/rules.h"

enum { ROWS = 4, WIDTH = 8, PIXEL = 8 }; /* pixels of two int32 */

static const char no_columns[] = "has no such columns";

/* What the kernel states, and how it was cut. */
typedef struct Stated {
    ColumnRule rule;
    Columns y, there;
} Stated;

static ColumnRule stated_columns(const Step *step)
{
    return ((const Stated *)step->params)->rule;
}

static void stated_cut(const Step *step, void *params, Columns y, Columns there)
{
    Stated *stated = params;
    stated->y = y;
    stated->there = there;
    (void)step;
}

static const KernelRules rules = {
    .columns = stated_columns,
    .cut = stated_cut,
};
static const KernelRow kernel = {
    .name = "strips",
    .params_size = sizeof(Stated),
    .rules = &rules,
};

/* y of x and z; a claim for columns 2 to 5 of y in strip 1, in memory of the strip's own. */
typedef struct Strips {
    World w;
    Stated stated;
    Step *step;
    Tensor *x, *z, *y;
    StripSet set;
    ClaimStep claim;
    ClaimOperand result;
    int32_t lowered;
} Strips;

static void open_strips(Strips *s, ColumnKind kind)
{
    World *w = &s->w;
    world_open(w, 1);
    s->x = add_image(w, ROWS, WIDTH, 2);
    s->z = add_image(w, ROWS, WIDTH, 2);
    s->y = add_image(w, ROWS, WIDTH, 2);
    const In in[] = {
        { s->x, { .kind = ROWS_SAME }, REUSE_NONE },
        { s->z, { .kind = ROWS_SAME }, REUSE_NONE },
    };
    s->step = add_step(w, &kernel, s->y, 2, in, 0);
    s->stated = (Stated){
        .rule = { .kind = kind, .stride = 1, .extent = 1, .dilation = 1 },
    };
    s->step->params = &s->stated;
    s->lowered = 3;
    s->result = (ClaimOperand){ .given = true, .row = 4 * PIXEL };
    s->claim = (ClaimStep){ .strip = 1, .first_column = 2, .end_column = 6 };
    s->claim.lowered.at = &s->lowered;
    s->claim.lowered.n = 1;
    s->claim.operand.at = &s->result;
    s->claim.operand.n = 1;
    s->set = strips_of(&w->arena, &w->program);
}

/* Operand k as the strip has it; *why: what is wrong. */
static Operand resolve(Strips *s, int k, const char **why)
{
    Operand operand = s->step->operand[k];
    *why = strips_resolve(&s->set, &s->claim, s->step, k, &operand);
    return operand;
}

static void refuses(Strips *s, int k, const char *want)
{
    const char *why;
    resolve(s, k, &why);
    assert_string_equal(why, want);
}

/* The strip holds columns lo to hi of a tensor. */
static void hold(Strips *s, const Tensor *tensor, int32_t lo, int32_t hi)
{
    const int64_t dims[] = { 1, ROWS, hi - lo, 2 };
    Tensor *own = graph_add_tensor(s->w.graph, NULL, DT_I32, shape_of(4, dims));
    const StripPart part = { 1, s->set.first[tensor->id], lo, hi, own };
    VEC_PUSH(&s->w.arena, &s->set.part, part);
    s->set.first[tensor->id] = (int32_t)s->set.part.n - 1;
}

static void kernels_must_state_columns(void **state)
{
    (void)state;
    Strips s;
    open_strips(&s, COLUMNS_NONE);
    assert_string_equal(strips_begin(&s.set, s.step),
                        "is made by a kernel that cannot make some columns");
    s.stated.rule.kind = COLUMNS_SAME;
    assert_null(strips_begin(&s.set, s.step));
    assert_int_equal(s.set.there.lo, 0);
    assert_int_equal(s.set.there.hi, WIDTH);
    strips_cut(&s.set, &s.claim, s.step);
    assert_int_equal(s.stated.y.lo, 2);
    assert_int_equal(s.stated.y.hi, 6);
    assert_int_equal(s.stated.there.hi, WIDTH);
    world_close(&s.w);
}

/* The first that comes makes the strip's own tensor, the next takes it. */
static void results_are_the_strips_own(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    const Operand first = resolve(&s, 0, &why);
    assert_null(why);
    assert_ptr_not_equal(first.tensor, s.y);
    assert_int_equal(first.tensor->shape.dim[2], 4);
    assert_int_equal(first.tensor->storage, STORE_ARENA);
    assert_int_equal(first.tensor->slot, -1);
    assert_int_equal(first.row_bytes, 4 * PIXEL);
    assert_int_equal(first.part, 0);
    const Operand again = resolve(&s, 0, &why);
    assert_null(why);
    assert_ptr_equal(again.tensor, first.tensor);
    s.claim.strip = 2;
    assert_ptr_not_equal(resolve(&s, 0, &why).tensor, first.tensor);
    s.claim.strip = 1;
    s.claim.end_column = 7;
    refuses(&s, 0, "has other columns in this strip");
    s.claim.first_column = 1;
    s.claim.end_column = 6;
    refuses(&s, 0, "has other columns in this strip");
    world_close(&s.w);
}

/* Rows as long as those of the whole, and a pitch: columns of the whole result. */
static void results_may_be_shared(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    s.result = (ClaimOperand){ .row = WIDTH * PIXEL, .pitch = 1 };
    const Operand some = resolve(&s, 0, &why);
    assert_null(why);
    assert_ptr_equal(some.tensor, s.y);
    assert_int_equal(some.offset, 2 * PIXEL);
    assert_int_equal(some.part, 4 * 2);
    assert_int_equal(some.pitch, WIDTH * 2);
    assert_int_equal(s.set.share.n, 1);
    assert_int_equal(s.set.share.at->lowered, 3);
    assert_int_equal(s.set.share.at->lo, 2);
    assert_int_equal(s.set.share.at->hi, 6);
    assert_int_equal(s.set.share.at->width, WIDTH);
    s.step->operand->part = 1;
    refuses(&s, 0, "is a part of pixels, and some columns of them");
    s.claim.first_column = 0;
    s.claim.end_column = WIDTH;
    s.step->operand->part = 0;
    const Operand all = resolve(&s, 0, &why);
    assert_null(why);
    assert_int_equal(all.part, 0);
    assert_int_equal(all.offset, 0);
    s.result.pitch = 0;
    assert_ptr_not_equal(resolve(&s, 0, &why).tensor, s.y);
    world_close(&s.w);
}

static void change_result(Strips *s, int change)
{
    Operand *y = s->step->operand;
    const int64_t flat[] = { ROWS * WIDTH, 2 };
    switch (change) {
    case 0:
        s->claim.end_column = WIDTH + 1;
        break;
    case 1:
        y->strided = false;
        break;
    case 2:
        s->y->view_of = s->x;
        break;
    case 3:
        s->y->shape = shape_of(2, flat);
        break;
    case 4:
        s->y->shape.dim[2] = WIDTH - 1;
        break;
    default:
        y->pixel = 0;
    }
}

static void results_must_have_columns(void **state)
{
    (void)state;
    enum { CHANGES = 6 };
    for (int change = 0; change < CHANGES; change++) {
        Strips s;
        open_strips(&s, COLUMNS_SAME);
        strips_begin(&s.set, s.step);
        change_result(&s, change);
        refuses(&s, 0, no_columns);
        world_close(&s.w);
    }
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    s.claim.end_column = WIDTH;
    resolve(&s, 0, &why);
    assert_null(why);
    world_close(&s.w);
}

/* Planes of the caller's are made from columns of operand 1. */
static void planes_are_shared(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    s.stated.rule.planes = true;
    strips_begin(&s.set, s.step);
    s.claim.end_column = WIDTH;
    const Operand y = resolve(&s, 0, &why);
    assert_null(why);
    assert_ptr_equal(y.tensor, s.y);
    assert_int_equal(s.set.share.at->width, WIDTH);
    s.claim.end_column = WIDTH + 1;
    refuses(&s, 0, no_columns);
    s.claim.end_column = 6;
    s.step->operand[1].rule.kind = ROWS_ALL;
    const Operand x = resolve(&s, 1, &why);
    assert_null(why);
    assert_int_equal(x.offset, 2 * PIXEL);
    world_close(&s.w);
}

static void same_columns_are_cut_out(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    for (int k = 1; k < 3; k++) {
        const Operand x = resolve(&s, k, &why);
        assert_null(why);
        assert_int_equal(x.offset, 2 * PIXEL);
        assert_int_equal(x.part, 8);
        assert_int_equal(x.pitch, WIDTH * 2);
    }
    hold(&s, s.x, 1, 7);
    const Operand x = resolve(&s, 1, &why);
    assert_null(why);
    assert_int_equal(x.tensor->shape.dim[2], 6);
    assert_int_equal(x.row_bytes, 6 * PIXEL);
    assert_int_equal(x.offset, PIXEL);
    assert_int_equal(x.pitch, 6 * 2);
    hold(&s, s.z, 2, 6);
    const Operand z = resolve(&s, 2, &why);
    assert_null(why);
    assert_int_equal(z.part, 0);
    assert_int_equal(z.offset, 0);
    hold(&s, s.z, 3, 6);
    refuses(&s, 2, "is read beyond the columns that its strip has");
    hold(&s, s.z, 2, 5);
    refuses(&s, 2, "is read beyond the columns that its strip has");
    s.claim.end_column = WIDTH + 1;
    refuses(&s, 1, no_columns);
    world_close(&s.w);
}

/* What does not go row by row is read as a whole, of which the strip must not have a part. */
static void others_are_whole(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        Strips s;
        const char *why;
        open_strips(&s, COLUMNS_SAME);
        strips_begin(&s.set, s.step);
        Operand *z = s.step->operand + 2;
        if (change == 0)
            z->rows = 1;
        else if (change == 1)
            z->rule.kind = ROWS_ALL;
        else
            z->pixel = 0;
        const Operand other = resolve(&s, 2, &why);
        assert_null(why);
        assert_ptr_equal(other.tensor, s.z);
        assert_int_equal(other.part, 0);
        hold(&s, s.z, 0, WIDTH);
        refuses(&s, 2,
                "is read as a whole, of which the strip has some columns");
        world_close(&s.w);
    }
}

typedef struct Window {
    ColumnRule rule;
    int32_t lo, hi; /* of columns 2 to 5 */
} Window;

static const Rows table[] = { { 0, 1 }, { 0, 1 }, { 3, 4 }, { 1, 3 },
                              { 2, 2 }, { 3, 5 }, { 0, 8 }, { 0, 8 } };

/* By each rule: all that is needed passes, one column less on either side does not. */
static const Window windows[] = {
    { { .kind = COLUMNS_WINDOW, .stride = 1, .pad = 1, .extent = 3 }, 1, 7 },
    { { .kind = COLUMNS_WINDOW, .stride = 1, .pad = 4, .extent = 3 }, 0, 4 },
    { { .kind = COLUMNS_WINDOW, .stride = 2, .pad = 3, .extent = 1 }, 1, 8 },
    { { .kind = COLUMNS_WINDOW, .stride = 1, .pad = -1, .extent = 9 }, 3, 8 },
    { { .kind = COLUMNS_TABLE, .table = table }, 1, 5 },
    { { .kind = COLUMNS_TAPS, .stride = 2, .extent = 3, .dilation = 1 }, 0, 3 },
    { { .kind = COLUMNS_TAPS, .stride = 2, .extent = 3, .dilation = 2 }, 0, 3 },
    { { .kind = COLUMNS_TAPS,
        .stride = 2,
        .pad = 3,
        .extent = 2,
        .dilation = 2 },
      2,
      5 },
    { { .kind = COLUMNS_TAPS,
        .stride = 1,
        .pad = 4,
        .extent = 1,
        .dilation = 1 },
      6,
      8 },
};

static void rules_say_what_is_needed(void **state)
{
    (void)state;
    const char beyond[] = "is read beyond the columns that its strip has";
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const Window *window = windows + i;
        Strips s;
        const char *why;
        open_strips(&s, COLUMNS_WINDOW);
        s.stated.rule = window->rule;
        strips_begin(&s.set, s.step);
        const Operand whole = resolve(&s, 1, &why);
        assert_null(why);
        assert_ptr_equal(whole.tensor, s.x);
        assert_int_equal(whole.offset, 0);
        assert_int_equal(s.set.there.hi, WIDTH);
        hold(&s, s.x, window->lo, window->hi);
        const Operand part = resolve(&s, 1, &why);
        assert_null(why);
        assert_int_equal(part.row_bytes, (window->hi - window->lo) * PIXEL);
        assert_int_equal(part.offset, 0);
        assert_int_equal(s.set.there.lo, window->lo);
        assert_int_equal(s.set.there.hi, window->hi);
        hold(&s, s.x, window->lo + 1, window->hi);
        refuses(&s, 1, beyond);
        hold(&s, s.x, window->lo, window->hi - 1);
        refuses(&s, 1, beyond);
        world_close(&s.w);
    }
}

/* Windows that lie beside the image, a table that leads out of it. */
static void what_is_not_there(void **state)
{
    (void)state;
    static const Rows out[] = { { 0, 1 }, { 0, 1 }, { 0, 9 },
                                { 0, 1 }, { 0, 1 }, { 0, 1 } };
    const ColumnRule beside = {
        .kind = COLUMNS_WINDOW, .stride = 1, .pad = -9, .extent = 1
    };
    const ColumnRule beyond = { .kind = COLUMNS_TABLE, .table = out };
    const ColumnRule taps = {
        .kind = COLUMNS_TAPS, .stride = 1, .pad = 9, .extent = 1, .dilation = 1
    };
    const ColumnRule before = {
        .kind = COLUMNS_WINDOW, .stride = 1, .pad = 9, .extent = 1
    };
    const ColumnRule each[] = { beside, beyond, taps, before };
    for (int i = 0; i < 4; i++) {
        Strips s;
        open_strips(&s, COLUMNS_WINDOW);
        s.stated.rule = each[i];
        strips_begin(&s.set, s.step);
        refuses(&s, 1, no_columns);
        world_close(&s.w);
    }
}

/* An image without pixels has none to look into. */
static void what_has_no_pixels(void **state)
{
    (void)state;
    Strips s;
    open_strips(&s, COLUMNS_WINDOW);
    strips_begin(&s.set, s.step);
    s.step->operand[1].pixel = 0;
    s.claim.first_column = 0;
    s.claim.end_column = 1;
    refuses(&s, 1, no_columns);
    world_close(&s.w);
}

/* Columns from the first on are some, too; pixels may have one byte. */
static void first_columns_are_some(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    s.claim.first_column = 0;
    assert_int_equal(resolve(&s, 1, &why).part, 6 * 2);
    Operand *z = s.step->operand + 2;
    s.z->dtype = DT_I8;
    s.z->shape.dim[3] = 1;
    z->pixel = 1;
    z->row_bytes = WIDTH;
    const Operand narrow = resolve(&s, 2, &why);
    assert_null(why);
    assert_int_equal(narrow.part, 6);
    world_close(&s.w);
}

/* Only operand 1 is looked into by the rule; the others have the columns of the result. */
static void others_go_with_the_result(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_WINDOW);
    s.stated.rule.pad = 1;
    s.step->operand[2].row_bytes = 7 * PIXEL;
    strips_begin(&s.set, s.step);
    assert_int_equal(s.set.there.hi, WIDTH);
    hold(&s, s.z, 2, 6);
    assert_int_equal(resolve(&s, 2, &why).offset, 0);
    assert_null(why);
    assert_int_equal(s.set.there.lo, 0);
    s.stated.rule.planes = true;
    strips_begin(&s.set, s.step);
    assert_int_equal(resolve(&s, 1, &why).offset, 2 * PIXEL);
    world_close(&s.w);
}

/* Images of three dimensions have columns; tensors that came later are in no strip. */
static void later_tensors_are_whole(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    const int64_t dims[] = { ROWS, WIDTH, 2 };
    open_strips(&s, COLUMNS_SAME);
    s.y->shape = shape_of(3, dims);
    strips_begin(&s.set, s.step);
    resolve(&s, 0, &why);
    assert_null(why);
    Tensor *later = s.set.part.at->tensor;
    assert_int_equal(later->id, s.set.tensors);
    s.step->operand[2] = operand_of(s.z);
    s.step->operand[2].tensor = later;
    s.step->operand[2].rule.kind = ROWS_ALL;
    resolve(&s, 2, &why);
    assert_null(why);
    world_close(&s.w);
}

/* Each strip has a scratch of its own; what is left out stays so. */
static void scratch_is_new(void **state)
{
    (void)state;
    Strips s;
    const char *why;
    open_strips(&s, COLUMNS_SAME);
    strips_begin(&s.set, s.step);
    s.step->operand[2].scratch = true;
    const Operand own = resolve(&s, 2, &why);
    assert_null(why);
    assert_ptr_not_equal(own.tensor, s.z);
    assert_int_equal(own.tensor->shape.dim[2], WIDTH);
    assert_int_equal(own.part, 0);
    s.claim.lowered.n = 2;
    assert_ptr_equal(resolve(&s, 2, &why).tensor, s.z);
    s.step->operand[2] = (Operand){ .scratch = true };
    assert_null(resolve(&s, 2, &why).tensor);
    assert_null(why);
    world_close(&s.w);
}

typedef struct Shares {
    StripShare share[4];
    int n;
    int32_t wrong; /* the step that is named; 0: none */
} Shares;

static void columns_are_made_once(void **state)
{
    (void)state;
    static const Shares all[] = {
        { .n = 0 },
        { { { 1, 0, 8, 8 } }, 1, 0 },
        { { { 2, 4, 8, 8 }, { 2, 0, 4, 8 } }, 2, 0 },
        { { { 2, 4, 8, 8 }, { 1, 0, 5, 5 }, { 2, 0, 4, 8 } }, 3, 0 },
        { { { 1, 1, 8, 8 } }, 1, 1 },
        { { { 1, 0, 7, 8 } }, 1, 1 },
        { { { 1, 0, 9, 8 } }, 1, 1 },
        { { { 1, 0, 4, 8 }, { 1, 5, 8, 8 } }, 2, 1 },
        { { { 1, 0, 5, 8 }, { 1, 4, 8, 8 } }, 2, 1 },
        { { { 1, 0, 8, 8 }, { 1, 0, 8, 8 } }, 2, 1 },
        { { { 3, 0, 8, 8 }, { 2, 0, 8, 8 }, { 3, 8, 9, 8 } }, 3, 3 },
        { { { 3, 0, 8, 8 }, { 2, 1, 8, 8 } }, 2, 2 },
        { { { 1, 0, 7, 8 }, { 2, 0, 8, 8 } }, 2, 1 },
        { { { 2, 0, 4, 8 }, { 1, 4, 8, 8 }, { 2, 4, 8, 8 }, { 1, 0, 4, 8 } },
          4,
          0 },
        /* What lies behind the last is none of them. */
        { { { 1, 0, 8, 8 }, { 1, 5, 6, 7 } }, 1, 0 },
        { { { 1, 0, 7, 8 }, { 1, 7, 8, 8 } }, 1, 1 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        StripShare share[4];
        int32_t lowered = 0;
        memcpy(share, all[i].share, sizeof share);
        StripSet set = { .tensors = 0 };
        set.share.at = share;
        set.share.n = (size_t)all[i].n;
        const char *why = strips_settle(&set, &lowered);
        if (all[i].wrong)
            assert_string_equal(
                why, "is done for some columns twice, or not at all");
        else
            assert_null(why);
        assert_true(!all[i].wrong || lowered == all[i].wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_must_state_columns),
        cmocka_unit_test(results_are_the_strips_own),
        cmocka_unit_test(results_may_be_shared),
        cmocka_unit_test(results_must_have_columns),
        cmocka_unit_test(planes_are_shared),
        cmocka_unit_test(same_columns_are_cut_out),
        cmocka_unit_test(others_are_whole),
        cmocka_unit_test(rules_say_what_is_needed),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_has_no_pixels),
        cmocka_unit_test(first_columns_are_some),
        cmocka_unit_test(others_go_with_the_result),
        cmocka_unit_test(later_tensors_are_whole),
        cmocka_unit_test(scratch_is_new),
        cmocka_unit_test(columns_are_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
