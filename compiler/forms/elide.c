/* SPDX-License-Identifier: Apache-2.0
 * Works on copies of the steps, since a wider tensor lives longer than its parts did and may need
 * more: the planner tries several ways. An input that cannot be written in place keeps a copy step
 * of its own. */
#include "forms/elide.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "rules/rules.h"

enum {
    WORK = 10000000, /* operands that are moved: copies beyond stay */
    MOST_INPUTS =
        2048, /* of a concatenation: each part is weighed against the others later */
};

/* How the operands of a tensor see it: all alike, or it stays as it is. */
typedef struct Sight {
    int32_t rows;
    int64_t row_bytes, pixel;
    int joins; /* operands of concatenations that read it */
    bool seen, differs, updated;
} Sight;

typedef struct
    Late { /* a copy to be made behind step `after` of those there were */
    Step *step;
    size_t after;
} Late;

/* A step that touches a tensor: its place in `step`, or, behind all of those, in `late`. */
typedef struct StepUse {
    int32_t step, next;
} StepUse;

typedef struct Elider {
    Arena *arena;
    const Program *program;
    Steps *out;
    const uint8_t *way;
    VEC(Step *) step; /* as they are now, by their old numbers; NULL: gone */
    VEC(Late) late;
    Sight *sight; /* by tensor id */
    VEC(StepUse) use;
    int32_t *first; /* use of a tensor, by id below `ids`; -1: none */
    int ids;
    int64_t work; /* operands that may still be moved */
    bool any;
} Elider;

static int inputs_of(const Step *step)
{
    return rules_join(step).inputs;
}

/* Its inputs are parts of pixels. */
static bool joins_channels(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_PIXELS && join.inputs <= MOST_INPUTS;
}

/* Its inputs lie one after the other. */
static bool joins_blocks(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_BLOCKS && join.inputs <= MOST_INPUTS;
}

/* Does it take channels and rows that lie together, and all pixels of each row? */
static bool takes_box(const Step *step, Box *box)
{
    if (!rules_box(step, box))
        return false;
    const Operand *y = step->operand;
    const Operand *x = step->operand + 1;
    return x->strided && y->strided &&
           y->row_bytes * x->pixel == x->row_bytes * y->pixel;
}

static Tensor *root_of(const Operand *operand, int64_t *at)
{
    return tensor_root(operand->tensor, at);
}

static bool is_ours(const Tensor *root)
{
    return root->storage == STORE_ARENA && root->slot < 0;
}

static void look(Elider *elider, const Step *s, const Operand *operand)
{
    int64_t at;
    const Tensor *root = root_of(operand, &at);
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
    if (inputs_of(s) && operand->read)
        g->joins++;
}

static Step *copy_step(Arena *arena, const Step *s)
{
    Step *c = arena_copy(arena, s, sizeof *s);
    c->operand = arena_copy(arena, s->operand,
                            (size_t)s->n_operand * sizeof *s->operand);
    c->room = (size_t)s->n_operand;
    return c;
}

/* An image of which all operands see all, in the same rows and pixels, and which ends with its
 * channels. */
static bool is_plain(const Elider *elider, const Operand *operand)
{
    int64_t at;
    const Tensor *root = root_of(operand, &at);
    const Sight *g = elider->sight + root->id;
    return is_ours(root) && g->seen && !g->differs && !operand->part && !at &&
           !operand->offset && g->pixel == operand->pixel;
}

/* The same of the result of a concatenation, which may be the model's or part of another by now. */
static bool is_result(const Elider *elider, const Operand *y)
{
    int64_t at;
    const Tensor *root = root_of(y, &at);
    return y->part ||
           ((root->storage == STORE_ARENA || root->storage == STORE_OUTPUT) &&
            !elider->sight[root->id].differs);
}

/* ---- operands move ---- */

/* Where the operands of a tensor go. */
typedef struct Home {
    Operand y;          /* an operand on all of the new home */
    int64_t offset;     /* bytes into it */
    int64_t part;       /* elements of a pixel; 0: all of them */
    bool block;         /* rows and pixels stay as they are */
    bool reads, writes; /* which operands move */
} Home;

static Tensor *view_of(Elider *elider, const Tensor *like, Tensor *of,
                       int64_t offset)
{
    Tensor *view = graph_add_tensor(elider->program->graph, NULL, like->dtype,
                                    like->shape);
    view->name = like->name;
    view->view_of = of;
    view->view_offset = offset;
    view->storage = of->storage;
    return view;
}

static void move_operand(Elider *elider, Operand *operand, const Tensor *x,
                         const Home *home)
{
    int64_t at;
    if (!operand->tensor || root_of(operand, &at) != x ||
        !(operand->write ? home->writes : home->reads))
        return;
    if (home->block) {
        operand->tensor =
            view_of(elider, operand->tensor, home->y.tensor, home->offset + at);
        return;
    }
    if (!operand->part)
        operand->part = home->part;
    operand->tensor = home->y.tensor;
    operand->offset += home->offset;
    operand->pixel = home->y.pixel;
    operand->row_bytes = home->y.row_bytes;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The steps that touch a tensor, each once, those that were there first. */
static int32_t *list_uses(const Elider *elider, const Tensor *x, int32_t *n)
{
    *n = 0;
    for (int32_t k = x->id < elider->ids ? elider->first[x->id] : -1; k >= 0;
         k = elider->use.at[k].next)
        ++*n;
    int32_t *step = NEW_ARRAY(elider->arena, int32_t, *n + 1);
    int32_t kept = 0;
    for (int32_t k = *n ? elider->first[x->id] : -1, i = 0; k >= 0;
         k = elider->use.at[k].next)
        step[i++] = elider->use.at[k].step;
    if (*n)
        qsort(step, (size_t)*n, sizeof *step, by_number);
    for (int32_t i = 0; i < *n; i++)
        if (!kept || step[kept - 1] != step[i])
            step[kept++] = step[i];
    *n = kept;
    return step;
}

/* NULL: it is gone. */
static Step *used_step(const Elider *elider, int32_t step)
{
    const size_t i = (size_t)step;
    return i < elider->step.n ? elider->step.at[i]
                              : elider->late.at[i - elider->step.n].step;
}

static void note_use(Elider *elider, const Operand *operand, size_t step)
{
    int64_t at;
    const Tensor *root = operand->tensor ? root_of(operand, &at) : NULL;
    if (!root || root->id >= elider->ids ||
        (elider->first[root->id] >= 0 &&
         elider->use.at[elider->first[root->id]].step == (int32_t)step))
        return;
    VEC_PUSH(elider->arena, &elider->use,
             ((StepUse){ (int32_t)step, elider->first[root->id] }));
    elider->first[root->id] = (int32_t)elider->use.n - 1;
}

static void move_all(Elider *elider, const Tensor *x, const Home *home)
{
    int32_t n;
    const int32_t *step = list_uses(elider, x, &n);
    for (int32_t i = 0; i < n; i++) {
        Step *s = used_step(elider, step[i]);
        for (int k = 0; s && k < s->n_operand; k++)
            move_operand(elider, s->operand + k, x, home);
        if (s)
            note_use(elider, &home->y, (size_t)step[i]);
        elider->work -= s ? s->n_operand : 1;
    }
}

static void add_late(Elider *elider, Step *s, size_t after)
{
    VEC_PUSH(elider->arena, &elider->late, ((Late){ s, after }));
    for (int k = 0; k < s->n_operand; k++)
        note_use(elider, s->operand + k, elider->step.n + elider->late.n - 1);
}

/* ---- concatenations ---- */

static int64_t channels_of(const Operand *x)
{
    return x->part ? x->part : x->pixel;
}

static bool can_be_part(const Elider *elider, const Step *s, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return x->rows == s->units && is_plain(elider, x) &&
           elider->sight[root->id].joins == 1 &&
           x->tensor->dtype == s->operand[0].tensor->dtype;
}

/* A step that copies input k alone. */
static Step *copy_alone(Elider *elider, const Step *s, int k, int64_t lane)
{
    const Operand *x = s->operand + k;
    Graph *g = elider->program->graph;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    const int64_t one = 1;
    const int64_t piece =
        joins_channels(s) ? channels_of(x) * bytes : tensor_bytes(x->tensor);
    Tensor *table = graph_add_constant(
        g, NULL, recipe_memory(g->store, DT_I64, 1, &one, &piece));
    table->storage = STORE_WEIGHTS;
    VEC_PUSH(g->arena, &elider->out->weight, ((WeightSlot){ .tensor = table }));
    Step *c = copy_step(elider->arena, s);
    c->n_operand = 3;
    c->piece = k;
    c->params = arena_copy(elider->arena, s->params, s->kernel->params_size);
    s->kernel->rules->part(c->params, piece);
    c->operand[0].part = channels_of(x);
    c->operand[0].offset += lane * bytes;
    c->operand[0].strided = true;
    c->operand[1] = *x;
    c->operand[1].strided = true;
    c->operand[2] = (Operand){ .tensor = table,
                               .read = true,
                               .rows = 1,
                               .pixel = 1,
                               .row_bytes = 8,
                               .rule = { .kind = ROWS_ALL } };
    return c;
}

/* The last step that makes some of it. */
static size_t made_by(const Elider *elider, const Tensor *x)
{
    size_t last = 0;
    int32_t n;
    const int32_t *step = list_uses(elider, x, &n);
    for (int32_t i = 0; i < n && step[i] < (int32_t)elider->step.n; i++)
        for (int k = 0; used_step(elider, step[i]) &&
                        k < used_step(elider, step[i])->n_operand;
             k++) {
            const Operand *o = used_step(elider, step[i])->operand + k;
            int64_t at;
            if (o->tensor && o->write && root_of(o, &at) == x)
                last = (size_t)step[i];
        }
    return last;
}

/* Is it made of parts, as a concatenation before this one? */
static bool is_joined(const Elider *elider, const Tensor *x)
{
    const Step *s = elider->step.at[made_by(elider, x)];
    for (int k = 0; s && k < s->n_operand; k++) {
        int64_t at;
        if (s->operand[k].tensor && s->operand[k].write &&
            root_of(s->operand + k, &at) == x)
            return s->operand[k].part || inputs_of(s);
    }
    return true;
}

/* Inputs that cannot be parts keep copies where the concatenation was; returns whether any can. */
static bool join_channels(Elider *elider, size_t i, bool but_first)
{
    Step *s = elider->step.at[i];
    const int inputs = inputs_of(s);
    const Operand y = s->operand[0];
    int64_t lane = 0;
    int64_t at;
    bool some = false;
    if (!is_result(elider, &y))
        return false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_part(elider, s, s->operand + k);
    if (!some)
        return false;
    elider->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        const Operand x = s->operand[k];
        const int64_t bytes = dtype_bits(x.tensor->dtype) / 8;
        Home home = { .y = y,
                      .offset = y.offset + lane * bytes,
                      .part = channels_of(&x),
                      .reads = true,
                      .writes = true };
        if (!can_be_part(elider, s, &x)) {
            add_late(elider, copy_alone(elider, s, k, lane), i);
        } else if (k == 1 && but_first &&
                   !is_joined(elider, root_of(&x, &at))) {
            home.writes = false;
            const size_t after = made_by(elider, root_of(&x, &at));
            Step *c = copy_alone(elider, s, k, lane);
            move_all(elider, root_of(&x, &at), &home);
            c->operand[1].reuse = REUSE_ROWS;
            add_late(elider, c, after);
        } else {
            move_all(elider, root_of(&x, &at), &home);
        }
        lane += channels_of(&x);
    }
    return true;
}

/* Can all of the tensor be a block of another? */
static bool can_be_block(const Elider *elider, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return is_ours(root) && !at && !x->offset && !x->part &&
           elider->sight[root->id].joins == 1 &&
           !elider->sight[root->id].updated &&
           tensor_bytes(root) == tensor_bytes(x->tensor);
}

/* Blocks one after the other: views of the result. */
static bool join_blocks(Elider *elider, size_t i)
{
    Step *s = elider->step.at[i];
    const Operand y = s->operand[0];
    const int inputs = inputs_of(s);
    int64_t offset = y.offset;
    int64_t at;
    bool some = false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_block(elider, s->operand + k);
    if (!some)
        return false;
    elider->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        const Operand *x = s->operand + k;
        const Home home = { .y = y,
                            .offset = offset,
                            .block = true,
                            .reads = true,
                            .writes = true };
        if (can_be_block(elider, x)) {
            move_all(elider, root_of(x, &at), &home);
        } else {
            Step *c = copy_alone(elider, s, k, 0);
            c->operand[0] = (Operand){ .tensor = view_of(elider, x->tensor,
                                                         y.tensor, offset),
                                       .write = true,
                                       .rows = 1,
                                       .pixel = y.pixel,
                                       .row_bytes = tensor_bytes(x->tensor) };
            add_late(elider, c, i);
        }
        offset += tensor_bytes(x->tensor);
    }
    return true;
}

/* ---- slices ---- */

static bool read_in_place(Elider *elider, size_t i)
{
    const Step *s = elider->step.at[i];
    Box box;
    const Operand *y = s->operand;
    const Operand *x = s->operand + 1;
    int64_t at;
    const Tensor *root = root_of(y, &at);
    if (!takes_box(s, &box) || !is_plain(elider, y) ||
        elider->sight[root->id].updated)
        return false;
    const int64_t bytes = dtype_bits(y->tensor->dtype) / 8;
    const Home home = { .y = *x,
                        .offset = x->offset + box.row * x->row_bytes +
                                  box.channel * bytes,
                        .part = y->pixel == x->pixel ? 0 : y->pixel,
                        .reads = true };
    elider->step.at[i] = NULL;
    move_all(elider, root, &home);
    return true;
}

/* ---- all of them ---- */

int elide_ways(const Program *program, const Step *s)
{
    (void)program;
    if (joins_channels(s))
        return 3;
    Box box;
    return joins_blocks(s) || takes_box(s, &box) ? 2 : 1;
}

static void put_steps(const Elider *elider, Steps *out)
{
    int32_t *first = NEW_ARRAY(elider->arena, int32_t, elider->step.n + 1),
            *next = NEW_ARRAY(elider->arena, int32_t,
                              elider->late.n +
                                  1); /* of `late`, plus one; 0: none */
    for (size_t k = elider->late.n; k-- > 0;) {
        next[k] = first[elider->late.at[k].after];
        first[elider->late.at[k].after] = (int32_t)k + 1;
    }
    for (size_t i = 0; i < elider->step.n; i++) {
        if (elider->step.at[i])
            VEC_PUSH(elider->arena, &out->step, elider->step.at[i]);
        for (int32_t k = first[i]; k; k = next[k - 1])
            VEC_PUSH(elider->arena, &out->step, elider->late.at[k - 1].step);
    }
    for (size_t i = 0; i < out->step.n; i++)
        out->step.at[i]->index = (int)i;
}

bool elide_copies(Arena *a, const Program *p, const uint8_t *way, Steps *out)
{
    Elider elider = { .arena = a, .program = p, .out = out, .way = way };
    *out = (Steps){ 0 };
    elider.ids = graph_root(p->graph)->next_id;
    elider.sight = NEW_ARRAY(a, Sight, elider.ids + 1);
    elider.first = NEW_ARRAY(a, int32_t, elider.ids + 1);
    memset(elider.first, 0xff, sizeof *elider.first * ((size_t)elider.ids + 1));
    elider.work = WORK;
    for (size_t i = 0; i < p->step.n; i++) {
        if (p->step.at[i]->control || p->step.at[i]->loop_end >= 0)
            return false;
        VEC_PUSH(a, &elider.step, copy_step(a, p->step.at[i]));
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            if (p->step.at[i]->operand[k].tensor) {
                look(&elider, p->step.at[i], p->step.at[i]->operand + k);
                note_use(&elider, p->step.at[i]->operand + k, i);
            }
    }
    for (size_t i = 0; i < elider.step.n; i++) {
        const Step *s = elider.step.at[i];
        if (way[i] == ELIDE_NOT || elider.work < 0)
            continue;
        if (joins_channels(s))
            elider.any |= join_channels(&elider, i, way[i] == ELIDE_BUT_FIRST);
        else if (joins_blocks(s))
            elider.any |= join_blocks(&elider, i);
    }
    for (size_t i = 0; i < elider.step.n; i++)
        if (way[i] != ELIDE_NOT && elider.work >= 0 && elider.step.at[i])
            elider.any |= read_in_place(&elider, i);
    if (elider.any)
        put_steps(&elider, out);
    return elider.any;
}
