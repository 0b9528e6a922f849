/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/qplaces.h"

#include "kernels/qdot.h"
#include "ops/infer.h"
#include "ops/typed.h"

const QuantPlaces quant_sums = {
    .a = 0,
    .b = 1,
    .za = 2,
    .zb = 3,
    .sa = -1,
    .sb = -1,
    .sy = -1,
    .zy = -1,
    .bias = -1,
    .add = -1,
};
const QuantPlaces quant_bytes = {
    .a = 0,
    .b = 3,
    .za = 2,
    .zb = 5,
    .sa = 1,
    .sb = 4,
    .sy = 6,
    .zy = 7,
    .bias = 8,
    .add = -1,
};
const QuantPlaces quant_floats = {
    .a = 0,
    .b = 3,
    .za = 2,
    .zb = 5,
    .sa = 1,
    .sb = 4,
    .sy = -1,
    .zy = -1,
    .bias = -1,
    .add = 6,
};

Tensor *quant_in(const Node *node, int place)
{
    return place < 0 ? NULL : node_in(node, place);
}

int32_t quant_count(const Node *node, int place)
{
    return operand_count(quant_in(node, place));
}

int32_t quant_signs(const Tensor *a, const Tensor *b)
{
    return (a->dtype == DT_I8) | (b->dtype == DT_I8) << 1;
}

void quant_check_bytes(const Node *node, int place)
{
    const DType type = node->in[place]->dtype;
    if (type != DT_I8 && type != DT_U8)
        fail_node(node, STATUS_UNSUPPORTED, "quantize to int8 or uint8",
                  "input %d is of type %s", place, dtype_name(type));
}

void quant_check_weights(const Node *node, int place)
{
    const Tensor *weights = node->in[place];
    if (!weights->value || !(DTYPE_BIT(weights->dtype) & T_PACKED))
        quant_check_bytes(node, place);
}

int32_t quant_out_kind(const Node *node, DType type)
{
    if (type == DT_I32)
        return INLAY_QOUT_I32;
    if (type == DT_F32)
        return INLAY_QOUT_F32;
    if (type == DT_U8)
        return INLAY_QOUT_U8;
    if (type == DT_I8)
        return INLAY_QOUT_I8;
    fail_node(node, STATUS_UNSUPPORTED, NULL, "its result is of type %s",
              dtype_name(type));
}

void quant_others(Lower *lower, Node *node, const QuantPlaces *places,
                  Tensor **q)
{
    q[0] = quant_in(node, places->za);
    q[1] = quant_in(node, places->zb);
    q[2] = lower_as(lower, quant_in(node, places->sa), DT_F32);
    q[3] = lower_as(lower, quant_in(node, places->sb), DT_F32);
    q[4] = lower_as(lower, quant_in(node, places->sy), DT_F32);
    q[5] = quant_in(node, places->zy);
}

ByteOperands quant_operands(const Node *node, const QuantPlaces *places)
{
    return (ByteOperands){
        .y = node->out[0],
        .x = quant_in(node, places->a),
        .w = quant_in(node, places->b),
        .zx = quant_in(node, places->za),
        .zw = quant_in(node, places->zb),
        .sx = quant_in(node, places->sa),
        .sw = quant_in(node, places->sb),
        .sy = quant_in(node, places->sy),
        .zy = quant_in(node, places->zy),
        .bias = quant_in(node, places->bias),
        .add = quant_in(node, places->add),
    };
}
