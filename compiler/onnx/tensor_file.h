/* SPDX-License-Identifier: Apache-2.0
 * Values of a run as TensorProto files. */
#ifndef INLAY_ONNX_TENSOR_FILE_H
#define INLAY_ONNX_TENSOR_FILE_H

#include "ir/graph.h"

/* Writes a TensorProto with raw_data, named as `t`. Status 73 or 74. */
void onnx_write_tensor(Arena *a, const char *path, const Tensor *t, const void *values);

#endif
