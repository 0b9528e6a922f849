/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/act.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "kernels/act_f64.h"
#include "ops/ops.h"

static const ActRow rows[] = {
#define INLAY_ACT(uses_of, id, name, op_name, of_a, a_default, of_b, \
                  b_default, formula) \
    { \
        .op = op_name, \
        .kernel = #name, \
        .act = INLAY_ACT_##id, \
        .uses = uses_of, \
        .a_name = of_a, \
        .b_name = of_b, \
        .a = a_default, \
        .b = b_default, \
        .value = inlay_act_##name##_f64, \
    },
#include "kernels/act.def"
#undef INLAY_ACT
};

const ActRow *act_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const ActRow *act_row(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(rows[i].op, op))
            return rows + i;
    return NULL;
}

const ActRow *act_of(const Node *node)
{
    if (!node->op || !node->op->act)
        return NULL;
    int act = node->op->act;
    if (act == INLAY_ACT_GELU &&
        !strcmp(node_string(node, "approximate", "none"), "tanh"))
        act = INLAY_ACT_GELU_TANH;
    return rows + (act - 1);
}

static float number(const Node *node, const char *name, float otherwise)
{
    return *name ? node_float(node, name, otherwise) : otherwise;
}

float act_a(const ActRow *row, const Node *node)
{
    return number(node, row->a_name, row->a);
}

float act_b(const ActRow *row, const Node *node)
{
    return number(node, row->b_name, row->b);
}
