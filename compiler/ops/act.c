/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/act.h"

#include <strings.h>

static const ActRow rows[] = {
#define INLAY_ACT(uses, id, name, op, a_name, a_default, b_name, b_default, formula) \
    { op, #name, INLAY_ACT_##id, uses, a_name, b_name, a_default, b_default },
#include "kernels/act.def"
#undef INLAY_ACT
};

const ActRow *act_row(const char *op)
{
    for (size_t i = 0; *op && i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(rows[i].op, op))
            return rows + i;
    return NULL;
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
