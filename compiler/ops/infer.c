/* SPDX-License-Identifier: Apache-2.0
 * Shape inference that the families share. */
#include "ops/infer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/size.h"

enum { LARGEST_BYTES_LOG2 = 40 };

/* The first operand of which only a run says the size; NULL: there is none. */
static const Tensor *sized_by_run(const Node *node)
{
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dynamic)
            return node->in[i];
    return NULL;
}

void fail_bound(const Node *node, const Tensor *tensor, const char *text)
{
    fail_at(STATUS_UNSUPPORTED, node_loc(node),
            "declare the operand's shape in the model (value_info), if it is "
            "fixed in your use",
            "the size of its operand \"%s\", at most %s, is known only when "
            "the model runs%s%s",
            tensor->name, shape_text(node->graph->arena, &tensor->shape),
            text ? ": " : "", text ? text : "");
}

void fail_node(const Node *node, Status status, const char *help,
               const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const Tensor *tensor = sized_by_run(node);
    if (tensor && status == STATUS_MALFORMED)
        fail_bound(node, tensor, text);
    fail_at(status, node_loc(node), help, "%s", text);
}

void infer_rank(const Node *node, int64_t rank)
{
    if (rank > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d dimensions", MAX_RANK);
}

void infer_out(Node *node, int i, DType type, Shape s)
{
    Tensor *o = node_out(node, i);
    if (!o)
        return;
    infer_rank(node, s.rank);
    for (int k = 0; k < s.rank; k++)
        if (s.dim[k] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its result would have a dimension of %lld",
                      (long long)s.dim[k]);
    if (dtype_bytes(type, shape_count(&s)) >> LARGEST_BYTES_LOG2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result would be larger than a terabyte");
    o->dtype = type;
    o->shape = s;
}

/* Words go with words only: no index, shape or scale is one. */
static bool takes_words(const Node *node)
{
    return node->op->types & T_STRING && node_type(node) == DT_STRING;
}

const Shape *infer_shape(const Node *node, int i)
{
    const Tensor *tensor = node_in(node, i);
    if (!tensor)
        fail_node(node, STATUS_MALFORMED, NULL, "input %d is left out", i);
    if (tensor->dtype == DT_STRING && !takes_words(node))
        fail_node(node, STATUS_UNSUPPORTED,
                  "strings stay on the host: encode them as integers before "
                  "the model",
                  "input \"%s\" holds strings", tensor->name);
    if (!shape_known(&tensor->shape))
        fail_node(node, STATUS_UNSUPPORTED,
                  "give sizes with --shape INPUT=1x3x224x224 or --dim "
                  "SYMBOL=N, or values with "
                  "--const INPUT=FILE.pb",
                  "the shape of input \"%s\" is not known", tensor->name);
    return &tensor->shape;
}

int64_t infer_count(const Node *node, int i)
{
    return shape_count(infer_shape(node, i));
}

int64_t infer_int(const Node *node, const char *name, int64_t otherwise,
                  int64_t least)
{
    const int64_t value = node_int(node, name, otherwise);
    if (value < least)
        fail_node(node, STATUS_MALFORMED, NULL, "its %s is %lld", name,
                  (long long)value);
    return value;
}

const int64_t *infer_ints(const Node *node, int i, int64_t *count)
{
    *count = 0;
    return tensor_ints(node->graph, node_in(node, i), count);
}

const int64_t *infer_number(const Node *node, int i)
{
    const Tensor *tensor = node_in(node, i);
    int64_t count = 1;
    if (tensor)
        count = infer_count(node, i);
    if (count != 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "input \"%s\" is of shape %s, not one number", tensor->name,
                  shape_text(node->graph->arena, &tensor->shape));
    return infer_ints(node, i, &count);
}

/* The one float that constant input i is; *known: there is one. Left out it is `none`. */
static float single_number(const Node *node, int i, float none, bool *known)
{
    const Tensor *tensor = node_in(node, i);
    if (!tensor)
        return none;
    if (!tensor->value || recipe_count(tensor->value) != 1) {
        *known = false;
        return none;
    }
    Store *store = node->graph->store;
    Recipe *wide = recipe_cast(store, tensor->value, DT_F32);
    const float *value = recipe_values(store, node->graph->arena, wide);
    return *value;
}

static void set_scale(const Node *node, Tensor *integers, int scale)
{
    bool known = integers && dtype_bits(integers->dtype) <= 16;
    const float factor = single_number(node, scale, 1.0f, &known);
    const float zero = single_number(node, scale + 1, 0.0f, &known);
    /* False for NaN too: a file may say anything. */
    const bool in_range = zero >= -0x1p16f && zero <= 0x1p16f;
    if (!known || !in_range || !isfinite(factor))
        return;
    const IntegerScale numbers = { .scale = factor, .zero = (int32_t)zero };
    integers->numbers =
        arena_copy(node->graph->arena, &numbers, sizeof numbers);
}

void infer_input_scale(const Node *node, int scale)
{
    set_scale(node, node->in[0], scale);
}

void infer_result_scale(const Node *node, int scale)
{
    set_scale(node, node->out[0], scale);
}

int infer_axis(const Node *node, int64_t otherwise, int rank)
{
    return node_axis(node, node_int(node, "axis", otherwise), rank);
}

Shape infer_broadcast(const Node *node, const Shape *a, const Shape *b)
{
    Shape shape = { .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int i = 0; i < shape.rank; i++) {
        const int ia = i - (shape.rank - a->rank);
        const int ib = i - (shape.rank - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dim[ia];
        const int64_t db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "shapes %s and %s do not broadcast",
                      shape_text(node->graph->arena, a),
                      shape_text(node->graph->arena, b));
        shape.dim[i] = da == 1 ? db : da;
    }
    return shape;
}

void infer_declared(Node *node, int i, DType type)
{
    Tensor *o = node_out(node, i);
    if (!o)
        return;
    if (!shape_known(o->declared))
        fail_node(
            node, STATUS_UNSUPPORTED,
            "bake the input with --const INPUT=FILE.pb, or declare the "
            "output's shape in the model",
            "the shape of its result depends on values known only at run time");
    infer_out(node, i, type, *o->declared);
}

void infer_require(Node *node, int i, bool fits)
{
    if (!fits)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared as %s, which cannot be: "
                  "the input is %s",
                  shape_text(node->graph->arena, result_shape(node, i)),
                  shape_text(node->graph->arena, node_shape(node, 0)));
}

void infer_declared_as(Node *node, int i, DType type, Shape form)
{
    infer_declared(node, i, type);
    const Tensor *o = node_out(node, i);
    if (!o)
        return;
    bool fits = o->shape.rank == form.rank;
    for (int k = 0; fits && k < form.rank; k++)
        fits = form.dim[k] < 0 || o->shape.dim[k] == form.dim[k];
    infer_require(node, i, fits);
}

void infer_same_sizes(Tensor *to, const Tensor *from)
{
    to->dynamic = from->dynamic;
    to->dims = from->dims;
    to->size_id = from->size_id;
}

void infer_same(Node *node)
{
    infer_out(node, 0, node_type(node), *infer_shape(node, 0));
}

static Shape broadcast_all(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i])
            shape = infer_broadcast(node, &shape, infer_shape(node, i));
    return shape;
}

void infer_elementwise(Node *node)
{
    infer_out(node, 0, node_type(node), broadcast_all(node));
}

/* Kernels see no difference between a word's code and a number. */
static void check_words(const Node *node)
{
    for (int i = 1; i < node->n_in; i++)
        if ((node->in[i]->dtype == DT_STRING) != (node_type(node) == DT_STRING))
            fail_node(node, STATUS_MALFORMED, NULL,
                      "compares strings with numbers");
}

void infer_compare(Node *node)
{
    check_words(node);
    infer_out(node, 0, DT_BOOL, broadcast_all(node));
}
