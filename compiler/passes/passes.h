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

/* Finds inputs that ask for the declared shape of a result, and puts the numbers that they must
 * hold in their place (asked.c); NULL: there are none. When all shapes are inferred, the results
 * that are handed out are those whose shape the inputs ask for. */
typedef struct Inquiry Inquiry;
const Inquiry *asked_inputs(Graph *graph);
void asked_check(const Inquiry *inquiry);
/* Finds the row of a node; false: an error was reported. */
bool resolve_node(Node *node);
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
Tensor *insert_transpose(Graph *graph, Node *before, Tensor *in,
                         const int *perm);

#endif
