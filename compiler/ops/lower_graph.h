/* SPDX-License-Identifier: Apache-2.0
 * From the graph to the program: the one entry of lowering. */
#ifndef INLAY_OPS_LOWER_GRAPH_H
#define INLAY_OPS_LOWER_GRAPH_H

#include "ir/program.h"

/* The whole graph as a program: every node lowered in order, graph inputs and outputs given their
 * slots. All unsupported nodes are reported before leaving. narrow: ops/lower.h. */
Program *lower_graph(Graph *graph, const Family *family, bool narrow);

#endif
