/* SPDX-License-Identifier: Apache-2.0
 * CenterCropPad: Slice where it crops, Pad where it pads. */
#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/values.h"

/* Where the axes that are named have the run's sizes: the shape of `tensor`, but for those. */
static Tensor *asked_dims(const Node *node, const Shape *shape,
                          const int64_t *axes, int64_t count)
{
    Tensor *size = expand_cast(node, node->in[1], DT_I64);
    if (!axes)
        return size;
    int64_t *places = NEW_ARRAY(node->graph->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        places[i] = node_axis(node, axes[i], shape->rank);
    Tensor *all = expand_i64s(node, shape->rank, shape->dim);
    Tensor *named = expand_i64s(node, count, places);
    Node *made = expand_of(node, "ScatterElements", all, named, size);
    return expand_done(made);
}

/* `tensor`, whose shape was taken from the file, where the run's shape is the same along the axes
 * (NULL: all). */
static Tensor *checked_size(const Node *node, Tensor *tensor,
                            const int64_t *axes, int64_t count)
{
    Tensor *in[] = {
        tensor,
        asked_dims(node, &tensor->shape, axes, count),
    };
    Node *made = expand_inlay_node(node, "FixedSize", 2, in, 1);
    return expand_done(made);
}

/* Half of what is too much of axis `axis` goes at each end. */
static Tensor *cropped(const Node *node, Tensor *tensor, int axis, int64_t size)
{
    const int64_t more = i64_sub(tensor->shape.dim[axis], size);
    const int64_t first = more / 2;
    if (more <= 0)
        return tensor;
    return expand_slice(node, tensor, axis, first, first + size);
}

/* Zeros around `tensor` until it has the shape `to`. */
static Tensor *padded(const Node *node, Tensor *tensor, const Shape *to)
{
    int64_t pads[2 * MAX_RANK] = { 0 };
    bool any = false;
    for (int i = 0; i < to->rank; i++) {
        const int64_t more = i64_sub(to->dim[i], tensor->shape.dim[i]);
        pads[i] = more / 2;
        pads[to->rank + i] = more - more / 2;
        any |= more > 0;
    }
    if (!any)
        return tensor;
    Tensor *around = expand_i64s(node, 2 * to->rank, pads);
    return expand_binary(node, "Pad", tensor, around);
}

/* The shape of the result; *known: from operand 1, not from what the file declares. */
static Shape center_shape(const Node *node, bool *known)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *declared = node->out[0]->declared;
    int64_t count;
    int64_t axes_count;
    const int64_t *size = infer_ints(node, 1, &count);
    const int64_t *axes = node_ints(node, "axes", &axes_count);
    *known = size != NULL;
    if (!size && (!shape_known(declared) || declared->rank != x->rank))
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the shape with --const INPUT=FILE.pb, or declare the "
                  "output's shape in the model",
                  "its shape is known only at run time");
    if (!axes)
        axes_count = x->rank;
    if (size && count != axes_count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the shape does not fit the axes");
    Shape shape = *x;
    for (int64_t i = 0; i < axes_count; i++) {
        const int axis = node_axis(node, axes ? axes[i] : i, x->rank);
        shape.dim[axis] = size ? size[i] : declared->dim[axis];
        if (shape.dim[axis] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "asks for a dimension of %lld",
                      (long long)shape.dim[axis]);
    }
    return shape;
}

void expand_center_crop_pad(Node *node)
{
    bool known;
    int64_t count;
    const Shape to = center_shape(node, &known);
    const int64_t *axes = node_ints(node, "axes", &count);
    Tensor *tensor = node->in[0];
    for (int i = 0; i < to.rank; i++)
        tensor = cropped(node, tensor, i, to.dim[i]);
    tensor = padded(node, tensor, &to);
    if (!known)
        tensor = checked_size(node, tensor, axes, count);
    expand_finish_one(node, tensor);
}
