/* SPDX-License-Identifier: Apache-2.0
 * A table of floats that the model's file holds in a narrower type, with scales and zero points or
 * without, stays as it is where a Gather reads rows of it: these are made floats once they are
 * read. Requires: types and shapes; DequantizeLinear and Cast of constants are folded. Ensures:
 * same results. */
#include "ops/ops.h"
#include "passes/passes.h"

/* A table [R][C] taken apart. */
typedef struct Table {
    Recipe *values;
    /* NULL: none; [], [C] for the columns, or [R][blocks] for blocks of each row */
    Recipe *scale;
    Recipe *zero;  /* of their type, in the form of the scales; NULL: none */
    int64_t block; /* numbers of a row that share a scale */
    DType type;    /* that rows are dequantized to */
} Table;

static bool is_per_row(const Table *table)
{
    return table->scale && recipe_rank(table->scale) == 2;
}

/* Numbers of [R][C] in the form that a Table has them in, one for *block of a row; NULL: there is
 * none for them. */
static Recipe *plain_form(Store *store, const Recipe *numbers, int64_t *block)
{
    int64_t times;
    Recipe *once = recipe_once(store, numbers, 1, block);
    once = recipe_once(store, once, 0, &times);
    const int64_t *dims = recipe_dims(once);
    if (dims[0] == recipe_dims(numbers)[0])
        return once;
    if (dims[0] != 1)
        return NULL;
    if (dims[1] == 1)
        return recipe_reshape(store, once, 0, NULL);
    if (dims[1] != recipe_dims(numbers)[1])
        return NULL;
    return recipe_reshape(store, once, 1, dims + 1);
}

static bool same_form(const Recipe *a, const Recipe *b)
{
    const int rank = recipe_rank(a);
    if (rank != recipe_rank(b))
        return false;
    for (int i = 0; i < rank; i++)
        if (recipe_dims(a)[i] != recipe_dims(b)[i])
            return false;
    return true;
}

/* One zero point for all, where the scales are not read row by row. */
static bool take_middle(Store *store, const Narrow *narrow, Table *table)
{
    const DType type = recipe_dtype(narrow->values);
    const DType byte = narrow->middle < 0.0f ? DT_I8 : DT_U8;
    const uint8_t middle = (uint8_t)(int)narrow->middle;
    if (narrow->middle == 0.0f)
        return true;
    if (is_per_row(table))
        return false;
    const Recipe *scale = table->scale;
    Recipe *zero = recipe_fill(store, byte, recipe_rank(scale),
                               recipe_dims(scale), &middle);
    table->zero = recipe_cast(store, zero, type);
    return true;
}

static bool take_scales(Store *store, const Narrow *narrow, Table *table)
{
    int64_t block;
    table->type = narrow->rounded ? narrow->rounded : DT_F32;
    if (dtype_bits(recipe_dtype(narrow->values)) > 8 || narrow->folded)
        return false;
    table->scale = plain_form(store, narrow->scale, &table->block);
    if (!table->scale)
        return false;
    if (!narrow->rounded)
        table->scale = recipe_cast(store, table->scale, DT_F32);
    if (recipe_dtype(table->scale) != table->type)
        return false;
    if (!narrow->zero)
        return take_middle(store, narrow, table);
    table->zero = plain_form(store, narrow->zero, &block);
    return table->zero && block == table->block &&
           same_form(table->zero, table->scale);
}

/* false: its numbers are as wide as the model has them, or of no form that a DequantizeLinear of
 * rows has. */
static bool take_table(Store *store, const Tensor *data, Table *table)
{
    Narrow narrow;
    const Recipe *wide = recipe_cast(store, data->value, DT_F32);
    *table = (Table){ .values = NULL };
    if (!recipe_narrow(store, wide, &narrow))
        return false;
    table->values = narrow.values;
    if (narrow.scale)
        return take_scales(store, &narrow, table);
    return recipe_dtype(narrow.values) != data->dtype;
}

static bool reads_rows(const Node *node)
{
    if (node->dead || !node_is(node, "Gather"))
        return false;
    const Tensor *data = node->in[0];
    return data->value && dtype_is_float(data->dtype) &&
           data->shape.rank == 2 && !node->in[1]->value &&
           !node->out[0]->dynamic &&
           node_axis(node, node_int(node, "axis", 0), 2) == 0;
}

/* Rows of a constant [R][..] in front of a Gather, at its indices. */
static Tensor *gathered(Graph *graph, const Node *node, Recipe *value)
{
    Tensor *in[2] = { graph_add_constant(graph, NULL, value), node->in[1] };
    Shape shape = node->out[0]->shape;
    shape.dim[shape.rank - 1] = recipe_dims(value)[1];
    Tensor *rows = graph_add_tensor(graph, NULL, recipe_dtype(value), shape);
    Node *gather =
        graph_insert_node(graph, node, "", "Gather", 2, in, 1, &rows);
    gather->version = OPSET_NEWEST;
    node_set_int(gather, "axis", 0);
    infer_node(gather);
    return rows;
}

/* Scales or zero points as they belong to the rows that are read; NULL: none. */
static Tensor *of_rows(Graph *graph, const Node *node, Recipe *numbers)
{
    if (!numbers)
        return NULL;
    if (recipe_rank(numbers) == 2)
        return gathered(graph, node, numbers);
    return graph_add_constant(graph, NULL, numbers);
}

static Tensor *dequantized(Graph *graph, const Node *node, const Table *table)
{
    const Shape *shape = &node->out[0]->shape;
    Tensor *in[3] = { gathered(graph, node, table->values) };
    if (!table->scale)
        return in[0];
    Tensor *numbers = graph_add_tensor(graph, NULL, table->type, *shape);
    in[1] = of_rows(graph, node, table->scale);
    in[2] = of_rows(graph, node, table->zero);
    Node *made = graph_insert_node(graph, node, "", "DequantizeLinear",
                                   in[2] ? 3 : 2, in, 1, &numbers);
    made->version = OPSET_NEWEST;
    if (recipe_rank(table->scale))
        node_set_int(made, "axis", shape->rank - 1);
    if (is_per_row(table))
        node_set_int(made, "block_size", table->block);
    infer_node(made);
    return numbers;
}

/* Rows that are read become what the Gather would have read. */
static void make_rows(Graph *graph, Node *node, const Table *table)
{
    Tensor *out = node->out[0];
    Tensor *rows = dequantized(graph, node, table);
    if (rows->dtype != out->dtype) {
        Node *cast =
            graph_insert_node(graph, node, "", "Cast", 1, &rows, 1, &out);
        cast->version = OPSET_NEWEST;
        node_set_int(cast, "to", out->dtype);
        infer_node(cast);
    } else {
        graph_take_name(graph, out, rows);
    }
    graph_kill(node);
}

void pass_tables(Graph *graph)
{
    Table table;
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        if (reads_rows(node) && take_table(graph->store, node->in[0], &table))
            make_rows(graph, node, &table);
    }
    graph_sort(graph);
    pass_dead(graph);
}
