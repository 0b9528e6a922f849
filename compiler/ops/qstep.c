/* SPDX-License-Identifier: Apache-2.0
 * Operators between quantized bytes that are no products: tables, sums, pools, softmax. The pass
 * `quantize` makes them of float operators between DequantizeLinear and QuantizeLinear; scales and
 * zero points are attributes (a_scale, a_zero_point ... of operands a, b and the result y, which
 * also has bounds lo and hi), so that operands are images and nothing else. */
#include "kernels/qshort_step.h"
#include "kernels/qsoftmax.h"
#include "kernels/qstep.h"

#include "kernels/qnorm.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/qshort.h"
#include "ops/qstep.h"
#include "ops/window.h"

/* How a type of bytes is counted from 0. */
static int32_t flip_of(DType type)
{
    return type == DT_I8 ? 128 : 0;
}

/* Codes of a type of 8 or 16 bits. */
static int64_t least_of(DType type)
{
    if (type == DT_I16)
        return INT16_MIN;
    return -flip_of(type);
}

static int64_t codes_of(DType type)
{
    return (int64_t)1 << dtype_bits(type);
}

static DType result_type(const Node *node)
{
    return dtype_of_code(node_int(node, "output_dtype", 0));
}

static void check_quantum(const Node *node, const Quantum *q, DType type)
{
    const int64_t least = least_of(type);
    if (!(DTYPE_BIT(type) & T_Q16) || !(q->scale > 0.0) ||
        !isfinite(q->scale) || q->zero < least ||
        q->zero >= least + codes_of(type))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "a scale or zero point does not fit %s", dtype_name(type));
}

static Quantum quantum_at(const Node *node, const char *scale, const char *zero,
                          DType type)
{
    const Quantum q = {
        .scale = node_double(node, scale, 1.0f),
        .zero = node_int(node, zero, 0),
        .type = type,
    };
    check_quantum(node, &q, type);
    return q;
}

static Quantum quantum_a(const Node *node)
{
    return quantum_at(node, "a_scale", "a_zero_point", node_type(node));
}

static Quantum quantum_b(const Node *node)
{
    return quantum_at(node, "b_scale", "b_zero_point", node->in[1]->dtype);
}

static Quantum quantum_y(const Node *node)
{
    return quantum_at(node, "y_scale", "y_zero_point", node->out[0]->dtype);
}

static int32_t bound_of(const Node *node, const char *name, int otherwise)
{
    const int32_t flip = flip_of(node->out[0]->dtype);
    const int64_t bound = node_int(node, name, otherwise - flip) + flip;
    if (bound < 0 || bound > 255)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute %s is %lld", name,
                  (long long)(bound - flip));
    return (int32_t)bound;
}

void infer_qstep(Node *node)
{
    infer_out(node, 0, result_type(node), *infer_shape(node, 0));
}

void infer_qpair(Node *node)
{
    infer_out(
        node, 0, result_type(node),
        infer_broadcast(node, infer_shape(node, 0), infer_shape(node, 1)));
}

/* ---- tables ---- */

/* Of bytes, or of floats by their bits. */
static Tensor *table_of(Lower *lower, const Node *node, const int64_t *entry)
{
    const int64_t dims[] = { 256 };
    float number[256];
    uint8_t byte[256];
    for (int i = 0; i < 256; i++) {
        const uint32_t bits = (uint32_t)entry[i];
        byte[i] = (uint8_t)bits;
        memcpy(number + i, &bits, sizeof bits);
    }
    if (node->out[0]->dtype == DT_F32)
        return lower_floats(lower, number, dims[0]);
    return lower_constant(lower,
                          recipe_memory(lower->store, DT_U8, 1, dims, byte));
}

void lower_table(Lower *lower, Node *node)
{
    int64_t count;
    const int64_t *entry = node_ints(node, "table", &count);
    const bool floats = node->out[0]->dtype == DT_F32;
    if (count != 256)
        fail_node(node, STATUS_MALFORMED, NULL, "its table has %lld entries",
                  (long long)count);
    Step *step = lower_flat(lower, floats ? "table_f32" : "table_8",
                            node->out[0], node->in[0], 0.0, 0.0);
    if (step)
        step_in(step, table_of(lower, node, entry));
}

/* ---- numbers ---- */

/* What is the same for all: the result, within the bounds that the node says. */
static inlay_qstep numbers_of(const Node *node)
{
    const Quantum y = quantum_y(node);
    const int32_t flip = flip_of(y.type);
    return (inlay_qstep){
        .flip_y = flip,
        .zy = (int32_t)y.zero + flip,
        .lo = bound_of(node, "lo", 0),
        .hi = bound_of(node, "hi", 255),
        .inner = node_flag(node, "zero_inside", false),
        .sy = (float)y.scale,
    };
}

static void set_a(inlay_qstep *q, const Quantum *a)
{
    q->flip_a = flip_of(a->type);
    q->za = (int32_t)a->zero + q->flip_a;
    q->sa = (float)a->scale;
}

static void set_b(inlay_qstep *q, const Quantum *b)
{
    q->flip_b = flip_of(b->type);
    q->zb = (int32_t)b->zero + q->flip_b;
    q->sb = (float)b->scale;
}

static void step_numbers(Lower *lower, Step *step, const inlay_qstep *q)
{
    int32_t word[INLAY_QSTEP_WORDS];
    memcpy(word, q, sizeof word);
    if (step)
        step_in(step, lower_i32s(lower, word, INLAY_QSTEP_WORDS));
}

void lower_quantum(Lower *lower, Step *step, const Node *node)
{
    const Quantum a = quantum_a(node);
    inlay_qstep q = numbers_of(node);
    set_a(&q, &a);
    step_numbers(lower, step, &q);
}

/* ---- two operands ---- */

static void lower_pair(Lower *lower, Node *node, const char *kernel, float sign)
{
    const Quantum a = quantum_a(node);
    const Quantum b = quantum_b(node);
    inlay_qstep q = numbers_of(node);
    set_a(&q, &a);
    set_b(&q, &b);
    q.sb *= sign;
    step_numbers(
        lower, lower_nd2(lower, kernel, node->out[0], node->in[0], node->in[1]),
        &q);
}

/* ---- the same of 16 bits ---- */

/* A code as a number with a sign. */
static int32_t signed_code(DType type, int64_t code)
{
    return (int32_t)(type == DT_U16 ? code + INT16_MIN : code);
}

static int32_t short_flip(DType type)
{
    return type == DT_U16 ? 1 << 15 : 0;
}

static inlay_qshort_step short_numbers(const Node *node)
{
    const Quantum y = quantum_y(node);
    const int64_t least = least_of(y.type);
    const int64_t most = least + UINT16_MAX;
    return (inlay_qshort_step){
        .flip_y = short_flip(y.type),
        .zy = signed_code(y.type, y.zero),
        .lo = signed_code(y.type, node_int(node, "lo", least)),
        .hi = signed_code(y.type, node_int(node, "hi", most)),
    };
}

static void set_short_a(inlay_qshort_step *q, const Quantum *a)
{
    q->flip_a = short_flip(a->type);
    q->za = signed_code(a->type, a->zero);
}

static void set_short_b(inlay_qshort_step *q, const Quantum *b)
{
    q->flip_b = short_flip(b->type);
    q->zb = signed_code(b->type, b->zero);
}

/* The only scale, of sums of 64 bits. */
static void set_short_scale(inlay_qshort_step *q, double scale)
{
    const ShortScale made = short_scale_long(scale);
    q->factor_a = made.factor;
    q->places = made.places;
}

static void step_shorts(Lower *lower, Step *step, const inlay_qshort_step *q)
{
    int32_t word[INLAY_QSHORT_WORDS];
    memcpy(word, q, sizeof word);
    if (step)
        step_in(step, lower_i32s(lower, word, INLAY_QSHORT_WORDS));
}

static void lower_short_pair(Lower *lower, const Node *node, const char *kernel,
                             const inlay_qshort_step *q)
{
    Step *step =
        lower_nd2(lower, kernel, node->out[0], node->in[0], node->in[1]);
    step_shorts(lower, step, q);
}

static void lower_short_sum(Lower *lower, const Node *node, int sign)
{
    const Quantum a = quantum_a(node);
    const Quantum b = quantum_b(node);
    const double y = quantum_y(node).scale;
    inlay_qshort_step q = short_numbers(node);
    set_short_a(&q, &a);
    set_short_b(&q, &b);
    q.places =
        short_factors(a.scale / y, b.scale / y, &q.factor_a, &q.factor_b);
    q.factor_b *= sign;
    lower_short_pair(lower, node, "qadd_short", &q);
}

static void lower_short_product(Lower *lower, const Node *node)
{
    const Quantum a = quantum_a(node);
    const Quantum b = quantum_b(node);
    inlay_qshort_step q = short_numbers(node);
    set_short_a(&q, &a);
    set_short_b(&q, &b);
    set_short_scale(&q, a.scale * b.scale / quantum_y(node).scale);
    lower_short_pair(lower, node, "qmul_short", &q);
}

/* Of sums of 32 bits, or of codes. */
static void lower_short_scale(Lower *lower, Node *node)
{
    const bool sums = node_type(node) == DT_I32;
    const char *kernel = sums ? "qscale_short" : "qrescale_short";
    const double scale = node_double(node, "a_scale", 1.0f);
    inlay_qshort_step q = short_numbers(node);
    q.za = (int32_t)node_int(node, "a_zero_point", 0);
    if (!sums) {
        const Quantum a = quantum_a(node);
        set_short_a(&q, &a);
    }
    set_short_scale(&q, scale / quantum_y(node).scale);
    step_shorts(lower,
                lower_flat(lower, kernel, node->out[0], node->in[0], 0.0, 0.0),
                &q);
}

void lower_qadd(Lower *lower, Node *node)
{
    const int sign = node_int(node, "subtract", 0) ? -1 : 1;
    if (is_short(node->out[0]->dtype)) {
        lower_short_sum(lower, node, sign);
        return;
    }
    lower_pair(lower, node, "qadd", (float)sign);
}

void lower_qmul(Lower *lower, Node *node)
{
    if (is_short(node->out[0]->dtype)) {
        lower_short_product(lower, node);
        return;
    }
    lower_pair(lower, node, "qmul", 1);
}

void lower_qdiv(Lower *lower, Node *node)
{
    lower_pair(lower, node, "qdiv", 1);
}

void lower_qprelu(Lower *lower, Node *node)
{
    Step *step =
        lower_nd2(lower, "qprelu", node->out[0], node->in[0], node->in[1]);
    lower_quantum(lower, step, node);
}

/* ---- pools: images are channels last ---- */

void infer_qpool(Node *node)
{
    node->channels_last = true;
    infer_pool(node);
    node->out[0]->dtype = result_type(node);
}

void lower_qaverage_pool(Lower *lower, Node *node)
{
    const bool count_pad = node_flag(node, "count_include_pad", false);
    lower_quantum(lower, lower_pool_rows(lower, node, "qavgpool", count_pad),
                  node);
}

void infer_qsum(Node *node)
{
    node->channels_last = true;
    infer_global_pool(node);
    node->out[0]->dtype = DT_I32;
}

void lower_qsum(Lower *lower, Node *node)
{
    lower_global_sum(lower, node, lower_kernel(lower, "qsum", node_type(node)));
}

/* int32 sums to bytes: a_scale is that of the sums, a_zero_point any number of them. */
void lower_qscale(Lower *lower, Node *node)
{
    if (is_short(node->out[0]->dtype)) {
        lower_short_scale(lower, node);
        return;
    }
    inlay_qstep q = numbers_of(node);
    q.za = (int32_t)node_int(node, "a_zero_point", 0);
    q.sa = node_float(node, "a_scale", 1.0f);
    Step *step =
        lower_flat(lower, "qscale", node->out[0], node->in[0], 0.0, 0.0);
    step_numbers(lower, step, &q);
}

/* Exponentials of so many elements take more time than a table of all is worth in flash. */
enum { MANY_EXPONENTIALS = 1024 };

static Tensor *exponentials(Lower *lower, float scale)
{
    float table[INLAY_QSOFTMAX_TABLE];
    for (int d = 0; d < INLAY_QSOFTMAX_TABLE; d++)
        table[d] = inlay_exp_f((float)-d * scale);
    return lower_floats(lower, table, INLAY_QSOFTMAX_TABLE);
}

void lower_qsoftmax(Lower *lower, Node *node)
{
    const bool many = tensor_count(node->in[0]) >= MANY_EXPONENTIALS;
    Step *step =
        lower_softmax_lines(lower, node, many ? "qsoftmax_table" : "qsoftmax");
    lower_quantum(lower, step, node);
    if (step && many)
        step_in(step, exponentials(lower, (float)quantum_a(node).scale));
}

bool qnorm_fits(int64_t n)
{
    return n > 0 && n <= INLAY_QNORM_MOST;
}

/* Lines are pixels; bytes of one line, a row of them. */
void lower_qnorm(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    if (!tensor_count(x))
        return;
    const inlay_qnorm_params params = {
        .outer = i32_checked(shape_row_pixels(&x->shape)),
        .n = i32_checked(x->shape.dim[x->shape.rank - 1]),
        .center = node_flag(node, "center", true),
        .epsilon = node_float(node, "epsilon", 1e-5f),
    };
    Step *step = lower_step(lower, "qnorm", &params);
    operand_image(step_out(step, node->out[0]));
    Operand *in = step_in(step, x);
    operand_image(in);
    in->rule.kind = ROWS_SAME;
    in->reuse = REUSE_ELEMENTWISE;
    step->units = in->rows;
    step_in(step, node->in[1]);
    step_in(step, node_in(node, 2));
    lower_quantum(lower, step, node);
}
