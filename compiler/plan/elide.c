/* SPDX-License-Identifier: Apache-2.0
 * Works on copies of the steps, since a wider tensor lives longer than its parts did and may need
 * more: the planner tries several ways. An input that cannot be written in place keeps a copy step
 * of its own. */
#include "plan/elide.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"
#include "kernels/move_rows.h"

enum {
    WORK = 10000000,    /* operands that are moved: copies beyond stay */
    MOST_INPUTS = 2048, /* of a concatenation: each part is weighed against the others later */
};

/* How the operands of a tensor see it: all alike, or it stays as it is. */
typedef struct Sight {
    int32_t rows;
    int64_t row_bytes, pixel;
    int joins; /* operands of concatenations that read it */
    bool seen, differs, updated;
} Sight;

typedef struct Late { /* a copy to be made behind step `after` of those there were */
    Step *step;
    size_t after;
} Late;

/* A step that touches a tensor: its place in `step`, or, behind all of those, in `late`. */
typedef struct StepUse {
    int32_t step, next;
} StepUse;

typedef struct Elider {
    Arena *arena;
    Program *program;
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

static const inlay_concat_params *concat_of(const Step *s)
{
    return strcmp(s->kernel->name, "concat") ? NULL : s->params;
}

/* Its inputs are parts of pixels. */
static bool joins_channels(const Step *s)
{
    const inlay_concat_params *p = concat_of(s);
    return p && p->size && p->inputs <= MOST_INPUTS && s->operand[0].rows == s->units;
}

/* Its inputs lie one after the other. */
static bool joins_blocks(const Step *s)
{
    const inlay_concat_params *p = concat_of(s);
    return p && !p->size && p->inputs <= MOST_INPUTS && s->units == 1 && p->pieces == 1;
}

/* Does it take channels and rows that lie together, and all pixels of each row? */
static bool takes_box(const Step *s)
{
    if (strncmp(s->kernel->name, "move_rows_", 10))
        return false;
    const inlay_move_rows_params *p = s->params;
    const Operand *y = s->operand, *x = s->operand + 1;
    if (p->units != 1 || p->row[0] != 1 || p->x[0] || p->x_pixel ||
        y->row_bytes * x->pixel != x->row_bytes * y->pixel)
        return false;
    for (int d = 1; d < p->rank; d++)
        if (p->n[d] > 1 &&
            (p->row[d] || p->x[d] != p->y[d] || (p->x_pixels ^ p->y_pixels) >> d & 1))
            return false;
    return x->strided && y->strided;
}

static Tensor *root_of(const Operand *o, int64_t *at)
{
    return tensor_root(o->tensor, at);
}

static bool is_ours(const Tensor *root)
{
    return root->storage == STORE_ARENA && root->slot < 0;
}

static void look(Elider *e, const Step *s, const Operand *o)
{
    int64_t at;
    const Tensor *root = root_of(o, &at);
    Sight *g = e->sight + root->id;
    const bool strided = o->strided || (joins_channels(s) && o->rows == s->units);
    if (!g->seen)
        *g = (Sight){ .seen = true,
                      .rows = o->rows,
                      .row_bytes = o->row_bytes,
                      .pixel = o->pixel,
                      .joins = g->joins };
    if (!strided || at || o->offset || o->part || o->rows != g->rows ||
        o->row_bytes != g->row_bytes || o->pixel != g->pixel)
        g->differs = true;
    if (o->write && o->read)
        g->updated = true;
    if (concat_of(s) && o->read)
        g->joins++;
}

static Step *copy_step(Arena *a, const Step *s)
{
    Step *c = arena_copy(a, s, sizeof *s);
    c->operand = arena_copy(a, s->operand, (size_t)s->n_operand * sizeof *s->operand);
    c->room = (size_t)s->n_operand;
    return c;
}

/* An image of which all operands see all, in the same rows and pixels, and which ends with its
 * channels. */
static bool is_plain(const Elider *e, const Operand *o)
{
    int64_t at;
    const Tensor *root = root_of(o, &at);
    const Sight *g = e->sight + root->id;
    return is_ours(root) && g->seen && !g->differs && !o->part && !at && !o->offset &&
           g->pixel == o->pixel;
}

/* The same of the result of a concatenation, which may be the model's or part of another by now. */
static bool is_result(const Elider *e, const Operand *y)
{
    int64_t at;
    const Tensor *root = root_of(y, &at);
    return y->part || ((root->storage == STORE_ARENA || root->storage == STORE_OUTPUT) &&
                       !e->sight[root->id].differs);
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

static Tensor *view_of(Elider *e, const Tensor *like, Tensor *of, int64_t offset)
{
    Tensor *view = graph_add_tensor(e->program->graph, NULL, like->dtype, like->shape);
    view->name = like->name;
    view->view_of = of;
    view->view_offset = offset;
    view->storage = of->storage;
    return view;
}

static void move_operand(Elider *e, Operand *o, const Tensor *x, const Home *h)
{
    int64_t at;
    if (!o->tensor || root_of(o, &at) != x || !(o->write ? h->writes : h->reads))
        return;
    if (h->block) {
        o->tensor = view_of(e, o->tensor, h->y.tensor, h->offset + at);
        return;
    }
    if (!o->part)
        o->part = h->part;
    o->tensor = h->y.tensor;
    o->offset += h->offset;
    o->pixel = h->y.pixel;
    o->row_bytes = h->y.row_bytes;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The steps that touch a tensor, each once, those that were there first. */
static int32_t *list_uses(const Elider *e, const Tensor *x, int32_t *n)
{
    *n = 0;
    for (int32_t k = x->id < e->ids ? e->first[x->id] : -1; k >= 0; k = e->use.at[k].next)
        ++*n;
    int32_t *step = NEW_ARRAY(e->arena, int32_t, *n + 1), kept = 0;
    for (int32_t k = *n ? e->first[x->id] : -1, i = 0; k >= 0; k = e->use.at[k].next)
        step[i++] = e->use.at[k].step;
    if (*n)
        qsort(step, (size_t)*n, sizeof *step, by_number);
    for (int32_t i = 0; i < *n; i++)
        if (!kept || step[kept - 1] != step[i])
            step[kept++] = step[i];
    *n = kept;
    return step;
}

/* NULL: it is gone. */
static Step *used_step(const Elider *e, int32_t step)
{
    const size_t i = (size_t)step;
    return i < e->step.n ? e->step.at[i] : e->late.at[i - e->step.n].step;
}

static void note_use(Elider *e, const Operand *o, size_t step)
{
    int64_t at;
    const Tensor *root = o->tensor ? root_of(o, &at) : NULL;
    if (!root || root->id >= e->ids ||
        (e->first[root->id] >= 0 && e->use.at[e->first[root->id]].step == (int32_t)step))
        return;
    VEC_PUSH(e->arena, &e->use, ((StepUse){ (int32_t)step, e->first[root->id] }));
    e->first[root->id] = (int32_t)e->use.n - 1;
}

static void move_all(Elider *e, const Tensor *x, const Home *h)
{
    int32_t n;
    const int32_t *step = list_uses(e, x, &n);
    for (int32_t i = 0; i < n; i++) {
        Step *s = used_step(e, step[i]);
        for (int k = 0; s && k < s->n_operand; k++)
            move_operand(e, s->operand + k, x, h);
        if (s)
            note_use(e, &h->y, (size_t)step[i]);
        e->work -= s ? s->n_operand : 1;
    }
}

static void add_late(Elider *e, Step *s, size_t after)
{
    VEC_PUSH(e->arena, &e->late, ((Late){ s, after }));
    for (int k = 0; k < s->n_operand; k++)
        note_use(e, s->operand + k, e->step.n + e->late.n - 1);
}

/* ---- concatenations ---- */

static int64_t channels_of(const Operand *x)
{
    return x->part ? x->part : x->pixel;
}

static bool can_be_part(const Elider *e, const Step *s, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return x->rows == s->units && is_plain(e, x) && e->sight[root->id].joins == 1 &&
           x->tensor->dtype == s->operand[0].tensor->dtype;
}

/* A step that copies input k alone. */
static Step *copy_alone(Elider *e, const Step *s, int k, int64_t lane)
{
    const Operand *x = s->operand + k;
    Graph *g = e->program->graph;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8, one = 1,
                  piece = joins_channels(s) ? channels_of(x) * bytes : tensor_bytes(x->tensor);
    inlay_concat_params p = *concat_of(s);
    p.inputs = 1;
    p.bytes = piece;
    Tensor *table = graph_add_constant(g, NULL, recipe_memory(g->store, DT_I64, 1, &one, &piece));
    table->storage = STORE_WEIGHTS;
    VEC_PUSH(g->arena, &e->program->weight, ((WeightSlot){ .tensor = table }));
    Step *c = copy_step(e->arena, s);
    c->n_operand = 3;
    c->piece = k;
    c->params = arena_copy(e->arena, &p, sizeof p);
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
static size_t made_by(const Elider *e, const Tensor *x)
{
    size_t last = 0;
    int32_t n;
    const int32_t *step = list_uses(e, x, &n);
    for (int32_t i = 0; i < n && step[i] < (int32_t)e->step.n; i++)
        for (int k = 0; used_step(e, step[i]) && k < used_step(e, step[i])->n_operand; k++) {
            const Operand *o = used_step(e, step[i])->operand + k;
            int64_t at;
            if (o->tensor && o->write && root_of(o, &at) == x)
                last = (size_t)step[i];
        }
    return last;
}

/* Is it made of parts, as a concatenation before this one? */
static bool is_joined(const Elider *e, const Tensor *x)
{
    const Step *s = e->step.at[made_by(e, x)];
    for (int k = 0; s && k < s->n_operand; k++) {
        int64_t at;
        if (s->operand[k].tensor && s->operand[k].write && root_of(s->operand + k, &at) == x)
            return s->operand[k].part || concat_of(s);
    }
    return true;
}

/* Inputs that cannot be parts keep copies where the concatenation was; returns whether any can. */
static bool join_channels(Elider *e, size_t i, bool but_first)
{
    Step *s = e->step.at[i];
    const int inputs = concat_of(s)->inputs;
    const Operand y = s->operand[0];
    int64_t lane = 0, at;
    bool some = false;
    if (!is_result(e, &y))
        return false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_part(e, s, s->operand + k);
    if (!some)
        return false;
    e->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        const Operand x = s->operand[k];
        const int64_t bytes = dtype_bits(x.tensor->dtype) / 8;
        Home h = { .y = y,
                   .offset = y.offset + lane * bytes,
                   .part = channels_of(&x),
                   .reads = true,
                   .writes = true };
        if (!can_be_part(e, s, &x)) {
            add_late(e, copy_alone(e, s, k, lane), i);
        } else if (k == 1 && but_first && !is_joined(e, root_of(&x, &at))) {
            h.writes = false;
            const size_t after = made_by(e, root_of(&x, &at));
            Step *c = copy_alone(e, s, k, lane);
            move_all(e, root_of(&x, &at), &h);
            c->operand[1].reuse = REUSE_ROWS;
            add_late(e, c, after);
        } else {
            move_all(e, root_of(&x, &at), &h);
        }
        lane += channels_of(&x);
    }
    return true;
}

/* Can all of the tensor be a block of another? */
static bool can_be_block(const Elider *e, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return is_ours(root) && !at && !x->offset && !x->part && e->sight[root->id].joins == 1 &&
           !e->sight[root->id].updated && tensor_bytes(root) == tensor_bytes(x->tensor);
}

/* Blocks one after the other: views of the result. */
static bool join_blocks(Elider *e, size_t i)
{
    Step *s = e->step.at[i];
    const Operand y = s->operand[0];
    const int inputs = concat_of(s)->inputs;
    int64_t offset = y.offset, at;
    bool some = false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_block(e, s->operand + k);
    if (!some)
        return false;
    e->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        const Operand *x = s->operand + k;
        const Home h = { .y = y, .offset = offset, .block = true, .reads = true, .writes = true };
        if (can_be_block(e, x)) {
            move_all(e, root_of(x, &at), &h);
        } else {
            Step *c = copy_alone(e, s, k, 0);
            c->operand[0] = (Operand){ .tensor = view_of(e, x->tensor, y.tensor, offset),
                                       .write = true,
                                       .rows = 1,
                                       .pixel = y.pixel,
                                       .row_bytes = tensor_bytes(x->tensor) };
            add_late(e, c, i);
        }
        offset += tensor_bytes(x->tensor);
    }
    return true;
}

/* ---- slices ---- */

static bool read_in_place(Elider *e, size_t i)
{
    const Step *s = e->step.at[i];
    const inlay_move_rows_params *p = s->params;
    const Operand *y = s->operand, *x = s->operand + 1;
    int64_t at;
    const Tensor *root = root_of(y, &at);
    if (!is_plain(e, y) || e->sight[root->id].updated)
        return false;
    const int64_t bytes = dtype_bits(y->tensor->dtype) / 8;
    const Home h = { .y = *x,
                     .offset = x->offset + p->first * x->row_bytes + p->x_channel * bytes,
                     .part = y->pixel == x->pixel ? 0 : y->pixel,
                     .reads = true };
    e->step.at[i] = NULL;
    move_all(e, root, &h);
    return true;
}

/* ---- all of them ---- */

int elide_ways(const Program *p, const Step *s)
{
    (void)p;
    if (joins_channels(s))
        return 3;
    return joins_blocks(s) || takes_box(s) ? 2 : 1;
}

static void put_steps(const Elider *e, Steps *out)
{
    int32_t *first = NEW_ARRAY(e->arena, int32_t, e->step.n + 1),
            *next = NEW_ARRAY(e->arena, int32_t, e->late.n + 1); /* of `late`, plus one; 0: none */
    for (size_t k = e->late.n; k-- > 0;) {
        next[k] = first[e->late.at[k].after];
        first[e->late.at[k].after] = (int32_t)k + 1;
    }
    for (size_t i = 0; i < e->step.n; i++) {
        if (e->step.at[i])
            VEC_PUSH(e->arena, &out->step, e->step.at[i]);
        for (int32_t k = first[i]; k; k = next[k - 1])
            VEC_PUSH(e->arena, &out->step, e->late.at[k - 1].step);
    }
    for (size_t i = 0; i < out->step.n; i++)
        out->step.at[i]->index = (int)i;
}

bool elide_copies(Arena *a, Program *p, const uint8_t *way, Steps *out)
{
    Elider e = { .arena = a, .program = p, .way = way };
    *out = (Steps){ 0 };
    e.ids = graph_root(p->graph)->next_id;
    e.sight = NEW_ARRAY(a, Sight, e.ids + 1);
    e.first = NEW_ARRAY(a, int32_t, e.ids + 1);
    memset(e.first, 0xff, sizeof *e.first * ((size_t)e.ids + 1));
    e.work = WORK;
    for (size_t i = 0; i < p->step.n; i++) {
        if (p->step.at[i]->control || p->step.at[i]->loop_end >= 0)
            return false;
        VEC_PUSH(a, &e.step, copy_step(a, p->step.at[i]));
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            if (p->step.at[i]->operand[k].tensor) {
                look(&e, p->step.at[i], p->step.at[i]->operand + k);
                note_use(&e, p->step.at[i]->operand + k, i);
            }
    }
    for (size_t i = 0; i < e.step.n; i++) {
        const Step *s = e.step.at[i];
        if (way[i] == ELIDE_NOT || e.work < 0)
            continue;
        if (joins_channels(s))
            e.any |= join_channels(&e, i, way[i] == ELIDE_BUT_FIRST);
        else if (joins_blocks(s))
            e.any |= join_blocks(&e, i);
    }
    for (size_t i = 0; i < e.step.n; i++)
        if (way[i] != ELIDE_NOT && e.work >= 0 && e.step.at[i] && takes_box(e.step.at[i]))
            e.any |= read_in_place(&e, i);
    if (e.any)
        put_steps(&e, out);
    return e.any;
}
