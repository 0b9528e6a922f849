/* SPDX-License-Identifier: Apache-2.0
 * Works on copies of the steps, since a wider tensor lives longer than its parts did and may need more: the
 * planner tries both. An input that cannot be written in place keeps a copy step of its own. */
#include "plan/elide.h"

#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"

typedef struct Elider {
    Arena *arena;
    Program *program;
    Steps *out, copies;         /* copies: the steps that were made */
    int *joins;                 /* by tensor id: how many operands of concatenations read it */
    bool *stays;                /* by tensor id: some operand cannot follow wider pixels */
    bool any;
} Elider;

static const inlay_concat_params *concat_of(const Step *s)
{
    if (strcmp(s->kernel->name, "concat")) return NULL;
    const inlay_concat_params *p = s->params;
    return p->size && s->operand[0].rows == s->units ? p : NULL;
}

static bool plain_image(const Operand *o)
{
    const Tensor *t = o->tensor;
    return o->strided && !o->offset && !t->view_of && t->storage == STORE_ARENA && t->shape.rank && o->pixel == t->shape.dim[t->shape.rank - 1];
}

/* Inputs and results of the model in the arena keep their form. */
static bool is_ours(const Tensor *t) { return t->storage == STORE_ARENA && t->slot < 0; }

static void survey(Elider *e)
{
    const int ids = graph_root(e->program->graph)->next_id;
    e->joins = NEW_ARRAY(e->arena, int, ids + 1);
    e->stays = NEW_ARRAY(e->arena, bool, ids + 1);
    for (size_t i = 0; i < e->out->step.n; i++) {
        Step *s = e->out->step.at[i];
        const bool joins = concat_of(s) != NULL;
        for (int k = 0; k < s->n_operand; k++) {
            Operand *o = s->operand + k;
            if (!o->tensor) continue;
            if (joins) o->strided = o->rows == s->units;
            int64_t at;
            const Tensor *root = tensor_root(o->tensor, &at);
            if (joins && !o->write) e->joins[root->id]++;
            if (!plain_image(o)) e->stays[root->id] = true;
        }
    }
}

/* A view of the same shape is the tensor itself. */
static Tensor *without_view(Tensor *t)
{
    int64_t at;
    Tensor *root = tensor_root(t, &at);
    return !at && root->dtype == t->dtype && shape_equal(&root->shape, &t->shape) ? root : t;
}

static Step *copy_step(Arena *a, const Step *s)
{
    Step *c = arena_copy(a, s, sizeof *s);
    c->operand = arena_copy(a, s->operand, (size_t)s->n_operand * sizeof *s->operand);
    c->room = (size_t)s->n_operand;
    for (int k = 0; k < c->n_operand; k++)
        if (c->operand[k].tensor) c->operand[k].tensor = without_view(c->operand[k].tensor);
    return c;
}

static void make_part_in(const Step *s, const Tensor *x, const Operand *y, int64_t lane)
{
    const int64_t bytes = dtype_bits(x->dtype) / 8, channels = x->shape.dim[x->shape.rank - 1];
    for (int k = 0; k < s->n_operand; k++) {
        Operand *o = s->operand + k;
        if (o->tensor != x) continue;
        if (!o->part) o->part = channels;
        o->tensor = y->tensor;
        o->offset += lane * bytes + y->offset;
        o->pixel = y->pixel;
        o->row_bytes = y->row_bytes;
    }
}

/* Every operand on x becomes the part of y that begins `lane` elements into its pixels. */
static void make_part(Elider *e, const Tensor *x, const Operand *y, int64_t lane)
{
    for (size_t i = 0; i < e->out->step.n; i++) make_part_in(e->out->step.at[i], x, y, lane);
    for (size_t i = 0; i < e->copies.step.n; i++) make_part_in(e->copies.step.at[i], x, y, lane);
}

static bool can_be_part(const Elider *e, const Step *s, const Operand *x)
{
    const Tensor *t = x->tensor;
    return x->read && x->rows == s->units && is_ours(t) && !t->view_of && e->joins[t->id] == 1 && !e->stays[t->id];
}

/* A step that copies input k alone. */
static Step *copy_alone(Elider *e, const Step *s, int k, int64_t lane)
{
    const Operand *x = s->operand + k;
    Graph *g = e->program->graph;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8, channels = x->tensor->shape.dim[x->tensor->shape.rank - 1], one = 1;
    const int64_t piece = channels * bytes;
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
    c->operand[0].part = channels;
    c->operand[0].offset += lane * bytes;
    c->operand[1] = *x;
    c->operand[2] = (Operand){ .tensor = table, .read = true, .rows = 1, .pixel = 1, .row_bytes = 8, .rule = { .kind = ROWS_ALL } };
    return c;
}

/* Replaces step i by the copies that are left of it; returns how many. */
static size_t split(Elider *e, Step *s, const inlay_concat_params *p, Step **copies)
{
    size_t n = 0;
    int64_t lane = 0;
    const Operand y = s->operand[0];
    for (int k = 1; k <= p->inputs; k++) {
        Tensor *x = s->operand[k].tensor;
        const int64_t channels = x->shape.dim[x->shape.rank - 1];
        if (can_be_part(e, s, s->operand + k)) make_part(e, x, &y, lane);
        else VEC_PUSH(e->arena, &e->copies.step, copies[n++] = copy_alone(e, s, k, lane));
        lane += channels;
    }
    return n;
}

static bool worth_it(const Elider *e, const Step *s, const inlay_concat_params *p)
{
    const Operand *y = s->operand;
    if (!plain_image(y) || e->stays[y->tensor->id]) return false;
    for (int k = 1; k <= p->inputs; k++)
        if (can_be_part(e, s, s->operand + k)) return true;
    return false;
}

static void elide_all(Elider *e)
{
    Steps old = *e->out;
    Step **copies = NEW_ARRAY(e->arena, Step *, old.step.n + 1);
    size_t most = old.step.n;
    for (size_t i = 0; i < old.step.n; i++) {
        Step *s = old.step.at[i];
        const inlay_concat_params *p = concat_of(s);
        if (!p || !worth_it(e, s, p)) continue;
        if ((size_t)p->inputs > most) copies = NEW_ARRAY(e->arena, Step *, most = (size_t)p->inputs);
        const size_t n = split(e, s, p, copies);
        s->n_operand = 0;
        s->params = n ? arena_copy(e->arena, copies, n * sizeof *copies) : NULL;
        s->units = (int32_t)n;
        e->any = true;
    }
    memset(&e->out->step, 0, sizeof e->out->step);
    for (size_t i = 0; i < old.step.n; i++) {
        Step *s = old.step.at[i];
        if (s->n_operand) VEC_PUSH(e->arena, &e->out->step, s);
        else for (int32_t k = 0; k < s->units; k++) VEC_PUSH(e->arena, &e->out->step, ((Step **)s->params)[k]);
    }
    for (size_t i = 0; i < e->out->step.n; i++) e->out->step.at[i]->index = (int)i;
}

bool elide_copies(Arena *a, Program *p, Steps *out)
{
    Elider e = { .arena = a, .program = p, .out = out };
    bool some = false;
    *out = (Steps){ 0 };
    for (size_t i = 0; i < p->step.n; i++) {
        if (p->step.at[i]->control || p->step.at[i]->loop_end >= 0) return false;
        if (concat_of(p->step.at[i])) some = true;
    }
    if (!some) return false;
    for (size_t i = 0; i < p->step.n; i++) VEC_PUSH(a, &out->step, copy_step(a, p->step.at[i]));
    survey(&e);
    elide_all(&e);
    return e.any;
}
