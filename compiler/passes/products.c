/* SPDX-License-Identifier: Apache-2.0
 * An Einsum of two operands that is a product of matrices becomes MatMul: of labels that both and
 * the result have, a batch; that one operand and the result have, rows or columns; that both have
 * and the result has not, what is summed over. Transpositions and reshapes bring them into this
 * order and the result into its own; later passes move them on, or into weights. Requires: types
 * and shapes. Ensures: same results but for rounding. */
#include "ops/einsum.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* Labels of one kind, in their order. */
typedef EinsumTerm Labels;

typedef struct Product {
    Equation equation;
    int left; /* the operand whose labels are the rows */
    Labels batch;
    Labels rows;
    Labels columns;
    Labels summed;
} Product;

static void add_label(Labels *labels, char label)
{
    labels->label[labels->rank++] = label;
}

static bool has_twice(const EinsumTerm *term)
{
    for (int i = 0; i < term->rank; i++)
        for (int k = 0; k < i; k++)
            if (term->label[i] == term->label[k])
                return true;
    return false;
}

/* Does each of its dimensions have the label's size, which is not 0? */
static bool has_sizes(const Equation *equation, const EinsumTerm *term,
                      const Shape *shape)
{
    for (int i = 0; i < term->rank; i++) {
        const int64_t size = equation->size[(int)term->label[i]];
        if (!size || shape->dim[i] != size)
            return false;
    }
    return true;
}

/* The first label of the result that one operand alone has is that of a row. */
static void sort_result(Product *product)
{
    const EinsumTerm *out = &product->equation.out;
    const EinsumTerm *in = product->equation.in;
    product->left = -1;
    for (int i = 0; i < out->rank; i++) {
        const char label = out->label[i];
        if (einsum_has(in, label) && einsum_has(in + 1, label)) {
            add_label(&product->batch, label);
            continue;
        }
        const int of = einsum_has(in, label) ? 0 : 1;
        if (product->left < 0)
            product->left = of;
        add_label(product->left == of ? &product->rows : &product->columns,
                  label);
    }
}

/* False: an operand alone has a label that is summed over. */
static bool sort_summed(Product *product)
{
    const EinsumTerm *left = product->equation.in + product->left;
    const EinsumTerm *right = product->equation.in + !product->left;
    for (int i = 0; i < left->rank; i++) {
        const char label = left->label[i];
        if (einsum_has(&product->equation.out, label))
            continue;
        if (!einsum_has(right, label))
            return false;
        add_label(&product->summed, label);
    }
    for (int i = 0; i < right->rank; i++) {
        const char label = right->label[i];
        if (!einsum_has(&product->equation.out, label) &&
            !einsum_has(left, label))
            return false;
    }
    return product->summed.rank > 0;
}

static bool is_plain(const Tensor *tensor)
{
    return tensor->dtype == DT_F32 && !tensor->dynamic;
}

static bool find_product(const Node *node, Product *product)
{
    *product = (Product){ .left = -1 };
    if (!is_plain(node->out[0]))
        return false;
    einsum_parse(node, &product->equation);
    for (int i = 0; i < 2; i++) {
        const EinsumTerm *term = product->equation.in + i;
        if (!is_plain(node->in[i]) || has_twice(term) ||
            !has_sizes(&product->equation, term, &node->in[i]->shape))
            return false;
    }
    if (has_twice(&product->equation.out))
        return false;
    sort_result(product);
    return product->left >= 0 && product->batch.rank + 2 <= MAX_RANK &&
           sort_summed(product);
}

static int64_t size_of(const Product *product, const Labels *labels)
{
    int64_t size = 1;
    for (int i = 0; i < labels->rank; i++)
        size *= product->equation.size[(int)labels->label[i]];
    return size;
}

/* The batch, each label a dimension, and a matrix. */
static Shape matrices(const Product *product, const Labels *rows,
                      const Labels *columns)
{
    Shape shape = { .rank = product->batch.rank + 2 };
    for (int i = 0; i < product->batch.rank; i++)
        shape.dim[i] = product->equation.size[(int)product->batch.label[i]];
    shape.dim[shape.rank - 2] = size_of(product, rows);
    shape.dim[shape.rank - 1] = size_of(product, columns);
    return shape;
}

/* Three kinds of labels, one behind the other. */
static EinsumTerm joined(const Labels *first, const Labels *second,
                         const Labels *third)
{
    EinsumTerm all = *first;
    for (int i = 0; i < second->rank; i++)
        add_label(&all, second->label[i]);
    for (int i = 0; i < third->rank; i++)
        add_label(&all, third->label[i]);
    return all;
}

/* From the order of one term to that of another. */
static Tensor *turned(Graph *graph, Node *node, Tensor *tensor,
                      const EinsumTerm *from, const EinsumTerm *to)
{
    int perm[MAX_RANK] = { 0 };
    bool same = true;
    for (int i = 0; i < to->rank; i++) {
        while (from->label[perm[i]] != to->label[i])
            perm[i]++;
        same &= perm[i] == i;
    }
    return same ? tensor : insert_transpose(graph, node, tensor, perm);
}

static Tensor *operand(Graph *graph, Node *node, const Product *product, int i)
{
    const bool is_left = i == product->left;
    const Labels *rows = is_left ? &product->rows : &product->summed;
    const Labels *columns = is_left ? &product->summed : &product->columns;
    const EinsumTerm order = joined(&product->batch, rows, columns);
    const Shape shape = matrices(product, rows, columns);
    Tensor *in_order =
        turned(graph, node, node->in[i], product->equation.in + i, &order);
    return insert_reshape(graph, node, in_order, &shape);
}

/* The matrices of all of the batch, one by one. */
static Tensor *multiplied(Graph *graph, Node *node, const Product *product)
{
    const Shape shape = matrices(product, &product->rows, &product->columns);
    Tensor *in[2] = { operand(graph, node, product, product->left),
                      operand(graph, node, product, !product->left) };
    Tensor *y = graph_add_tensor(graph, NULL, DT_F32, shape);
    Node *made = graph_insert_node(graph, node, "", "MatMul", 2, in, 1, &y);
    made->version = OPSET_NEWEST;
    made->op = op_find("", "MatMul", OPSET_NEWEST);
    return y;
}

static void multiply(Graph *graph, Node *node, const Product *product)
{
    const EinsumTerm order =
        joined(&product->batch, &product->rows, &product->columns);
    Tensor *out = node->out[0];
    Tensor *y = multiplied(graph, node, product);
    Shape apart = { .rank = order.rank };
    for (int i = 0; i < order.rank; i++)
        apart.dim[i] = product->equation.size[(int)order.label[i]];
    y = insert_reshape(graph, node, y, &apart);
    y = turned(graph, node, y, &order, &product->equation.out);
    graph_kill(node);
    graph_take_name(graph, out, y);
}

void pass_products(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        Product product;
        if (!node->dead && node_is(node, "Einsum") && node->n_in == 2 &&
            find_product(node, &product))
            multiply(graph, node, &product);
    }
    graph_sort(graph);
    pass_dead(graph);
}
