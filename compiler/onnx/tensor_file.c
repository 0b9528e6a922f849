/* SPDX-License-Identifier: Apache-2.0
 * Results as TensorProto files, packed by protobuf-c. */
#include "onnx/tensor_file.h"

#include <string.h>

#include "ir/words.h"
#include "onnx.pb-c.h"

/* Of words their texts. */
static void take_words(Arena *arena, InlayOnnx__TensorProto *m,
                       const Tensor *tensor, const int64_t *code)
{
    const int64_t count = tensor_count(tensor);
    m->data_type = DT_STRING;
    m->n_string_data = (size_t)count;
    m->string_data = NEW_ARRAY(arena, ProtobufCBinaryData, count + 1);
    for (int64_t i = 0; i < count; i++) {
        const char *word = words_text(arena, tensor->graph->store, code[i]);
        m->string_data[i].data = (uint8_t *)word;
        m->string_data[i].len = strlen(word);
    }
}

static void take_bytes(InlayOnnx__TensorProto *m, const Tensor *tensor,
                       const void *values)
{
    m->data_type = (int32_t)tensor->dtype;
    m->has_raw_data = 1;
    m->raw_data.len = (size_t)tensor_bytes(tensor);
    m->raw_data.data = (uint8_t *)values;
}

void onnx_write_tensor(Arena *arena, File *file, const Tensor *tensor,
                       const void *values)
{
    InlayOnnx__TensorProto m = INLAY_ONNX__TENSOR_PROTO__INIT;
    int64_t dims[MAX_RANK];
    memcpy(dims, tensor->shape.dim, sizeof dims);
    m.n_dims = (size_t)tensor->shape.rank;
    m.dims = dims;
    m.has_data_type = 1;
    m.name = (char *)tensor->name;
    if (tensor->words)
        take_words(arena, &m, tensor, values);
    else
        take_bytes(&m, tensor, values);
    uint8_t *bytes =
        arena_alloc(arena, inlay_onnx__tensor_proto__get_packed_size(&m));
    const size_t n = inlay_onnx__tensor_proto__pack(&m, bytes);
    file_write(file, 0, bytes, n);
}
