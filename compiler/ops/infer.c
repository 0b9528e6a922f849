/* SPDX-License-Identifier: Apache-2.0
 * Shape inference that the families share. */
#include "ops/infer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/size.h"
#include "ops/families.h"

enum { LARGEST_BYTES_LOG2 = 40 };

void fail_node(const Node *n, Status s, const char *help, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_at(s, node_loc(n), help, "%s", text);
}

void infer_out(Node *n, int i, DType t, Shape s)
{
    Tensor *o = node_out(n, i);
    if (!o)
        return;
    if (s.rank > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    for (int k = 0; k < s.rank; k++)
        if (s.dim[k] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "its result would have a dimension of %lld",
                      (long long)s.dim[k]);
    if (dtype_bytes(t, shape_count(&s)) >> LARGEST_BYTES_LOG2)
        fail_node(n, STATUS_MALFORMED, NULL, "its result would be larger than a terabyte");
    o->dtype = t;
    o->shape = s;
}

const Shape *infer_shape(const Node *n, int i)
{
    const Tensor *t = node_in(n, i);
    if (!t)
        fail_node(n, STATUS_MALFORMED, NULL, "input %d is left out", i);
    if (t->dtype == DT_STRING)
        fail_node(n, STATUS_UNSUPPORTED,
                  "strings stay on the host: encode them as integers before the model",
                  "input \"%s\" holds strings", t->name);
    if (!shape_known(&t->shape))
        fail_node(n, STATUS_UNSUPPORTED,
                  "give sizes with --shape INPUT=1x3x224x224 or --dim SYMBOL=N, or values with "
                  "--const INPUT=FILE.pb",
                  "the shape of input \"%s\" is not known", t->name);
    return &t->shape;
}

int64_t infer_count(const Node *n, int i)
{
    return shape_count(infer_shape(n, i));
}

const int64_t *infer_ints(const Node *n, int i, int64_t *count)
{
    *count = 0;
    return tensor_ints(n->graph, node_in(n, i), count);
}

Shape infer_broadcast(const Node *n, const Shape *a, const Shape *b)
{
    Shape s = { .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int i = 0; i < s.rank; i++) {
        const int ia = i - (s.rank - a->rank), ib = i - (s.rank - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1)
            fail_node(n, STATUS_MALFORMED, NULL, "shapes %s and %s do not broadcast",
                      shape_text(n->graph->arena, a), shape_text(n->graph->arena, b));
        s.dim[i] = da == 1 ? db : da;
    }
    return s;
}

void infer_declared(Node *n, int i, DType t)
{
    Tensor *o = node_out(n, i);
    if (!o)
        return;
    if (!shape_known(o->declared))
        fail_node(
            n, STATUS_UNSUPPORTED,
            "bake the input with --const INPUT=FILE.pb, or declare the output's shape in the model",
            "the shape of its result depends on values known only at run time");
    infer_out(n, i, t, *o->declared);
}

void infer_require(Node *n, int i, bool fits)
{
    if (!fits)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its result is declared as %s, which cannot be: "
                  "the input is %s",
                  shape_text(n->graph->arena, &n->out[i]->shape),
                  shape_text(n->graph->arena, &n->in[0]->shape));
}

void infer_declared_as(Node *n, int i, DType t, Shape form)
{
    infer_declared(n, i, t);
    const Tensor *o = node_out(n, i);
    if (!o)
        return;
    bool fits = o->shape.rank == form.rank;
    for (int k = 0; fits && k < form.rank; k++)
        fits = form.dim[k] < 0 || o->shape.dim[k] == form.dim[k];
    infer_require(n, i, fits);
}

void infer_same(Node *n)
{
    infer_out(n, 0, n->in[0]->dtype, *infer_shape(n, 0));
}

static Shape broadcast_all(Node *n)
{
    Shape s = *infer_shape(n, 0);
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i])
            s = infer_broadcast(n, &s, infer_shape(n, i));
    return s;
}

void infer_elementwise(Node *n)
{
    infer_out(n, 0, n->in[0]->dtype, broadcast_all(n));
}

void infer_compare(Node *n)
{
    infer_out(n, 0, DT_BOOL, broadcast_all(n));
}
