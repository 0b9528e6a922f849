/* SPDX-License-Identifier: Apache-2.0
 * Values of a run as TensorProto files. */
#ifndef INLAY_ONNX_TENSOR_FILE_H
#define INLAY_ONNX_TENSOR_FILE_H

#include "base/io.h"
#include "ir/graph.h"

/* Writes a TensorProto, named as `tensor`: raw_data, or the words that codes stand for. */
void onnx_write_tensor(Arena *arena, File *file, const Tensor *tensor,
                       const void *values);

#endif
