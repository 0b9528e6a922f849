/* SPDX-License-Identifier: Apache-2.0
 * Resize and Upsample: coordinates become tables, one axis after the other. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/pick.h"
#include "kernels/resize.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pick.h"
#include "ops/values.h"

/* Which operand holds what; -1: no such operand. Dims are those of the file (NCHW) until the layout
 * pass. */
typedef struct ResizeSpec {
    Tensor *roi, *scales, *sizes;
    int axes;            /* entries of scales or sizes ... */
    int axis[MAX_RANK];  /* ... and the dimension each is for, in the node's own layout */
    const double *scale; /* constant values, else NULL */
    const int64_t *size;
    int mode, coordinate, nearest, policy;
} ResizeSpec;

static int lookup(const Node *n, const char *attribute, const char *otherwise,
                  const char *const *names, int count)
{
    const char *v = node_string(n, attribute, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], v))
            return i;
    fail_node(n, STATUS_UNSUPPORTED, NULL, "%s \"%s\" is unknown", attribute, v);
}

static void resize_modes(const Node *n, ResizeSpec *r)
{
    static const char *const modes[] = { "nearest", "linear", "cubic" };
    static const char *const coordinates[] = { "half_pixel",         "half_pixel_symmetric",
                                               "pytorch_half_pixel", "asymmetric",
                                               "align_corners",      "tf_half_pixel_for_nn",
                                               "tf_crop_and_resize" };
    static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil" };
    static const char *const policies[] = { "stretch", "not_larger", "not_smaller" };
    const bool old = n->op->since < 11; /* Upsample, and Resize 10 */
    r->mode = lookup(n, "mode", "nearest", modes, 3);
    r->coordinate = old ? INLAY_ASYMMETRIC
                        : lookup(n, "coordinate_transformation_mode", "half_pixel", coordinates, 7);
    r->nearest = old ? INLAY_FLOOR : lookup(n, "nearest_mode", "round_prefer_floor", nearest, 4);
    r->policy = lookup(n, "keep_aspect_ratio_policy", "stretch", policies, 3);
}

/* Dimension d of NCHW.. in the layout that the node has now. */
static int physical(const Node *n, int d)
{
    const int rank = n->in[0]->shape.rank;
    if (!n->channels_last || d == 0)
        return d;
    return d == 1 ? rank - 1 : d - 1;
}

static bool is_present(const Tensor *t)
{
    return t && (!shape_known(&t->shape) || tensor_count(t) > 0);
}

static void resize_operands(const Node *n, ResizeSpec *r)
{
    const bool old = n->op->since < 11;
    r->roi = old ? NULL : node_in(n, 1);
    r->scales = node_in(n, old ? 1 : 2);
    r->sizes = old ? NULL : node_in(n, 3);
    if (!is_present(r->roi))
        r->roi = NULL;
    if (!is_present(r->scales))
        r->scales = NULL;
    if (!is_present(r->sizes))
        r->sizes = NULL;
    if (r->sizes)
        r->scales = NULL;
}

static void resize_axes(const Node *n, ResizeSpec *r)
{
    const int rank = infer_shape(n, 0)->rank;
    int64_t count;
    const int64_t *axes = node_ints(n, "axes", &count);
    r->axes = axes ? (int)i64_min(count, MAX_RANK) : rank;
    for (int i = 0; i < r->axes; i++)
        r->axis[i] = physical(n, axes ? node_axis(n, axes[i], rank) : i);
}

static ResizeSpec resize_spec(const Node *n)
{
    ResizeSpec r = { .roi = NULL };
    int64_t count = -1;
    resize_modes(n, &r);
    resize_axes(n, &r);
    if (n->op->since < 9) { /* Upsample 7: scales is an attribute */
        const float *f = node_floats(n, "scales", &count);
        double *d = NEW_ARRAY(n->graph->arena, double, count + 1);
        for (int64_t i = 0; f && i < count; i++)
            d[i] = (double)f[i];
        r.scale = f ? d : NULL;
    } else {
        resize_operands(n, &r);
        if (r.scales)
            r.scale = tensor_doubles(n->graph, r.scales, &count);
        if (r.sizes)
            r.size = tensor_ints(n->graph, r.sizes, &count);
        if (!r.scales && !r.sizes)
            fail_node(n, STATUS_MALFORMED, NULL, "has neither scales nor sizes");
    }
    if ((r.scale || r.size) && count != r.axes)
        fail_node(n, STATUS_MALFORMED, NULL, "%lld scales or sizes for %d axes", (long long)count,
                  r.axes);
    return r;
}

/* Constant scale of entry i: as given, or from the sizes. */
static double resize_scale(const Node *n, const ResizeSpec *r, int i)
{
    const Shape *in = &n->in[0]->shape;
    if (r->scale)
        return r->scale[i];
    double scale = (double)r->size[i] / (double)in->dim[r->axis[i]];
    for (int k = 0; r->policy && k < r->axes; k++) {
        const double ratio = (double)r->size[k] / (double)in->dim[r->axis[k]];
        scale = r->policy == 1 ? fmin(scale, ratio) : fmax(scale, ratio);
    }
    return scale;
}

void infer_resize(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const ResizeSpec r = resize_spec(n);
    if (!r.scale && !r.size) {
        for (int i = 0; i < r.axes; i++)
            s.dim[r.axis[i]] = -1;
        infer_declared_as(n, 0, n->in[0]->dtype, s);
        return;
    }
    for (int i = 0; i < r.axes; i++) {
        const double scale = resize_scale(n, &r, i), in = (double)s.dim[r.axis[i]];
        if (!(scale > 0) || scale * in > 0x1p31)
            fail_node(n, STATUS_MALFORMED, NULL, "axis %d has scale %g", r.axis[i], scale);
        s.dim[r.axis[i]] = r.size && !r.policy
                               ? r.size[i]
                               : (int64_t)(r.size ? floor(scale * in + 0.5) : floor(scale * in));
    }
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* Parameters of one axis; the scale that bounds the taps is known even where the exact one is not.
 */
static inlay_resize_table_params table_params(const Node *n, const ResizeSpec *r, int i)
{
    const Shape *in = &n->in[0]->shape, *out = &n->out[0]->shape;
    const int axis = r->axis[i];
    inlay_resize_table_params p = { .n_in = i32_checked(in->dim[axis]),
                                    .n_out = i32_checked(out->dim[axis]),
                                    .mode = r->mode,
                                    .coordinate = r->coordinate,
                                    .nearest = r->nearest,
                                    .exclude = node_int(n, "exclude_outside", 0) != 0,
                                    .antialias = node_int(n, "antialias", 0) != 0,
                                    .stride = 1,
                                    .entry = i,
                                    .entries = r->axes,
                                    .policy = r->policy,
                                    .cubic = (double)node_float(n, "cubic_coeff_a", -0.75f),
                                    .extrapolation =
                                        (double)node_float(n, "extrapolation_value", 0.0f),
                                    .roi_end = 1.0 };
    const double scale = r->scale || r->size ? resize_scale(n, r, i) : (double)p.n_out / p.n_in;
    p.taps = inlay_resize_taps(r->mode, p.antialias, scale);
    for (int k = 0; k < r->axes; k++)
        p.dims[k] = i32_checked(in->dim[r->axis[k]]);
    return p;
}

static bool is_run_time(const ResizeSpec *r)
{
    return (r->scales && !r->scale) || (r->sizes && !r->size) ||
           (r->roi && !r->roi->value && r->coordinate == INLAY_TF_CROP);
}

static void constant_roi(const Node *n, const ResizeSpec *r, int i, double *start, double *end)
{
    int64_t count;
    const double *roi =
        r->roi && r->coordinate == INLAY_TF_CROP ? tensor_doubles(n->graph, r->roi, &count) : NULL;
    *start = roi && count == 2 * r->axes ? roi[i] : 0.0;
    *end = roi && count == 2 * r->axes ? roi[r->axes + i] : 1.0;
}

/* A step that makes the tables of an axis when the model runs. */
static void table_step(Lower *l, Node *n, const ResizeSpec *r, const inlay_resize_table_params *p,
                       Tensor *index, Tensor *weight, bool more)
{
    Tensor *sizes = lower_index(l, n, r->sizes), *scales = r->scales;
    if (scales && scales->dtype != DT_F32)
        fail_node(n, STATUS_MALFORMED, NULL, "scales are of type %s", dtype_name(scales->dtype));
    Tensor *roi = r->coordinate == INLAY_TF_CROP ? r->roi : NULL;
    if (roi && roi->dtype != DT_F32) {
        roi = lower_temp(l, DT_F32, r->roi->shape);
        lower_cast(l, n, roi, r->roi, true, 0);
    }
    Step *s = lower_step(l, n, "resize_table", p);
    step_out(s, index)->read = more;
    step_out(s, weight);
    step_in(s, scales);
    step_in(s, sizes);
    step_in(s, roi);
}

/* Index and weight tables of one axis, constant or made at run time; returns the constant indices.
 */
static const int32_t *axis_tables(Lower *l, Node *n, const ResizeSpec *r, int i,
                                  const inlay_resize_table_params *p, Tensor **index,
                                  Tensor **weight)
{
    const int64_t entries = i64_mul(p->n_out, p->taps), weights = i64_mul(p->n_out, p->taps + 1);
    double start, end;
    if (is_run_time(r)) {
        *index = lower_temp(l, DT_I32, shape_vector(entries));
        *weight = lower_temp(l, DT_F32, shape_vector(weights));
        table_step(l, n, r, p, *index, *weight, false);
        return NULL;
    }
    int32_t *k = NEW_ARRAY(l->arena, int32_t, entries);
    float *w = NEW_ARRAY(l->arena, float, weights);
    constant_roi(n, r, i, &start, &end);
    inlay_resize_axis(p, resize_scale(n, r, i), start, end, k, w);
    *index = lower_i32s(l, k, entries);
    *weight = lower_floats(l, w, weights);
    return k;
}

/* Row u of the result is made of the rows that its entries of the table name, in its own image. */
static void rows_of_table(Lower *l, Operand *x, const inlay_resize_table_params *p, int32_t units,
                          const int32_t *index)
{
    Rows *rows = NEW_ARRAY(l->arena, Rows, units + 1);
    for (int32_t u = 0; u < units; u++) {
        const int32_t first = u / p->n_out * p->n_in;
        rows[u] = (Rows){ first, first + p->n_in };
        if (!index)
            continue;
        rows[u] = (Rows){ INT32_MAX, 0 };
        for (int t = 0; t < p->taps; t++) {
            const int32_t at = first + index[u % p->n_out * p->taps + t];
            rows[u] = (Rows){ at < rows[u].lo ? at : rows[u].lo,
                              at + 1 > rows[u].hi ? at + 1 : rows[u].hi };
        }
    }
    operand_table(x, units, rows);
}

/* An axis that stays as it is needs no work; where scales are values, equal sizes are taken as
 * scale 1 after a check. */
static bool stays(const Node *n, const ResizeSpec *r, int i)
{
    const int axis = r->axis[i];
    if (n->in[0]->shape.dim[axis] != n->out[0]->shape.dim[axis])
        return false;
    if (r->coordinate == INLAY_TF_CROP && r->roi)
        return false;
    return is_run_time(r) ? axis == 0 || axis == physical(n, 1)
                          : !(fabs(resize_scale(n, r, i) - 1.0) > 0);
}

static void resample_axis(Lower *l, Node *n, const ResizeSpec *r, int i, Tensor *out, Tensor *in)
{
    const inlay_resize_table_params p = table_params(n, r, i);
    const int axis = r->axis[i];
    Tensor *index, *weight;
    const int32_t *table = axis_tables(l, n, r, i, &p, &index, &weight);
    const int rank = in->shape.rank;
    inlay_resample_params q = { .outer = i32_checked(shape_product(&in->shape, 0, axis)),
                                .n_in = p.n_in,
                                .n_out = p.n_out,
                                .inner = i32_checked(shape_product(&in->shape, axis + 1, rank)),
                                .taps = p.taps };
    const int pixels = (int)i64_min(shape_row_axis(&in->shape),
                                    shape_row_axis(&out->shape)); /* both seen in the same way */
    if (rank >= 3 && axis < rank - 1 && (axis == pixels - 1 || axis == pixels)) {
        q.along = axis < pixels ? INLAY_ALONG_ROWS : INLAY_ALONG_PIXELS;
        q.inner = i32_checked(in->shape.dim[rank - 1]);
        q.pixels = i32_checked(shape_product(&in->shape, pixels, rank - 1));
    }
    Step *s = lower_step(l, n, lower_kernel(l, "resample", out->dtype), &q);
    Operand *y = step_out(s, out), *x = step_in(s, in);
    if (q.along != INLAY_ALONG_ANY) {
        operand_rows(y, i32_checked(shape_product(&out->shape, 0, pixels)), q.inner);
        operand_rows(x, i32_checked(shape_product(&in->shape, 0, pixels)), q.inner);
        y->strided = x->strided = true;
        s->units = y->rows;
        x->rule.kind = ROWS_SAME;
        x->reuse = REUSE_ROWS;
        if (q.along == INLAY_ALONG_ROWS)
            rows_of_table(l, x, &p, s->units, table);
    }
    if (table && q.along == INLAY_ALONG_PIXELS)
        x->columns = lower_columns(l, p.n_out, p.taps, table);
    step_in(s, index);
    step_in(s, weight);
}

/* Last axis first: the long runs of the outer axes then work on what is already wide. */
static void resample_all(Lower *l, Node *n, const ResizeSpec *r, Tensor *out, Tensor *in)
{
    int left = 0;
    for (int i = 0; i < r->axes; i++)
        left += !stays(n, r, i);
    if (!left)
        lower_view(l, n, out, in, 0);
    for (int i = r->axes - 1; i >= 0; i--) {
        if (stays(n, r, i))
            continue;
        Shape s = in->shape;
        s.dim[r->axis[i]] = n->out[0]->shape.dim[r->axis[i]];
        Tensor *y = --left ? lower_temp(l, in->dtype, s) : out;
        resample_axis(l, n, r, i, y, in);
        in = y;
    }
}

/* Tables of element offsets for each axis up to the last that changes, one after the other, made
 * when the model runs. */
static void nearest_at_run_time(Lower *l, Node *n, const ResizeSpec *r, const int *entry)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    int64_t stride[MAX_RANK], total = 0;
    int axes = 0;
    shape_strides(in, stride);
    for (int d = 0; d < in->rank; d++)
        if (entry[d] >= 0)
            axes = d + 1;
    for (int d = 0; d < axes; d++)
        total = i64_add(total, to->dim[d]);
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *table = lower_temp(l, DT_I32, shape_vector(total));
    inlay_pick_params pick = { .rank = axes,
                               .run = i32_checked(shape_product(to, axes, to->rank)) };
    int64_t first = 0;
    for (int d = 0; d < axes; d++) {
        pick.n[d] = i32_checked(to->dim[d]);
        inlay_resize_table_params p = { .n_in = pick.n[d],
                                        .n_out = pick.n[d],
                                        .mode = INLAY_NEAREST,
                                        .coordinate = INLAY_ASYMMETRIC,
                                        .taps = 1 };
        const ResizeSpec plain = { .coordinate = INLAY_ASYMMETRIC };
        if (entry[d] >= 0)
            p = table_params(n, r, entry[d]);
        p.stride = i32_checked(stride[d]);
        p.first = i32_checked(first);
        table_step(l, n, entry[d] >= 0 ? r : &plain, &p, table, NULL, d > 0);
        first += to->dim[d];
    }
    Step *s = lower_step(l, n, arena_printf(l->arena, "pick_%d", dtype_bits(y->dtype)), &pick);
    step_out(s, y);
    step_in(s, x);
    step_in(s, table);
    move_finish(l, n, n->out[0], y);
}

/* Nearest neighbours: moves by a table for each axis. */
static void lower_nearest(Lower *l, Node *n, const ResizeSpec *r)
{
    int entry[MAX_RANK], axes = 0;
    for (int d = 0; d < MAX_RANK; d++)
        entry[d] = -1;
    for (int i = 0; i < r->axes; i++)
        if (!stays(n, r, i))
            entry[r->axis[i]] = i, axes++;
    if (axes && is_run_time(r)) {
        nearest_at_run_time(l, n, r, entry);
        return;
    }
    Pick pick = pick_new(l, n, n->out[0], n->in[0]);
    for (int d = 0; d < n->in[0]->shape.rank; d++) {
        if (entry[d] < 0)
            continue;
        const inlay_resize_table_params p = table_params(n, r, entry[d]);
        int32_t *index = NEW_ARRAY(l->arena, int32_t, p.n_out);
        inlay_resize_axis(&p, resize_scale(n, r, entry[d]), 0.0, 1.0, index, NULL);
        for (int32_t k = 0; k < p.n_out; k++)
            pick.table[d][k] = index[k];
    }
    lower_pick(&pick);
}

void lower_resize(Lower *l, Node *n)
{
    const ResizeSpec r = resize_spec(n);
    Tensor *x = n->in[0], *y = n->out[0];
    if (!tensor_count(y))
        return;
    if (r.mode == INLAY_NEAREST && r.coordinate != INLAY_TF_CROP) {
        lower_nearest(l, n, &r);
        return;
    }
    if (x->dtype == DT_F32 || x->dtype == DT_F64) {
        resample_all(l, n, &r, y, x);
        return;
    }
    Tensor *wide = lower_temp(l, DT_F32, x->shape), *result = lower_temp(l, DT_F32, y->shape);
    lower_cast(l, n, wide, x, true, 0);
    resample_all(l, n, &r, result, wide);
    lower_cast(l, n, y, result, true, 0);
}
