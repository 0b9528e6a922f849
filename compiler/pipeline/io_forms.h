/* SPDX-License-Identifier: Apache-2.0
 * --io: which inputs and results of the model lie where. */
#ifndef INLAY_PIPELINE_IO_FORMS_H
#define INLAY_PIPELINE_IO_FORMS_H

#include "pipeline/state.h"

/* Sets Graph.in_form and out_form. A name that is none fails with 64. */
void io_forms(Graph *graph, const Options *options);

#endif
