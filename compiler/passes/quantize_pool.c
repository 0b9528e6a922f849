/* SPDX-License-Identifier: Apache-2.0
 * Means of quantized numbers: over windows, over images, over axes; images of another size. */
#include "base/size.h"
#include "ops/ops.h"
#include "ops/resize.h"
#include "ops/window.h"
#include "passes/quantize_build.h"
#include "passes/relayout.h"

static Tensor *turned(const Build *build, Tensor *x, const int *perm)
{
    Graph *graph = build->graph;
    const Shape shape = shape_permuted(&x->shape, perm);
    Tensor *y = graph_add_tensor(graph, NULL, x->dtype, shape);
    add_transpose(graph, build->q, x, perm, y);
    return y;
}

/* Linear: four pixels are mixed. */
Tensor *build_resize(Build *build)
{
    static const int last[] = { 0, 2, 3, 1 };
    static const int first[] = { 0, 3, 1, 2 };
    Quantum x;
    Tensor *in[4];
    const Node *node = build->node;
    const int operands = node->n_in;
    if (operands > 4 || !resize_is_bilinear(node))
        return NULL;
    if (!quanta_bytes(build->graph, node->in[0], &in[0], &x))
        return NULL;
    for (int i = 1; i < operands; i++)
        in[i] = node->in[i];
    in[0] = turned(build, in[0], last);
    const Shape shape = shape_permuted(result_shape(node, 0), last);
    Node *made = quanta_insert(build->graph, build->q, "inlay", "QResize",
                               operands, in, build->y.type, shape);
    build_copy_attrs(made, node);
    made->channels_last = true;
    build_operand(made, &x);
    build_result(build, made);
    return turned(build, made->out[0], first);
}

/* Pixels of an image that is channels last; 0: too many to be added. */
static int64_t pixels_of(const Build *build, const Shape *image)
{
    const int64_t codes = build->shorts ? 1 << 16 : 1 << 8;
    int64_t pixels = 1;
    for (int i = 1; i < image->rank - 1; i++)
        pixels = i64_mul(pixels, image->dim[i]);
    return pixels > INT32_MAX / codes ? 0 : pixels;
}

/* The sums of each channel over all pixels. */
static Tensor *insert_sums(const Build *build, Tensor *image)
{
    Shape shape = image->shape;
    const int last = shape.rank - 1;
    for (int i = 1; i < last; i++)
        shape.dim[i] = 1;
    Node *sum = quanta_insert(build->graph, build->q, "inlay", "QSum", 1,
                              &image, DT_I32, shape);
    sum->channels_last = true;
    return sum->out[0];
}

/* The mean over all pixels of an image [images][pixels...][channels] of bytes. */
static Tensor *build_sums(Build *build, Tensor *image, const Quantum *x)
{
    const Shape shape = build->q->out[0]->shape;
    const int64_t pixels = pixels_of(build, &image->shape);
    if (!pixels)
        return NULL;
    Tensor *sums = insert_sums(build, image);
    sums = quanta_reshape(build->graph, build->q, sums, shape);
    Node *made = build_insert(build, "QScale", sums, shape);
    const double scale = x->scale / (double)pixels;
    node_set_float(made, "a_scale", (float)scale);
    node_set_int(made, "a_zero_point", x->zero * pixels);
    build_result(build, made);
    return made->out[0];
}

/* Pixels of an image in ONNX's order. */
static Tensor *build_image_mean(Build *build, Tensor *bytes, const Quantum *x)
{
    int last[MAX_RANK];
    perm_to_last(bytes->shape.rank, last);
    return build_sums(build, turned(build, bytes, last), x);
}

Tensor *build_pool(Build *build)
{
    Quantum x;
    Tensor *bytes;
    const Node *node = build->node;
    const int rank = node_shape(node, 0)->rank;
    int last[MAX_RANK];
    int first[MAX_RANK];
    if (rank < 3 || rank > 5)
        return NULL;
    if (!build_codes(build, node->in[0], &bytes, &x))
        return NULL;
    if (pool_is_global(node))
        return build_image_mean(build, bytes, &x);
    if (build->shorts)
        return NULL;
    perm_to_last(rank, last);
    perm_inverse(rank, last, first);
    bytes = turned(build, bytes, last);
    const Shape shape = shape_permuted(result_shape(node, 0), last);
    Node *made = build_insert(build, "QAveragePool", bytes, shape);
    build_copy_attrs(made, node);
    made->channels_last = true;
    build_operand(made, &x);
    build_result(build, made);
    return turned(build, made->out[0], first);
}

Tensor *build_global_mean(Build *build)
{
    Quantum x;
    Tensor *bytes;
    const Tensor *in = build->node->in[0];
    if (in->shape.rank < 3 || in->shape.rank > 5)
        return NULL;
    if (!build_codes(build, in, &bytes, &x))
        return NULL;
    return build_image_mean(build, bytes, &x);
}

/* Axes [*from, *to) of a reduction; false: they are not known, or others lie between them. */
static bool reduced_axes(Graph *graph, const Node *node, int *from, int *to)
{
    const int rank = node->in[0]->shape.rank;
    bool gone[MAX_RANK] = { false };
    int64_t count;
    const int64_t *axes = node_in(node, 1)
                              ? tensor_ints(graph, node->in[1], &count)
                              : node_ints(node, "axes", &count);
    if (!axes || !count)
        return false;
    *from = rank;
    *to = 0;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes[i], rank)] = true;
    for (int i = 0; i < rank; i++)
        if (gone[i]) {
            *from = i < *from ? i : *from;
            *to = i + 1;
        }
    for (int i = *from; i < *to; i++)
        if (!gone[i])
            return false;
    return true;
}

/* The mean over axes [from, to) of a tensor of bytes. */
static Tensor *build_byte_mean(Build *build, int from, int to)
{
    Quantum x;
    Tensor *bytes;
    const Tensor *in = build->node->in[0];
    const Shape *s = &in->shape;
    if (!build_codes(build, in, &bytes, &x))
        return NULL;
    if (from == 2 && to == s->rank && s->rank <= 5)
        return build_image_mean(build, bytes, &x);
    Shape image = {
        .rank = 3,
        .dim = { 1, 1, 1 },
    };
    for (int i = 0; i < s->rank; i++) {
        const int at = (i >= from) + (i >= to);
        image.dim[at] = i64_mul(image.dim[at], s->dim[i]);
    }
    bytes = quanta_reshape(build->graph, build->q, bytes, image);
    return build_sums(build, bytes, &x);
}

Tensor *build_mean(Build *build)
{
    const Tensor *in = build->node->in[0];
    int from;
    int to;
    if (!reduced_axes(build->graph, build->node, &from, &to))
        return NULL;
    Tensor *squares = to == in->shape.rank ? build_squares(build, from) : NULL;
    return squares ? squares : build_byte_mean(build, from, to);
}
