/* SPDX-License-Identifier: Apache-2.0
 * Einsum: operands are contracted from left to right, two at a time; a label is kept while the
 * result or an operand still to come has it. */
#include <ctype.h>
#include <string.h>

#include "base/size.h"
#include "kernels/einsum.h"
#include "ops/einsum.h"
#include "ops/families.h"
#include "ops/nest.h"

static _Noreturn void bad_equation(const Node *node)
{
    fail_node(node, STATUS_MALFORMED, NULL,
              "equation \"%s\" does not fit its operands",
              node_string(node, "equation", ""));
}

/* One term of the equation, up to ',' or '-' or the end; `dots` dimensions stand for "...". */
static const char *parse_term(const Node *node, const char *c, EinsumTerm *term,
                              int dots)
{
    term->rank = 0;
    for (; *c && *c != ',' && *c != '-'; c++) {
        if (*c == ' ')
            continue;
        const bool ellipsis = !strncmp(c, "...", 3);
        if (!ellipsis && !isalpha((unsigned char)*c))
            bad_equation(node);
        for (int i = ellipsis ? dots : 1; i > 0; i--) {
            if (term->rank == MAX_RANK)
                bad_equation(node);
            term->label[term->rank++] = ellipsis ? (char)i : *c;
        }
        if (ellipsis)
            c += 2;
    }
    return c;
}

/* Dimensions that "..." stands for in a term of a tensor of this rank. */
static int dots_of(const Node *node, const char *c, int rank)
{
    int letters = 0;
    bool ellipsis = false;
    for (; *c && *c != ',' && *c != '-'; c++) {
        if (*c == '.')
            ellipsis = true;
        else
            letters += *c != ' ';
    }
    if (letters > rank || (!ellipsis && letters != rank))
        bad_equation(node);
    return rank - letters;
}

bool einsum_has(const EinsumTerm *term, char label)
{
    for (int i = 0; i < term->rank; i++)
        if (term->label[i] == label)
            return true;
    return false;
}

static void add_sizes(const Node *node, Equation *equation,
                      const EinsumTerm *term, const Shape *s)
{
    for (int i = 0; i < term->rank; i++) {
        int64_t *size = equation->size + term->label[i];
        if (*size > 1 && s->dim[i] != 1 && s->dim[i] != *size)
            bad_equation(node);
        if (!*size || *size == 1)
            *size = s->dim[i];
    }
}

/* Without "->": "..." and then, in alphabetical order, the labels that occur once. */
static void implicit_result(const Node *node, Equation *equation, int dots)
{
    equation->out.rank = 0;
    for (int i = dots; i > 0; i--)
        equation->out.label[equation->out.rank++] = (char)i;
    for (int c = 'A'; c <= 'z'; c++) {
        int uses = 0;
        for (int k = 0; k < node->n_in; k++)
            for (int i = 0; i < equation->in[k].rank; i++)
                uses += equation->in[k].label[i] == c;
        if (uses != 1)
            continue;
        if (equation->out.rank == MAX_RANK)
            bad_equation(node);
        equation->out.label[equation->out.rank++] = (char)c;
    }
}

/* The terms of the operands; returns what follows them. *dots: the most that "..." stands for. */
static const char *parse_operands(const Node *node, Equation *equation,
                                  int *dots)
{
    const char *c = node_string(node, "equation", "");
    *dots = 0;
    for (int k = 0; k < node->n_in; k++) {
        const Shape *shape = infer_shape(node, k);
        const int here = dots_of(node, c, shape->rank);
        if (here > *dots)
            *dots = here;
        c = parse_term(node, c, equation->in + k, here);
        if (k < node->n_in - 1 && *c++ != ',')
            bad_equation(node);
        add_sizes(node, equation, equation->in + k, shape);
    }
    return c;
}

static bool is_operand_label(const Node *node, const Equation *equation,
                             char label)
{
    for (int k = 0; k < node->n_in; k++)
        if (einsum_has(equation->in + k, label))
            return true;
    return false;
}

void einsum_parse(const Node *node, Equation *equation)
{
    int dots;
    memset(equation, 0, sizeof *equation);
    equation->in = NEW_ARRAY(node->graph->arena, EinsumTerm, node->n_in);
    const char *c = parse_operands(node, equation, &dots);
    if (*c == ',')
        bad_equation(node);
    if (!*c)
        implicit_result(node, equation, dots);
    else if (c[1] != '>' || *parse_term(node, c + 2, &equation->out, dots))
        bad_equation(node);
    for (int i = 0; i < equation->out.rank; i++)
        if (!is_operand_label(node, equation, equation->out.label[i]))
            bad_equation(node);
}

static Shape term_shape(const Equation *equation, const EinsumTerm *term)
{
    Shape s = { .rank = term->rank };
    for (int i = 0; i < term->rank; i++)
        s.dim[i] = equation->size[(int)term->label[i]];
    return s;
}

void infer_einsum(Node *node)
{
    Equation equation;
    einsum_parse(node, &equation);
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i]->dtype != node_type(node))
            fail_node(node, STATUS_MALFORMED, NULL,
                      "operands are of different types");
    infer_out(node, 0, node_type(node), term_shape(&equation, &equation.out));
}

/* Stride of a label: a label that occurs twice walks the diagonal; a size of 1 repeats. */
static int64_t label_stride(const EinsumTerm *term, const Shape *s, char label)
{
    int64_t stride[MAX_RANK];
    int64_t sum = 0;
    shape_strides(s, stride);
    for (int i = 0; i < term->rank; i++)
        if (term->label[i] == label && s->dim[i] != 1)
            sum += stride[i];
    return sum;
}

typedef struct Side {
    EinsumTerm term;
    Tensor *tensor;
} Side;

static int summed_labels(const Side *a, const Side *b, const EinsumTerm *out,
                         char *label)
{
    int count = 0;
    const EinsumTerm *const terms[] = { &a->term, &b->term };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < terms[k]->rank; i++) {
            const char c = terms[k]->label[i];
            bool seen = einsum_has(out, c);
            for (int j = 0; j < count; j++)
                seen = seen || label[j] == c;
            if (!seen)
                label[count++] = c;
        }
    return count;
}

static void set_loop(const Equation *equation, const Side *a, const Side *b,
                     char label, int32_t *n, int32_t *sa, int32_t *sb)
{
    *n = i32_checked(equation->size[(int)label]);
    *sa = i32_checked(label_stride(&a->term, &a->tensor->shape, label));
    *sb = i32_checked(label_stride(&b->term, &b->tensor->shape, label));
}

/* out = a b, summed over the labels that `out` does not have. */
static int64_t stride_of(const Side *side, char label)
{
    return label_stride(&side->term, &side->tensor->shape, label);
}

/* Is it better the other way round: has only `a` the last label of the result, in one piece? */
static bool is_turned(const Side *a, const Side *b, const EinsumTerm *out)
{
    if (!out->rank)
        return false;
    const char last = out->label[out->rank - 1];
    return stride_of(a, last) == 1 && !einsum_has(&b->term, last);
}

/* The label that lies in one piece in `a` goes last, where it is the innermost loop. */
static void contiguous_last(const Side *a, char *label, int count)
{
    for (int i = 0; i < count - 1; i++) {
        const char here = label[i];
        if (stride_of(a, here) != 1)
            continue;
        label[i] = label[count - 1];
        label[count - 1] = here;
    }
}

static inlay_einsum_params einsum_params(const Node *node,
                                         const Equation *equation,
                                         const Side *a, const Side *b,
                                         const EinsumTerm *out)
{
    char summed[2 * MAX_RANK];
    const int count = summed_labels(a, b, out, summed);
    if (count > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "sums over more than %d labels", MAX_RANK);
    contiguous_last(a, summed, count);
    inlay_einsum_params params = {
        .kept = out->rank ? out->rank : 1,
        .summed = count ? count : 1,
        .nk = { 1 },
        .nr = { 1 },
    };
    for (int i = 0; i < out->rank; i++)
        set_loop(equation, a, b, out->label[i], params.nk + i, params.ak + i,
                 params.bk + i);
    for (int i = 0; i < count; i++)
        set_loop(equation, a, b, summed[i], params.nr + i, params.ar + i,
                 params.br + i);
    return params;
}

static void contract(Lower *lower, Node *node, const Equation *equation,
                     const Side *left, const Side *right, const EinsumTerm *out,
                     Tensor *y)
{
    const bool turned = is_turned(left, right, out);
    const Side *a = turned ? right : left;
    const Side *b = turned ? left : right;
    const inlay_einsum_params params = einsum_params(node, equation, a, b, out);
    const char *kernel = lower_kernel(lower, "einsum", y->dtype);
    Step *step = lower_step(lower, kernel, &params);
    step_out(step, y);
    step_in(step, a->tensor);
    step_in(step, b->tensor);
}

/* Labels of a and b that the result or an operand from `next` on still needs. */
static bool is_needed(const Node *node, const Equation *equation, int next,
                      char label)
{
    if (einsum_has(&equation->out, label))
        return true;
    for (int k = next; k < node->n_in; k++)
        if (einsum_has(equation->in + k, label))
            return true;
    return false;
}

static EinsumTerm needed_labels(const Node *node, const Equation *equation,
                                const Side *a, const Side *b, int next)
{
    EinsumTerm needed = { .rank = 0 };
    const EinsumTerm *const terms[] = { &a->term, &b->term };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < terms[k]->rank; i++) {
            const char label = terms[k]->label[i];
            if (einsum_has(&needed, label) ||
                !is_needed(node, equation, next, label))
                continue;
            if (needed.rank == MAX_RANK)
                fail_node(node, STATUS_UNSUPPORTED, NULL,
                          "needs more than %d dimensions on the way", MAX_RANK);
            needed.label[needed.rank++] = label;
        }
    return needed;
}

static Tensor *number(Lower *lower, DType type, int rank, float value)
{
    Store *store = lower->store;
    const int64_t dim = 1;
    Recipe *wide = recipe_memory(store, DT_F32, rank, &dim, &value);
    return lower_constant(lower, recipe_cast(store, wide, type));
}

static bool has_empty_operand(const Node *node)
{
    for (int i = 0; i < node->n_in; i++)
        if (!tensor_count(node->in[i]))
            return true;
    return false;
}

/* All operands but one, from left to right; the last two make the result. */
static void contract_all(Lower *lower, Node *node, const Equation *equation)
{
    const DType type = node->out[0]->dtype;
    Side sum = { equation->in[0], node->in[0] };
    for (int i = 1; i < node->n_in; i++) {
        const Side next = { equation->in[i], node->in[i] };
        EinsumTerm term = equation->out;
        Tensor *y = node->out[0];
        if (i < node->n_in - 1) {
            term = needed_labels(node, equation, &sum, &next, i + 1);
            y = lower_temp(lower, type, term_shape(equation, &term));
        }
        contract(lower, node, equation, &sum, &next, &term, y);
        sum = (Side){ term, y };
    }
}

void lower_einsum(Lower *lower, Node *node)
{
    const DType type = node->out[0]->dtype;
    Equation equation;
    einsum_parse(node, &equation);
    if (!tensor_count(node->out[0]))
        return;
    if (has_empty_operand(node)) { /* a sum over nothing */
        Tensor *zero = number(lower, type, 1, 0.0f);
        lower_fill(lower, node->out[0], zero);
        return;
    }
    if (node->n_in > 1) {
        contract_all(lower, node, &equation);
        return;
    }
    const Side only = { equation.in[0], node->in[0] };
    const Side one = { .tensor = number(lower, type, 0, 1.0f) };
    contract(lower, node, &equation, &only, &one, &equation.out, node->out[0]);
}
