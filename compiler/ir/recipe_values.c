/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/recipe_values.h"

#include <string.h>

#include "base/size.h"

static void mul_run(float *restrict x, const float *v, int64_t step, int n)
{
    if (step == 0) {
        const float factor = *v;
        for (int i = 0; i < n; i++)
            x[i] *= factor;
    } else if (step == 1) {
        for (int i = 0; i < n; i++)
            x[i] *= v[i];
    } else {
        for (int i = 0; i < n; i++)
            x[i] *= v[i * step];
    }
}

static void add_run(float *restrict x, const float *v, int64_t step, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += v[i * step];
}

void change_run(const Change *change, const float *v, int64_t step, DType type,
                Buffer **now, Buffer **spare, int n)
{
    if (change->kind == CHANGE_CAST) {
        convert_run(type, *now, change->dtype, *spare, n);
        Buffer *buffer = *now;
        *now = *spare;
        *spare = buffer;
    } else if (change->kind == CHANGE_MUL) {
        mul_run((*now)->f, v, step, n);
    } else {
        add_run((*now)->f, v, step, n);
    }
}

/* The one change of most weights: float32 by a scale, straight from buffer to buffer. */
static void scale_values(float *restrict to, const float *restrict from,
                         const float *restrict v, int64_t step, int64_t n)
{
    if (step == 1 && n == 16) {
        for (int i = 0; i < 16; i++)
            to[i] = from[i] * v[i];
    } else if (step == 0) {
        const float c = *v;
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * c;
    } else {
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * v[i * step];
    }
}

Path path_of(const Part *part, DType out)
{
    Path path = {
        .part = part,
        .in_size = dtype_work(part->source->dtype),
        .out_size = dtype_work(out),
        .in_place = part->changes && out == DT_F32 &&
                    part->change[0].kind == CHANGE_CAST &&
                    part->change[0].dtype == DT_F32,
    };
    for (int m = 1; m < part->changes; m++)
        if (part->change[m].kind == CHANGE_CAST)
            path.in_place = false;
    return path;
}

/* At most CONVERT_RUN elements, the products and sums where the result lies. */
static void change_in_place(const Part *part, const uint8_t *in, float *to,
                            int n, const Operands *operands, int64_t first)
{
    convert_run(part->source->dtype, in, DT_F32, to, n);
    for (int m = 1; m < part->changes; m++) {
        const int64_t step = operands->step[m];
        const float *v = operands->v[m] + step * first;
        if (part->change[m].kind == CHANGE_MUL)
            mul_run(to, v, step, n);
        else
            add_run(to, v, step, n);
    }
}

/* At most CONVERT_RUN elements, from number `first` of a run on. */
static void change_chunk(const Path *path, const uint8_t *in, uint8_t *to,
                         int n, const Operands *operands, int64_t first)
{
    const Part *part = path->part;
    Buffer a, b;
    Buffer *now = &a;
    Buffer *spare = &b;
    DType type = part->source->dtype;
    memcpy(now, in, (size_t)n * path->in_size);
    for (int m = 0; m < part->changes; m++) {
        const Change *change = part->change + m;
        const int64_t step = operands->step[m];
        const float *v = operands->v[m];
        if (v)
            v += step * first;
        change_run(change, v, step, type, &now, &spare, n);
        type = change->dtype;
    }
    memcpy(to, now, (size_t)n * path->out_size);
}

void change_values(const Path *path, const uint8_t *in, uint8_t *to, int64_t n,
                   const Operands *operands)
{
    const Part *part = path->part;
    if (!part->changes) {
        memcpy(to, in, (size_t)n * path->in_size);
        return;
    }
    if (part->changes == 1 && part->change->kind == CHANGE_MUL) {
        scale_values((void *)to, (const void *)in, operands->v[0],
                     operands->step[0], n);
        return;
    }
    for (int64_t i = 0; i < n; i += CONVERT_RUN) {
        const int few = (int)i64_min(CONVERT_RUN, n - i);
        if (path->in_place)
            change_in_place(part, in, (void *)to, few, operands, i);
        else
            change_chunk(path, in, to, few, operands, i);
        in += (size_t)few * path->in_size;
        to += (size_t)few * path->out_size;
    }
}
