/* SPDX-License-Identifier: Apache-2.0
 * Works on copies of the steps, since a wider tensor lives longer than its parts did and may need
 * more: the planner tries several ways. An input that cannot be written in place keeps a copy step
 * of its own. */
#include "forms/elide.h"

#include "forms/elide_join.h"
#include "rules/rules.h"

enum {
    WORK = 1000000, /* operands that are moved: copies beyond stay */
};

/* Does it take channels and rows that lie together, and all pixels of each row? */
static bool takes_box(const Step *step, Box *box)
{
    if (!rules_box(step, box))
        return false;
    const Operand *y = step->operand;
    const Operand *x = step->operand + 1;
    return x->strided && y->strided && operand_same_width(x, y);
}

static bool read_in_place(Elider *elider, size_t i)
{
    const Step *s = elider->step.at[i];
    Box box;
    const Operand *y = s->operand;
    const Operand *x = s->operand + 1;
    int64_t at;
    const Tensor *root = operand_root(y, &at);
    if (!takes_box(s, &box) || !elider_is_plain(elider, y) ||
        operand_is_state(x) || elider->sight[root->id].updated)
        return false;
    const int64_t bytes = dtype_bits(y->tensor->dtype) / 8;
    const Home home = { .y = *x,
                        .offset = x->offset + box.row * x->row_bytes +
                                  box.channel * bytes,
                        .part = y->pixel == x->pixel ? 0 : y->pixel,
                        .reads = true };
    elider->step.at[i] = NULL;
    elider_move(elider, root, &home);
    return true;
}

int elide_ways(const Program *program, const Step *s)
{
    (void)program;
    if (joins_channels(s))
        return 3;
    Box box;
    return joins_blocks(s) || takes_box(s, &box) ? 2 : 1;
}

/* Late steps stand behind the step that they follow, in the order in which they were added. */
static void put_steps(const Elider *elider, Steps *out)
{
    Arena *arena = elider->arena;
    const Late *late = elider->late.at;
    /* numbers in `late`, plus one; 0: none */
    int32_t *first = NEW_ARRAY(arena, int32_t, elider->step.n + 1);
    int32_t *next = NEW_ARRAY(arena, int32_t, elider->late.n + 1);
    for (size_t k = elider->late.n; k-- > 0;) {
        int32_t *of_step = first + late[k].after;
        next[k] = *of_step;
        *of_step = (int32_t)k + 1;
    }
    for (size_t i = 0; i < elider->step.n; i++) {
        if (elider->step.at[i])
            VEC_PUSH(arena, &out->step, elider->step.at[i]);
        for (int32_t k = first[i]; k; k = next[k - 1])
            VEC_PUSH(arena, &out->step, late[k - 1].step);
    }
    for (size_t i = 0; i < out->step.n; i++)
        out->step.at[i]->index = (int)i;
}

static void note_sight(Elider *elider, const Step *s, const Operand *operand)
{
    int64_t at;
    const Tensor *root = operand_root(operand, &at);
    Sight *g = elider->sight + root->id;
    const bool strided =
        operand->strided || (joins_channels(s) && operand->rows == s->units);
    if (!g->seen)
        *g = (Sight){ .seen = true,
                      .rows = operand->rows,
                      .row_bytes = operand->row_bytes,
                      .pixel = operand->pixel,
                      .joins = g->joins };
    if (!strided || at || operand->offset || operand->part ||
        operand->rows != g->rows || operand->row_bytes != g->row_bytes ||
        operand->pixel != g->pixel)
        g->differs = true;
    if (operand->write && operand->read)
        g->updated = true;
    if (join_inputs(s) && operand->read)
        g->joins++;
}

/* False: steps that jump keep all copies. */
static bool take_steps(Elider *elider)
{
    const Program *program = elider->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (step_jumps(step))
            return false;
        VEC_PUSH(elider->arena, &elider->step,
                 elider_copy_step(elider->arena, step));
        for (int k = 0; k < step->n_operand; k++) {
            if (!step->operand[k].tensor)
                continue;
            note_sight(elider, step, step->operand + k);
            elider_note_use(elider, step->operand + k, i);
        }
    }
    return true;
}

static bool is_tried(const Elider *elider, size_t i)
{
    return elider->way[i] != ELIDE_NOT && elider->work >= 0;
}

static void join_all(Elider *elider)
{
    for (size_t i = 0; i < elider->step.n; i++) {
        const Step *step = elider->step.at[i];
        const bool but_first = elider->way[i] == ELIDE_BUT_FIRST;
        if (!is_tried(elider, i))
            continue;
        if (joins_channels(step))
            elider->any |= join_channels(elider, i, but_first);
        else if (joins_blocks(step))
            elider->any |= join_blocks(elider, i);
    }
}

static void slice_all(Elider *elider)
{
    for (size_t i = 0; i < elider->step.n; i++)
        if (is_tried(elider, i) && elider->step.at[i])
            elider->any |= read_in_place(elider, i);
}

/* What nobody asks for any more; it grows with the square of concatenations of concatenations. */
static void drop_lists(Elider *elider)
{
    const size_t ids = (size_t)elider->ids + 1;
    arena_drop(elider->arena, elider->use.at,
               elider->use.room * sizeof *elider->use.at);
    arena_drop(elider->arena, elider->first, ids * sizeof *elider->first);
    arena_drop(elider->arena, elider->sight, ids * sizeof *elider->sight);
}

bool elide_copies(Arena *arena, const Program *program, const uint8_t *way,
                  Steps *out)
{
    const int ids = graph_root(program->graph)->next_id;
    Elider elider = {
        .arena = arena,
        .program = program,
        .out = out,
        .way = way,
        .ids = ids,
        .sight = NEW_ARRAY(arena, Sight, ids + 1),
        .first = NEW_ARRAY(arena, int32_t, ids + 1),
        .work = WORK,
    };
    *out = (Steps){ 0 };
    for (int i = 0; i <= ids; i++)
        elider.first[i] = -1;
    if (take_steps(&elider)) {
        join_all(&elider);
        slice_all(&elider);
    }
    if (elider.any)
        put_steps(&elider, out);
    drop_lists(&elider);
    return elider.any;
}
