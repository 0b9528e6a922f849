/* SPDX-License-Identifier: Apache-2.0
 * MaxPool, AveragePool, LpPool and their global forms. */
#include "base/size.h"
#include "ops/families.h"
#include "ops/window.h"

static Window pool_window(const Node *n)
{
    int64_t count;
    const int64_t *taps = window_kernel_shape(n, &count);
    if (count != window_rank(n))
        fail_node(n, STATUS_MALFORMED, NULL,
                  "attribute kernel_shape has %lld numbers for %d dimensions", (long long)count,
                  window_rank(n));
    return window_of(n, taps);
}

void infer_pool(Node *n)
{
    const Window w = pool_window(n);
    infer_out(n, 0, n->in[0]->dtype, window_shape(&w, w.channels));
    infer_out(n, 1, DT_I64, window_shape(&w, w.channels));
}

/* Elements read, as the measure of work. */
static int64_t work_of(const Window *w)
{
    int64_t m = i64_mul(w->images, w->channels);
    for (int i = 0; i < WINDOW_DIMS; i++)
        m = i64_mul(m, i64_mul(w->out[i], w->kernel[i]));
    return m;
}

static void lower_rows(Lower *l, Node *n, const char *kernel, Window *w, bool count_pad)
{
    if (!count_pad)
        window_thin(w);
    window_upright(w);
    inlay_pool_params p = { .count_pad = count_pad };
    window_pool_params(w, &p);
    Step *s = lower_step(l, n, lower_kernel(l, kernel, n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    window_rows(w, s, s->operand, s->operand + 1);
    window_pixels(w, s->operand + 1, 1);
    s->macs = work_of(w);
}

static Step *lower_plain_pool(Lower *l, Node *n, const char *kernel, const Window *w,
                              inlay_window_params *p)
{
    p->groups = 1;
    p->ic = p->oc = i32_checked(w->channels);
    window_plain_params(w, p, w->channels);
    Step *s = lower_step(l, n, lower_kernel(l, kernel, n->in[0]->dtype), p);
    step_out(s, n->out[0]);
    s->macs = work_of(w);
    return s;
}

/* Row by row into an accumulator, which is the result. */
static void lower_global_rows(Lower *l, Node *n, const char *kernel, Window *w)
{
    window_upright(w);
    const inlay_globalpool_params p = { .rows = i32_checked(i64_mul(w->in[0], w->in[1])),
                                        .width = (int32_t)w->in[2],
                                        .channels = i32_checked(w->channels) };
    Step *s = lower_step(l, n, lower_kernel(l, kernel, DT_F32), &p);
    Operand *y = step_out(s, n->out[0]);
    operand_rows(y, i32_checked(w->images), w->channels);
    y->read = true;
    Operand *x = step_in(s, n->in[0]);
    operand_rows(x, i32_checked(i64_mul(w->images, p.rows)), w->channels);
    x->strided = true;
    x->rule.kind = ROWS_UNIT;
    s->units = x->rows;
    s->accumulates = true;
    s->macs = work_of(w);
}

/* Does the only window cover all of the image? */
static bool covers_all(const Window *w)
{
    for (int i = 0; i < WINDOW_DIMS; i++)
        if (w->kernel[i] != w->in[i] || w->out[i] != 1 || w->pad[i])
            return false;
    return true;
}

void lower_max_pool(Lower *l, Node *n)
{
    Window w = pool_window(n);
    if (n->channels_last && !node_out(n, 1) && n->in[0]->dtype != DT_F64) {
        if (covers_all(&w) && n->in[0]->dtype == DT_F32)
            lower_global_rows(l, n, "globalmax", &w);
        else
            lower_rows(l, n, "maxpool", &w, false);
        return;
    }
    inlay_window_params p = { .column_major = node_int(n, "storage_order", 0) != 0 };
    Step *s = lower_plain_pool(l, n, "maxpool_plain", &w, &p);
    step_out(s, node_out(n, 1));
    step_in(s, n->in[0]);
}

void lower_average_pool(Lower *l, Node *n)
{
    Window w = pool_window(n);
    const bool count_pad = node_int(n, "count_include_pad", 0) != 0;
    if (n->channels_last && n->in[0]->dtype == DT_F32) {
        if (covers_all(&w))
            lower_global_rows(l, n, "globalavg", &w);
        else
            lower_rows(l, n, "avgpool", &w, count_pad);
        return;
    }
    inlay_window_params p = { .count_pad = count_pad };
    step_in(lower_plain_pool(l, n, "avgpool_plain", &w, &p), n->in[0]);
}

static int32_t lp_exponent(const Node *n)
{
    const int64_t p = node_int(n, "p", 2);
    if (p < 1 || p > 1024)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute p is %lld", (long long)p);
    return (int32_t)p;
}

void lower_lp_pool(Lower *l, Node *n)
{
    const Window w = pool_window(n);
    inlay_window_params p = { .p = lp_exponent(n) };
    step_in(lower_plain_pool(l, n, "lppool_plain", &w, &p), n->in[0]);
}

static int channel_axis(const Node *n)
{
    const Shape *x = infer_shape(n, 0);
    if (x->rank < 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its input has %d dimensions", x->rank);
    return n->channels_last ? x->rank - 1 : 1;
}

void infer_global_pool(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int channel = channel_axis(n);
    for (int i = 1; i < s.rank; i++)
        if (i != channel)
            s.dim[i] = 1;
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* The whole image as one window; further dimensions than three are folded into the depth. */
static Window whole_window(const Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int channel = channel_axis(n), first = n->channels_last ? 1 : 2,
              last = n->channels_last ? x->rank - 2 : x->rank - 1;
    Window w = { .spatial = WINDOW_DIMS,
                 .channels_last = n->channels_last,
                 .images = x->dim[0],
                 .channels = x->dim[channel] };
    for (int i = 0; i < WINDOW_DIMS; i++)
        w.in[i] = w.out[i] = w.stride[i] = w.dilation[i] = 1;
    for (int i = last; i >= first; i--) {
        const int at = WINDOW_DIMS - 1 - (last - i);
        w.in[at > 0 ? at : 0] = i64_mul(w.in[at > 0 ? at : 0], x->dim[i]);
    }
    for (int i = 0; i < WINDOW_DIMS; i++)
        i32_checked(w.kernel[i] = w.in[i]);
    return w;
}

static bool has_rows(const Node *n, const Window *w)
{
    return n->in[0]->dtype == DT_F32 && (n->channels_last || w->in[0] * w->in[1] * w->in[2] == 1) &&
           tensor_count(n->in[0]) > 0;
}

void lower_global_average_pool(Lower *l, Node *n)
{
    Window w = whole_window(n);
    inlay_window_params p = { 0 };
    if (has_rows(n, &w))
        lower_global_rows(l, n, "globalavg", &w);
    else
        step_in(lower_plain_pool(l, n, "avgpool_plain", &w, &p), n->in[0]);
}

void lower_global_max_pool(Lower *l, Node *n)
{
    Window w = whole_window(n);
    inlay_window_params p = { 0 };
    if (has_rows(n, &w)) {
        lower_global_rows(l, n, "globalmax", &w);
        return;
    }
    Step *s = lower_plain_pool(l, n, "maxpool_plain", &w, &p);
    step_out(s, NULL);
    step_in(s, n->in[0]);
}

void lower_global_lp_pool(Lower *l, Node *n)
{
    const Window w = whole_window(n);
    inlay_window_params p = { .p = lp_exponent(n) };
    step_in(lower_plain_pool(l, n, "lppool_plain", &w, &p), n->in[0]);
}
