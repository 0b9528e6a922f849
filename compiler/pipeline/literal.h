/* SPDX-License-Identifier: Apache-2.0
 * Numbers on the command line that become the constant value of an input: --const sr=16000. */
#ifndef INLAY_PIPELINE_LITERAL_H
#define INLAY_PIPELINE_LITERAL_H

#include "ir/graph.h"

/* One number fills the input's shape, open dimensions being 1; several, a comma between, are all
 * its elements. NULL: `text` is no list of numbers (a file, then). What the input cannot hold
 * fails with 64. */
Recipe *literal_read(const Graph *graph, const Tensor *input, const char *text);

#endif
