/* SPDX-License-Identifier: Apache-2.0
 * Inputs that ask for the shape of a result, as the size of a grid or of a crop that is an integer
 * input. Where the file declares the result's shape, what the input must say follows: a copy of the
 * graph is inferred with numbers in the input's place that occur nowhere else, and where one of
 * them comes out as a dimension of a result, the declared dimension is the value. A second copy
 * proves that. Then the value takes the input's place, and the result is handed out only where the
 * input says so when the model runs. Requires: sorted nodes, resolved. Ensures: a graph whose
 * shapes can be inferred without that is as it was. */
#include <string.h>

#include "ir/clone.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "passes/passes.h"

enum { MOST_NODES = 512, MOST_ELEMENTS = 8 };

/* One number of an input, and the dimension of a result that it is. */
typedef struct Element {
    Tensor *input;
    int64_t place; /* in the input */
    int64_t value; /* that is tried, then what was found */
    bool known;
    size_t result;
    int axis;
} Element;

struct Inquiry {
    Graph *graph;
    Tensor **image; /* of the graph's tensors in the copy */
    bool given;     /* the elements have values */
    int count;
    Element element[MOST_ELEMENTS];
};

/* --- trying --- */

static bool is_list(const Tensor *tensor)
{
    const bool integer = tensor->dtype == DT_I64 || tensor->dtype == DT_I32;
    if (!integer || tensor->value || !tensor->uses)
        return false;
    if (graph_is_output(tensor->graph, tensor))
        return false;
    return shape_known(&tensor->shape) && tensor->shape.rank <= 1;
}

static bool is_declared(const Tensor *result)
{
    return shape_known(result->declared) && !result->value;
}

/* The numbers of all inputs that may ask; false: there are none, or too many. */
static bool find_elements(Inquiry *inquiry)
{
    static const int64_t probe[MOST_ELEMENTS] = {
        11, 13, 17, 19, 23, 29, 31, 37
    };
    const Graph *graph = inquiry->graph;
    for (size_t i = 0; i < graph->input.n; i++) {
        Tensor *input = graph->input.at[i];
        const int64_t count = is_list(input) ? tensor_count(input) : 0;
        if (count > MOST_ELEMENTS - inquiry->count)
            return false;
        for (int64_t k = 0; k < count; k++) {
            Element *element = inquiry->element + inquiry->count;
            *element = (Element){ .input = input, .place = k };
            element->value = probe[inquiry->count++];
        }
    }
    return inquiry->count > 0;
}

/* A constant of the values that the elements of an input have; those that are not known too. */
static Tensor *value_of(const Inquiry *inquiry, Graph *graph,
                        const Tensor *input)
{
    Store *store = graph->store;
    int64_t value[MOST_ELEMENTS] = { 0 };
    for (int i = 0; i < inquiry->count; i++)
        if (inquiry->element[i].input == input)
            value[inquiry->element[i].place] = inquiry->element[i].value;
    Recipe *wide = recipe_memory(store, DT_I64, input->shape.rank,
                                 input->shape.dim, value);
    return graph_add_constant(graph, NULL,
                              recipe_cast(store, wide, input->dtype));
}

/* What the file declares of the results would hide what comes out. */
static void forget_declared(const Inquiry *inquiry)
{
    const Shape unknown = { .rank = -1 };
    const Graph *graph = inquiry->graph;
    for (size_t i = 0; i < graph->output.n; i++) {
        Tensor *image = inquiry->image[graph->output.at[i]->id];
        if (image)
            tensor_declare(image, &unknown);
    }
}

static void infer_copy(void *context)
{
    Inquiry *inquiry = context;
    Graph *graph = inquiry->graph;
    Graph *copy = graph_new(graph->arena, graph->store, graph->file, graph);
    for (int i = 0; inquiry->given && i < inquiry->count; i++) {
        const Tensor *input = inquiry->element[i].input;
        inquiry->image[input->id] = value_of(inquiry, copy, input);
    }
    const CloneScope scope = { .image = inquiry->image };
    graph_clone_into(copy, graph, &scope);
    for (size_t i = 0; i < copy->node.n; i++)
        resolve_node(copy->node.at[i]);
    if (inquiry->given)
        forget_declared(inquiry);
    else
        declare_backwards(copy);
    infer_graph(copy);
}

/* Infers a copy, of which only the images remain. */
static Status try(Inquiry *inquiry, bool given)
{
    Graph *graph = inquiry->graph;
    const int ids = graph->next_id;
    const int sizes = graph->next_size;
    const size_t graphs = graph->all.n;
    Diag attempt = { .quiet = true };
    memset(inquiry->image, 0, (size_t)ids * sizeof *inquiry->image);
    inquiry->given = given;
    const Status status = protect(&attempt, infer_copy, inquiry);
    graph->next_id = ids;
    graph->next_size = sizes;
    graph->all.n = graphs;
    return status;
}

/* The dimensions that results are declared with may be the value of element k, where no other
 * number serves: as where it must be the size of another input too. */
static bool try_declared(Inquiry *inquiry, int k)
{
    const Graph *graph = inquiry->graph;
    const int64_t before = inquiry->element[k].value;
    for (size_t i = 0; i < graph->output.n; i++) {
        const Tensor *result = graph->output.at[i];
        const int rank = is_declared(result) ? result->declared->rank : 0;
        for (int axis = 0; axis < rank; axis++) {
            inquiry->element[k].value = result->declared->dim[axis];
            if (!try(inquiry, true))
                return true;
        }
    }
    inquiry->element[k].value = before;
    return false;
}

static bool try_all(Inquiry *inquiry)
{
    if (!try(inquiry, true))
        return true;
    for (int k = 0; k < inquiry->count; k++)
        if (try_declared(inquiry, k))
            return true;
    return false;
}

/* --- what came out --- */

static const Shape *shape_in_copy(const Inquiry *inquiry, const Tensor *result)
{
    const Tensor *image = inquiry->image[result->id];
    return image ? &image->shape : &result->shape;
}

/* Elements that come out as dimensions of result i. */
static void read_result(Inquiry *inquiry, size_t i)
{
    const Tensor *result = inquiry->graph->output.at[i];
    const Shape *shape = shape_in_copy(inquiry, result);
    if (!is_declared(result) || shape->rank != result->declared->rank)
        return;
    for (int axis = 0; axis < shape->rank; axis++)
        for (int k = 0; k < inquiry->count; k++) {
            Element *element = inquiry->element + k;
            if (element->known || element->value != shape->dim[axis])
                continue;
            element->known = true;
            element->result = i;
            element->axis = axis;
        }
}

static bool take_values(Inquiry *inquiry)
{
    const Graph *graph = inquiry->graph;
    bool any = false;
    for (size_t i = 0; i < graph->output.n; i++)
        read_result(inquiry, i);
    for (int k = 0; k < inquiry->count; k++) {
        Element *element = inquiry->element + k;
        if (!element->known)
            continue;
        const Tensor *result = graph->output.at[element->result];
        element->value = result->declared->dim[element->axis];
        any = true;
    }
    return any;
}

static bool results_agree(const Inquiry *inquiry)
{
    const Graph *graph = inquiry->graph;
    for (size_t i = 0; i < graph->output.n; i++) {
        const Tensor *result = graph->output.at[i];
        if (!is_declared(result))
            continue;
        const Tensor *image = inquiry->image[result->id];
        if (image && image->dynamic)
            return false;
        if (!shape_equal(shape_in_copy(inquiry, result), result->declared))
            return false;
    }
    return true;
}

/* --- the values in the place of inputs --- */

/* A node of the graph that others may be made beside, and what it hands on: the tensor. */
static Node *foothold(Graph *graph, Tensor *tensor)
{
    Tensor *out = graph_add_tensor(graph, NULL, tensor->dtype, tensor->shape);
    Node *node = graph_add_node(graph, "", "Identity", 1, &tensor, 1, &out);
    node->version = OPSET_NEWEST;
    infer_node(node);
    return node;
}

/* Element k of its input, which the node hands on, as int64 [1]. */
static Tensor *element_of(const Node *at, const Element *element)
{
    const int64_t count = tensor_count(element->input);
    const int64_t place = element->place;
    Tensor *list = expand_reshape(at, at->out[0], 1, &count);
    return expand_slice(at, list, 0, place, place + 1);
}

static Tensor *joined(const Node *at, Tensor *const *part, int count)
{
    if (count == 1)
        return part[0];
    Node *concat = expand_node(at, "Concat", count, part, 1);
    node_set_int(concat, "axis", 0);
    return expand_done(concat);
}

/* The elements of an input: constants where they are known. */
static Tensor *mixed_value(const Inquiry *inquiry, Tensor *input)
{
    const Node *at = foothold(inquiry->graph, input);
    Tensor *part[MOST_ELEMENTS];
    int count = 0;
    for (int k = 0; k < inquiry->count; k++) {
        const Element *element = inquiry->element + k;
        if (element->input != input)
            continue;
        if (element->known) {
            Tensor *known = expand_i64(at, element->value);
            part[count++] = expand_cast(at, known, input->dtype);
        } else {
            part[count++] = element_of(at, element);
        }
    }
    return joined(at, part, count);
}

static int64_t known_elements(const Inquiry *inquiry, const Tensor *input)
{
    int64_t count = 0;
    for (int k = 0; k < inquiry->count; k++)
        if (inquiry->element[k].input == input)
            count += inquiry->element[k].known;
    return count;
}

/* The input's place is taken by what is known of it; nodes made for that read the input. */
static void put_value(const Inquiry *inquiry, Tensor *input)
{
    Graph *graph = inquiry->graph;
    const int64_t known = known_elements(inquiry, input);
    const bool all = known == tensor_count(input);
    if (!known)
        return;
    Tensor *stand_in =
        graph_add_tensor(graph, NULL, input->dtype, input->shape);
    graph_replace(graph, input, stand_in);
    Tensor *value =
        all ? value_of(inquiry, graph, input) : mixed_value(inquiry, input);
    graph_replace(graph, stand_in, value);
}

const Inquiry *asked_inputs(Graph *graph)
{
    Inquiry *inquiry = NEW(graph->arena, Inquiry);
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    inquiry->graph = graph;
    if (graph->node.n > MOST_NODES || !find_elements(inquiry))
        return NULL;
    inquiry->image = NEW_ARRAY(scratch, Tensor *, graph->next_id);
    const bool found = try(inquiry, false) == STATUS_UNSUPPORTED &&
                       try_all(inquiry) && take_values(inquiry) &&
                       !try(inquiry, true) && results_agree(inquiry);
    arena_release(scratch, mark);
    if (!found)
        return NULL;
    for (int k = 0; k < inquiry->count; k++)
        if (!inquiry->element[k].place)
            put_value(inquiry, inquiry->element[k].input);
    return inquiry;
}

/* --- the results, when the shapes are inferred --- */

/* Which element is axis `axis` of result i; NULL: none. */
static const Element *asking(const Inquiry *inquiry, size_t i, int axis)
{
    for (int k = 0; k < inquiry->count; k++) {
        const Element *element = inquiry->element + k;
        if (element->known && element->result == i && element->axis == axis)
            return element;
    }
    return NULL;
}

static bool is_asked_for(const Inquiry *inquiry, size_t i)
{
    for (int k = 0; k < inquiry->count; k++)
        if (inquiry->element[k].known && inquiry->element[k].result == i)
            return true;
    return false;
}

/* One dimension of result i: as the inputs ask for it, else as it is. */
static Tensor *asked_dim(const Inquiry *inquiry, size_t i, int axis)
{
    Graph *graph = inquiry->graph;
    const Shape *shape = &graph->output.at[i]->shape;
    const Element *element = asking(inquiry, i, axis);
    if (!element)
        return graph_add_ints(graph, NULL, 1, shape->dim + axis);
    const Node *at = foothold(graph, element->input);
    return expand_cast(at, element_of(at, element), DT_I64);
}

/* Result i, where it has the shape that the inputs ask for. */
static Tensor *checked_result(const Inquiry *inquiry, size_t i)
{
    Tensor *result = inquiry->graph->output.at[i];
    Tensor *part[MAX_RANK];
    for (int axis = 0; axis < result->shape.rank; axis++)
        part[axis] = asked_dim(inquiry, i, axis);
    const Node *at = foothold(inquiry->graph, result);
    Tensor *dims = joined(at, part, result->shape.rank);
    Tensor *in[] = { result, dims };
    return expand_done(expand_inlay_node(at, "FixedSize", 2, in, 1));
}

void asked_check(const Inquiry *inquiry)
{
    Graph *graph = inquiry->graph;
    for (size_t i = 0; i < graph->output.n; i++) {
        if (!is_asked_for(inquiry, i))
            continue;
        const Tensor *result = graph->output.at[i];
        Tensor *own = checked_result(inquiry, i);
        own->name = result->name;
        own->declared = result->declared;
        graph->output.at[i] = own;
    }
}
