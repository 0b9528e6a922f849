/* SPDX-License-Identifier: Apache-2.0
 * What a Resize or Upsample asks for, of whatever opset. */
#ifndef INLAY_OPS_RESIZE_SPEC_H
#define INLAY_OPS_RESIZE_SPEC_H

#include "ops/infer.h"

/* Operands are NULL where they are left out or have no elements. Dims are those of the file (NCHW)
 * until the layout pass. */
typedef struct ResizeSpec {
    Tensor *roi;
    Tensor *scales;
    Tensor *sizes;
    int axes; /* entries of scales or sizes ... */
    /* ... and the dimension each is for, in the node's own layout */
    int axis[MAX_RANK];
    const double *scale; /* constant values, else NULL */
    const int64_t *size;
    int mode;
    int coordinate;
    int nearest;
    int policy;
} ResizeSpec;

ResizeSpec resize_spec(const Node *node);
/* Dimension d of NCHW.. in the layout that the node has now. */
int resize_dimension(const Node *node, int d);
/* Constant scale of entry i: as given, or from the sizes. */
double resize_scale(const Node *node, const ResizeSpec *r, int i);

#endif
