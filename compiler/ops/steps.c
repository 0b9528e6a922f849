/* SPDX-License-Identifier: Apache-2.0
 * For each operator that makes its result step by step: how. */
#include "ops/steps.h"

#include "base/size.h"
#include "ops/cut.h"
#include "ops/families.h"
#include "ops/ranges.h"
#include "ops/window.h"

static bool stays(Stepping *steps, int axis)
{
    *steps = (Stepping){ .axis = axis, .reach = 1, .stride = 1, .parts = 1 };
    return true;
}

/* ---- windows over images ---- */

/* Dimensions of the image: the batch is in front, then channels. */
enum { CHANNELS = 1, SPATIAL = 2 };

static bool windowed(const Node *node, const int64_t *taps, int axis,
                     Stepping *steps)
{
    const Window window = window_of(node, taps);
    const int at = WINDOW_DIMS - window.spatial + axis - SPATIAL;
    const WindowAxis *along = window.axis + at;
    stays(steps, axis);
    steps->reach = (along->kernel - 1) * along->dilation + 1;
    steps->stride = along->stride;
    steps->before = along->pad;
    steps->form = STEPS_WINDOW;
    return true;
}

static bool convolved(const Node *node, int k, int weights, int axis,
                      Stepping *steps)
{
    if (k || axis == CHANNELS || !node->in[weights]->value)
        return false;
    if (axis < SPATIAL)
        return stays(steps, axis);
    return windowed(node, node_shape(node, weights)->dim + SPATIAL, axis,
                    steps);
}

bool steps_conv(const Node *node, int k, int axis, Stepping *steps)
{
    return convolved(node, k, 1, axis, steps);
}

bool steps_qlinear_conv(const Node *node, int k, int axis, Stepping *steps)
{
    return convolved(node, k, 3, axis, steps);
}

/* Places of the maxima would be counted in another image. */
bool steps_pool(const Node *node, int k, int axis, Stepping *steps)
{
    int64_t count;
    const Tensor *places = node_out(node, 1);
    if (k || (places && places->uses))
        return false;
    if (axis < SPATIAL)
        return stays(steps, axis);
    return windowed(node, window_kernel_shape(node, &count), axis, steps);
}

bool steps_global_pool(const Node *node, int k, int axis, Stepping *steps)
{
    (void)node;
    return k == 0 && axis < SPATIAL && stays(steps, axis);
}

bool steps_batchnorm(const Node *node, int k, int axis, Stepping *steps)
{
    if (batchnorm_trains(node))
        return false;
    return k == 0 && axis != CHANNELS && stays(steps, axis);
}

/* Over the whole image of a batch. */
bool steps_batch(const Node *node, int k, int axis, Stepping *steps)
{
    (void)node;
    return k == 0 && axis == 0 && stays(steps, axis);
}

/* Frames of a signal. */
bool steps_stft(const Node *node, int k, int axis, Stepping *steps)
{
    const int64_t *step = infer_number(node, 1);
    const int64_t *given = infer_number(node, 3);
    const Tensor *window = node_in(node, 2);
    if (k || axis > 1 || !step || (node_in(node, 3) && !given))
        return false;
    stays(steps, axis);
    if (axis == 0)
        return true;
    steps->stride = *step;
    steps->reach = given ? *given : tensor_count(window);
    return true;
}

/* ---- elements change place ---- */

/* By the operator's `axes`, which knows where each goes. */
bool steps_axes(const Node *node, int k, int axis, Stepping *steps)
{
    int to[MAX_RANK];
    if (!node->op->axes(node, k, to) || to[axis] < 0)
        return false;
    return stays(steps, to[axis]);
}

bool steps_concat(const Node *node, int k, int axis, Stepping *steps)
{
    if (!steps_axes(node, k, axis, steps))
        return false;
    steps->all = true;
    return true;
}

static int64_t product(const Shape *shape, int from, int to)
{
    int64_t count = 1;
    for (int i = from; i < to; i++)
        count = i64_mul(count, shape->dim[i]);
    return count;
}

/* The axis of the result in front of which as many elements lie, of those the last: ones may stand
 * in front of it. -1: there is none. */
static int axis_behind(const Shape *shape, int64_t before, int64_t size)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t own = shape->dim[i];
        if (count == before && (own > 1 || size == 1) &&
            (own % size == 0 || size % own == 0))
            return i;
        count *= own;
    }
    return -1;
}

/* The axis stays, a step becomes several, or several become one. */
bool steps_view(const Node *node, int k, int axis, Stepping *steps)
{
    const Shape *in = node_shape(node, 0);
    const Shape *out = result_shape(node, 0);
    const int64_t size = in->dim[axis];
    if (k || size < 1 || shape_count(in) < 1)
        return false;
    const int at = axis_behind(out, product(in, 0, axis), size);
    if (at < 0)
        return false;
    const int64_t made = out->dim[at];
    stays(steps, at);
    steps->form = STEPS_VIEW;
    if (made % size == 0) {
        steps->parts = made / size;
    } else {
        steps->reach = size / made;
        steps->stride = size / made;
    }
    return true;
}

bool steps_slice(const Node *node, int k, int axis, Stepping *steps)
{
    Ranges ranges;
    if (k || !slice_ranges(node, &ranges))
        return false;
    stays(steps, axis);
    steps->before = -ranges.from[axis];
    steps->form = STEPS_SLICE;
    return true;
}

bool steps_pad(const Node *node, int k, int axis, Stepping *steps)
{
    int64_t before[MAX_RANK];
    int64_t after[MAX_RANK];
    if (k || !pad_amounts(node, before, after))
        return false;
    stays(steps, axis);
    steps->before = before[axis];
    steps->form = STEPS_PAD;
    return true;
}

/* ---- all others ---- */

/* The axis of the results that the operator can be cut along, and with it the operand's. */
static bool cut_along(const Node *node, int k, int axis, Stepping *steps)
{
    const int rank = node->out[0]->shape.rank;
    for (int at = 0; at < rank; at++)
        if (cut_axis(node, at, k) == axis)
            return stays(steps, at);
    return false;
}

bool steps_along(const Node *node, int k, int axis, Stepping *steps)
{
    const OpRow *row = node->op;
    if (row->flags & (OP_CONTROL | OP_NOT_CONSTANT))
        return false;
    return row->steps ? row->steps(node, k, axis, steps)
                      : cut_along(node, k, axis, steps);
}

bool steps_shared(const Node *node, int k, const Stepping *steps)
{
    if (node->op->steps)
        return !steps->all;
    return cut_axis(node, steps->axis, k) == CUT_WHOLE;
}
