/* SPDX-License-Identifier: Apache-2.0
 * Programs made by hand for the planner's tests, of the kernels of program_kernels.h. */
#ifndef TEST_PROGRAMS_H
#define TEST_PROGRAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "ir/program.h"
#include "kernels/concat.h"
#include "kernels/pushed.h"
#include "plan/plan.h"
#include "program_kernels.h"
#include "prove/check.h"
#include "rules/families.h"

enum { MOST_TENSORS = 64 };

typedef struct World {
    Arena arena;
    Store store;
    Graph *graph;
    Program program;
    uint64_t random;
    Tensor *tensor[MOST_TENSORS];
    int tensors;
} World;

static inline uint32_t rnd(World *w, uint32_t n)
{
    uint64_t x = w->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    w->random = x;
    return (uint32_t)(x * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n;
}

static inline void world_open(World *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->random = seed * 2654435761u + 88172645463325252u;
    w->store = (Store){ .arena = &w->arena, .window = 4096 };
    w->graph = graph_new(&w->arena, &w->store, "test", NULL);
    w->program = (Program){ .graph = w->graph };
}

static inline void world_close(World *w)
{
    arena_free(&w->store.scratch);
    arena_free(&w->arena);
}

static inline Tensor *add_image(World *w, int64_t rows, int64_t width,
                                int64_t channels)
{
    const int64_t dims[] = { 1, rows, width, channels };
    Tensor *t = graph_add_tensor(w->graph, NULL, DT_I32, shape_of(4, dims));
    t->storage = STORE_ARENA;
    t->slot = -1;
    if (w->tensors < MOST_TENSORS)
        w->tensor[w->tensors++] = t;
    return t;
}

static inline Tensor *add_input(World *w, int64_t rows, int64_t width,
                                int64_t channels)
{
    Tensor *t = add_image(w, rows, width, channels);
    t->storage = STORE_INPUT;
    t->slot = (int)w->graph->input.n;
    VEC_PUSH(&w->arena, &w->graph->input, t);
    return t;
}

static inline void make_output(World *w, Tensor *t)
{
    t->storage = STORE_OUTPUT;
    t->slot = (int)w->graph->output.n;
    VEC_PUSH(&w->arena, &w->graph->output, t);
}

/* ---- steps ---- */

static inline Operand operand_of(Tensor *t)
{
    const int64_t rows = t->shape.dim[1];
    return (Operand){ .tensor = t,
                      .rows = (int32_t)rows,
                      .row_bytes = tensor_bytes(t) / rows,
                      .pixel = t->shape.dim[3],
                      .strided = true };
}

typedef struct In {
    Tensor *tensor;
    RowRule rule;
    Reuse reuse;
} In;

static inline Step *add_step(World *w, const KernelRow *kernel, Tensor *y,
                             int n, const In *in, int64_t scratch)
{
    Step *s = NEW(&w->arena, Step);
    OpFacts *f = NEW(&w->arena, OpFacts);
    *s = (Step){ .index = (int)w->program.step.n,
                 .kernel = kernel,
                 .loop_end = -1,
                 .params = f,
                 .n_out = 1,
                 .n_operand = n + 1 + (scratch > 0) };
    *f = (OpFacts){ .salt = rnd(w, 1u << 30),
                    .n_in = n,
                    .y_w = (int32_t)y->shape.dim[2],
                    .y_c = (int32_t)y->shape.dim[3] };
    s->lowered = arena_copy(&w->arena, &(int32_t){ s->index }, sizeof(int32_t));
    s->n_lowered = 1;
    s->operand = NEW_ARRAY(&w->arena, Operand, s->n_operand);
    s->operand[0] = operand_of(y);
    s->operand[0].write = true;
    s->units = s->operand[0].rows;
    for (int k = 0; k < n; k++) {
        Operand *o = s->operand + k + 1;
        *o = operand_of(in[k].tensor);
        o->read = true;
        o->rule = f->rule[k] = in[k].rule;
        o->reuse = in[k].reuse;
        f->w[k] = (int32_t)in[k].tensor->shape.dim[2];
        f->c[k] = (int32_t)in[k].tensor->shape.dim[3];
        f->rows[k] = o->rows;
    }
    if (scratch) {
        const int64_t dims[] = { 1, 1, 1, scratch };
        Tensor *t = graph_add_tensor(w->graph, NULL, DT_I32, shape_of(4, dims));
        t->storage = STORE_ARENA;
        s->operand[n + 1] = (Operand){ .tensor = t,
                                       .rows = 1,
                                       .row_bytes = tensor_bytes(t),
                                       .pixel = 1,
                                       .read = true,
                                       .write = true,
                                       .scratch = true };
        f->scratch = n + 1;
    }
    VEC_PUSH(&w->arena, &w->program.step, s);
    return s;
}

static inline RowRule window(int32_t stride, int32_t pad, int32_t extent)
{
    return (RowRule){
        .kind = ROWS_WINDOW, .stride = stride, .pad = pad, .extent = extent
    };
}

/* A convolution of sorts. */
static inline Tensor *add_window(World *w, Tensor *x, int32_t stride,
                                 int32_t pad, int32_t extent, int64_t width,
                                 int64_t channels)
{
    Tensor *y = add_image(w, (x->shape.dim[1] + 2 * pad - extent) / stride + 1,
                          width, channels);
    add_step(w, &kernel_op, y, 1,
             &(In){ x, window(stride, pad, extent), REUSE_ROWS }, 0);
    return y;
}

/* The same pixel by pixel, in tiles; a window of `extent` columns, too. */
static inline Tensor *add_pixels(World *w, Tensor *x, RowRule rule,
                                 int64_t rows, PixelRule pixels,
                                 int64_t channels)
{
    Tensor *y = add_image(
        w, rows,
        (x->shape.dim[2] + 2 * pixels.pad - pixels.extent) / pixels.stride + 1,
        channels);
    Step *s =
        add_step(w, &kernel_pixels, y, 1, &(In){ x, rule, REUSE_ROWS }, 0);
    s->operand[1].pixels = ((OpFacts *)s->params)->pixels = pixels;
    return y;
}

static inline Tensor *add_sum(World *w, Tensor *x)
{
    Tensor *y = add_image(w, 1, x->shape.dim[2], x->shape.dim[3]);
    Step *s = add_step(w, &kernel_sum, y, 1,
                       &(In){ x, { .kind = ROWS_UNIT }, REUSE_NONE }, 0);
    s->units = (int32_t)x->shape.dim[1];
    s->accumulates = true;
    s->operand[0].read = true;
    return y;
}

static inline Tensor *add_whole(World *w, Tensor *x, int64_t rows)
{
    Tensor *y = add_image(w, rows, 1 + rnd(w, 6), 1 + rnd(w, 8));
    Step *s = add_step(w, &kernel_whole, y, 1,
                       &(In){ x, { .kind = ROWS_ALL }, REUSE_NONE }, 0);
    ((OpFacts *)s->params)->units = (int32_t)rows;
    s->units = 1;
    for (int k = 0; k < 2; k++) {
        s->operand[k].rows = 1;
        s->operand[k].row_bytes = tensor_bytes(s->operand[k].tensor);
        s->operand[k].strided = false;
    }
    return y;
}

static const KernelRow kernel_concat = {
    .name = "concat",
    .params = "concat",
    .params_size = sizeof(inlay_concat_params),
    .run = inlay_concat,
    .rules = &rules_concat,
};

/* Channels of n images of the same rows and width, side by side. */
static inline Tensor *add_concat(World *w, int n, Tensor *const *x)
{
    const Shape *shape = &x[0]->shape;
    int64_t table[MOST_IN], channels = 0;
    for (int k = 0; k < n; k++) {
        table[k] = 4 * x[k]->shape.dim[3];
        channels += x[k]->shape.dim[3];
    }
    Tensor *y = add_image(w, shape->dim[1], shape->dim[2], channels);
    In in[MOST_IN];
    for (int k = 0; k < n; k++)
        in[k] = (In){ x[k], { .kind = ROWS_SAME }, REUSE_NONE };
    Step *s = add_step(w, &kernel_concat, y, n, in, 0);
    const inlay_concat_params p = { .inputs = n,
                                    .pieces = (int32_t)shape->dim[2],
                                    .size = 4,
                                    .bytes = 4 * channels };
    s->params = arena_copy(&w->arena, &p, sizeof p);
    const int64_t length = n;
    Tensor *t = graph_add_constant(
        w->graph, NULL, recipe_memory(&w->store, DT_I64, 1, &length, table));
    t->storage = STORE_WEIGHTS;
    VEC_PUSH(&w->arena, &w->program.weight, ((WeightSlot){ .tensor = t }));
    Operand *o = NEW_ARRAY(&w->arena, Operand, n + 2);
    memcpy(o, s->operand, (size_t)(n + 1) * sizeof *o);
    o[n + 1] = (Operand){ .tensor = t,
                          .read = true,
                          .rows = 1,
                          .row_bytes = tensor_bytes(t),
                          .pixel = 1,
                          .rule = { .kind = ROWS_ALL } };
    s->operand = o;
    s->n_operand = n + 2;
    return y;
}

/* ---- running ---- */

static inline void place_apart(World *w)
{
    int64_t at = 0;
    for (size_t i = 0; i < w->graph->tensor.n; i++) {
        Tensor *t = w->graph->tensor.at[i];
        if (t->storage != STORE_ARENA || t->view_of)
            continue;
        t->offset = at;
        at += (tensor_bytes(t) + 63) / 64 * 64;
    }
    w->program.plan.arena_size = at;
    program_link(&w->program);
}

static inline unsigned char *weights_of(World *w)
{
    unsigned char *all = arena_alloc(&w->arena, 64 * w->program.weight.n + 64);
    for (size_t i = 0; i < w->program.weight.n; i++) {
        Tensor *t = w->program.weight.at[i].tensor;
        t->offset = 64 * (int64_t)i;
        memcpy(all + t->offset, recipe_values(&w->store, &w->arena, t->value),
               (size_t)tensor_bytes(t));
    }
    for (size_t i = 0; i < w->program.step.n; i++)
        for (int k = 0; k < w->program.step.at[i]->n_operand; k++) {
            Operand *o = w->program.step.at[i]->operand + k;
            if (o->tensor && o->tensor->storage == STORE_WEIGHTS)
                o->ref.off = (size_t)o->tensor->offset;
        }
    return all;
}

/* Hands in the rows of x. */
static inline void run_rows(World *w, const inlay_model *m, void *const *base,
                            const Step *s, const uint32_t *x)
{
    const size_t place = (size_t)w->program.plan.place;
    int r = inlay_go_on(m, base, place, s->index, 0);
    for (int32_t k = 0; r == INLAY_MORE && k < s->units; k++) {
        memcpy(inlay_input_row(m, base, place, s->index),
               (const unsigned char *)x +
                   (size_t)k * (size_t)s->operand[0].row_bytes,
               (size_t)s->operand[0].row_bytes);
        r = inlay_go_on(m, base, place, s->index, 1);
    }
}

/* All outputs, one after the other, of a run in an arena full of `poison`. */
static inline unsigned char *run_program(World *w, int poison, size_t *bytes)
{
    const Program *p = &w->program;
    void **base = NEW_ARRAY(&w->arena, void *, program_bases(p));
    const size_t regions = (size_t)program_regions(p),
                 first = INLAY_ARENA + regions;
    unsigned char *memory[4], *out, *at;
    assert_true(regions <= 4);
    for (size_t r = 0; r < regions; r++) {
        const size_t size = (size_t)program_region_size(p, (int)r);
        memory[r] = malloc(size + 64);
        unsigned char *const arena =
            memory[r] + (64 - (uintptr_t)memory[r] % 64) % 64;
        memset(arena, poison, size);
        base[INLAY_ARENA + r] = arena;
    }
    base[INLAY_WEIGHTS] = weights_of(w);
    *bytes = 0;
    const uint32_t *pushed = NULL;
    for (size_t i = 0; i < w->graph->input.n; i++) {
        const Tensor *t = w->graph->input.at[i];
        const int64_t n = tensor_count(t);
        const bool rows = graph_in_form(w->graph, i) == IO_ROWS;
        uint32_t *x = t->storage == STORE_ARENA && !rows
                          ? (uint32_t *)(void *)((unsigned char *)
                                                     base[program_base(p, t)] +
                                                 t->offset)
                          : NEW_ARRAY(&w->arena, uint32_t, n);
        for (int64_t k = 0; k < n; k++)
            x[k] = (uint32_t)((uint64_t)k * 2654435761u + i);
        base[first + i] = x;
        if (rows)
            pushed = x;
    }
    for (size_t i = 0; i < w->graph->output.n; i++)
        *bytes += (size_t)tensor_bytes(w->graph->output.at[i]);
    out = at = arena_alloc(&w->arena, *bytes);
    for (size_t i = 0; i < w->graph->output.n; i++) {
        base[first + w->graph->input.n + i] = at;
        at += tensor_bytes(w->graph->output.at[i]);
    }
    const inlay_model m = program_model(&w->arena, p);
    if (pushed)
        run_rows(w, &m, base, program_pushed(p), pushed);
    else
        assert_int_equal(inlay_run(&m, base), 0);
    for (size_t i = 0; i < w->graph->output.n; i++) {
        const Tensor *t = w->graph->output.at[i];
        if (t->storage == STORE_ARENA)
            memcpy(base[first + w->graph->input.n + i],
                   (unsigned char *)base[program_base(p, t)] + t->offset,
                   (size_t)tensor_bytes(t));
    }
    for (size_t r = 0; r < regions; r++)
        free(memory[r]);
    return out;
}

/* Input i comes row by row from now on: a step in front of the others makes its rows. */
static inline void push_input(World *w, size_t i)
{
    Tensor *t = w->graph->input.at[i];
    IoForm *form = NEW_ARRAY(&w->arena, IoForm, w->graph->input.n);
    form[i] = IO_ROWS;
    w->graph->in_form = form;
    Step *s = add_step(w, kernel_find("input"), t, 0, NULL, 0);
    s->pushed = true;
    t->storage = STORE_ARENA;
    memmove(w->program.step.at + 1, w->program.step.at,
            (w->program.step.n - 1) * sizeof s);
    w->program.step.at[0] = s;
    for (size_t k = 0; k < w->program.step.n; k++) {
        Step *each = w->program.step.at[k];
        each->index = (int)k;
        each->lowered =
            arena_copy(&w->arena, &(int32_t){ (int32_t)k }, sizeof(int32_t));
    }
}

/* Some inputs and results lie in the arena from now on. */
static inline void move_in(World *w)
{
    for (size_t i = 0; i < w->graph->input.n; i++)
        if (rnd(w, 2))
            w->graph->input.at[i]->storage =
                STORE_ARENA; /* a pushed one does already */
    for (size_t i = 0; i < w->graph->output.n; i++)
        if (rnd(w, 2))
            w->graph->output.at[i]->storage = STORE_ARENA;
}

/* ---- random programs ---- */

static inline void finish(World *w)
{
    for (int i = 0; i < w->tensors; i++) {
        Tensor *t = w->tensor[i];
        bool made = false, read = false;
        for (size_t s = 0; s < w->program.step.n; s++)
            for (int k = 0; k < w->program.step.at[s]->n_operand; k++) {
                const Operand *o = w->program.step.at[s]->operand + k;
                if (o->tensor != t)
                    continue;
                *(o->write ? &made : &read) = true;
            }
        if (made && !read && t->storage == STORE_ARENA)
            make_output(w, t);
    }
}

static inline Tensor *recent(World *w, uint32_t reach)
{
    const uint32_t n = (uint32_t)w->tensors;
    return w->tensor[n - 1 - rnd(w, reach < n ? reach : n)];
}

static inline void add_random_step(World *w)
{
    Tensor *x = recent(w, rnd(w, 4) ? 2 : 6);
    const int64_t rows = x->shape.dim[1];
    const uint32_t kind = rnd(w, 14);
    In in[MOST_IN] = {
        { x, { .kind = ROWS_SAME }, rnd(w, 2) ? REUSE_ROWS : REUSE_NONE }
    };
    int n = 1;
    if (kind == 0) {
        add_sum(w, x);
        return;
    }
    if (kind > 10) {
        Tensor *part[MOST_IN] = { x };
        int parts = 1;
        for (int k = w->tensors - 1; k >= 0 && parts < 3; k--) {
            const Shape *s = &w->tensor[k]->shape;
            if (w->tensor[k] != x && s->dim[1] == rows &&
                s->dim[2] == x->shape.dim[2])
                part[parts++] = w->tensor[k];
        }
        if (parts == 1) {
            add_window(w, x, 1, 0, 1, x->shape.dim[2], 1 + rnd(w, 4));
            part[parts++] = w->tensor[w->tensors - 1];
        }
        add_concat(w, parts, part);
        return;
    }
    if (kind == 10) {
        add_whole(w, x, 1 + rnd(w, 12));
        return;
    }
    if (kind <= 2) {
        for (int k = 0; k < w->tensors && n < 3; k++)
            if (w->tensor[k] != x &&
                shape_equal(&w->tensor[k]->shape, &x->shape) &&
                w->tensor[k]->storage == STORE_ARENA)
                in[n++] = (In){ w->tensor[k],
                                { .kind = ROWS_SAME },
                                REUSE_ELEMENTWISE };
        in[0].reuse = REUSE_ELEMENTWISE;
        add_step(w, &kernel_elementwise,
                 add_image(w, rows, x->shape.dim[2], x->shape.dim[3]), n, in,
                 0);
        return;
    }
    int64_t out_rows = rows;
    if (kind <= 7) {
        const int32_t extent = 1 + (int32_t)rnd(w, 5),
                      stride = 1 + (int32_t)rnd(w, 2),
                      pad = (int32_t)rnd(w, (uint32_t)extent);
        if (rows + 2 * pad >= extent) {
            out_rows = (rows + 2 * pad - extent) / stride + 1;
            in[0].rule = window(stride, pad, extent);
        }
        const int32_t columns = 1 + (int32_t)rnd(w, 3);
        if (kind <= 5 && x->shape.dim[2] >= columns) {
            const PixelRule pixels = { 1 + (int32_t)rnd(w, 2),
                                       (int32_t)rnd(w, (uint32_t)columns),
                                       columns, 1 + (int32_t)rnd(w, 4) };
            add_pixels(w, x, in[0].rule, out_rows, pixels, 1 + rnd(w, 8));
            return;
        }
    } else if (kind == 8) {
        in[0].rule.kind = ROWS_ALL;
        in[0].reuse = REUSE_NONE;
        out_rows = 1 + (int64_t)rnd(w, 6);
    }
    if (rnd(w, 3) == 0) {
        Tensor *b = recent(w, 8);
        const bool same = b->shape.dim[1] == out_rows;
        in[n++] = (In){ b,
                        { .kind = same ? ROWS_SAME : ROWS_ALL },
                        same && rnd(w, 2) ? REUSE_ROWS : REUSE_NONE };
    }
    Tensor *y = add_image(w, out_rows, 1 + rnd(w, 6), 1 + rnd(w, 8));
    add_step(w, &kernel_op, y, n, in,
             rnd(w, 4) ? 0 : y->shape.dim[2] * y->shape.dim[3]);
}

static inline void random_program(World *w, uint64_t seed, int steps)
{
    world_open(w, seed);
    add_input(w, 3 + rnd(w, 20), 1 + rnd(w, 12), 1 + rnd(w, 4));
    if (rnd(w, 3) == 0)
        add_input(w, 1 + rnd(w, 9), 1 + rnd(w, 6), 1 + rnd(w, 4));
    for (int i = 0; i < steps && w->tensors < MOST_TENSORS - 2; i++)
        add_random_step(w);
    finish(w);
}

#endif
