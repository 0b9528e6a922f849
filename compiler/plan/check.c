/* SPDX-License-Identifier: Apache-2.0
 * Proof of a plan by replay: every byte of the arena carries the tensor that wrote it last, and every
 * read must find its own tensor there. Shares no code with the planner. */
#include "plan/plan.h"

#include <inttypes.h>

#include "base/size.h"

/* Bytes [begin, end) were last written by the tensor `tag`. Spans are sorted and do not overlap. */
typedef struct TagSpan {
    int64_t begin, end;
    const Tensor *tag;
} TagSpan;

typedef struct Shadow {
    Arena *arena;
    VEC(TagSpan) span, next;
} Shadow;

typedef struct Range {
    int64_t begin, end;
    const Tensor *root;
} Range;

static bool range_of(const Operand *o, Range *r)
{
    if (!o->tensor) return false;
    int64_t at = 0;
    const Tensor *t = o->tensor;
    for (; t->view_of; t = t->view_of) at += t->view_offset;
    if (t->storage != STORE_ARENA) return false;
    const int64_t bytes = o->offset ? tensor_bytes(o->tensor) - o->offset : tensor_bytes(o->tensor);
    *r = (Range){ t->offset + at + o->offset, t->offset + at + o->offset + bytes, t };
    return true;
}

static void write_range(Shadow *s, Range r)
{
    s->next.n = 0;
    for (size_t i = 0; i < s->span.n; i++) {
        const TagSpan t = s->span.at[i];
        if (t.begin < r.begin) VEC_PUSH(s->arena, &s->next, ((TagSpan){ t.begin, i64_min(t.end, r.begin), t.tag }));
        if (t.end > r.end) VEC_PUSH(s->arena, &s->next, ((TagSpan){ i64_max(t.begin, r.end), t.end, t.tag }));
    }
    VEC_PUSH(s->arena, &s->next, ((TagSpan){ r.begin, r.end, r.root }));
    const Shadow swap = *s;
    s->span.at = swap.next.at, s->span.n = swap.next.n, s->span.room = swap.next.room;
    s->next.at = swap.span.at, s->next.n = swap.span.n, s->next.room = swap.span.room;
}

/* Bytes of r that still carry its own tag. */
static int64_t intact(const Shadow *s, Range r)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->span.n; i++) {
        const TagSpan *t = s->span.at + i;
        if (t->tag == r.root && t->begin < r.end && t->end > r.begin) n += i64_min(t->end, r.end) - i64_max(t->begin, r.begin);
    }
    return n;
}

static _Noreturn void object(const Step *s, const Operand *o, const char *what)
{
    fail_at(STATUS_INTERNAL, s->node ? node_loc(s->node) : LOC_NONE, "please report this model: it is a bug of Inlay, not of the model",
            "the memory plan is unsound at step %d (%s): \"%s\" %s", s->index, s->kernel->name, o->tensor->name, what);
}

static void check_reads(const Shadow *s, const Program *p, const Step *step)
{
    Range r;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *o = step->operand + k;
        if (!range_of(o, &r)) continue;
        if (r.begin < 0 || r.end > p->plan.arena_size) object(step, o, "leaves the arena");
        if (o->read && !o->write && intact(s, r) < r.end - r.begin) object(step, o, "is read after it was overwritten");
    }
}

/* A write may meet another operand of the step only where both are the same elements, in place. */
static void check_overlap(const Step *step, int w)
{
    Range a, b;
    if (!range_of(step->operand + w, &a)) return;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *o = step->operand + k;
        if (k == w || !range_of(o, &b) || b.end <= a.begin || a.end <= b.begin) continue;
        const bool in_place = o->reuse == REUSE_ELEMENTWISE && a.begin == b.begin && a.end == b.end && w == 0;
        if (!in_place && a.root != b.root) object(step, o, "is overwritten by the step that needs it");
    }
}

void plan_check(const Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Shadow s = { .arena = scratch };
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *step = p->step.at[i];
        check_reads(&s, p, step);
        for (int k = 0; k < step->n_operand; k++) {
            Range r;
            if (!step->operand[k].write || !range_of(step->operand + k, &r)) continue;
            check_overlap(step, k);
            write_range(&s, r);
        }
    }
    arena_release(scratch, mark);
}
