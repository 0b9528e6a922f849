/* SPDX-License-Identifier: Apache-2.0
 * Addresses of operands, and the program in the runtime's own form. */
#include "ir/program.h"

#include <assert.h>

#include "base/size.h"

Tensor *tensor_root(Tensor *t, int64_t *offset)
{
    *offset = 0;
    for (; t->view_of; t = t->view_of)
        *offset += t->view_offset;
    return t;
}

double curve_factor(const Plan *plan, const CurvePoint *c)
{
    return plan->macs_once ? (double)c->macs / (double)plan->macs_once : 1.0;
}

int64_t operand_pitch(const Operand *o)
{
    return i64_mul(o->pitch ? o->pitch : o->pixel, dtype_bits(o->tensor->dtype)) / 8;
}

int program_regions(const Program *p)
{
    return p->plan.region.n ? (int)p->plan.region.n : 1;
}

int64_t program_region_size(const Program *p, int region)
{
    return p->plan.region.n ? p->plan.region.at[region].size : p->plan.arena_size;
}

int64_t program_region_start(const Program *p, int region)
{
    int64_t at = 0;
    for (int i = 0; i < region; i++)
        at += program_region_size(p, i);
    return at;
}

int program_base(const Program *p, const Tensor *root)
{
    const int first = INLAY_ARENA + program_regions(p), inputs = (int)p->graph->input.n;
    switch (root->storage) {
    case STORE_WEIGHTS:
        return INLAY_WEIGHTS;
    case STORE_ARENA:
        return INLAY_ARENA + root->region;
    case STORE_INPUT:
        return first + root->slot;
    case STORE_OUTPUT:
        return first + inputs + root->slot;
    default:
        assert(0 && "a tensor without storage");
        return INLAY_NONE;
    }
}

int program_bases(const Program *p)
{
    return INLAY_ARENA + program_regions(p) + (int)p->graph->input.n + (int)p->graph->output.n;
}

const Step *program_pushed(const Program *p)
{
    for (size_t i = 0; i < p->step.n; i++)
        if (p->step.at[i]->pushed)
            return p->step.at[i];
    return NULL;
}

static int32_t count_entries(const uint8_t *list, int32_t n, int32_t k)
{
    int32_t found = 0;
    for (int32_t i = 0; i < n; i++)
        found += list[i] == k;
    return found;
}

int32_t program_rows(const Program *p, const Step *pushed)
{
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        const int32_t k = pushed->index - g->first;
        if (!g->list || k < 0 || k >= g->count)
            continue;
        return count_entries(g->list, g->prologue, k) +
               g->repeats * count_entries(g->list + g->prologue, g->period, k) +
               count_entries(g->list + g->prologue + g->period, g->epilogue, k);
    }
    return pushed->units;
}

bool step_reverses(const Step *s)
{
    for (int k = s->n_out; k < s->n_operand; k++)
        if (s->operand[k].tensor && reuse_reverses(s->operand[k].reuse))
            return true;
    return false;
}

int32_t step_backward(const Step *s)
{
    return !s->backward ? 0 : step_reverses(s) ? INLAY_BACKWARD : INLAY_UNIT_BY_UNIT;
}

const char *step_name(const Step *s)
{
    return s->node ? s->node->op_type : s->pushed ? "Input" : "Copy";
}

static inlay_ref address(const Program *p, const Operand *o)
{
    if (!o->tensor)
        return (inlay_ref){ .cap = 1, .base = INLAY_NONE };
    int64_t at;
    const Tensor *root = tensor_root(o->tensor, &at);
    return (inlay_ref){
        .off = (size_t)(root->offset + at + o->offset),
        .row = (size_t)o->row_bytes,
        .cap = o->ring ? o->ring : o->rows,
        .pix = i32_checked(o->pixel),
        .base = program_base(p, root),
    };
}

void program_link(Program *p)
{
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            p->step.at[i]->operand[k].ref = address(p, p->step.at[i]->operand + k);
}

static inlay_step step_of(Arena *a, const Step *s)
{
    inlay_ref *ref = NEW_ARRAY(a, inlay_ref, s->n_operand + 1);
    for (int k = 0; k < s->n_operand; k++)
        ref[k] = s->operand[k].ref;
    return (inlay_step){ s->kernel->run, s->params, ref, s->units, step_backward(s) };
}

inlay_model program_model(Arena *a, const Program *p)
{
    inlay_step *step = NEW_ARRAY(a, inlay_step, p->step.n + 1);
    for (size_t i = 0; i < p->step.n; i++)
        step[i] = step_of(a, p->step.at[i]);
    inlay_segment *segment = NEW_ARRAY(a, inlay_segment, p->plan.segment.n + 1);
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        segment[i] = (inlay_segment){ g->first,   g->count,    g->prologue, g->period,
                                      g->repeats, g->epilogue, g->list };
    }
    return (inlay_model){
        .step = step,
        .steps = (int32_t)p->step.n,
        .segment = p->plan.segment.n ? segment : NULL,
        .segments = (int32_t)p->plan.segment.n,
        .state = (size_t)p->plan.state,
    };
}
