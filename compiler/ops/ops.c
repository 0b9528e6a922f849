/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"

#include <string.h>

static bool serves(const OpRow *row, int64_t version)
{
    return version >= row->since && (!row->until || version <= row->until);
}

const OpRow *op_find(const char *domain, const char *op_type, int64_t version)
{
    int count;
    const OpRow *rows = op_rows(&count);
    for (const OpRow *row = rows; row < rows + count; row++)
        if (row->name[0] == op_type[0] && !strcmp(row->name, op_type) &&
            !strcmp(row->domain, domain) && serves(row, version))
            return row;
    return NULL;
}

/* The row of any version, for the message about versions. */
static const OpRow *find_any_version(const char *domain, const char *op_type)
{
    int count;
    const OpRow *rows = op_rows(&count);
    for (const OpRow *row = rows; row < rows + count; row++)
        if (!strcmp(row->name, op_type) && !strcmp(row->domain, domain))
            return row;
    return NULL;
}

/* The rest of the model is what ends before the node, and what begins behind it. */
static const char *rest(const Node *node, int more)
{
    Arena *arena = node->graph->arena;
    const Tensor *in = node->n_in ? node->in[0] : NULL;
    const Tensor *out = node->n_out ? node->out[0] : NULL;
    const char *before = "";
    const char *behind = "";
    if (!node->graph->parent && in && in->producer)
        before = arena_printf(arena, "; --to \"%s\" ends before it", in->name);
    if (!node->graph->parent && out && out->use && !more)
        behind =
            arena_printf(arena, "; --from \"%s\" begins behind it", out->name);
    return arena_printf(arena, "`inlay ops` lists what is supported%s%s",
                        before, behind);
}

static const char *instead(const Node *node, int more)
{
    const char *help = op_left_out(node->domain, node->op_type);
    return help ? help : rest(node, more);
}

static const char *others(const Node *node, int more)
{
    if (!more)
        return "";
    return arena_printf(node->graph->arena, ", here and at %d more node%s",
                        more, more > 1 ? "s" : "");
}

void op_report_unknown(const Node *node, int more)
{
    const OpRow *other = find_any_version(node->domain, node->op_type);
    if (other)
        error_at(STATUS_UNSUPPORTED, node_loc(node),
                 "convert the model to an opset of that range",
                 "operator %s is supported from opset %d%s on only%s",
                 node->op_type, other->since,
                 other->until ? " (an older meaning)" : "", others(node, more));
    else
        error_at(STATUS_UNSUPPORTED, node_loc(node), instead(node, more),
                 "operator %s%s%s is not supported%s", node->domain,
                 *node->domain ? "." : "", node->op_type, others(node, more));
}

static bool within(int n, OpCount count)
{
    return n >= count.min && (count.max == ANY || n <= count.max);
}

static bool check_inputs(const Node *node, OpCount count)
{
    if (within(node->n_in, count))
        return true;
    error_at(STATUS_MALFORMED, node_loc(node), NULL,
             "has %d inputs; %s takes %d to %d", node->n_in, node->op->name,
             count.min, count.max);
    return false;
}

bool op_check_given(const Node *node)
{
    OpCount count = node->op->in;
    count.max -= node->op->added;
    return check_inputs(node, count);
}

bool op_check(const Node *node)
{
    const OpRow *row = node->op;
    if (!check_inputs(node, row->in))
        return false;
    if (!within(node->n_out, row->out)) {
        error_at(STATUS_MALFORMED, node_loc(node), NULL,
                 "has %d outputs; %s gives %d to %d", node->n_out, row->name,
                 row->out.min, row->out.max);
        return false;
    }
    for (int i = 0; i < row->in.min; i++)
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
    const bool data = i == 0 || row->in.max == ANY;
    if (!(row->flags & OP_WIDEN_INT) || !data ||
        !((T_INT | T_BOOL) & DTYPE_BIT(type)) || row->types & DTYPE_BIT(type))
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
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
                                groups[i].name);
            set &= ~groups[i].types;
        }
    for (int k = 1; k < DT_COUNT; k++)
        if (set & DTYPE_BIT(k))
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
                                dtype_name((DType)k));
    return text;
}

bool op_check_type(const Node *node)
{
    const Tensor *tensor =
        node->n_in && node->in[0] ? node->in[0] : node->out[0];
    Arena *a = node->graph->arena;
    if (node->op->types & DTYPE_BIT(tensor->dtype))
        return true;
    error_at(STATUS_UNSUPPORTED, node_loc(node),
             arena_printf(a, "%s takes %s", node->op_type,
                          op_types_text(a, op_types(node->op))),
             "element type %s is not supported", dtype_name(tensor->dtype));
    return false;
}
