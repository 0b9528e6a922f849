/* SPDX-License-Identifier: Apache-2.0
 * Attributes and operands of a node. */
#include <string.h>

#include "ir/graph.h"
#include "ir/words.h"

enum {
    LIST_LIMIT = 1 << 25 /* numbers of an attribute that is read as a whole */
};

const Attr *node_attr(const Node *node, const char *name)
{
    for (int i = 0; i < node->n_attr; i++)
        if (!strcmp(node->attr[i].name, name))
            return node->attr + i;
    return NULL;
}

static const Attr *attr_of_kind(const Node *node, const char *name,
                                AttrKind kind, const char *what)
{
    const Attr *attr = node_attr(node, name);
    if (attr && attr->kind != kind)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "attribute \"%s\" is not %s", name, what);
    return attr;
}

int64_t node_int(const Node *node, const char *name, int64_t otherwise)
{
    const Attr *attr = attr_of_kind(node, name, ATTR_INT, "an integer");
    return attr ? attr->i : otherwise;
}

bool node_flag(const Node *node, const char *name, bool otherwise)
{
    return node_int(node, name, otherwise) != 0;
}

float node_float(const Node *node, const char *name, float otherwise)
{
    const Attr *attr = attr_of_kind(node, name, ATTR_FLOAT, "a float");
    return attr ? attr->f : otherwise;
}

double node_double(const Node *node, const char *name, float otherwise)
{
    return (double)node_float(node, name, otherwise);
}

const char *node_string(const Node *node, const char *name,
                        const char *otherwise)
{
    const Attr *attr = attr_of_kind(node, name, ATTR_STRING, "a string");
    return attr ? attr->s : otherwise;
}

void *node_values(const Node *node, const Recipe *recipe)
{
    if (recipe_count(recipe) > LIST_LIMIT)
        fail_at(STATUS_UNSUPPORTED, node_loc(node),
                "only a Constant may hold more",
                "an attribute lists %lld numbers; the greatest number "
                "supported is %d",
                (long long)recipe_count(recipe), LIST_LIMIT);
    return recipe_values(node->graph->store, node->graph->arena, recipe);
}

const int64_t *node_ints(const Node *node, const char *name, int64_t *count)
{
    Attr *attr =
        (Attr *)attr_of_kind(node, name, ATTR_INTS, "a list of integers");
    *count = attr ? attr->n : 0;
    if (attr && attr->list && !attr->ints)
        attr->ints = node_values(node, attr->list);
    return attr ? attr->ints : NULL;
}

const float *node_floats(const Node *node, const char *name, int64_t *count)
{
    Attr *attr =
        (Attr *)attr_of_kind(node, name, ATTR_FLOATS, "a list of floats");
    *count = attr ? attr->n : 0;
    if (attr && attr->list && !attr->floats)
        attr->floats = node_values(node, attr->list);
    return attr ? attr->floats : NULL;
}

const int64_t *node_codes(const Node *node, const char *name, int64_t *count)
{
    const Attr *attr =
        attr_of_kind(node, name, ATTR_STRINGS, "a list of strings");
    *count = attr ? attr->n : 0;
    if (!*count)
        return NULL;
    int64_t *code = NEW_ARRAY(node->graph->arena, int64_t, *count);
    for (int64_t i = 0; i < *count; i++)
        code[i] = words_code(node->graph->store, attr->strings[i]);
    return code;
}

static Attr *set_attr(Node *node, const char *name, AttrKind kind)
{
    Attr *a = (Attr *)node_attr(node, name);
    if (!a) {
        node->attr =
            arena_grow(node->graph->arena, node->n_attr ? node->attr : NULL,
                       (size_t)node->n_attr * sizeof *a,
                       ((size_t)node->n_attr + 1) * sizeof *a);
        a = node->attr + node->n_attr++;
    }
    *a = (Attr){ .name = name, .kind = kind };
    return a;
}

void node_set_int(Node *node, const char *name, int64_t value)
{
    set_attr(node, name, ATTR_INT)->i = value;
}

void node_set_float(Node *node, const char *name, float value)
{
    set_attr(node, name, ATTR_FLOAT)->f = value;
}

void node_set_string(Node *node, const char *name, const char *value)
{
    Attr *attr = set_attr(node, name, ATTR_STRING);
    attr->s = value;
    attr->n = (int64_t)strlen(value);
}

void node_set_ints(Node *node, const char *name, int64_t count,
                   const int64_t *values)
{
    Attr *attr = set_attr(node, name, ATTR_INTS);
    attr->n = count;
    attr->ints =
        arena_copy(node->graph->arena, values, (size_t)count * sizeof *values);
}

void node_set_op(Node *node, const char *domain, const char *op_type)
{
    node->domain = domain;
    node->op_type = op_type;
    node->op = NULL;
}

Loc node_loc(const Node *n)
{
    const Graph *root = n->graph;
    while (root->parent)
        root = root->parent;
    return (Loc){ .file = root->file,
                  .byte = -1,
                  .node = n->index,
                  .name = n->name,
                  .op = n->op_type };
}

Tensor *node_in(const Node *node, int i)
{
    return i < node->n_in ? node->in[i] : NULL;
}

Tensor *node_out(const Node *node, int i)
{
    return i < node->n_out ? node->out[i] : NULL;
}

DType node_type(const Node *node)
{
    return node->in[0]->dtype;
}

const Shape *node_shape(const Node *node, int i)
{
    return &node->in[i]->shape;
}

const Shape *result_shape(const Node *node, int i)
{
    return &node->out[i]->shape;
}

bool node_is(const Node *node, const char *op_type)
{
    return !*node->domain && !strcmp(node->op_type, op_type);
}

int node_axis(const Node *node, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        fail_at(STATUS_MALFORMED, node_loc(node), NULL,
                "axis %lld is outside [-%d, %d)", (long long)axis, rank, rank);
    return (int)(axis < 0 ? axis + rank : axis);
}
