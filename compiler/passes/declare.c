/* SPDX-License-Identifier: Apache-2.0
 * Declared shapes travel backwards through operators that keep the shape, so that an operator whose
 * result depends on values at run time knows it where only a later value is declared. Requires:
 * sorted nodes. Ensures: only Tensor.declared of values that had none changes. And, when all shapes
 * are known, whether the file's declarations agree with them. */
#include <string.h>

#include "base/map.h"
#include "ops/ops.h"
#include "passes/passes.h"

/* What is known of each tensor, by id: the tensor whose shape it shares; NULL: it is one element.
 */
typedef struct Origins {
    Tensor **of;
    bool *known; /* else it is its own origin */
} Origins;

static bool one_element(const Node *node)
{
    const Attr *attr = node_attr(node, "value");
    return node_is(node, "Constant") &&
           (attr ? attr->tensor && recipe_count(attr->tensor) == 1
                 : node_attr(node, "value_int") ||
                       node_attr(node, "value_float"));
}

static bool is_single(const Origins *origins, const Tensor *tensor)
{
    if (tensor->value)
        return recipe_count(tensor->value) == 1;
    if (!tensor->producer)
        return shape_known(&tensor->shape) && shape_count(&tensor->shape) == 1;
    return origins->known[tensor->id] && !origins->of[tensor->id];
}

static Tensor *origin(const Origins *origins, Tensor *tensor)
{
    return origins->known[tensor->id] ? origins->of[tensor->id] : tensor;
}

/* The one origin of all operands that are not single; false: there are several. */
static bool common_origin(const Origins *origins, const Node *node,
                          Tensor **found)
{
    const int operands = node->op->flags & OP_ELEMENTWISE ? node->n_in : 1;
    *found = NULL;
    for (int i = 0; i < operands; i++) {
        Tensor *tensor = node->in[i];
        if (!tensor || is_single(origins, tensor))
            continue;
        if (*found && *found != origin(origins, tensor))
            return false;
        *found = origin(origins, tensor);
    }
    return true;
}

static void note(Origins *origins, const Node *node, const Tensor *out)
{
    Tensor *from = NULL;
    const bool keeps =
        node->op && node->op->flags & (OP_ELEMENTWISE | OP_SHAPED_LIKE_FIRST) &&
        node->n_in;
    if (!one_element(node) && (!keeps || !common_origin(origins, node, &from)))
        return;
    origins->known[out->id] = true;
    origins->of[out->id] = from;
}

static void assume(Tensor *tensor, const Tensor *like)
{
    tensor->declared = like->declared;
    tensor->assumed = true;
}

void declare_backwards(Graph *graph)
{
    const int ids = graph_root(graph)->next_id + 1;
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Origins origins = { NEW_ARRAY(scratch, Tensor *, ids),
                        NEW_ARRAY(scratch, bool, ids) };
    for (size_t i = 0; i < graph->node.n; i++)
        if (node_out(graph->node.at[i], 0))
            note(&origins, graph->node.at[i], graph->node.at[i]->out[0]);
    for (size_t i = graph->node.n; i-- > 0;) {
        const Tensor *out = node_out(graph->node.at[i], 0);
        Tensor *from =
            out && origins.known[out->id] ? origins.of[out->id] : NULL;
        if (from && shape_known(out->declared) && from->producer &&
            from->declared->rank < 0)
            assume(from, out);
    }
    arena_release(scratch, mark);
}

/* --- afterwards: is what the file declares true? --- */

/* Do the sizes that are known in both differ? Those known only at run time are bounds. */
static bool contradicts(const Tensor *tensor)
{
    const Shape *d = tensor->declared;
    const Shape *s = &tensor->shape;
    if (tensor->assumed || d->rank < 0 || s->rank < 0 || tensor->sequence)
        return false;
    bool differs = d->rank != s->rank;
    for (int i = 0; !differs && i < s->rank; i++)
        differs = d->dim[i] >= 0 && s->dim[i] >= 0 && d->dim[i] != s->dim[i] &&
                  !(tensor->dynamic >> i & 1u);
    return differs;
}

/* Did the user give sizes that the file leaves open? Then it does not contradict itself. */
static bool sizes_given(const Graph *graph)
{
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        if (!shape_known(tensor->declared) && shape_known(&tensor->shape))
            return true;
    }
    return false;
}

/* Why what the file declares is not what is found, without being wrong; NULL: it is wrong. Before
 * opset 22, ONNX's own inference counted windows of pools that begin in the padding behind the
 * image, where sizes are rounded up; those who run the model do not make them. */
static const char *excuse_of(Graph *graph)
{
    if (sizes_given(graph))
        return " with these sizes";
    if (graph_root(graph)->windows_left_out)
        return " without windows that begin in the padding";
    return NULL;
}

/* The first dimension from `i` on that is not 1. */
static int without_ones(const Shape *shape, int i)
{
    while (i < shape->rank && shape->dim[i] == 1)
        i++;
    return i;
}

/* The same dimensions but for those of 1? */
static bool same_but_for_ones(const Shape *declared, const Shape *found)
{
    int i = without_ones(declared, 0);
    int k = without_ones(found, 0);
    while (i < declared->rank && k < found->rank) {
        if (declared->dim[i] >= 0 && declared->dim[i] != found->dim[k])
            return false;
        i = without_ones(declared, i + 1);
        k = without_ones(found, k + 1);
    }
    return i == declared->rank && k == found->rank;
}

/* Converters declare [1,1] for what ai.onnx.ml makes, however many targets or classes there are,
 * [1] for scalars, and [] where they know nothing. */
static bool is_forgiven(const Tensor *tensor)
{
    if (tensor->producer && !strcmp(tensor->producer->domain, "ai.onnx.ml"))
        return true;
    return !tensor->declared->rank ||
           same_but_for_ones(tensor->declared, &tensor->shape);
}

static const Node *maker_of(const Tensor *tensor)
{
    return tensor->producer ? tensor->producer : tensor->folded;
}

static Loc loc_of(const Tensor *tensor)
{
    const char *file = graph_root(tensor->graph)->file;
    const Node *node = maker_of(tensor);
    if (node)
        return node_loc(node);
    return (Loc){ .file = file, .byte = -1, .node = -1 };
}

static void report(const Tensor *tensor, const char *excuse)
{
    Arena *arena = graph_root(tensor->graph)->arena;
    const Loc loc = loc_of(tensor);
    const char *declared = shape_text(arena, tensor->declared);
    const char *found = shape_text(arena, &tensor->shape);
    if (excuse || is_forgiven(tensor))
        warn_at(loc, "value \"%s\" is declared as %s, but is %s%s",
                tensor->name, declared, found, excuse ? excuse : "");
    else
        error_at(STATUS_MALFORMED, loc, "declare its true shape, or none",
                 "value \"%s\" is declared as %s, but is %s", tensor->name,
                 declared, found);
}

/* Was it said of a value of the same node? Bodies of loops and functions may stand here many times.
 */
static bool was_said(Map *said, const Tensor *tensor, const char *found)
{
    const Node *node = maker_of(tensor);
    if (!node || node->index < 0)
        return false;
    char *key = arena_printf(said->arena, "%d %s %s", node->index,
                             node->op_type, found);
    return map_put(said, key, said) != NULL;
}

/* An initializer has the type of its data, whatever is said beside it: converters to float16 leave
 * those of small numbers as they are and declare all. */
static void warn_initializer(const Tensor *tensor, Map *said)
{
    if (!map_put(said, "initializers", said))
        warn_at(loc_of(tensor),
                "initializer \"%s\" is declared as %s, but is %s", tensor->name,
                dtype_name(tensor->declared_dtype), dtype_name(tensor->dtype));
}

static void check_type(const Tensor *tensor, Map *said)
{
    const DType declared = tensor->declared_dtype;
    const DType found = tensor->dtype;
    if (declared == DT_NONE || found == DT_NONE || declared == found ||
        tensor->sequence || was_said(said, tensor, dtype_name(found)))
        return;
    if (tensor->value && !maker_of(tensor)) {
        warn_initializer(tensor, said);
        return;
    }
    error_at(STATUS_MALFORMED, loc_of(tensor), "declare its true type, or none",
             "value \"%s\" is declared as %s, but is %s", tensor->name,
             dtype_name(declared), dtype_name(found));
}

void declare_check(Graph *graph)
{
    const char *excuse = excuse_of(graph);
    Map said = map_new(graph_root(graph)->arena);
    int found = 0;
    for (size_t k = 0; k < graph->all.n; k++) {
        const Graph *part = graph->all.at[k];
        for (size_t i = 0; !graph_gone(part) && i < part->tensor.n; i++) {
            const Tensor *tensor = part->tensor.at[i];
            check_type(tensor, &said);
            if (contradicts(tensor) && (!excuse || !found++))
                report(tensor, excuse);
        }
    }
    fail_if_errors();
}
