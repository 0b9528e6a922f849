/* SPDX-License-Identifier: Apache-2.0
 * Pad along an axis whose size is known only at run time: by so many elements, or up to a size, as
 * exporters write it behind a NonMaxSuppression. */
#include <string.h>

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/partly.h"
#include "ops/steps.h"

/* The one dynamic axis; -1: there are several. */
static int the_axis(const Tensor *tensor)
{
    int axis = 0;
    while (!(tensor->dynamic >> axis & 1u))
        axis++;
    return tensor->dynamic == 1u << axis ? axis : -1;
}

static bool fills_with_number(const Node *node)
{
    const char *mode = node_string(node, "mode", "constant");
    return node_is(node, "Pad") && !strcmp(mode, "constant");
}

/* The number that it fills with. */
static Tensor *number_of(const Node *node, DType type)
{
    Tensor *given = node_in(node, 2);
    if (given)
        return expand_reshape(node, given, 0, NULL);
    const float value = node_float(node, "value", 0.0f);
    return expand_number(node, (double)value, type);
}

bool dynamic_padded(Node *node, Tensor *tensor)
{
    int64_t before[MAX_RANK];
    int64_t after[MAX_RANK];
    const int axis = the_axis(tensor);
    if (axis < 0 || !fills_with_number(node))
        return false;
    if (!pad_amounts(node, before, after))
        return false;
    if (before[axis] < 0 || after[axis] < 0)
        return false;
    Tensor *number = number_of(node, tensor->dtype);
    Tensor *filled = dynamic_filled_with(node, tensor, axis, number);
    const int64_t both = i64_add(before[axis], after[axis]);
    Tensor *more = expand_i64(node, both);
    Tensor *size = dynamic_size(node, tensor, axis);
    size = expand_add(node, size, more);
    node_set_input(node, 0, filled);
    dynamic_cut(node, 1, node->out, axis, size);
    return true;
}

/* Is nothing put anywhere but behind the elements of the axis? */
static bool pads_behind(const Node *node, int rank, int axis)
{
    const Tensor *pads = node->in[1];
    if (pads->shape.rank != 1)
        return false;
    if (pads->shape.dim[0] != 2 * rank)
        return false;
    for (int i = 0; i < 2 * rank; i++) {
        int64_t amount;
        if (i == rank + axis)
            continue;
        if (!partly_known(node->graph, pads, i, &amount) || amount)
            return false;
    }
    return true;
}

/* Does the file declare the result, which differs from the operand along that axis alone? */
static bool is_declared(const Node *node, const Shape *x, int axis)
{
    const Shape *y = node->out[0]->declared;
    if (!shape_known(y) || y->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (i != axis && y->dim[i] != x->dim[i])
            return false;
    return true;
}

/* The bound of x filled with the number, as long as `size`. */
static Tensor *as_long(const Node *node, Tensor *x, int axis, int64_t size)
{
    int64_t pads[2 * MAX_RANK] = { 0 };
    const int rank = x->shape.rank;
    Tensor *number = number_of(node, x->dtype);
    Tensor *filled = dynamic_filled_with(node, x, axis, number);
    const int64_t more = size - x->shape.dim[axis];
    if (more <= 0)
        return expand_slice(node, filled, axis, 0, size);
    pads[rank + axis] = more;
    Tensor *amounts = expand_i64s(node, 2 * rank, pads);
    return expand_op(node, "Pad", filled, amounts, number);
}

/* Of the elements of a list, or of its only one. */
static int64_t element_of(const Tensor *list, int64_t at)
{
    return tensor_count(list) == 1 ? 0 : at;
}

/* Rows of x that were flattened: so many elements of each lie along the axis. */
static bool is_size(const Node *node, int axis, const CountedSize *counted,
                    int64_t row)
{
    const int size_id = node->in[0]->size_id[axis];
    return counted && dynamic_scaled(node, counted->id, row, 1) == size_id;
}

/* Is the element a number less the size of x along the axis, in rows of so many? *size: the number.
 */
static bool is_rest(const Node *node, Element element, int axis, int64_t row,
                    int64_t *size)
{
    const Node *sub = element.tensor->producer;
    if (!sub || !node_is(sub, "Sub"))
        return false;
    const int64_t whole = element_of(sub->in[0], element.at);
    const int64_t less = element_of(sub->in[1], element.at);
    if (!is_size(node, axis, dynamic_entry(sub, 1, less), row))
        return false;
    return partly_known(node->graph, sub->in[0], whole, size) && *size >= 0;
}

/* Is entry `at` of the pads what is left of a size, or that times the length of a row? *size: the
 * size. */
static bool fills_up_to(const Node *node, int at, int axis, int64_t *size)
{
    const Element entry = partly_origin(node->in[1], at);
    const Node *mul = entry.tensor->producer;
    if (is_rest(node, entry, axis, 1, size))
        return true;
    for (int i = 0; mul && node_is(mul, "Mul") && i < 2; i++) {
        int64_t row;
        const Tensor *rows = mul->in[1 - i];
        const Element rest =
            partly_origin(mul->in[i], element_of(mul->in[i], entry.at));
        if (!partly_known(node->graph, rows, element_of(rows, entry.at), &row))
            continue;
        if (row < 1 || !is_rest(node, rest, axis, row, size))
            continue;
        *size = i64_mul(*size, row);
        return true;
    }
    return false;
}

/* Along the axis, of what node makes: as the file declares it, checked when the model runs. */
static Tensor *as_declared(const Node *node, Tensor *x, int axis)
{
    const int behind = x->shape.rank + axis;
    Tensor *more = expand_slice(node, node->in[1], 0, behind, behind + 1);
    Tensor *real = dynamic_size(node, x, axis);
    real = expand_add(node, real, more);
    const int64_t size = node->out[0]->declared->dim[axis];
    Tensor *y = as_long(node, x, axis, size);
    dynamic_cut(node, 1, &y, axis, real);
    return dynamic_settled(node, "FixedSize", y);
}

/* Is it a Pad whose amounts are known only at run time, of one such axis? */
static bool fills_dynamic(const Node *node)
{
    if (!fills_with_number(node) || node->n_in < 2)
        return false;
    const bool known = node->in[1]->value != NULL;
    const bool some_axes = node_in(node, 3) != NULL;
    return node->in[0]->dynamic && !known && !some_axes;
}

bool dynamic_filled_up(Node *node)
{
    int64_t size;
    if (!fills_dynamic(node))
        return false;
    Tensor *x = node->in[0];
    const int axis = the_axis(x);
    const int rank = x->shape.rank;
    if (axis < 0 || !pads_behind(node, rank, axis))
        return false;
    Tensor *y = NULL;
    if (fills_up_to(node, rank + axis, axis, &size))
        y = as_long(node, x, axis, size);
    else if (is_declared(node, &x->shape, axis))
        y = as_declared(node, x, axis);
    if (y)
        expand_finish_one(node, y);
    return y != NULL;
}
