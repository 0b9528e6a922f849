/* SPDX-License-Identifier: Apache-2.0
 * Declared shapes travel backwards through operators that keep the shape, so that an operator whose result
 * depends on values at run time knows it where only a later value is declared.
 * Requires: sorted nodes. Ensures: only Tensor.declared of values that had none changes. */
#include "ops/ops.h"
#include "passes/passes.h"

/* The one operand whose shape is the result's; NULL: not known without the shapes of others. */
static Tensor *shape_giver(const Node *n)
{
    if (n->op && n->op->flags & OP_SHAPED_LIKE_FIRST) return n->in[0];
    if (!n->op || !(n->op->flags & OP_ELEMENTWISE)) return NULL;
    Tensor *giver = NULL;
    for (int i = 0; i < n->n_in; i++) {
        Tensor *t = n->in[i];
        if (!t || (t->value && recipe_count(t->value) == 1)) continue;
        if (giver && giver != t) return NULL;
        giver = t;
    }
    return giver;
}

void declare_backwards(Graph *g)
{
    for (size_t i = g->node.n; i-- > 0;) {
        const Node *n = g->node.at[i];
        const Tensor *out = node_out(n, 0);
        if (!out || !shape_known(&out->declared)) continue;
        Tensor *in = shape_giver(n);
        if (in && in->producer && in->declared.rank < 0) in->declared = out->declared;
    }
}
