/* SPDX-License-Identifier: Apache-2.0
 * Einsum: operands are contracted from left to right, two at a time; a label is kept while the
 * result or an operand still to come has it. */
#include <ctype.h>
#include <string.h>

#include "base/size.h"
#include "kernels/einsum.h"
#include "ops/families.h"
#include "ops/nest.h"

enum { LABELS = 128 }; /* letters; 1 .. MAX_RANK stand for the dimensions of "..." from the right */

/* The labels of a tensor's dimensions. */
typedef struct Term {
    int rank;
    char label[MAX_RANK];
} Term;

typedef struct Equation {
    Term *in, out;
    int64_t size[LABELS]; /* 0: not in use */
} Equation;

static _Noreturn void bad_equation(const Node *n)
{
    fail_node(n, STATUS_MALFORMED, NULL, "equation \"%s\" does not fit its operands",
              node_string(n, "equation", ""));
}

/* One term of the equation, up to ',' or '-' or the end; `dots` dimensions stand for "...". */
static const char *parse_term(const Node *n, const char *c, Term *t, int dots)
{
    t->rank = 0;
    for (; *c && *c != ',' && *c != '-'; c++) {
        if (*c == ' ')
            continue;
        const bool ellipsis = !strncmp(c, "...", 3);
        if (!ellipsis && !isalpha((unsigned char)*c))
            bad_equation(n);
        for (int i = ellipsis ? dots : 1; i > 0; i--) {
            if (t->rank == MAX_RANK)
                bad_equation(n);
            t->label[t->rank++] = ellipsis ? (char)i : *c;
        }
        if (ellipsis)
            c += 2;
    }
    return c;
}

/* Dimensions that "..." stands for in a term of a tensor of this rank. */
static int dots_of(const Node *n, const char *c, int rank)
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
        bad_equation(n);
    return rank - letters;
}

static void add_sizes(const Node *n, Equation *e, const Term *t, const Shape *s)
{
    for (int i = 0; i < t->rank; i++) {
        int64_t *size = e->size + t->label[i];
        if (*size > 1 && s->dim[i] != 1 && s->dim[i] != *size)
            bad_equation(n);
        if (!*size || *size == 1)
            *size = s->dim[i];
    }
}

/* Without "->": "..." and then, in alphabetical order, the labels that occur once. */
static void implicit_result(const Node *n, Equation *e, int dots)
{
    e->out.rank = 0;
    for (int i = dots; i > 0; i--)
        e->out.label[e->out.rank++] = (char)i;
    for (int c = 'A'; c <= 'z'; c++) {
        int uses = 0;
        for (int k = 0; k < n->n_in; k++)
            for (int i = 0; i < e->in[k].rank; i++)
                uses += e->in[k].label[i] == c;
        if (uses != 1)
            continue;
        if (e->out.rank == MAX_RANK)
            bad_equation(n);
        e->out.label[e->out.rank++] = (char)c;
    }
}

static void parse_equation(const Node *n, Equation *e)
{
    const char *c = node_string(n, "equation", "");
    int most = 0;
    memset(e, 0, sizeof *e);
    e->in = NEW_ARRAY(n->graph->arena, Term, n->n_in);
    for (int k = 0; k < n->n_in; k++) {
        const Shape *s = infer_shape(n, k);
        const int dots = dots_of(n, c, s->rank);
        if (dots > most)
            most = dots;
        c = parse_term(n, c, e->in + k, dots);
        if (k < n->n_in - 1 && *c++ != ',')
            bad_equation(n);
        add_sizes(n, e, e->in + k, s);
    }
    if (*c == ',')
        bad_equation(n);
    if (!*c)
        implicit_result(n, e, most);
    else if (c[1] != '>' || *parse_term(n, c + 2, &e->out, most))
        bad_equation(n);
    for (int i = 0; i < e->out.rank; i++)
        if (!e->size[(int)e->out.label[i]]) {
            bool known = false;
            for (int k = 0; k < n->n_in; k++)
                for (int d = 0; d < e->in[k].rank; d++)
                    known = known || e->in[k].label[d] == e->out.label[i];
            if (!known)
                bad_equation(n);
        }
}

static Shape term_shape(const Equation *e, const Term *t)
{
    Shape s = { .rank = t->rank };
    for (int i = 0; i < t->rank; i++)
        s.dim[i] = e->size[(int)t->label[i]];
    return s;
}

void infer_einsum(Node *n)
{
    Equation e;
    parse_equation(n, &e);
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i]->dtype != n->in[0]->dtype)
            fail_node(n, STATUS_MALFORMED, NULL, "operands are of different types");
    infer_out(n, 0, n->in[0]->dtype, term_shape(&e, &e.out));
}

static bool has_label(const Term *t, char label)
{
    for (int i = 0; i < t->rank; i++)
        if (t->label[i] == label)
            return true;
    return false;
}

/* Stride of a label: a label that occurs twice walks the diagonal; a size of 1 repeats. */
static int64_t label_stride(const Term *t, const Shape *s, char label)
{
    int64_t stride[MAX_RANK], sum = 0;
    shape_strides(s, stride);
    for (int i = 0; i < t->rank; i++)
        if (t->label[i] == label && s->dim[i] != 1)
            sum += stride[i];
    return sum;
}

typedef struct Side {
    Term term;
    Tensor *tensor;
} Side;

static int summed_labels(const Side *a, const Side *b, const Term *out, char *label)
{
    int count = 0;
    const Term *const terms[] = { &a->term, &b->term };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < terms[k]->rank; i++) {
            const char c = terms[k]->label[i];
            bool seen = has_label(out, c);
            for (int j = 0; j < count; j++)
                seen = seen || label[j] == c;
            if (!seen)
                label[count++] = c;
        }
    return count;
}

static void set_loop(const Equation *e, const Side *a, const Side *b, char label, int32_t *n,
                     int32_t *sa, int32_t *sb)
{
    *n = i32_checked(e->size[(int)label]);
    *sa = i32_checked(label_stride(&a->term, &a->tensor->shape, label));
    *sb = i32_checked(label_stride(&b->term, &b->tensor->shape, label));
}

/* out = a b, summed over the labels that `out` does not have. */
static void contract(Lower *l, Node *n, const Equation *e, Side a, Side b, const Term *out,
                     Tensor *y)
{
    char summed[2 * MAX_RANK];
    if (out->rank && label_stride(&a.term, &a.tensor->shape, out->label[out->rank - 1]) == 1 &&
        !has_label(&b.term, out->label[out->rank - 1])) {
        const Side t = a;
        a = b;
        b = t;
    }
    const int count = summed_labels(&a, &b, out, summed);
    if (count > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "sums over more than %d labels", MAX_RANK);
    for (int i = 0; i < count - 1; i++) /* the contiguous one innermost */
        if (label_stride(&a.term, &a.tensor->shape, summed[i]) == 1) {
            const char c = summed[i];
            summed[i] = summed[count - 1];
            summed[count - 1] = c;
        }
    inlay_einsum_params p = {
        .kept = out->rank ? out->rank : 1, .summed = count ? count : 1, .nk = { 1 }, .nr = { 1 }
    };
    for (int i = 0; i < out->rank; i++)
        set_loop(e, &a, &b, out->label[i], p.nk + i, p.ak + i, p.bk + i);
    for (int i = 0; i < count; i++)
        set_loop(e, &a, &b, summed[i], p.nr + i, p.ar + i, p.br + i);
    Step *s = lower_step(l, n, lower_kernel(l, "einsum", y->dtype), &p);
    step_out(s, y);
    step_in(s, a.tensor);
    step_in(s, b.tensor);
}

/* Labels of a and b that the result or an operand from `next` on still needs. */
static Term needed_labels(const Node *n, const Equation *e, const Side *a, const Side *b, int next)
{
    Term t = { .rank = 0 };
    const Term *const terms[] = { &a->term, &b->term };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < terms[k]->rank; i++) {
            const char c = terms[k]->label[i];
            bool later = has_label(&e->out, c);
            for (int j = next; j < n->n_in; j++)
                later = later || has_label(e->in + j, c);
            if (!later || has_label(&t, c))
                continue;
            if (t.rank == MAX_RANK)
                fail_node(n, STATUS_UNSUPPORTED, NULL, "needs more than %d dimensions on the way",
                          MAX_RANK);
            t.label[t.rank++] = c;
        }
    return t;
}

static Tensor *one(Lower *l, DType t)
{
    const float v = 1.0f;
    return lower_constant(
        l, recipe_cast(l->graph->store, recipe_memory(l->graph->store, DT_F32, 0, NULL, &v), t));
}

void lower_einsum(Lower *l, Node *n)
{
    Equation e;
    parse_equation(n, &e);
    if (!tensor_count(n->out[0]))
        return;
    for (int i = 0; i < n->n_in; i++)
        if (!tensor_count(n->in[i])) { /* a sum over nothing */
            const float zero = 0.0f;
            const int64_t shape = 1;
            lower_fill(l, n, n->out[0],
                       lower_constant(
                           l, recipe_cast(l->graph->store,
                                          recipe_memory(l->graph->store, DT_F32, 1, &shape, &zero),
                                          n->out[0]->dtype)));
            return;
        }
    Side acc = { e.in[0], n->in[0] };
    if (n->n_in == 1) {
        const Side scalar = { { .rank = 0 }, one(l, n->in[0]->dtype) };
        contract(l, n, &e, acc, scalar, &e.out, n->out[0]);
        return;
    }
    for (int i = 1; i < n->n_in; i++) {
        const Side next = { e.in[i], n->in[i] };
        const bool last = i == n->n_in - 1;
        const Term t = last ? e.out : needed_labels(n, &e, &acc, &next, i + 1);
        Tensor *y = last ? n->out[0] : lower_temp(l, n->out[0]->dtype, term_shape(&e, &t));
        contract(l, n, &e, acc, next, &t, y);
        acc = (Side){ t, y };
    }
}
