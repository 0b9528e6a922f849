/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/resize_spec.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/resize.h"
#include "ops/families.h"

static int lookup(const Node *node, const char *attribute,
                  const char *otherwise, const char *const *names, int count)
{
    const char *v = node_string(node, attribute, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], v))
            return i;
    fail_node(node, STATUS_UNSUPPORTED, NULL, "%s \"%s\" is unknown", attribute,
              v);
}

/* Was the model made where a result has whole lengths? Corners are kept by the result's length: the
 * standard's text, ONNX Runtime and all frameworks take what it is, the standard's own data (and
 * so whatever else wrote the file) scale x length as it comes, 4.5 where the result has 4. */
static bool has_whole_lengths(const Node *node)
{
    static const char *const producers[] = { "pytorch", "PaddlePaddle",
                                             "tf2onnx", "onnx.quantize" };
    const char *producer = graph_root(node->graph)->producer;
    for (size_t i = 0; i < sizeof producers / sizeof *producers; i++)
        if (!strcmp(producer, producers[i]))
            return true;
    return false;
}

static void resize_modes(const Node *node, ResizeSpec *r)
{
    static const char *const modes[] = { "nearest", "linear", "cubic" };
    static const char *const coordinates[] = {
        "half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
        "asymmetric",        "align_corners",        "tf_half_pixel_for_nn",
        "tf_crop_and_resize"
    };
    static const char *const nearest[] = { "round_prefer_floor",
                                           "round_prefer_ceil", "floor",
                                           "ceil" };
    static const char *const policies[] = { "stretch", "not_larger",
                                            "not_smaller" };
    const bool old = node->op->since < 11; /* Upsample, and Resize 10 */
    r->mode = lookup(node, "mode", "nearest", modes, 3);
    r->coordinate = old ? INLAY_ASYMMETRIC
                        : lookup(node, "coordinate_transformation_mode",
                                 "half_pixel", coordinates, 7);
    if (r->coordinate == INLAY_ALIGN_CORNERS && has_whole_lengths(node))
        r->coordinate = INLAY_ALIGN_LENGTHS;
    r->nearest =
        old ? INLAY_BY_SCALE
            : lookup(node, "nearest_mode", "round_prefer_floor", nearest, 4);
    r->policy =
        lookup(node, "keep_aspect_ratio_policy", "stretch", policies, 3);
}

int resize_dimension(const Node *node, int d)
{
    const int rank = node->in[0]->shape.rank;
    if (!node->channels_last || d == 0)
        return d;
    return d == 1 ? rank - 1 : d - 1;
}

/* Operand i; NULL where it is left out or has no elements. */
static Tensor *present(const Node *node, int i)
{
    Tensor *tensor = node_in(node, i);
    if (!tensor || !shape_known(&tensor->shape))
        return tensor;
    return tensor_count(tensor) > 0 ? tensor : NULL;
}

static void resize_operands(const Node *node, ResizeSpec *r)
{
    const bool old = node->op->since < 11;
    r->scales = present(node, old ? 1 : 2);
    if (old)
        return;
    r->roi = present(node, 1);
    r->sizes = present(node, 3);
    if (r->sizes)
        r->scales = NULL;
}

static void resize_axes(const Node *node, ResizeSpec *r)
{
    const int rank = infer_shape(node, 0)->rank;
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    r->axes = axes ? (int)i64_min(count, MAX_RANK) : rank;
    for (int i = 0; i < r->axes; i++)
        r->axis[i] =
            resize_dimension(node, axes ? node_axis(node, axes[i], rank) : i);
}

/* Upsample 7: the scales are an attribute. */
static void attribute_scales(const Node *node, ResizeSpec *r, int64_t *count)
{
    const float *given = node_floats(node, "scales", count);
    if (!given)
        fail_node(node, STATUS_MALFORMED, NULL, "has no scales");
    Arena *arena = node->graph->arena;
    double *scale = NEW_ARRAY(arena, double, *count + 1);
    for (int64_t i = 0; i < *count; i++)
        scale[i] = (double)given[i];
    r->scale = scale;
}

static void operand_scales(const Node *node, ResizeSpec *r, int64_t *count)
{
    resize_operands(node, r);
    if (r->scales)
        r->scale = tensor_doubles(node->graph, r->scales, count);
    if (r->sizes)
        r->size = tensor_ints(node->graph, r->sizes, count);
    if (!r->scales && !r->sizes)
        fail_node(node, STATUS_MALFORMED, NULL, "has neither scales nor sizes");
}

ResizeSpec resize_spec(const Node *node)
{
    ResizeSpec r = { .roi = NULL };
    int64_t count = -1;
    resize_modes(node, &r);
    resize_axes(node, &r);
    if (node->op->since < 9)
        attribute_scales(node, &r, &count);
    else
        operand_scales(node, &r, &count);
    if ((r.scale || r.size) && count != r.axes)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld scales or sizes for %d axes", (long long)count, r.axes);
    return r;
}

double resize_scale(const Node *node, const ResizeSpec *r, int i)
{
    const Shape *in = node_shape(node, 0);
    if (r->scale)
        return r->scale[i];
    double scale = (double)r->size[i] / (double)in->dim[r->axis[i]];
    for (int k = 0; r->policy && k < r->axes; k++) {
        const double ratio = (double)r->size[k] / (double)in->dim[r->axis[k]];
        scale = r->policy == 1 ? fmin(scale, ratio) : fmax(scale, ratio);
    }
    return scale;
}

/* floor(in x scale) with a float32 product, as ONNX Runtime and the exporters compute it: 10 x 2.3
 * is 23. ONNX's own inference has the exact product, 22.99..: it stands where the file declares
 * what it gives. */
static int64_t scaled_size(const Node *node, int axis, double scale, int64_t in)
{
    const float product = (float)scale * (float)in;
    const int64_t exact = (int64_t)floor(scale * (double)in);
    const Shape *declared = node_out(node, 0)->declared;
    if (declared && axis < declared->rank && declared->dim[axis] == exact)
        return exact;
    return (int64_t)floorf(product);
}

/* The size of entry i: as given, or as the scale makes it of `in`. */
static int64_t resized(const Node *node, const ResizeSpec *r, int i, int64_t in)
{
    const double scale = resize_scale(node, r, i);
    const double size = scale * (double)in;
    if (!(scale > 0) || !(size <= 0x1p31))
        fail_node(node, STATUS_MALFORMED, NULL, "axis %d has scale %g",
                  r->axis[i], scale);
    if (!r->size)
        return scaled_size(node, r->axis[i], scale, in);
    return r->policy ? (int64_t)floor(size + 0.5) : r->size[i];
}

void infer_resize(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const ResizeSpec r = resize_spec(node);
    const bool known = r.scale || r.size;
    for (int i = 0; i < r.axes; i++) {
        int64_t *dim = shape.dim + r.axis[i];
        *dim = known ? resized(node, &r, i, *dim) : -1;
    }
    if (known)
        infer_out(node, 0, node_type(node), shape);
    else
        infer_declared_as(node, 0, node_type(node), shape);
}
