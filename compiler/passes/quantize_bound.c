/* SPDX-License-Identifier: Apache-2.0
 * A table that is a clip, of bytes that nobody else reads, goes into the operator that makes them:
 * those with OP_BOUNDED have bounds of their own. So a Relu behind a product costs nothing, whether
 * the file puts it before the QuantizeLinear or behind it. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/quanta.h"

/* Bytes, as numbers. */
typedef struct Range {
    int64_t lo, hi;
} Range;

/* The number of a byte of that type. */
static int64_t number_of(DType type, int64_t byte)
{
    const int64_t least = quanta_least(type);
    return ((byte - least) & 255) + least;
}

/* The bounds that `table` keeps numbers of its type within; false: it does more. */
static bool clip_of(const Node *table, Range *range)
{
    int64_t count;
    const DType type = table->out[0]->dtype;
    const int64_t *entry = node_ints(table, "table", &count);
    if (type != table->in[0]->dtype || count != 256)
        return false;
    const int64_t least = quanta_least(type);
    range->lo = number_of(type, entry[least & 255]);
    range->hi = number_of(type, entry[quanta_most(type) & 255]);
    for (int64_t i = least; i < least + 256; i++) {
        const int64_t kept = i64_max(range->lo, i64_min(range->hi, i));
        if (number_of(type, entry[i & 255]) != kept)
            return false;
    }
    return true;
}

/* The operator with bounds of its own that makes x, perhaps under another shape or in another
 * order, for one reader; NULL: there is none. */
static Node *bounded_before(const Graph *graph, const Tensor *x)
{
    for (;;) {
        Node *node = x->value ? NULL : x->producer;
        if (!node || node->dead || node->graph != graph || x->uses != 1 ||
            !node->op)
            return NULL;
        if (node->op->flags & OP_BOUNDED)
            return node;
        if (quanta_form(node) != QUANTIZED_MOVE || node->n_out != 1)
            return NULL;
        x = node->in[0];
    }
}

bool quanta_bound(Graph *graph, Node *table)
{
    Range range;
    if (table->dead || quanta_form(table) != QUANTIZED_TABLE ||
        !clip_of(table, &range))
        return false;
    Node *node = bounded_before(graph, table->in[0]);
    if (!node || !(DTYPE_BIT(node->out[0]->dtype) & T_Q8))
        return false;
    const int64_t lo = node_int(node, "lo", quanta_least(node->out[0]->dtype));
    const int64_t hi = node_int(node, "hi", quanta_most(node->out[0]->dtype));
    node_set_int(node, "lo", i64_max(range.lo, i64_min(range.hi, lo)));
    node_set_int(node, "hi", i64_max(range.lo, i64_min(range.hi, hi)));
    quanta_replace(graph, table, table->in[0]);
    return true;
}
