/* SPDX-License-Identifier: Apache-2.0
 * Rewritings of the graph. Each is `void pass_x(Graph *)`; the list and its order are passes.def.
 */
#ifndef INLAY_PASSES_PASSES_H
#define INLAY_PASSES_PASSES_H

#include "ir/graph.h"

typedef void PassFn(Graph *g);

typedef struct PassRow {
    const char *name;
    PassFn *run;
    bool required, whole;
    const char *what;
} PassRow;

const PassRow *pass_rows(int *count);

#define PASS(name, function, required, whole, what) PassFn function;
#include "passes/passes.def"
#undef PASS

/* Declared shapes travel backwards to values that have none. */
void declare_backwards(Graph *graph);
/* Reports (error_at), and fails, where a declared shape is not the one that was inferred. */
void declare_check(Graph *graph);
/* Infers and folds one graph (also a subgraph, once its inputs have shapes). */
void infer_graph(Graph *graph);
/* Resolves a node that a pass made: its row, its outputs' shapes; folds it where its inputs are
 * constant. */
void infer_node(Node *node);
/* A Transpose node in front of `before`: out[i] = in[perm[i]]; folded where `in` is constant. */
Tensor *insert_transpose(Graph *graph, Node *before, Tensor *in, const int *perm);

#endif
