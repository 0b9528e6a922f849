/* SPDX-License-Identifier: Apache-2.0
 * Results as TensorProto files, packed by protobuf-c. */
#include "onnx/tensor_file.h"

#include <string.h>

#include "onnx.pb-c.h"

void onnx_write_tensor(Arena *arena, File *file, const Tensor *tensor,
                       const void *values)
{
    InlayOnnx__TensorProto m = INLAY_ONNX__TENSOR_PROTO__INIT;
    int64_t dims[MAX_RANK];
    memcpy(dims, tensor->shape.dim, sizeof dims);
    m.n_dims = (size_t)tensor->shape.rank;
    m.dims = dims;
    m.has_data_type = 1;
    m.data_type = (int32_t)tensor->dtype;
    m.name = (char *)tensor->name;
    m.has_raw_data = 1;
    m.raw_data.len = (size_t)tensor_bytes(tensor);
    m.raw_data.data = (uint8_t *)values;
    uint8_t *bytes =
        arena_alloc(arena, inlay_onnx__tensor_proto__get_packed_size(&m));
    const size_t n = inlay_onnx__tensor_proto__pack(&m, bytes);
    file_write(file, 0, bytes, n);
}
