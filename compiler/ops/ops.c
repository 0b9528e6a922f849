/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"

#include <string.h>

#include "ops/families.h"

#define AI ""
#define ML "ai.onnx.ml"
#define MS "com.microsoft"
#define INL "inlay"

static const OpRow rows[] = {
#define OP(name, domain, since, until, min_in, max_in, min_out, max_out, types, flags, infer, lower, constant) \
    { #name, domain, since, until, min_in, max_in, min_out, max_out, types, flags, infer, lower, constant },
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
        if (rows[i].name[0] == op_type[0] && !strcmp(rows[i].name, op_type) && !strcmp(rows[i].domain, domain) && serves(rows + i, version))
            return rows + i;
    return NULL;
}

/* The row of any version, for the message about versions. */
static const OpRow *find_any_version(const char *domain, const char *op_type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, op_type) && !strcmp(rows[i].domain, domain)) return rows + i;
    return NULL;
}

static bool report_unknown(const Node *n)
{
    const OpRow *other = find_any_version(n->domain, n->op_type);
    if (other)
        error_at(STATUS_UNSUPPORTED, node_loc(n), "convert the model to an opset of that range",
                 "operator %s is supported from opset %d%s on only", n->op_type, other->since, other->until ? " (an older meaning)" : "");
    else
        error_at(STATUS_UNSUPPORTED, node_loc(n), "`inlay ops` lists what is supported",
                 "operator %s%s%s is not supported", n->domain, *n->domain ? "." : "", n->op_type);
    return false;
}

bool op_check(const Node *n)
{
    if (!n->op) return report_unknown(n);
    const OpRow *r = n->op;
    if (n->n_in < r->min_in || (r->max_in >= 0 && n->n_in > r->max_in)) {
        error_at(STATUS_MALFORMED, node_loc(n), NULL, "has %d inputs; %s takes %d to %d", n->n_in, r->name, r->min_in, r->max_in);
        return false;
    }
    if (n->n_out < r->min_out || (r->max_out >= 0 && n->n_out > r->max_out)) {
        error_at(STATUS_MALFORMED, node_loc(n), NULL, "has %d outputs; %s gives %d to %d", n->n_out, r->name, r->min_out, r->max_out);
        return false;
    }
    for (int i = 0; i < r->min_in; i++)
        if (!n->in[i]) {
            error_at(STATUS_MALFORMED, node_loc(n), NULL, "input %d is left out, but %s needs it", i, r->name);
            return false;
        }
    return true;
}

/* Integer operands other than the data are counts and indices. */
DType op_compute_type(const OpRow *r, int i, DType t)
{
    if (r->flags & OP_WIDEN && dtype_is_small_float(t)) return DT_F32;
    const bool data = i == 0 || r->max_in < 0;
    if (!(r->flags & OP_WIDEN_INT) || !data || !((T_INT | T_BOOL) & DTYPE_BIT(t)) || r->types & DTYPE_BIT(t)) return t;
    return r->types & DTYPE_BIT(DT_I64) ? DT_I64 : DT_F64;
}

DTypeSet op_types(const OpRow *r)
{
    DTypeSet s = r->types;
    for (int t = 1; t < DT_COUNT; t++)
        if (r->types & DTYPE_BIT(op_compute_type(r, 0, (DType)t))) s |= DTYPE_BIT(t);
    return s;
}

Recipe *no_constant(Node *n)
{
    (void)n;
    return NULL;
}
