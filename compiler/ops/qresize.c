/* SPDX-License-Identifier: Apache-2.0
 * Bilinear Resize of quantized images, channels last: the pass `quantize` makes it. Scales, sizes
 * and attributes are those of Resize. */
#include "kernels/qresize.h"

#include "ops/families.h"
#include "ops/qstep.h"
#include "ops/resize.h"

void infer_qresize(Node *node)
{
    node->channels_last = true;
    infer_resize(node);
    node->out[0]->dtype = dtype_of_code(node_int(node, "output_dtype", 0));
}

/* The pixels of `axis` that each of the result is made of, and their weights, as operands. */
static const int32_t *pairs_of(Lower *lower, Step *step, Node *node, int axis)
{
    const Shape *shape = result_shape(node, 0);
    const int64_t n = 2 * shape->dim[axis];
    int32_t *place = NEW_ARRAY(lower->arena, int32_t, n);
    float *weight = NEW_ARRAY(lower->arena, float, n);
    resize_pairs(lower, node, axis, place, weight);
    step_in(step, lower_i32s(lower, place, n));
    step_in(step, lower_floats(lower, weight, n));
    return place;
}

/* The rows from one place to the other, in the image whose first row that is. */
static Rows pair_rows(int32_t first, const int32_t *place)
{
    const bool falls = place[1] < place[0];
    const int32_t upper = place[falls];
    const int32_t lower = place[!falls];
    return (Rows){ first + upper, first + lower + 1 };
}

static void image_rows(Operand *operand)
{
    operand_image(operand);
    operand->strided = true;
}

/* A row of the result needs the two rows that the table names, in its own image. */
static void needed_rows(Step *step, const inlay_qresize_params *params,
                        const int32_t *row)
{
    Operand *y = step->operand;
    Operand *x = step->operand + 1;
    image_rows(y);
    image_rows(x);
    step->units = y->rows;
    Rows *rows = step_rows(step);
    for (int32_t u = 0; u < step->units; u++) {
        const int32_t image = u / params->out;
        const int32_t at = u % params->out;
        rows[u] = pair_rows(image * params->in, row + 2 * at);
    }
    operand_table(x, step->units, rows);
}

void lower_qresize(Lower *lower, Node *node)
{
    const int64_t *x = node->in[0]->shape.dim;
    const int64_t *y = node->out[0]->shape.dim;
    const inlay_qresize_params params = {
        .in = i32_checked(x[1]),
        .out = i32_checked(y[1]),
        .wide_in = i32_checked(x[2]),
        .wide_out = i32_checked(y[2]),
        .channels = i32_checked(x[3]),
    };
    Step *step = lower_step(lower, "qresize", &params);
    step_out(step, node->out[0]);
    step_in(step, node->in[0]);
    const int32_t *row = pairs_of(lower, step, node, 1);
    pairs_of(lower, step, node, 2);
    lower_quantum(lower, step, node);
    needed_rows(step, &params, row);
    step->macs = 4 * tensor_count(node->out[0]);
}
