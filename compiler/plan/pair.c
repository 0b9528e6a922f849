/* SPDX-License-Identifier: Apache-2.0
 * A pair takes the tensor between its steps out of the plan but for a few pixels of scratch. It
 * costs the place to cut between the two, and short inner loops, so the planner makes pairs only
 * where they lower the peak. */
#include "plan/pair.h"

#include <string.h>

#include "base/size.h"
#include "kernels/affine_f32.h"
#include "kernels/dwpw_f32.h"

enum {
    CHUNK = 12,      /* pixels: a multiple of the tiles of both kernels */
    LEAST_CHUNK = 6, /* the same where only one of them has tiles: scratch lies at the peak, and
                        more is no faster */
};

/* Its result is the arena's, all of it, and nobody's but the model's. */
static bool makes_own(const Step *step)
{
    const Operand *y = step->operand;
    return !y->part && y->tensor->storage == STORE_ARENA && y->tensor->slot < 0;
}

static bool is_depthwise(const Step *step)
{
    return !strcmp(step->kernel->name, "dwconv_f32") && !step->operand[4].tensor && makes_own(step);
}

static bool is_affine(const Step *step)
{
    return !strcmp(step->kernel->name, "affine_f32") && makes_own(step);
}

/* Reads only what step `from` made, pixel by pixel: rows of `width` pixels. */
static bool is_pointwise(const Step *step, const Step *from, int32_t width)
{
    if (step->operand[1].tensor != from->operand[0].tensor || step->units != from->units ||
        step->operand[0].rows != step->units || step->operand[1].part)
        return false;
    const inlay_conv_params *p = step->params;
    return p->groups == 1 && p->kd * p->kh * p->kw == 1 && p->sd * p->sh * p->sw == 1 && !p->pd &&
           !p->ph && !p->pw && p->id == 1 && p->iw == width && p->ow == width && p->ih == p->oh;
}

static bool is_pointwise_of_depthwise(const Step *step, const Step *dw)
{
    const inlay_conv_params *d = dw->params;
    return !strcmp(step->kernel->name, "conv_f32") && d->id <= 1 && is_pointwise(step, dw, d->ow) &&
           ((const inlay_conv_params *)step->params)->ih == d->oh;
}

static bool is_pointwise_of_affine(const Step *step, const Step *affine)
{
    const bool conv =
        !strcmp(step->kernel->name, "conv_f32") || !strcmp(step->kernel->name, "conv_act_f32");
    const inlay_affine_params *d = affine->params;
    return conv && is_pointwise(step, affine, d->pixels);
}

/* Of each tensor, by id: how many operands of the program are, or see into, it. */
static int *count_users(Arena *arena, const Program *program)
{
    int *n = NEW_ARRAY(arena, int, graph_root(program->graph)->next_id);
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            int64_t at;
            Tensor *t = program->step.at[i]->operand[k].tensor;
            if (t)
                n[tensor_root(t, &at)->id]++;
        }
    return n;
}

/* A step of both with n operands, those of `from` first, then scratch. */
static Step *join_steps(Arena *arena, Program *program, const Step *first, const Step *then,
                        const char *kernel, const void *params, int n, const Operand *const *from,
                        int64_t bytes)
{
    Step *step = arena_copy(arena, then, sizeof *then);
    step->kernel = kernel_find(kernel);
    step->params = arena_copy(arena, params, step->kernel->params_size);
    step->macs = i64_add(first->macs, then->macs);
    const int32_t both[] = { first->lowered[0], then->lowered[0] };
    step->lowered = arena_copy(arena, both, sizeof both);
    step->n_lowered = 2;
    step->n_operand = n + 1;
    step->room = (size_t)n + 1;
    step->operand = NEW_ARRAY(arena, Operand, n + 1);
    for (int k = 0; k < n; k++)
        step->operand[k] = *from[k];
    Tensor *t = graph_add_tensor(program->graph, NULL, DT_U8, shape_vector(bytes));
    t->storage = STORE_ARENA;
    t->slot = -1;
    step->operand[n] = (Operand){ .tensor = t,
                                  .write = true,
                                  .read = true,
                                  .scratch = true,
                                  .rows = 1,
                                  .pixel = 1,
                                  .row_bytes = bytes,
                                  .rule = { .kind = ROWS_ALL } };
    return step;
}

static Step *make_pair(Arena *arena, Program *program, const Step *dw, const Step *pw)
{
    const inlay_conv_params *d = dw->params;
    const inlay_conv_params *c = pw->params;
    const int32_t chunk = d->ow < CHUNK ? d->ow : CHUNK;
    const inlay_dwpw_params q = { .ih = d->ih,
                                  .iw = d->iw,
                                  .oh = d->oh,
                                  .ow = d->ow,
                                  .kh = d->kh,
                                  .kw = d->kw,
                                  .sh = d->sh,
                                  .sw = d->sw,
                                  .dh = d->dh,
                                  .dw = d->dw,
                                  .ph = d->ph,
                                  .pw = d->pw,
                                  .channels = d->groups,
                                  .oc = c->oc,
                                  .width = c->width,
                                  .chunk = chunk,
                                  .d_clamp = d->clamp,
                                  .clamp = c->clamp,
                                  .d_a = d->a,
                                  .d_b = d->b,
                                  .a = c->a,
                                  .b = c->b };
    const Operand *const from[] = { pw->operand,     dw->operand + 1, dw->operand + 2,
                                    dw->operand + 3, pw->operand + 2, pw->operand + 3,
                                    pw->operand + 4 };
    Step *step = join_steps(arena, program, dw, pw, "dwpw_f32", &q, 7, from,
                            i64_mul(chunk, i64_mul(d->groups, 4)));
    step->operand[1].pixels.tile = chunk;
    return step;
}

void pair_widen(Arena *arena, Step *step, int64_t bytes)
{
    if (strcmp(step->kernel->name, "dwpw_f32"))
        return;
    inlay_dwpw_params p = *(const inlay_dwpw_params *)step->params;
    Operand *scratch = step->operand + step->n_operand - 1;
    const int64_t pixel = i64_mul(p.channels, 4);
    const int64_t most = i64_max(bytes / pixel, CHUNK);
    const int32_t chunk = most < p.ow ? (int32_t)(most / CHUNK * CHUNK) : p.ow;
    if (chunk == p.chunk)
        return;
    p.chunk = chunk;
    step->params = arena_copy(arena, &p, sizeof p);
    if (step->operand[1].pixels.tile)
        step->operand[1].pixels.tile = chunk;
    scratch->row_bytes = i64_mul(chunk, pixel);
    scratch->tensor->shape = shape_vector(scratch->row_bytes);
}

/* Equal chunks of a row. */
static int32_t chunk_of(int32_t pixels)
{
    const int32_t chunks = (pixels + LEAST_CHUNK - 1) / LEAST_CHUNK;
    return (pixels + chunks - 1) / chunks;
}

static Step *make_affine_pair(Arena *arena, Program *program, const Step *affine, const Step *pw)
{
    const inlay_affine_params *d = affine->params;
    const inlay_conv_params *c = pw->params;
    const inlay_affine_conv_params q = { .pixels = d->pixels,
                                         .ic = c->ic,
                                         .oc = c->oc,
                                         .width = c->width,
                                         .chunk = chunk_of(d->pixels),
                                         .x_clamp = d->clamp,
                                         .clamp = c->clamp,
                                         .act = c->act,
                                         .x_a = d->a,
                                         .x_b = d->b,
                                         .a = c->a,
                                         .b = c->b };
    const Operand *const from[] = { pw->operand,         affine->operand + 1, affine->operand + 2,
                                    affine->operand + 3, pw->operand + 2,     pw->operand + 3,
                                    pw->operand + 4 };
    Step *step =
        join_steps(arena, program, affine, pw, c->act ? "affine_conv_act_f32" : "affine_conv_f32",
                   &q, 7, from, i64_mul(q.chunk, i64_mul(c->ic, 4)));
    step->operand[1].reuse = REUSE_ROWS;
    step->operand[1].pixels = (PixelRule){ .stride = 1, .extent = 1, .tile = q.chunk };
    return step;
}

typedef Step *MakePair(Arena *a, Program *p, const Step *first, const Step *then);
typedef bool Takes(const Step *first);
typedef bool Follows(const Step *then, const Step *first);

typedef struct PairKind {
    Takes *takes;
    Follows *follows;
    MakePair *make;
} PairKind;

static bool is_pair(const Program *program, size_t i, const bool *chosen, const PairKind *kind)
{
    return i + 1 < program->step.n && (!chosen || (chosen[i] && chosen[i + 1])) &&
           kind->takes(program->step.at[i]) &&
           kind->follows(program->step.at[i + 1], program->step.at[i]);
}

static bool any_pair(const Program *program, const bool *chosen, const PairKind *kind)
{
    bool any = false;
    for (size_t i = 0; i < program->step.n; i++) {
        if (program->step.at[i]->control || program->step.at[i]->loop_end >= 0)
            return false;
        any = any || is_pair(program, i, chosen, kind);
    }
    return any;
}

static bool pair_all(Arena *arena, Program *program, const bool *chosen, const PairKind *kind,
                     Steps *out)
{
    bool any = false;
    *out = (Steps){ 0 };
    if (!any_pair(program, chosen, kind))
        return false;
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const int ids = graph_root(program->graph)->next_id;
    const int *users = count_users(scratch, program);
    for (size_t i = 0; i < program->step.n; i++) {
        Step *s = program->step.at[i];
        if (is_pair(program, i, chosen, kind) && s->operand[0].tensor->id < ids &&
            users[s->operand[0].tensor->id] == 2) {
            VEC_PUSH(arena, &out->step, kind->make(arena, program, s, program->step.at[i + 1]));
            any = true;
            i++;
        } else {
            VEC_PUSH(arena, &out->step, s);
        }
    }
    arena_release(scratch, mark);
    return any;
}

bool pair_steps(Arena *arena, Program *program, const bool *chosen, Steps *out)
{
    return pair_all(arena, program, chosen,
                    &(PairKind){ is_depthwise, is_pointwise_of_depthwise, make_pair }, out);
}

bool pair_affine(Arena *arena, Program *program, Steps *out)
{
    return pair_all(arena, program, NULL,
                    &(PairKind){ is_affine, is_pointwise_of_affine, make_affine_pair }, out);
}

/* Each handful of pixels sets up both kernels. */
int64_t pair_cost(const Step *step)
{
    if (strcmp(step->kernel->name, "dwpw_f32"))
        return 0;
    const inlay_dwpw_params *p = step->params;
    return 60 * (int64_t)step->units * ((p->ow + p->chunk - 1) / p->chunk);
}
