/* SPDX-License-Identifier: Apache-2.0
 * The nodes are ordinary ones: passes fuse them, and the plan takes them row by row, so that the
 * frame never lies anywhere as floats. */
#include "pipeline/preprocess.h"

#include <stdlib.h>
#include <string.h>

#include "ops/expand.h"
#include "pipeline/overrides.h"

/* ---- the text ---- */

static const char USUAL[] =
    "--preprocess INPUT=uint8,hwc,mean=127.5,scale=1/127.5: a type, and what "
    "else there is of hwc, mean and scale";

_Noreturn static void refuse(const char *text, const char *why)
{
    fail_at(STATUS_USAGE, LOC_NONE, USUAL, "--preprocess %s: %s", text, why);
}

static DType type_named(const char *name)
{
    static const DType types[] = { DT_U8, DT_I8, DT_U16, DT_I16, DT_F32 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(dtype_name(types[i]), name))
            return types[i];
    return DT_NONE;
}

/* A number, or one divided by another: 1/255. NULL: none begins here. */
static const char *read_ratio(const char *at, float *value)
{
    char *end;
    double number = strtod(at, &end);
    if (end == at)
        return NULL;
    if (*end == '/') {
        const char *below = end + 1;
        number /= strtod(below, &end);
        if (end == below)
            return NULL;
    }
    *value = (float)number;
    const float most = 3e38f;
    return *value >= -most && *value <= most ? end : NULL;
}

/* Numbers with colons between. */
static int64_t read_list(Arena *arena, const char *text, const char *at,
                         const float **list)
{
    float *value = NEW_ARRAY(arena, float, strlen(at) + 1);
    int64_t count = 0;
    *list = value;
    for (;; at++) {
        at = read_ratio(at, value + count++);
        if (!at)
            refuse(text, "a number is none");
        if (!*at)
            return count;
        if (*at != ':')
            refuse(text, "a colon divides numbers");
    }
}

/* What follows "key=", else NULL. */
static const char *value_of(const char *item, const char *key)
{
    const size_t length = strlen(key);
    if (strncmp(item, key, length) || item[length] != '=')
        return NULL;
    return item + length + 1;
}

static void read_item(Arena *arena, Preprocess *pre, const char *text,
                      const char *item)
{
    const char *mean = value_of(item, "mean");
    const char *scale = value_of(item, "scale");
    if (mean)
        pre->means = read_list(arena, text, mean, &pre->mean);
    else if (scale)
        pre->scales = read_list(arena, text, scale, &pre->scale);
    else if (!strcmp(item, "hwc"))
        pre->layout = FRAME_LAST;
    else
        refuse(text, arena_printf(arena, "\"%s\" is nothing known", item));
}

/* Names may hold '=': the one in front of the type, if there is one, ends the name. */
static const char *skip_name(Arena *arena, Preprocess *pre, const char *text)
{
    const size_t first = strcspn(text, ",");
    const char *type = text;
    for (const char *at = text; at < text + first; at++)
        if (*at == '=')
            type = at + 1;
    if (type > text)
        pre->input = arena_text(arena, text, (size_t)(type - text) - 1);
    return type;
}

Preprocess preprocess_read(Arena *arena, const char *text)
{
    Preprocess pre = { 0 };
    const char *at = skip_name(arena, &pre, text);
    size_t length = strcspn(at, ",");
    pre.type = type_named(arena_text(arena, at, length));
    if (pre.type == DT_NONE)
        refuse(text, "the type is none of uint8, int8, uint16, int16, float32");
    for (at += length; *at; at += length) {
        at++;
        length = strcspn(at, ",");
        read_item(arena, &pre, text, arena_text(arena, at, length));
    }
    return pre;
}

/* ---- the nodes ---- */

/* An input under way. */
typedef struct Front {
    const Preprocess *pre;
    const char *text;
    Graph *graph;
    Tensor *model;     /* what the model's nodes read */
    const Node *first; /* one of them */
    int channel;       /* the model's axis of channels */
    int given_channel; /* that of what is given */
} Front;

/* Dimension i of what is given is the model's perm[i]. */
static void order_given(const Front *front, int *perm)
{
    const int rank = front->model->shape.rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = front->channel; i < front->given_channel; i++)
        perm[i] = i + 1;
    perm[front->given_channel] = front->channel;
}

/* The input that the caller gives, in the place of the model's and by its name. */
static Tensor *given_input(const Front *front)
{
    Graph *graph = front->graph;
    Tensor *model = front->model;
    int perm[MAX_RANK];
    Shape shape = model->shape;
    order_given(front, perm);
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = model->shape.dim[perm[i]];
    Tensor *given =
        graph_add_tensor(graph, model->name, front->pre->type, shape);
    model->name = arena_printf(graph->arena, "%s, preprocessed", model->name);
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph->input.at[i] == model)
            graph->input.at[i] = given;
    return given;
}

/* A node of which nothing but operands, and an attribute perhaps, has to be said. */
static Node *add_node(const Front *front, const char *op, Tensor *in,
                      Tensor *other)
{
    Graph *graph = front->graph;
    const Shape unknown = { .rank = -1 };
    Tensor *operands[2] = { in, other };
    Tensor *out = graph_add_tensor(graph, NULL, DT_NONE, unknown);
    Node *node = graph_insert_node(graph, front->first, "", op, other ? 2 : 1,
                                   operands, 1, &out);
    node->version = OPSET_NEWEST;
    return node;
}

static Tensor *cast_to(const Front *front, Tensor *in, DType type)
{
    if (in->dtype == type)
        return in;
    Node *node = add_node(front, "Cast", in, NULL);
    node_set_int(node, "to", type);
    node->out[0]->dtype = type;
    return node->out[0];
}

/* One number, or one for each channel, by which all elements go. */
static Tensor *by_channels(const Front *front, const char *op, Tensor *in,
                           int64_t count, const float *value)
{
    Graph *graph = front->graph;
    const Shape *shape = &front->model->shape;
    const int64_t channels = shape->rank ? shape->dim[front->channel] : 1;
    const int after = shape->rank ? shape->rank - 1 - front->given_channel : 0;
    int64_t dims[MAX_RANK];
    if (!count)
        return in;
    if (count != 1 && count != channels)
        refuse(front->text,
               arena_printf(graph->arena,
                            "%lld numbers for %lld channels; one for all, or "
                            "one for each",
                            (long long)count, (long long)channels));
    dims[0] = count;
    for (int i = 1; i <= after; i++)
        dims[i] = 1;
    Recipe *recipe =
        recipe_memory(graph->store, DT_F32, after + 1, dims, value);
    Tensor *numbers = graph_add_constant(graph, NULL, recipe);
    Node *node = add_node(front, op, in, numbers);
    node->out[0]->dtype = DT_F32;
    return node->out[0];
}

static Tensor *turn(const Front *front, Tensor *in)
{
    int given[MAX_RANK];
    int64_t perm[MAX_RANK];
    const int rank = front->model->shape.rank;
    if (front->channel == front->given_channel)
        return in;
    order_given(front, given);
    for (int i = 0; i < rank; i++)
        perm[given[i]] = i;
    Node *node = add_node(front, "Transpose", in, NULL);
    node_set_ints(node, "perm", rank, perm);
    node->out[0]->dtype = in->dtype;
    return node->out[0];
}

/* Integers of the model: the nearest, ties to even, and no further than its type goes. */
static Tensor *integers(const Front *front, Tensor *in, DType type)
{
    static const float step = 1.0f;
    static const int16_t zero = 0; /* of any such type */
    Graph *graph = front->graph;
    Store *store = graph->store;
    Tensor *scale = graph_add_constant(
        graph, NULL, recipe_memory(store, DT_F32, 0, NULL, &step));
    Tensor *zeros = graph_add_constant(
        graph, NULL, recipe_memory(store, type, 0, NULL, &zero));
    Node *node = add_node(front, "QuantizeLinear", in, scale);
    Tensor *operands[3] = { in, scale, zeros };
    node_set_inputs(node, 3, operands);
    node->out[0]->dtype = type;
    return node->out[0];
}

/* The node that makes `last` makes the model's tensor instead. */
static void end_at_model(const Front *front, Tensor *last)
{
    Node *node = last->producer;
    node->out[0] = front->model;
    front->model->producer = node;
}

static void build(const Front *front)
{
    const Preprocess *pre = front->pre;
    const DType type = front->model->dtype;
    Tensor *given = given_input(front);
    Tensor *last = cast_to(front, given, DT_F32);
    last = by_channels(front, "Sub", last, pre->means, pre->mean);
    last = by_channels(front, "Mul", last, pre->scales, pre->scale);
    last = turn(front, last);
    if (!dtype_is_float(type))
        last = integers(front, last, type);
    last = cast_to(front, last, type);
    if (last == given)
        last = add_node(front, "Identity", last, NULL)->out[0];
    end_at_model(front, last);
}

static void check_model_input(const Front *front)
{
    const Tensor *model = front->model;
    const DType type = model->dtype;
    if (!dtype_is_float(type) && type_named(dtype_name(type)) == DT_NONE)
        refuse(front->text,
               arena_printf(front->graph->arena,
                            "the input holds %s: floating point numbers, or "
                            "integers of 8 or 16 bits, can be made",
                            dtype_name(type)));
    if (front->pre->layout == FRAME_LAST && model->shape.rank < 3)
        refuse(front->text, "hwc is for inputs of channels and pixels");
}

/* ONNX has them behind the batch; models that were not made for it have them last, where pictures
 * have four at most. */
static int channel_axis(const Shape *shape)
{
    enum { MOST = 4 };
    const int last = shape->rank - 1;
    if (last < 1)
        return 0;
    return shape->dim[last] <= MOST && shape->dim[1] > MOST ? last : 1;
}

static void apply(Graph *graph, const char *text)
{
    const Preprocess pre = preprocess_read(graph->arena, text);
    Front front = { .pre = &pre, .text = text, .graph = graph };
    front.model = input_named(graph, pre.input, "--preprocess", text);
    if (!front.model->use)
        return;
    front.first = front.model->use->node;
    check_model_input(&front);
    front.channel = channel_axis(&front.model->shape);
    front.given_channel = front.channel;
    if (pre.layout == FRAME_LAST)
        front.given_channel = front.model->shape.rank - 1;
    build(&front);
    graph_count_uses(graph);
    graph_sort(graph);
}

void preprocess_inputs(Compile *compile)
{
    const char **text = compile->options->preprocess;
    for (; text && *text; text++)
        apply(compile->graph, *text);
}
