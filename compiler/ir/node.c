/* SPDX-License-Identifier: Apache-2.0
 * Attributes and operands of a node. */
#include <string.h>

#include "ir/graph.h"

enum { LIST_LIMIT = 1 << 25 /* numbers of an attribute that is read as a whole */ };

const Attr *node_attr(const Node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name))
            return n->attr + i;
    return NULL;
}

static const Attr *attr_of_kind(const Node *n, const char *name, AttrKind kind, const char *what)
{
    const Attr *a = node_attr(n, name);
    if (a && a->kind != kind)
        fail_at(STATUS_MALFORMED, node_loc(n), NULL, "attribute \"%s\" is not %s", name, what);
    return a;
}

int64_t node_int(const Node *n, const char *name, int64_t otherwise)
{
    const Attr *a = attr_of_kind(n, name, ATTR_INT, "an integer");
    return a ? a->i : otherwise;
}

float node_float(const Node *n, const char *name, float otherwise)
{
    const Attr *a = attr_of_kind(n, name, ATTR_FLOAT, "a float");
    return a ? a->f : otherwise;
}

const char *node_string(const Node *n, const char *name, const char *otherwise)
{
    const Attr *a = attr_of_kind(n, name, ATTR_STRING, "a string");
    return a ? a->s : otherwise;
}

void *node_values(const Node *n, const Recipe *r)
{
    if (recipe_count(r) > LIST_LIMIT)
        fail_at(STATUS_UNSUPPORTED, node_loc(n), "only a Constant may hold more",
                "an attribute lists %lld numbers; the greatest number supported is %d",
                (long long)recipe_count(r), LIST_LIMIT);
    return recipe_values(n->graph->store, n->graph->arena, r);
}

const int64_t *node_ints(const Node *n, const char *name, int64_t *count)
{
    Attr *a = (Attr *)attr_of_kind(n, name, ATTR_INTS, "a list of integers");
    *count = a ? a->n : 0;
    if (a && a->list && !a->ints)
        a->ints = node_values(n, a->list);
    return a ? a->ints : NULL;
}

const float *node_floats(const Node *n, const char *name, int64_t *count)
{
    Attr *a = (Attr *)attr_of_kind(n, name, ATTR_FLOATS, "a list of floats");
    *count = a ? a->n : 0;
    if (a && a->list && !a->floats)
        a->floats = node_values(n, a->list);
    return a ? a->floats : NULL;
}

static Attr *set_attr(Node *n, const char *name, AttrKind kind)
{
    Attr *a = (Attr *)node_attr(n, name);
    if (!a) {
        n->attr = arena_grow(n->graph->arena, n->n_attr ? n->attr : NULL,
                             (size_t)n->n_attr * sizeof *a, ((size_t)n->n_attr + 1) * sizeof *a);
        a = n->attr + n->n_attr++;
    }
    *a = (Attr){ .name = name, .kind = kind };
    return a;
}

void node_set_int(Node *n, const char *name, int64_t value)
{
    set_attr(n, name, ATTR_INT)->i = value;
}

void node_set_float(Node *n, const char *name, float value)
{
    set_attr(n, name, ATTR_FLOAT)->f = value;
}

void node_set_string(Node *n, const char *name, const char *value)
{
    Attr *a = set_attr(n, name, ATTR_STRING);
    a->s = value;
    a->n = (int64_t)strlen(value);
}

void node_set_ints(Node *n, const char *name, int64_t count, const int64_t *values)
{
    Attr *a = set_attr(n, name, ATTR_INTS);
    a->n = count;
    a->ints = arena_copy(n->graph->arena, values, (size_t)count * sizeof *values);
}

void node_set_op(Node *n, const char *domain, const char *op_type)
{
    n->domain = domain;
    n->op_type = op_type;
    n->op = NULL;
}

Loc node_loc(const Node *n)
{
    const Graph *root = n->graph;
    while (root->parent)
        root = root->parent;
    return (
        Loc){ .file = root->file, .byte = -1, .node = n->index, .name = n->name, .op = n->op_type };
}

Tensor *node_in(const Node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

Tensor *node_out(const Node *n, int i)
{
    return i < n->n_out ? n->out[i] : NULL;
}

bool node_is(const Node *n, const char *op_type)
{
    return !*n->domain && !strcmp(n->op_type, op_type);
}

int node_axis(const Node *n, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        fail_at(STATUS_MALFORMED, node_loc(n), NULL, "axis %lld is outside [-%d, %d)",
                (long long)axis, rank, rank);
    return (int)(axis < 0 ? axis + rank : axis);
}
