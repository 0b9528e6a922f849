/* SPDX-License-Identifier: Apache-2.0
 * MaxPool, AveragePool, LpPool and their global forms. */
#include "base/size.h"
#include "kernels/pool.h"
#include "kernels/window_plain.h"
#include "ops/families.h"
#include "ops/qstep.h"
#include "ops/reduce.h"
#include "ops/window.h"

static Window pool_window(const Node *node)
{
    int64_t count;
    const int64_t *taps = window_kernel_shape(node, &count);
    if (count != window_rank(node))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute kernel_shape has %lld numbers for %d dimensions",
                  (long long)count, window_rank(node));
    return window_of(node, taps);
}

void infer_pool(Node *node)
{
    const Window window = pool_window(node);
    infer_out(node, 0, node_type(node), window_shape(&window, window.channels));
    infer_out(node, 1, DT_I64, window_shape(&window, window.channels));
}

/* Elements read, as the measure of work. */
static int64_t work_of(const Window *window)
{
    int64_t m = i64_mul(window->images, window->channels);
    for (int i = 0; i < WINDOW_DIMS; i++)
        m = i64_mul(m, i64_mul(window->axis[i].out, window->axis[i].kernel));
    return m;
}

/* The operands of a pool that goes row by row. */
static void finish_rows(Step *step, const Window *window)
{
    step_result(step, 0);
    step_operand(step, 0);
    window_rows(window, step, step->operand, step->operand + 1);
    window_pixels(window, step->operand + 1, 1);
    step->macs = work_of(window);
}

static Step *lower_rows(Lower *lower, const char *kernel, Window *window,
                        bool count_pad)
{
    if (!count_pad)
        window_thin(window);
    window_upright(window);
    inlay_pool_params params = { .count_pad = count_pad };
    window_pool_params(window, &params);
    Step *step = lower_step(lower, kernel, &params);
    finish_rows(step, window);
    return step;
}

Step *lower_pool_rows(Lower *lower, Node *node, const char *kernel,
                      bool count_pad)
{
    Window window = pool_window(node);
    return tensor_count(node->out[0])
               ? lower_rows(lower, kernel, &window, count_pad)
               : NULL;
}

static Step *lower_plain_pool(Lower *lower, const char *kernel,
                              const Window *window, inlay_window_params *params)
{
    params->groups = 1;
    params->ic = params->oc = i32_checked(window->channels);
    window_plain_params(window, params, window->channels);
    Step *step = lower_typed_step(lower, kernel, params);
    step_result(step, 0);
    step->macs = work_of(window);
    return step;
}

Step *lower_global(Lower *lower, const char *kernel, int64_t images,
                   const inlay_globalpool_params *params)
{
    const int64_t rows = i64_mul(images, params->rows);
    Step *step = lower_step(lower, kernel, params);
    Operand *y = step_result(step, 0);
    operand_rows(y, i32_checked(images), params->channels);
    y->read = true;
    Operand *x = step_operand(step, 0);
    operand_rows(x, i32_checked(rows), params->channels);
    x->strided = true;
    x->rule.kind = ROWS_UNIT;
    step->units = x->rows;
    step->accumulates = true;
    return step;
}

static void lower_global_rows(Lower *lower, const char *kernel, Window *window)
{
    window_upright(window);
    const inlay_globalpool_params params = {
        .rows = i32_checked(i64_mul(window->axis[0].in, window->axis[1].in)),
        .width = (int32_t)window->axis[2].in,
        .channels = i32_checked(window->channels),
    };
    Step *step = lower_global(lower, kernel, window->images, &params);
    step->macs = work_of(window);
}

static bool covers_axis(const WindowAxis *axis)
{
    return axis->kernel == axis->in && axis->out == 1 && !axis->pad;
}

/* Does the only window cover all of the image? */
static bool covers_all(const Window *window)
{
    for (int i = 0; i < WINDOW_DIMS; i++)
        if (!covers_axis(window->axis + i))
            return false;
    return true;
}

bool pool_is_global(const Node *node)
{
    const Window window = pool_window(node);
    return covers_all(&window);
}

void lower_max_pool(Lower *lower, Node *node)
{
    Window window = pool_window(node);
    if (node->channels_last && !node_out(node, 1) &&
        node_type(node) != DT_F64) {
        if (covers_all(&window) && node_type(node) == DT_F32)
            lower_global_rows(lower, "globalmax_f32", &window);
        else
            lower_rows(lower, lower_kernel(lower, "maxpool", node_type(node)),
                       &window, false);
        return;
    }
    inlay_window_params params = { .column_major = node_flag(
                                       node, "storage_order", false) };
    Step *step = lower_plain_pool(lower, "maxpool_plain", &window, &params);
    step_result(step, 1);
    step_operand(step, 0);
}

void lower_average_pool(Lower *lower, Node *node)
{
    Window window = pool_window(node);
    const bool count_pad = node_flag(node, "count_include_pad", false);
    if (node->channels_last && node_type(node) == DT_F32) {
        if (covers_all(&window))
            lower_global_rows(lower, "globalavg_f32", &window);
        else
            lower_rows(lower, "avgpool_f32", &window, count_pad);
        return;
    }
    inlay_window_params params = { .count_pad = count_pad };
    step_in(lower_plain_pool(lower, "avgpool_plain", &window, &params),
            node->in[0]);
}

static int32_t lp_exponent(const Node *node)
{
    const int64_t p = node_int(node, "p", 2);
    if (p < 1 || p > 1024)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute p is %lld",
                  (long long)p);
    return (int32_t)p;
}

static void lower_lp_rows(Lower *lower, Node *node, Window *window)
{
    window_thin(window);
    window_upright(window);
    inlay_pool_params params = { .exponent = lp_exponent(node) };
    window_pool_params(window, &params);
    finish_rows(lower_step(lower, "lppool_f32", &params), window);
}

void lower_lp_pool(Lower *lower, Node *node)
{
    Window window = pool_window(node);
    if (node->channels_last && node_type(node) == DT_F32) {
        lower_lp_rows(lower, node, &window);
        return;
    }
    inlay_window_params params = { .p = lp_exponent(node) };
    step_in(lower_plain_pool(lower, "lppool_plain", &window, &params),
            node->in[0]);
}

static int channel_axis(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    if (x->rank < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its input has %d dimensions",
                  x->rank);
    return node->channels_last ? x->rank - 1 : 1;
}

void infer_global_pool(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int channel = channel_axis(node);
    for (int i = 1; i < shape.rank; i++)
        if (i != channel)
            shape.dim[i] = 1;
    infer_out(node, 0, node_type(node), shape);
}

/* The whole image as one window; further dimensions than three are folded into the depth. */
static Window whole_window(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int channel = channel_axis(node);
    const int first = node->channels_last ? 1 : 2;
    const int last = node->channels_last ? x->rank - 2 : x->rank - 1;
    Window window = {
        .spatial = WINDOW_DIMS,
        .channels_last = node->channels_last,
        .images = x->dim[0],
        .channels = x->dim[channel],
    };
    for (int i = 0; i < WINDOW_DIMS; i++)
        window.axis[i] = window_one;
    for (int i = last; i >= first; i--) {
        const int at = WINDOW_DIMS - 1 - (last - i);
        WindowAxis *axis = window.axis + (at > 0 ? at : 0);
        axis->in = i64_mul(axis->in, x->dim[i]);
    }
    for (int i = 0; i < WINDOW_DIMS; i++) {
        WindowAxis *axis = window.axis + i;
        axis->kernel = i32_checked(axis->in);
    }
    return window;
}

static bool has_rows(const Node *node, const Window *window)
{
    const WindowAxis *axis = window->axis;
    const bool pixel = axis[0].in * axis[1].in * axis[2].in == 1;
    return node_type(node) == DT_F32 && (node->channels_last || pixel) &&
           tensor_count(node->in[0]) > 0;
}

/* The mean of each plane, where it lies by itself. */
static void lower_plane_means(Lower *lower, Node *node)
{
    bool gone[MAX_RANK] = { false };
    for (int i = 2; i < node->in[0]->shape.rank; i++)
        gone[i] = true;
    lower_reduce_axes(lower, "reduce_mean_f32", node->out[0], node->in[0],
                      gone);
}

void lower_global_average_pool(Lower *lower, Node *node)
{
    Window window = whole_window(node);
    inlay_window_params params = { 0 };
    if (has_rows(node, &window))
        lower_global_rows(lower, "globalavg_f32", &window);
    else if (node_type(node) == DT_F32 && tensor_count(node->in[0]))
        lower_plane_means(lower, node);
    else
        step_in(lower_plain_pool(lower, "avgpool_plain", &window, &params),
                node->in[0]);
}

void lower_global_sum(Lower *lower, Node *node, const char *kernel)
{
    Window window = whole_window(node);
    if (tensor_count(node->in[0]))
        lower_global_rows(lower, kernel, &window);
}

void lower_global_max_pool(Lower *lower, Node *node)
{
    Window window = whole_window(node);
    inlay_window_params params = { 0 };
    if (has_rows(node, &window)) {
        lower_global_rows(lower, "globalmax_f32", &window);
        return;
    }
    if (node->channels_last && DTYPE_BIT(node_type(node)) & T_Q8 &&
        tensor_count(node->out[0])) {
        const char *kernel = lower_kernel(lower, "maxpool", node_type(node));
        lower_rows(lower, kernel, &window, false);
        return;
    }
    Step *step = lower_plain_pool(lower, "maxpool_plain", &window, &params);
    step_out(step, NULL);
    step_operand(step, 0);
}

void lower_global_lp_pool(Lower *lower, Node *node)
{
    const Window window = whole_window(node);
    inlay_window_params params = { .p = lp_exponent(node) };
    step_in(lower_plain_pool(lower, "lppool_plain", &window, &params),
            node->in[0]);
}
