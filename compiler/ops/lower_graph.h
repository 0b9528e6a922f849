/* SPDX-License-Identifier: Apache-2.0
 * From the graph to the program: the one entry of lowering. */
#ifndef INLAY_OPS_LOWER_GRAPH_H
#define INLAY_OPS_LOWER_GRAPH_H

#include "ir/program.h"

typedef struct LowerOptions {
    const Family *family; /* how weights are packed */
    bool narrow;          /* weights stay in the type of the file */
    /* scratch buys time: 3x3 convolutions may compute on transformed tiles, those of bytes gather
     * rows */
    bool for_speed;
    /* weights of products are packed in the same way for one row as for many */
    bool any_rows;
    /* bytes that weights are read through; 0: pointers reach them */
    int64_t window;
    PaletteAsk palette;
} LowerOptions;

/* The whole graph as a program: every node lowered in order, graph inputs and outputs given their
 * slots. All unsupported nodes are reported before leaving. */
Program *lower_graph(Graph *graph, const LowerOptions *options);

#endif
