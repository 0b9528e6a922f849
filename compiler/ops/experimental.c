/* SPDX-License-Identifier: Apache-2.0
 * Operators that the standard had on trial before opset 10, as compositions: converters of that
 * time wrote them, and ONNX Runtime still runs them. */
#include "ops/expand.h"
#include "ops/families.h"

/* tensor times attribute `name`, which is `otherwise` where it is absent. */
static Tensor *times(const Node *node, const char *name, float otherwise,
                     Tensor *tensor)
{
    const float factor = node_float(node, name, otherwise);
    return expand_scaled(node, tensor, (double)factor);
}

/* x * scale */
void expand_scale(Node *node)
{
    infer_shape(node, 0);
    expand_finish_one(node, times(node, "scale", 1.0f, node->in[0]));
}

/* x * alpha + beta */
void expand_affine(Node *node)
{
    infer_shape(node, 0);
    const double beta = (double)node_float(node, "beta", 0.0f);
    Tensor *scaled = times(node, "alpha", 1.0f, node->in[0]);
    Tensor *shift = expand_number(node, beta, node_type(node));
    expand_finish_one(node, expand_add(node, scaled, shift));
}

/* alpha * op(beta * x) */
static void expand_between(Node *node, const char *op)
{
    infer_shape(node, 0);
    Tensor *inner = times(node, "beta", 1.0f, node->in[0]);
    Tensor *y = expand_unary(node, op, inner);
    expand_finish_one(node, times(node, "alpha", 1.0f, y));
}

void expand_scaled_tanh(Node *node)
{
    expand_between(node, "Tanh");
}

void expand_parametric_softplus(Node *node)
{
    expand_between(node, "Softplus");
}

static void check_image(const Node *node)
{
    const Shape *image = infer_shape(node, 0);
    if (image->rank != 4)
        fail_node(node, STATUS_MALFORMED, NULL, "its image has %d dimensions",
                  image->rank);
}

/* x * scale + bias of the channel */
void expand_image_scaler(Node *node)
{
    int64_t count = 0;
    check_image(node);
    const int64_t channels = infer_shape(node, 0)->dim[1];
    const float *bias = node_floats(node, "bias", &count);
    Tensor *y = times(node, "scale", 1.0f, node->in[0]);
    if (bias && count != channels)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "has %lld biases for %lld channels", (long long)count,
                  (long long)channels);
    if (bias) {
        const int64_t dims[] = { channels, 1, 1 };
        Tensor *shift = expand_floats(node, count, bias);
        shift = expand_cast(node, shift, node_type(node));
        y = expand_add(node, y, expand_reshape(node, shift, 3, dims));
    }
    expand_finish_one(node, y);
}

/* What lies between border (left, top, right, bottom); of `scale` (height, width) where that is
 * given, from the upper left corner on. */
void expand_crop(Node *node)
{
    int64_t borders = 0;
    int64_t sizes = 0;
    check_image(node);
    const Shape image = *infer_shape(node, 0);
    const int64_t *border = node_ints(node, "border", &borders);
    const int64_t *size = node_ints(node, "scale", &sizes);
    if (!border || borders != 4 || (size && sizes != 2))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its border must have 4 numbers, its scale 2");
    Tensor *y = node->in[0];
    for (int i = 0; i < 2; i++) {
        const int axis = 3 - i;
        const int64_t from = border[i];
        int64_t to = image.dim[axis] - border[i + 2];
        if (size)
            to = from + size[1 - i];
        if (from < 0 || to < from || to > image.dim[axis])
            fail_node(node, STATUS_MALFORMED, NULL,
                      "takes %lld to %lld of an axis of %lld", (long long)from,
                      (long long)to, (long long)image.dim[axis]);
        y = expand_slice(node, y, axis, from, to);
    }
    expand_finish_one(node, y);
}

/* x minus its mean over pixels, and channels where across_channels, divided by the deviation. */
void expand_old_mvn(Node *node)
{
    static const int64_t axes[] = { 0, 2, 3, 1 };
    const bool across = node_flag(node, "across_channels", false);
    const int64_t count = across ? 4 : 3;
    Tensor *x = node->in[0];
    check_image(node);
    if (!node_flag(node, "normalize_variance", true)) {
        Tensor *over = expand_i64s(node, count, axes);
        Tensor *mean = expand_done(expand_of(node, "ReduceMean", x, over));
        expand_finish_one(node, expand_sub(node, x, mean));
        return;
    }
    Node *made = expand_of(node, "MeanVarianceNormalization", x);
    node_set_ints(made, "axes", count, axes);
    expand_finish_one(node, expand_done(made));
}
