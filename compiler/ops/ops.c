/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"

#include <string.h>

#include "ops/families.h"

#define AI ""
#define ML "ai.onnx.ml"
#define MS "com.microsoft"
#define INL "inlay"

static const OpRow rows[] = {
#define OP(name, domain, since, until, min_in, max_in, min_out, max_out, types, flags, infer, \
           lower, constant, attributes) \
    { #name,   domain, since, until, min_in, max_in,   min_out, \
      max_out, types,  flags, infer, lower,  constant, attributes },
#include "ops/ops.def"
#undef OP
};

const OpRow *op_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}

static bool serves(const OpRow *row, int64_t version)
{
    return version >= row->since && (!row->until || version <= row->until);
}

const OpRow *op_find(const char *domain, const char *op_type, int64_t version)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].name[0] == op_type[0] && !strcmp(rows[i].name, op_type) &&
            !strcmp(rows[i].domain, domain) && serves(rows + i, version))
            return rows + i;
    return NULL;
}

/* The row of any version, for the message about versions. */
static const OpRow *find_any_version(const char *domain, const char *op_type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, op_type) && !strcmp(rows[i].domain, domain))
            return rows + i;
    return NULL;
}

/* What stays out of the table on purpose, and what to do instead. */
static const struct {
    const char *domain, *name, *help;
} left_out[] = {
    { "", "ImageDecoder",
      "decode before the model: cut the model behind it and feed the pixels, uint8 [H,W,C]" },
};

static const char *instead(const Node *node)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (!strcmp(left_out[i].name, node->op_type) && !strcmp(left_out[i].domain, node->domain))
            return left_out[i].help;
    return "`inlay ops` lists what is supported";
}

static bool report_unknown(const Node *node)
{
    const OpRow *other = find_any_version(node->domain, node->op_type);
    if (other)
        error_at(STATUS_UNSUPPORTED, node_loc(node), "convert the model to an opset of that range",
                 "operator %s is supported from opset %d%s on only", node->op_type, other->since,
                 other->until ? " (an older meaning)" : "");
    else
        error_at(STATUS_UNSUPPORTED, node_loc(node), instead(node),
                 "operator %s%s%s is not supported", node->domain, *node->domain ? "." : "",
                 node->op_type);
    return false;
}

bool op_check(const Node *node)
{
    if (!node->op)
        return report_unknown(node);
    const OpRow *row = node->op;
    if (node->n_in < row->min_in || (row->max_in >= 0 && node->n_in > row->max_in)) {
        error_at(STATUS_MALFORMED, node_loc(node), NULL, "has %d inputs; %s takes %d to %d",
                 node->n_in, row->name, row->min_in, row->max_in);
        return false;
    }
    if (node->n_out < row->min_out || (row->max_out >= 0 && node->n_out > row->max_out)) {
        error_at(STATUS_MALFORMED, node_loc(node), NULL, "has %d outputs; %s gives %d to %d",
                 node->n_out, row->name, row->min_out, row->max_out);
        return false;
    }
    for (int i = 0; i < row->min_in; i++)
        if (!node->in[i]) {
            error_at(STATUS_MALFORMED, node_loc(node), NULL,
                     "input %d is left out, but %s needs it", i, row->name);
            return false;
        }
    return true;
}

/* Integer operands other than the data are counts and indices. */
DType op_compute_type(const OpRow *row, int i, DType type)
{
    if (row->flags & OP_WIDEN && dtype_is_small_float(type))
        return DT_F32;
    const bool data = i == 0 || row->max_in < 0;
    if (!(row->flags & OP_WIDEN_INT) || !data || !((T_INT | T_BOOL) & DTYPE_BIT(type)) ||
        row->types & DTYPE_BIT(type))
        return type;
    return row->types & DTYPE_BIT(DT_I64) ? DT_I64 : DT_F64;
}

DTypeSet op_types(const OpRow *row)
{
    DTypeSet set = row->types;
    for (int t = 1; t < DT_COUNT; t++)
        if (row->types & DTYPE_BIT(op_compute_type(row, 0, (DType)t)))
            set |= DTYPE_BIT(t);
    return set;
}

/* Names for sets of types that many operators take, the largest first. */
static const struct {
    const char *name;
    DTypeSet types;
} groups[] = {
    { "all", T_ANY },
    { "all of whole bytes", T_BYTES },
    { "float", T_FLOAT | T_SMALL_FLOAT },
    { "float32 and smaller", T_F32 | T_SMALL_FLOAT },
    { "int8-64, uint8-64", T_INT },
    { "int8-64", T_SIGNED },
    { "uint8-64", T_UNSIGNED },
    { "int4, uint4, int2, uint2", T_PACKED },
};

const char *op_types_text(Arena *arena, DTypeSet set)
{
    const char *text = "";
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((set & groups[i].types) == groups[i].types) {
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", groups[i].name);
            set &= ~groups[i].types;
        }
    for (int k = 1; k < DT_COUNT; k++)
        if (set & DTYPE_BIT(k))
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", dtype_name((DType)k));
    return text;
}

bool op_check_type(const Node *node)
{
    const Tensor *tensor = node->n_in && node->in[0] ? node->in[0] : node->out[0];
    Arena *a = node->graph->arena;
    if (node->op->types & DTYPE_BIT(tensor->dtype))
        return true;
    error_at(STATUS_UNSUPPORTED, node_loc(node),
             arena_printf(a, "%s takes %s", node->op_type, op_types_text(a, op_types(node->op))),
             "element type %s is not supported", dtype_name(tensor->dtype));
    return false;
}

Recipe *no_constant(Node *node)
{
    (void)node;
    return NULL;
}
