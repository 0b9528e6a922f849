/* SPDX-License-Identifier: Apache-2.0
 * Lifetimes of the arena's tensors, what may share memory, and their offsets. */
#include "plan/plan.h"

#include "base/size.h"
#include "plan/place.h"

/* A tensor of the arena with its lifetime. */
typedef struct Item {
    Tensor *root;
    int64_t size;
    int32_t begin, end;         /* steps [begin, end) */
} Item;

typedef struct Planner {
    Arena *arena;
    Program *program;
    int *item_of;               /* by tensor id; -1: none */
    VEC(Item) item;
    VEC(PlaceArc) arc;
} Planner;

static Tensor *root_of(Tensor *t)
{
    int64_t offset;
    return tensor_root(t, &offset);
}

static void touch(Planner *p, Tensor *t, int32_t step)
{
    Tensor *root = t ? root_of(t) : NULL;
    if (!root || root->storage != STORE_ARENA) return;
    int *at = p->item_of + root->id;
    if (*at < 0) {
        *at = (int)p->item.n;
        VEC_PUSH(p->arena, &p->item, ((Item){ root, tensor_bytes(root), step, step + 1 }));
    }
    p->item.at[*at].end = step + 1;
}

/* What a loop reads from outside lives until the loop ends, and what lives in it lives through it. */
static void extend_over_loop(Planner *p, int32_t first, int32_t last)
{
    for (size_t i = 0; i < p->item.n; i++) {
        Item *it = p->item.at + i;
        if (it->end <= first || it->begin > last) continue;
        if (it->begin < first || it->end > last + 1) {
            it->begin = (int32_t)i64_min(it->begin, first);
            it->end = (int32_t)i64_max(it->end, last + 1);
        }
    }
}

static void find_lifetimes(Planner *p)
{
    const Program *g = p->program;
    for (size_t i = 0; i < g->step.n; i++)
        for (int k = 0; k < g->step.at[i]->n_operand; k++) touch(p, g->step.at[i]->operand[k].tensor, (int32_t)i);
    for (size_t i = 0; i < g->step.n; i++)
        if (g->step.at[i]->loop_end >= 0) extend_over_loop(p, (int32_t)i, g->step.at[i]->loop_end);
}

/* The step's first output may lie exactly on an input that dies there and is read element by element. */
static void allow_in_place(Planner *p, const Step *s)
{
    const Operand *out = s->operand;
    if (!s->n_out || !out->tensor) return;
    Tensor *to = root_of(out->tensor);
    if (to->storage != STORE_ARENA || p->item_of[to->id] < 0) return;
    const Item *o = p->item.at + p->item_of[to->id];
    for (int k = s->n_out; k < s->n_operand; k++) {
        const Operand *in = s->operand + k;
        if (!in->tensor || in->reuse != REUSE_ELEMENTWISE) continue;
        Tensor *from = root_of(in->tensor);
        if (from == to || from->storage != STORE_ARENA) continue;
        const Item *i = p->item.at + p->item_of[from->id];
        if (i->end != s->index + 1 || o->begin != s->index || i->size != o->size) continue;
        if (tensor_bytes(in->tensor) != i->size || tensor_bytes(out->tensor) != o->size) continue;
        const int a = p->item_of[to->id], b = p->item_of[from->id];
        VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ a, b, -o->size, 0, 0, 0 }));
        VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ a, b, 0, i->size, 0, 0 }));
        return;
    }
}

static void place_items(Planner *p, int64_t align)
{
    const int n = (int)p->item.n;
    PlaceItem *item = NEW_ARRAY(p->arena, PlaceItem, n + 1);
    for (int i = 0; i < n; i++) {
        const Item *it = p->item.at + i;
        item[i] = (PlaceItem){ .size = (int64_t)size_align((size_t)it->size, (size_t)align), .align = align, .begin = it->begin, .end = it->end };
    }
    const PlaceResult r = place(p->arena, item, n, p->arc.at, (int)p->arc.n, NULL);
    for (int i = 0; i < n; i++) p->item.at[i].root->offset = r.offset[i];
    Plan *plan = &p->program->plan;
    plan->arena_size = r.height;
    plan->lower_bound = r.lower_bound;
    plan->optimal = r.optimal;
}

static void count_live(Planner *p)
{
    const size_t steps = p->program->step.n;
    int64_t *live = NEW_ARRAY(p->program->graph->arena, int64_t, steps + 1);
    for (size_t i = 0; i < p->item.n; i++)
        for (int32_t k = p->item.at[i].begin; k < p->item.at[i].end; k++) live[k] += p->item.at[i].size;
    p->program->plan.live = live;
}

void plan_program(Program *program, const PlanOptions *opt)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Planner p = { .arena = scratch, .program = program };
    const int ids = graph_root(program->graph)->next_id;
    p.item_of = NEW_ARRAY(scratch, int, ids + 1);
    for (int i = 0; i < ids; i++) p.item_of[i] = -1;
    find_lifetimes(&p);
    for (size_t i = 0; i < program->step.n; i++) allow_in_place(&p, program->step.at[i]);
    program->plan.arena_align = opt->align;
    place_items(&p, opt->align);
    count_live(&p);
    arena_release(scratch, mark);
}
