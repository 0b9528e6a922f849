/* SPDX-License-Identifier: Apache-2.0
 * A pair takes the tensor between its steps out of the plan but for a few pixels of scratch. It costs the
 * place to cut between the two, and short inner loops, so the planner makes pairs only where they lower the peak. */
#include "plan/pair.h"

#include <string.h>

#include "base/size.h"
#include "kernels/dwpw_f32.h"

enum { CHUNK = 12 };            /* pixels: a multiple of the tiles of both kernels */

static bool is_depthwise(const Step *s)
{
    return !strcmp(s->kernel->name, "dwconv_f32") && !s->operand[4].tensor && !s->operand[0].part && s->operand[0].tensor->storage == STORE_ARENA && s->operand[0].tensor->slot < 0;
}

/* Reads only what the depthwise step made, pixel by pixel. */
static bool is_pointwise(const Step *s, const Step *dw)
{
    if (strcmp(s->kernel->name, "conv_f32") || s->operand[1].tensor != dw->operand[0].tensor || s->units != dw->units) return false;
    const inlay_conv_params *p = s->params, *d = dw->params;
    return p->groups == 1 && p->kd * p->kh * p->kw == 1 && p->sd * p->sh * p->sw == 1 && !p->pd && !p->ph && !p->pw
        && p->id == 1 && p->ih == d->oh && p->iw == d->ow && p->ow == d->ow && d->id <= 1 && s->operand[0].rows == s->units;
}

/* How many operands of the program are, or see into, tensor t. */
static int users_of(const Steps *all, const Tensor *t)
{
    int n = 0;
    for (size_t i = 0; i < all->step.n; i++)
        for (int k = 0; k < all->step.at[i]->n_operand; k++) {
            int64_t at;
            Tensor *u = all->step.at[i]->operand[k].tensor;
            n += u && tensor_root(u, &at) == t;
        }
    return n;
}

static Step *make_pair(Arena *a, Program *p, const Step *dw, const Step *pw)
{
    const inlay_conv_params *d = dw->params, *c = pw->params;
    const int32_t chunk = d->ow < CHUNK ? d->ow : CHUNK;
    const inlay_dwpw_params q = {
        .ih = d->ih, .iw = d->iw, .oh = d->oh, .ow = d->ow, .kh = d->kh, .kw = d->kw, .sh = d->sh, .sw = d->sw, .dh = d->dh, .dw = d->dw,
        .ph = d->ph, .pw = d->pw, .channels = d->groups, .oc = c->oc, .width = c->width, .chunk = chunk,
        .d_clamp = d->clamp, .clamp = c->clamp, .d_a = d->a, .d_b = d->b, .a = c->a, .b = c->b };
    Step *s = arena_copy(a, pw, sizeof *pw);
    s->kernel = kernel_find("dwpw_f32");
    s->params = arena_copy(a, &q, sizeof q);
    s->macs = i64_add(dw->macs, pw->macs);
    const int32_t both[] = { dw->lowered[0], pw->lowered[0] };
    s->lowered = arena_copy(a, both, sizeof both);
    s->n_lowered = 2;
    s->n_operand = 8;
    s->room = 8;
    s->operand = NEW_ARRAY(a, Operand, 8);
    const Operand *const from[] = { pw->operand, dw->operand + 1, dw->operand + 2, dw->operand + 3, pw->operand + 2, pw->operand + 3, pw->operand + 4 };
    for (int k = 0; k < 7; k++) s->operand[k] = *from[k];
    const int64_t bytes = i64_mul(chunk, i64_mul(d->groups, 4));
    Tensor *t = graph_add_tensor(p->graph, NULL, DT_U8, shape_vector(bytes));
    t->storage = STORE_ARENA;
    t->slot = -1;
    s->operand[7] = (Operand){ .tensor = t, .write = true, .read = true, .scratch = true, .rows = 1, .pixel = 1, .row_bytes = bytes, .rule = { .kind = ROWS_ALL } };
    return s;
}

bool pair_steps(Arena *a, Program *p, const bool *chosen, Steps *out)
{
    const Steps all = { .step = { .at = p->step.at, .n = p->step.n, .room = p->step.room } };
    bool any = false;
    *out = (Steps){ 0 };
    for (size_t i = 0; i < p->step.n; i++) {
        Step *s = p->step.at[i], *next = i + 1 < p->step.n ? p->step.at[i + 1] : NULL;
        if (s->control || s->loop_end >= 0) return false;
        if (next && (!chosen || (chosen[i] && chosen[i + 1])) && is_depthwise(s) && is_pointwise(next, s) && users_of(&all, s->operand[0].tensor) == 2) {
            VEC_PUSH(a, &out->step, make_pair(a, p, s, next));
            any = true;
            i++;
        } else {
            VEC_PUSH(a, &out->step, s);
        }
    }
    return any;
}
