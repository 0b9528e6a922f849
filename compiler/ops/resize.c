/* SPDX-License-Identifier: Apache-2.0
 * Resize and Upsample: coordinates become tables, one axis after the other. */
#include <math.h>

#include "base/size.h"
#include "kernels/pick.h"
#include "kernels/resize.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pick.h"
#include "ops/resize.h"
#include "ops/resize_spec.h"
#include "ops/values.h"

/* The attributes that all axes share. */
static void set_attributes(const Node *node, const ResizeSpec *r,
                           inlay_resize_table_params *params)
{
    params->mode = r->mode;
    params->coordinate = r->coordinate;
    params->nearest = r->nearest;
    params->policy = r->policy;
    params->exclude = node_flag(node, "exclude_outside", false);
    params->antialias = node_flag(node, "antialias", false);
    params->cubic = node_double(node, "cubic_coeff_a", -0.75f);
    params->extrapolation = node_double(node, "extrapolation_value", 0.0f);
}

/* Parameters of one axis; the scale that bounds the taps is known even where the exact one is not.
 */
static inlay_resize_table_params table_params(const Node *node,
                                              const ResizeSpec *r, int i)
{
    const Shape *in = node_shape(node, 0);
    const int axis = r->axis[i];
    inlay_resize_table_params params = {
        .n_in = i32_checked(in->dim[axis]),
        .n_out = i32_checked(node->out[0]->shape.dim[axis]),
        .stride = 1,
        .entry = i,
        .entries = r->axes,
        .roi_end = 1.0,
    };
    set_attributes(node, r, &params);
    double scale = (double)params.n_out / params.n_in;
    if (r->scale || r->size)
        scale = resize_scale(node, r, i);
    params.taps = inlay_resize_taps(r->mode, params.antialias, scale);
    for (int k = 0; k < r->axes; k++)
        params.dims[k] = i32_checked(in->dim[r->axis[k]]);
    return params;
}

/* Is only a part of the image resized? */
static bool crops(const ResizeSpec *r)
{
    return r->roi && r->coordinate == INLAY_TF_CROP;
}

static bool is_run_time(const ResizeSpec *r)
{
    if (r->scales && !r->scale)
        return true;
    if (r->sizes && !r->size)
        return true;
    return crops(r) && !r->roi->value;
}

/* The part of entry i's axis that is resized: [0, 1] is all of it. */
static void constant_roi(const Node *node, const ResizeSpec *r, int i,
                         double *start, double *end)
{
    int64_t count;
    *start = 0.0;
    *end = 1.0;
    if (!crops(r))
        return;
    const double *roi = tensor_doubles(node->graph, r->roi, &count);
    if (!roi || count != 2 * r->axes)
        return;
    *start = roi[i];
    *end = roi[r->axes + i];
}

/* A step that makes the tables of an axis when the model runs. */
static void table_step(Lower *lower, const ResizeSpec *r,
                       const inlay_resize_table_params *params, Tensor *index,
                       Tensor *weight, bool more)
{
    Tensor *sizes = lower_index(lower, r->sizes);
    Tensor *scales = r->scales;
    if (scales && scales->dtype != DT_F32)
        fail_node(lower->node, STATUS_MALFORMED, NULL, "scales are of type %s",
                  dtype_name(scales->dtype));
    Tensor *roi = r->coordinate == INLAY_TF_CROP ? r->roi : NULL;
    if (roi && roi->dtype != DT_F32) {
        roi = lower_temp(lower, DT_F32, r->roi->shape);
        lower_cast(lower, roi, r->roi);
    }
    Step *step = lower_step(lower, "resize_table", params);
    step_out(step, index)->read = more;
    step_out(step, weight);
    step_in(step, scales);
    step_in(step, sizes);
    step_in(step, roi);
}

/* Index and weight tables of one axis. */
typedef struct Tables {
    Tensor *index;
    Tensor *weight;
    const int32_t *known; /* the indices; NULL: they are made at run time */
} Tables;

static Tables axis_tables(Lower *lower, const Node *node, const ResizeSpec *r,
                          const inlay_resize_table_params *params)
{
    const int64_t entries = i64_mul(params->n_out, params->taps);
    const int64_t weights = i64_mul(params->n_out, params->taps + 1);
    double start;
    double end;
    Tables tables = { .known = NULL };
    if (is_run_time(r)) {
        tables.index = lower_temp(lower, DT_I32, shape_vector(entries));
        tables.weight = lower_temp(lower, DT_F32, shape_vector(weights));
        table_step(lower, r, params, tables.index, tables.weight, false);
        return tables;
    }
    int32_t *index = NEW_ARRAY(lower->arena, int32_t, entries);
    float *weight = NEW_ARRAY(lower->arena, float, weights);
    const double scale = resize_scale(node, r, params->entry);
    constant_roi(node, r, params->entry, &start, &end);
    inlay_resize_axis(params, scale, start, end, index, weight);
    tables.index = lower_i32s(lower, index, entries);
    tables.weight = lower_floats(lower, weight, weights);
    tables.known = index;
    return tables;
}

/* The rows from the least that a list names to the greatest. */
static Rows rows_named(const int32_t *row, int count)
{
    Rows rows = { INT32_MAX, 0 };
    for (int i = 0; i < count; i++) {
        if (row[i] < rows.lo)
            rows.lo = row[i];
        if (row[i] >= rows.hi)
            rows.hi = row[i] + 1;
    }
    return rows;
}

/* Row u of the result is made of the rows that its entries of the table name, in its own image. */
static void rows_of_table(Lower *lower, Operand *x,
                          const inlay_resize_table_params *params,
                          int32_t units, const int32_t *index)
{
    Rows *rows = NEW_ARRAY(lower->arena, Rows, units + 1);
    for (int32_t u = 0; u < units; u++) {
        const int32_t image = u / params->n_out;
        const int32_t row = u % params->n_out;
        const int32_t first = image * params->n_in;
        Rows named = { 0, params->n_in };
        if (index)
            named = rows_named(index + row * params->taps, params->taps);
        rows[u].lo = first + named.lo;
        rows[u].hi = first + named.hi;
    }
    operand_table(x, units, rows);
}

/* An axis that stays as it is needs no work; where scales are values, equal sizes are taken as
 * scale 1 after a check. */
static bool stays(const Node *node, const ResizeSpec *r, int i)
{
    const int axis = r->axis[i];
    if (node->in[0]->shape.dim[axis] != node->out[0]->shape.dim[axis])
        return false;
    if (crops(r))
        return false;
    if (is_run_time(r))
        return axis == 0 || axis == resize_dimension(node, 1);
    const double off = fabs(resize_scale(node, r, i) - 1.0);
    return !(off > 0);
}

/* Pixels of a row, or rows, are resampled: the loops for that. Both tensors are
 * seen in the same way. */
static void set_along(inlay_resample_params *params, const Shape *in, int axis,
                      int pixels)
{
    const int last = in->rank - 1;
    if (in->rank < 3 || axis >= last)
        return;
    if (axis != pixels - 1 && axis != pixels)
        return;
    params->along = axis < pixels ? INLAY_ALONG_ROWS : INLAY_ALONG_PIXELS;
    params->inner = i32_checked(in->dim[last]);
    params->pixels = i32_checked(shape_product(in, pixels, last));
}

/* Rows of both operands; unit u makes row u. */
static void set_rows(Step *step, Operand *y, Operand *x, int pixels,
                     int32_t inner)
{
    const int64_t out = shape_product(&y->tensor->shape, 0, pixels);
    const int64_t in = shape_product(&x->tensor->shape, 0, pixels);
    operand_rows(y, i32_checked(out), inner);
    operand_rows(x, i32_checked(in), inner);
    y->strided = true;
    x->strided = true;
    step->units = y->rows;
    x->rule.kind = ROWS_SAME;
    x->reuse = REUSE_ROWS;
}

/* Rows and columns of the source that a step of such a loop needs. */
static void set_resample_rules(Lower *lower, Step *step,
                               const inlay_resample_params *resample,
                               const inlay_resize_table_params *params,
                               int pixels, const int32_t *table)
{
    Operand *y = step->operand;
    Operand *x = step->operand + 1;
    if (resample->along == INLAY_ALONG_ANY)
        return;
    set_rows(step, y, x, pixels, resample->inner);
    if (resample->along == INLAY_ALONG_ROWS)
        rows_of_table(lower, x, params, step->units, table);
    else if (table)
        x->columns = lower_columns(lower, params->n_out, params->taps, table);
}

static inlay_resample_params
resample_params(const Shape *in, int axis, int pixels,
                const inlay_resize_table_params *table)
{
    const int64_t inner = shape_product(in, axis + 1, in->rank);
    inlay_resample_params params = {
        .outer = i32_checked(shape_product(in, 0, axis)),
        .n_in = table->n_in,
        .n_out = table->n_out,
        .inner = i32_checked(inner),
        .taps = table->taps,
    };
    set_along(&params, in, axis, pixels);
    return params;
}

static void resample_axis(Lower *lower, Node *node, const ResizeSpec *r, int i,
                          Tensor *out, Tensor *in)
{
    const inlay_resize_table_params params = table_params(node, r, i);
    const int in_pixels = shape_row_axis(&in->shape);
    const int out_pixels = shape_row_axis(&out->shape);
    const int pixels = in_pixels < out_pixels ? in_pixels : out_pixels;
    const Tables tables = axis_tables(lower, node, r, &params);
    const inlay_resample_params resample =
        resample_params(&in->shape, r->axis[i], pixels, &params);
    const char *kernel = lower_kernel(lower, "resample", out->dtype);
    Step *step = lower_step(lower, kernel, &resample);
    step_out(step, out);
    step_in(step, in);
    set_resample_rules(lower, step, &resample, &params, pixels, tables.known);
    step_in(step, tables.index);
    step_in(step, tables.weight);
}

/* Last axis first: the long runs of the outer axes then work on what is already wide. */
static void resample_all(Lower *lower, Node *node, const ResizeSpec *r,
                         Tensor *out, Tensor *in)
{
    int left = 0;
    for (int i = 0; i < r->axes; i++)
        left += !stays(node, r, i);
    if (!left)
        lower_view(lower, out, in, 0);
    for (int i = r->axes - 1; i >= 0; i--) {
        if (stays(node, r, i))
            continue;
        Shape s = in->shape;
        s.dim[r->axis[i]] = node->out[0]->shape.dim[r->axis[i]];
        Tensor *y = --left ? lower_temp(lower, in->dtype, s) : out;
        resample_axis(lower, node, r, i, y, in);
        in = y;
    }
}

/* The parameters of a dimension's table: one that names each place once where no entry is for
 * it. */
static inlay_resize_table_params
place_params(const Node *node, const ResizeSpec *r, int entry, int32_t size)
{
    if (entry >= 0)
        return table_params(node, r, entry);
    return (inlay_resize_table_params){
        .n_in = size,
        .n_out = size,
        .mode = INLAY_NEAREST,
        .coordinate = INLAY_ASYMMETRIC,
        .taps = 1,
    };
}

/* Steps that fill the table for dimensions [0, axes), one after the other, when the model runs:
 * element offsets. */
static void place_tables(Lower *lower, Node *node, const ResizeSpec *r,
                         const int *entry, int axes, Tensor *table)
{
    const ResizeSpec plain = { .coordinate = INLAY_ASYMMETRIC };
    const Shape *to = result_shape(node, 0);
    int64_t stride[MAX_RANK];
    int64_t first = 0;
    shape_strides(node_shape(node, 0), stride);
    for (int d = 0; d < axes; d++) {
        const int32_t size = i32_checked(to->dim[d]);
        inlay_resize_table_params params =
            place_params(node, r, entry[d], size);
        params.stride = i32_checked(stride[d]);
        params.first = i32_checked(first);
        table_step(lower, entry[d] >= 0 ? r : &plain, &params, table, NULL,
                   d > 0);
        first += size;
    }
}

/* Loops over the dimensions up to the last that changes; *places: entries of their tables. */
static inlay_pick_params places_to_pick(const Shape *to, const int *entry,
                                        int64_t *places)
{
    inlay_pick_params pick = { .rank = 0 };
    for (int d = 0; d < to->rank; d++)
        if (entry[d] >= 0)
            pick.rank = d + 1;
    *places = 0;
    for (int d = 0; d < pick.rank; d++) {
        pick.n[d] = i32_checked(to->dim[d]);
        *places = i64_add(*places, to->dim[d]);
    }
    pick.run = i32_checked(shape_product(to, pick.rank, to->rank));
    return pick;
}

static void nearest_at_run_time(Lower *lower, Node *node, const ResizeSpec *r,
                                const int *entry)
{
    int64_t places;
    const inlay_pick_params pick =
        places_to_pick(result_shape(node, 0), entry, &places);
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    Tensor *table = lower_temp(lower, DT_I32, shape_vector(places));
    place_tables(lower, node, r, entry, pick.rank, table);
    const int bits = dtype_bits(y->dtype);
    const char *kernel = arena_printf(lower->arena, "pick_%d", bits);
    Step *step = lower_step(lower, kernel, &pick);
    step_out(step, y);
    step_in(step, x);
    step_in(step, table);
    move_finish(lower, node->out[0], y);
}

/* Which entry is for each dimension that changes (-1: none); returns how many there are. */
static int changed_dimensions(const Node *node, const ResizeSpec *r, int *entry)
{
    int count = 0;
    for (int d = 0; d < MAX_RANK; d++)
        entry[d] = -1;
    for (int i = 0; i < r->axes; i++) {
        if (stays(node, r, i))
            continue;
        entry[r->axis[i]] = i;
        count++;
    }
    return count;
}

static void pick_nearest(Lower *lower, const Node *node, const ResizeSpec *r,
                         int entry, int64_t *table)
{
    const inlay_resize_table_params params = table_params(node, r, entry);
    const double scale = resize_scale(node, r, entry);
    int32_t *index = NEW_ARRAY(lower->arena, int32_t, params.n_out);
    inlay_resize_axis(&params, scale, 0.0, 1.0, index, NULL);
    for (int32_t k = 0; k < params.n_out; k++)
        table[k] = index[k];
}

/* Nearest neighbours: moves by a table for each axis. */
static void lower_nearest(Lower *lower, Node *node, const ResizeSpec *r)
{
    int entry[MAX_RANK];
    const int changed = changed_dimensions(node, r, entry);
    if (changed && is_run_time(r)) {
        nearest_at_run_time(lower, node, r, entry);
        return;
    }
    Pick pick = pick_new(lower, node, node->out[0], node->in[0]);
    for (int d = 0; d < node->in[0]->shape.rank; d++)
        if (entry[d] >= 0)
            pick_nearest(lower, node, r, entry[d], pick.table[d]);
    lower_pick(&pick);
}

void lower_resize(Lower *lower, Node *node)
{
    const ResizeSpec r = resize_spec(node);
    Tensor *x = node->in[0];
    Tensor *y = node->out[0];
    if (!tensor_count(y))
        return;
    if (r.mode == INLAY_NEAREST && r.coordinate != INLAY_TF_CROP) {
        lower_nearest(lower, node, &r);
        return;
    }
    if (x->dtype == DT_F32 || x->dtype == DT_F64) {
        resample_all(lower, node, &r, y, x);
        return;
    }
    Tensor *wide = lower_temp(lower, DT_F32, x->shape);
    Tensor *result = lower_temp(lower, DT_F32, y->shape);
    lower_cast(lower, wide, x);
    resample_all(lower, node, &r, result, wide);
    lower_cast(lower, y, result);
}

/* ---- pairs of pixels, of rows ---- */

/* Are two elements of an axis mixed, or is it left as it is? */
static bool takes_two(const Node *node, const ResizeSpec *r, int i)
{
    return stays(node, r, i) || table_params(node, r, i).taps == 2;
}

bool resize_is_bilinear(const Node *node)
{
    const Shape *shape = node_shape(node, 0);
    if (node->op->since < 11 || shape->rank != 4)
        return false;
    const ResizeSpec r = resize_spec(node);
    if (r.mode != INLAY_LINEAR || r.coordinate == INLAY_TF_CROP)
        return false;
    if (is_run_time(&r))
        return false;
    for (int i = 0; i < r.axes; i++) {
        const bool of_image = r.axis[i] >= 2;
        if (of_image ? !takes_two(node, &r, i) : !stays(node, &r, i))
            return false;
    }
    return shape->dim[2] > 1 && node->out[0]->shape.dim[2] > 1;
}

/* The entry of the axis, if it changes; -1: it does not. */
static int entry_of(const Node *node, const ResizeSpec *r, int axis)
{
    for (int i = 0; i < r->axes; i++)
        if (r->axis[i] == axis && !stays(node, r, i))
            return i;
    return -1;
}

/* The last element is made of twice its half, as ONNX Runtime does it: so ties fall the same way.
 * One before the first is the first. */
static void settle_edge(int32_t last, int32_t *place, float *weight)
{
    const bool is_one = place[0] == place[1];
    if (place[1] == last && (is_one || weight[0] == 0.0f)) {
        place[0] = last;
        weight[0] = weight[1] = 0.5f;
    } else if (is_one) {
        weight[0] = 1.0f;
        weight[1] = 0.0f;
    }
}

/* Each element as it is. */
static void same_pairs(int64_t n, int32_t *place, float *weight)
{
    for (int64_t k = 0; k < n; k++) {
        place[2 * k] = place[2 * k + 1] = (int32_t)k;
        settle_edge((int32_t)n - 1, place + 2 * k, weight + 2 * k);
    }
}

void resize_pairs(Lower *lower, const Node *node, int axis, int32_t *place,
                  float *weight)
{
    const ResizeSpec r = resize_spec(node);
    const int64_t n = node->out[0]->shape.dim[axis];
    const int entry = entry_of(node, &r, axis);
    if (entry < 0) {
        same_pairs(n, place, weight);
        return;
    }
    const inlay_resize_table_params params = table_params(node, &r, entry);
    float *table = NEW_ARRAY(lower->arena, float, 3 * n);
    const double scale = resize_scale(node, &r, entry);
    inlay_resize_axis(&params, scale, 0.0, 1.0, place, table);
    for (int64_t k = 0; k < n; k++) {
        weight[2 * k] = table[3 * k];
        weight[2 * k + 1] = table[3 * k + 1];
        settle_edge(params.n_in - 1, place + 2 * k, weight + 2 * k);
    }
}
