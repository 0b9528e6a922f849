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

static bool serves(const OpRow *r, int64_t version)
{
    return version >= r->since && (!r->until || version <= r->until);
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

static const char *instead(const Node *n)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (!strcmp(left_out[i].name, n->op_type) && !strcmp(left_out[i].domain, n->domain))
            return left_out[i].help;
    return "`inlay ops` lists what is supported";
}

static bool report_unknown(const Node *n)
{
    const OpRow *other = find_any_version(n->domain, n->op_type);
    if (other)
        error_at(STATUS_UNSUPPORTED, node_loc(n), "convert the model to an opset of that range",
                 "operator %s is supported from opset %d%s on only", n->op_type, other->since,
                 other->until ? " (an older meaning)" : "");
    else
        error_at(STATUS_UNSUPPORTED, node_loc(n), instead(n), "operator %s%s%s is not supported",
                 n->domain, *n->domain ? "." : "", n->op_type);
    return false;
}

bool op_check(const Node *n)
{
    if (!n->op)
        return report_unknown(n);
    const OpRow *r = n->op;
    if (n->n_in < r->min_in || (r->max_in >= 0 && n->n_in > r->max_in)) {
        error_at(STATUS_MALFORMED, node_loc(n), NULL, "has %d inputs; %s takes %d to %d", n->n_in,
                 r->name, r->min_in, r->max_in);
        return false;
    }
    if (n->n_out < r->min_out || (r->max_out >= 0 && n->n_out > r->max_out)) {
        error_at(STATUS_MALFORMED, node_loc(n), NULL, "has %d outputs; %s gives %d to %d", n->n_out,
                 r->name, r->min_out, r->max_out);
        return false;
    }
    for (int i = 0; i < r->min_in; i++)
        if (!n->in[i]) {
            error_at(STATUS_MALFORMED, node_loc(n), NULL, "input %d is left out, but %s needs it",
                     i, r->name);
            return false;
        }
    return true;
}

/* Integer operands other than the data are counts and indices. */
DType op_compute_type(const OpRow *r, int i, DType t)
{
    if (r->flags & OP_WIDEN && dtype_is_small_float(t))
        return DT_F32;
    const bool data = i == 0 || r->max_in < 0;
    if (!(r->flags & OP_WIDEN_INT) || !data || !((T_INT | T_BOOL) & DTYPE_BIT(t)) ||
        r->types & DTYPE_BIT(t))
        return t;
    return r->types & DTYPE_BIT(DT_I64) ? DT_I64 : DT_F64;
}

DTypeSet op_types(const OpRow *r)
{
    DTypeSet s = r->types;
    for (int t = 1; t < DT_COUNT; t++)
        if (r->types & DTYPE_BIT(op_compute_type(r, 0, (DType)t)))
            s |= DTYPE_BIT(t);
    return s;
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

const char *op_types_text(Arena *a, DTypeSet s)
{
    const char *text = "";
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((s & groups[i].types) == groups[i].types) {
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", groups[i].name);
            s &= ~groups[i].types;
        }
    for (int k = 1; k < DT_COUNT; k++)
        if (s & DTYPE_BIT(k))
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", dtype_name((DType)k));
    return text;
}

bool op_check_type(const Node *n)
{
    const Tensor *t = n->n_in && n->in[0] ? n->in[0] : n->out[0];
    Arena *a = n->graph->arena;
    if (n->op->types & DTYPE_BIT(t->dtype))
        return true;
    error_at(STATUS_UNSUPPORTED, node_loc(n),
             arena_printf(a, "%s takes %s", n->op_type, op_types_text(a, op_types(n->op))),
             "element type %s is not supported", dtype_name(t->dtype));
    return false;
}

Recipe *no_constant(Node *n)
{
    (void)n;
    return NULL;
}
