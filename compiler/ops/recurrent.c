/* SPDX-License-Identifier: Apache-2.0
 * RNN, GRU, LSTM. Weights are packed for the register-blocked tiles: constants as recipes, in the
 * type of the file, others by moves before the step; float64 is plain. The kernel does everything
 * else, both directions included. */
#include "kernels/recurrent.h"

#include "base/size.h"
#include "ops/act.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pack.h"
#include "ops/typed.h"

enum {
    CHUNK = 6
}; /* time steps projected at once: fills the tiles, costs little scratch */

typedef struct Recurrent {
    int gates, directions;
    bool reverse, batch_first;
    int64_t steps, batch, input, hidden;
} Recurrent;

static int gates_of(const Node *node)
{
    if (!strcasecmp(node->op_type, "LSTM"))
        return 4;
    return strcasecmp(node->op_type, "GRU") ? 1 : 3;
}

static void check_shape(const Node *node, int i, int rank, const int64_t *dims)
{
    if (!node_in(node, i))
        return;
    const Shape want = shape_of(rank, dims);
    const Shape *have = infer_shape(node, i);
    if (!shape_equal(have, &want))
        fail_node(node, STATUS_MALFORMED, NULL, "input %d has shape %s, not %s",
                  i, shape_text(node->graph->arena, have),
                  shape_text(node->graph->arena, &want));
}

static void check_operands(const Node *node, const Recurrent *shape)
{
    const int64_t directions = shape->directions;
    const int64_t hidden = shape->hidden;
    const int64_t gates = i64_mul(shape->gates, hidden);
    const int64_t biases = i64_mul(2, gates);
    const int64_t peepholes = i64_mul(3, hidden);
    int64_t state[] = { directions, shape->batch, hidden };
    if (shape->batch_first) {
        state[0] = shape->batch;
        state[1] = directions;
    }
    check_shape(node, 1, 3,
                (const int64_t[]){ directions, gates, shape->input });
    check_shape(node, 2, 3, (const int64_t[]){ directions, gates, hidden });
    check_shape(node, 3, 2, (const int64_t[]){ directions, biases });
    check_shape(node, 4, 1, &shape->batch);
    check_shape(node, 5, 3, state);
    check_shape(node, 6, 3, state);
    check_shape(node, 7, 2, (const int64_t[]){ directions, peepholes });
}

static Recurrent recurrent_of(const Node *node)
{
    const char *direction = node_string(node, "direction", "forward");
    const Shape *x = infer_shape(node, 0);
    for (int i = 0; i < 3; i++)
        if (infer_shape(node, i)->rank != 3)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its operands X, W, R must have three dimensions");
    Recurrent shape = {
        .gates = gates_of(node),
        .directions = strcasecmp(direction, "bidirectional") ? 1 : 2,
        .reverse = !strcasecmp(direction, "reverse"),
        .batch_first = node_flag(node, "layout", false),
        .input = x->dim[2],
        .hidden = infer_shape(node, 2)->dim[2],
    };
    shape.steps = x->dim[shape.batch_first];
    shape.batch = x->dim[!shape.batch_first];
    check_operands(node, &shape);
    return shape;
}

/* All states, and those after the last step: the first result without its time. */
static Shape states_shape(const Recurrent *shape)
{
    Shape states = { .rank = 4 };
    states.dim[0] = shape->batch_first ? shape->batch : shape->steps;
    states.dim[1] = shape->batch_first ? shape->steps : shape->directions;
    states.dim[2] = shape->batch_first ? shape->directions : shape->batch;
    states.dim[3] = shape->hidden;
    return states;
}

static Shape last_shape(const Recurrent *shape)
{
    Shape last = { .rank = 3 };
    last.dim[0] = shape->batch_first ? shape->batch : shape->directions;
    last.dim[1] = shape->batch_first ? shape->directions : shape->batch;
    last.dim[2] = shape->hidden;
    return last;
}

void infer_recurrent(Node *node)
{
    const Recurrent shape = recurrent_of(node);
    const DType type = node_type(node);
    infer_out(node, 0, type, states_shape(&shape));
    for (int i = 1; i < 3; i++)
        infer_out(node, i, type, last_shape(&shape));
}

static const ActRow *gate_row(const Node *node, const char *name)
{
    const ActRow *row = act_row(name);
    if (!row || !(row->uses & INLAY_ACT_GATE))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "activation %s is not one of the standard", name);
    return row;
}

/* The k-th activation of a cell without the attribute. */
static const char *default_gate(int gates, int k)
{
    return gates == 1 || k ? "Tanh" : "Sigmoid";
}

/* The activations that a cell of so many gates has. */
static int cell_activations(int gates)
{
    switch (gates) {
    case 1:
        return 1;
    case 3:
        return 2;
    default:
        return 3;
    }
}

/* Numbers of an attribute, taken in order by the functions that have one. */
typedef struct Numbers {
    const float *value;
    int64_t count, taken;
} Numbers;

static Numbers numbers_of(const Node *node, const char *name)
{
    Numbers numbers = { .taken = 0 };
    numbers.value = node_floats(node, name, &numbers.count);
    return numbers;
}

static float next_number(Numbers *numbers, const char *name, float otherwise)
{
    if (!*name || numbers->taken >= numbers->count)
        return otherwise;
    return numbers->value[numbers->taken++];
}

/* The names of the activations; NULL: the defaults. A list for both directions also stands where
 * there is one: it is the standard's default for RNN, which ONNX Runtime writes out. */
static const Attr *activation_names(const Node *node, const Recurrent *shape)
{
    const Attr *names = node_attr(node, "activations");
    const int64_t each = cell_activations(shape->gates);
    if (!names || !names->n)
        return NULL;
    if (names->n != each && names->n != 2 * each)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "has %lld activations for %d directions", (long long)names->n,
                  shape->directions);
    return names;
}

/* alpha and beta are taken in order by the functions that have one. */
static void set_gates(const Node *node, const Recurrent *shape,
                      inlay_recurrent_params *params)
{
    const Attr *names = activation_names(node, shape);
    const int each = cell_activations(shape->gates);
    Numbers alpha = numbers_of(node, "activation_alpha");
    Numbers beta = numbers_of(node, "activation_beta");
    for (int i = 0; i < each * shape->directions; i++) {
        const int place = i / each * 3 + i % each;
        const char *name = default_gate(shape->gates, i % each);
        if (names)
            name = names->strings[i % names->n];
        const ActRow *row = gate_row(node, name);
        params->act[place] = row->act;
        params->alpha[place] = next_number(&alpha, row->a_name, row->a);
        params->beta[place] = next_number(&beta, row->b_name, row->b);
    }
}

/* How far apart the kernel finds steps, entries of the batch and directions: of the input x, of all
 * states y and of one state h. */
static void set_strides(const Recurrent *shape, inlay_recurrent_params *params)
{
    const int64_t input = shape->input;
    const int64_t hidden = shape->hidden;
    const int64_t both = i64_mul(shape->directions, hidden);
    const int64_t batch = i64_mul(shape->batch, hidden);
    if (shape->batch_first) {
        params->xs[0] = input;
        params->xs[1] = i64_mul(shape->steps, input);
        params->ys[0] = both;
        params->ys[1] = hidden;
        params->ys[2] = i64_mul(shape->steps, both);
        params->hs[0] = hidden;
        params->hs[1] = both;
        return;
    }
    params->xs[0] = i64_mul(shape->batch, input);
    params->xs[1] = input;
    params->ys[0] = i64_mul(shape->directions, batch);
    params->ys[1] = batch;
    params->ys[2] = hidden;
    params->hs[0] = batch;
    params->hs[1] = hidden;
}

static inlay_recurrent_params params_of(const Lower *lower, const Node *node,
                                        const Recurrent *shape)
{
    inlay_recurrent_params params = {
        .kind = shape->gates,
        .directions = shape->directions,
        .reverse = shape->directions == 2 ? 2 : shape->reverse,
        .steps = i32_checked(shape->steps),
        .batch = i32_checked(shape->batch),
        .input = i32_checked(shape->input),
        .hidden = i32_checked(shape->hidden),
        .width = lower->pack_width,
        .chunk = i32_checked(i64_min(shape->steps, CHUNK)),
        .linear_first = node_flag(node, "linear_before_reset", false),
        .coupled = node_flag(node, "input_forget", false),
        .clip = node_float(node, "clip", 0.0f),
    };
    params.clipped = params.clip > 0.0f;
    /* inlay.LSTM is the float form of DynamicQuantizeLSTM. */
    params.rounded = *node->domain != 0;
    set_gates(node, shape, &params);
    set_strides(shape, &params);
    return params;
}

static int64_t up4(int64_t n)
{
    return i64_add(n, 3) / 4 * 4;
}

/* Rows [from, from + rows) of the matrices w [D][all][k], as moves into the blocks that
 * pack_conv_weights() makes. */
static int64_t block_width(const Lower *lower, int64_t rows)
{
    const int64_t left = up4(rows);
    if (left >= lower->pack_width)
        return lower->pack_width;
    return left >= 8 ? 8 : 4;
}

/* The move of one group of blocks of that width, which begins at row `at` of `rows`. */
static Move block_move(const Tensor *w, int64_t each, int64_t from, int64_t at,
                       int64_t width, int64_t blocks, int64_t lanes)
{
    const int64_t depth = w->shape.dim[2];
    const int64_t matrix = i64_mul(w->shape.dim[1], depth);
    return (Move){
        .rank = 4,
        .n = { w->shape.dim[0], blocks, depth, lanes },
        .y = { each, width * depth, width, 1 },
        .x = { matrix, width * depth, 1, depth },
        .y0 = at * depth,
        .x0 = (from + at) * depth,
    };
}

static Tensor *pack_moved(Lower *lower, Tensor *w, int64_t from, int64_t rows)
{
    const int64_t *dim = w->shape.dim;
    const int64_t each = i64_mul(up4(rows), dim[2]);
    const Shape shape = shape_vector(i64_mul(dim[0], each));
    Tensor *packed = lower_temp(lower, DT_F32, shape);
    int64_t at = 0;
    while (at < rows) {
        const int64_t left = rows - at;
        const int64_t width = block_width(lower, left);
        const int64_t lanes = i64_min(width, left);
        int64_t blocks = 1;
        if (width == lower->pack_width)
            blocks = i64_max(left / width, 1);
        const Move move = block_move(w, each, from, at, width, blocks, lanes);
        Step *step = lower_move(lower, packed, w, &move);
        if (at && step)
            step->operand[0].read = true; /* the blocks before are there */
        at += blocks * width;
    }
    return packed;
}

/* Rows of constant matrices, one direction behind the other. */
static Recipe *rows_of(Lower *lower, const Tensor *w, int64_t from,
                       int64_t rows)
{
    Store *store = lower->store;
    const int64_t all = i64_mul(w->shape.dim[0], rows);
    const int64_t dims[3] = { all, w->shape.dim[2], 1 };
    Recipe *part = recipe_part(store, w->value, 1, from, rows);
    return recipe_reshape(store, part, 3, dims);
}

static Weights pack_rows(Lower *lower, Tensor *w, int64_t from, int64_t rows,
                         DType type)
{
    if (w->value) {
        const Recipe *matrix = rows_of(lower, w, from, rows);
        return pack_gate_weights(lower, matrix, w->shape.dim[0], type);
    }
    return (Weights){
        .type = DT_F32,
        .values = pack_moved(lower, w, from, rows),
    };
}

/* The type that some rows of weights can be packed in. */
static DType type_of_rows(Lower *lower, const Tensor *w, int64_t from,
                          int64_t rows)
{
    if (!w->value)
        return DT_F32;
    return gate_weights_type(lower, rows_of(lower, w, from, rows));
}

/* The type that the kernel reads all weights in: that of the file, where it is one. together: of
 * all rows of the state's weights, so many are packed before the others. */
static DType type_of_weights(Lower *lower, const Node *node, int64_t all,
                             int64_t together)
{
    const Tensor *state = node->in[2];
    const int64_t rest = all - together;
    const DType type = type_of_rows(lower, node->in[1], 0, all);
    if (type_of_rows(lower, state, 0, together) != type)
        return DT_F32;
    if (rest && type_of_rows(lower, state, together, rest) != type)
        return DT_F32;
    return type;
}

/* Lengths that all equal the number of steps are none. */
static Tensor *lengths_of(Lower *lower, Node *node, const Recurrent *shape)
{
    int64_t count;
    Tensor *tensor = node_in(node, 4);
    const int64_t *length = tensor_ints(lower->graph, tensor, &count);
    bool all = length != NULL;
    for (int64_t i = 0; length && i < count; i++)
        all &= length[i] == shape->steps;
    return all ? NULL : lower_as(lower, tensor, DT_I32);
}

/* Bytes of scratch of the kernels: states of the whole batch and a chunk of gates, or the states
 * and gates of one row. */
static int64_t scratch_of(const inlay_recurrent_params *params, bool plain)
{
    const int64_t hidden = params->hidden;
    const int64_t gates = i64_mul(params->kind, hidden);
    const int64_t states = i64_mul(params->batch, hidden);
    const int64_t step = i64_mul(params->batch, gates);
    const int64_t chunk = i64_mul(params->chunk, step);
    if (plain)
        return i64_mul(8, i64_add(3 * hidden, gates));
    const int64_t copies = i64_mul(inlay_cell_copies(params), states);
    return i64_mul(4, i64_add(copies, chunk));
}

/* Biases of a direction, in the order of its weights: of the input, of the state, and the last
 * gate's of the state (GRU). As the file has them they lie one behind the other. */
enum { BIASES = 3 };
typedef struct Biases {
    int64_t each;         /* numbers of a direction, all filled up to fours */
    int64_t size[BIASES]; /* in the file; 0: there are none */
} Biases;

static Biases biases_of(const Recurrent *shape)
{
    const int64_t hidden = shape->hidden;
    const int64_t all = i64_mul(shape->gates, hidden);
    Biases biases = { .size = { all, all } };
    if (shape->gates == 3) {
        biases.size[1] = 2 * hidden;
        biases.size[2] = hidden;
    }
    for (int i = 0; i < BIASES; i++)
        biases.each = i64_add(biases.each, up4(biases.size[i]));
    return biases;
}

static Tensor *pack_constant_biases(Lower *lower, const Recipe *b,
                                    const Biases *biases)
{
    Recipe *part[BIASES];
    int64_t from = 0;
    int parts = 0;
    for (int i = 0; i < BIASES && biases->size[i]; i++) {
        const int64_t size = biases->size[i];
        Recipe *numbers = recipe_part(lower->store, b, 1, from, size);
        part[parts++] = recipe_fill_up(lower->store, numbers, 1, up4(size));
        from += size;
    }
    return lower_constant(lower, recipe_concat(lower->store, parts, part, 1));
}

static Tensor *pack_moved_biases(Lower *lower, Tensor *b, const Biases *biases)
{
    const int64_t *dim = b->shape.dim;
    const Shape shape = shape_vector(i64_mul(dim[0], biases->each));
    Tensor *packed = lower_temp(lower, DT_F32, shape);
    int64_t from = 0;
    int64_t at = 0;
    lower_clear(lower, packed);
    for (int i = 0; i < BIASES; i++) {
        const Move move = {
            .rank = 2,
            .n = { dim[0], biases->size[i] },
            .y = { biases->each, 1 },
            .x = { dim[1], 1 },
            .y0 = at,
            .x0 = from,
        };
        Step *step = lower_move(lower, packed, b, &move);
        if (step)
            step->operand[0].read = true; /* zeros, and the parts before */
        from += biases->size[i];
        at += up4(biases->size[i]);
    }
    return packed;
}

/* The biases as the kernel reads them; zeros where they are left out. */
static Tensor *pack_biases(Lower *lower, Tensor *b, const Recurrent *shape)
{
    const Biases biases = biases_of(shape);
    const int64_t zeros = i64_mul(shape->directions, biases.each);
    if (!b)
        return pack_bias(lower, NULL, 1, zeros);
    if (biases.each == b->shape.dim[1])
        return b;
    if (b->value)
        return pack_constant_biases(lower, b->value, &biases);
    return pack_moved_biases(lower, b, &biases);
}

/* The weights as the kernel reads them: of the input, of the state, and the last gate's of the
 * state (GRU), all of one type; their biases. */
typedef struct Matrices {
    DType type;
    Weights input, state, last;
    Tensor *bias;
} Matrices;

static Matrices plain_weights(const Node *node)
{
    return (Matrices){
        .type = DT_F64,
        .input.values = node->in[1],
        .state.values = node->in[2],
        .bias = node_in(node, 3),
    };
}

static Matrices packed_weights(Lower *lower, Node *node, const Recurrent *shape)
{
    const int64_t hidden = shape->hidden;
    const int64_t all = i64_mul(shape->gates, hidden);
    const bool split = shape->gates == 3;
    const int64_t together = split ? 2 * hidden : all;
    const DType type = type_of_weights(lower, node, all, together);
    Tensor *state = node->in[2];
    Matrices weights = { .type = type };
    weights.bias = pack_biases(lower, node_in(node, 3), shape);
    weights.input = pack_rows(lower, node->in[1], 0, all, type);
    weights.state = pack_rows(lower, state, 0, together, type);
    if (split)
        weights.last = pack_rows(lower, state, together, hidden, type);
    return weights;
}

static int64_t macs_of(const Recurrent *shape)
{
    const int64_t gates = i64_mul(shape->gates, shape->hidden);
    const int64_t width = i64_add(shape->input, shape->hidden);
    const int64_t rows = i64_mul(shape->steps, shape->batch);
    return i64_mul(i64_mul(shape->directions, rows), i64_mul(gates, width));
}

/* Operands that make floats of the weights. */
static void add_widening(Step *step, const Matrices *weights)
{
    const Weights *each[] = { &weights->input, &weights->state,
                              &weights->last };
    for (int i = 0; i < 3; i++) {
        step_in(step, each[i]->how);
        step_in(step, each[i]->scale);
        step_in(step, each[i]->zero);
    }
}

static void add_operands(Step *step, const Matrices *weights, Tensor *lengths)
{
    for (int i = 0; i < 3; i++)
        step_result(step, i);
    step_operand(step, 0);
    step_in(step, weights->input.values);
    step_in(step, weights->state.values);
    step_in(step, weights->last.values);
    step_in(step, weights->bias);
    step_in(step, lengths);
    for (int i = 5; i <= 7; i++)
        step_operand(step, i);
    if (weights->type != DT_F32 && weights->type != DT_F64)
        add_widening(step, weights);
}

void lower_recurrent(Lower *lower, Node *node)
{
    const Recurrent shape = recurrent_of(node);
    const bool plain = node_type(node) == DT_F64;
    const inlay_recurrent_params params = params_of(lower, node, &shape);
    if (shape.steps < 1 || !i64_mul(shape.batch, shape.hidden))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its sequence is empty");
    Tensor *lengths = lengths_of(lower, node, &shape);
    const Matrices weights =
        plain ? plain_weights(node) : packed_weights(lower, node, &shape);
    const char *kernel = lower_kernel(lower, "recurrent", weights.type);
    Step *step = lower_step(lower, kernel, &params);
    add_operands(step, &weights, lengths);
    step_scratch(lower, step, scratch_of(&params, plain));
    step->macs = macs_of(&shape);
}
