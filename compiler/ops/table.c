/* SPDX-License-Identifier: Apache-2.0
 * The rows of ops.def. What a row leaves out has the value that stands here before it. */
#include <string.h>

#include "kernels/act.h"
#include "ops/families.h"
#include "ops/ops.h"

#define ML "ai.onnx.ml"
#define MS "com.microsoft"
#define INL "inlay"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static const OpRow rows[] = {
#define OP(op_name, infer_fn, lower_fn, ...) \
    { \
        .name = #op_name, \
        .domain = "", \
        .infer = infer_fn, \
        .lower = lower_fn, \
        .in = { 1, 1 }, \
        .out = { 1, 1 }, \
        .attributes = "", \
        __VA_ARGS__, \
    },
#include "ops/ops.def"
#undef OP
};

#pragma GCC diagnostic pop

const OpRow *op_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}

static const struct {
    const char *name, *domain, *help;
} left_out[] = {
#define OP(...)
#define LEFT_OUT(name, domain, help) { #name, domain, help },
#include "ops/ops.def"
#undef OP
};

const char *op_left_out(const char *domain, const char *op_type)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (!strcmp(left_out[i].name, op_type) &&
            !strcmp(left_out[i].domain, domain))
            return left_out[i].help;
    return NULL;
}
