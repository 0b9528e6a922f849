/* SPDX-License-Identifier: Apache-2.0
 * Steps between quantized bytes against the formulas in double, any mix of int8 and uint8, bounds,
 * gaps between pixels, results over an operand. Near a tie a result may be the other neighbour. */
#include "images.h"

#include "kernels/qnorm.h"
#include "kernels/qresize.h"
#include "kernels/qsoftmax.h"
#include "kernels/qstep.h"

#ifndef ROUNDS
#define ROUNDS 200
#endif

enum { UNTOUCHED = 0xa5, MOST_OPERANDS = 7 };

static uint8_t *rnd_bytes(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)rnd(256);
    return bytes;
}

/* Room for n bytes and one behind them that must stay. */
static uint8_t *guarded(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    memset(bytes, UNTOUCHED, n + 1);
    return bytes;
}

static int32_t rnd_flip(void)
{
    return rnd(2) ? 128 : 0;
}

/* Some are powers of 2, so that results lie at halves. */
static float rnd_scale(void)
{
    if (!rnd(4))
        return 1.0f / (float)(8 << rnd(5));
    return 0.004f + (float)rnd(1000) / 10000.0f;
}

static inlay_qstep random_numbers(void)
{
    inlay_qstep q = {
        .flip_a = rnd_flip(),
        .flip_b = rnd_flip(),
        .flip_y = rnd_flip(),
        .za = (int32_t)rnd(256),
        .zb = (int32_t)rnd(256),
        .zy = (int32_t)rnd(256),
        .lo = rnd(2) ? 0 : (int32_t)rnd(100),
        .hi = rnd(2) ? 255 : 100 + (int32_t)rnd(156),
        .inner = (int32_t)rnd(2),
        .sa = rnd_scale(),
        .sb = rnd_scale(),
        .sy = rnd_scale(),
    };
    return q;
}

static double number(uint8_t byte, int32_t flip, int32_t zero, float scale)
{
    return ((byte ^ flip) - zero) * (double)scale;
}

static double clipped(const inlay_qstep *q, double v)
{
    const double least = q->lo;
    const double most = q->hi;
    if (v < least)
        return least;
    return v > most ? most : v;
}

/* `byte` is what v becomes, before it rounds, but for the last bits of a float. */
static void check_byte(const inlay_qstep *q, uint8_t byte, double v)
{
    const double want = clipped(q, v / (double)q->sy + q->zy);
    const double got = byte ^ q->flip_y;
    assert_true(fabs(got - want) <= 0.5 + 1e-3);
    assert_in_range(byte ^ q->flip_y, q->lo, q->hi);
}

static void run(inlay_kernel *kernel, const void *params, int operands,
                void **base, const int32_t *pix, int32_t units, uint32_t row_y,
                uint32_t row_x)
{
    inlay_ref ref[MOST_OPERANDS] = { 0 };
    for (int i = 0; i < operands; i++) {
        ref[i] = (inlay_ref){ .cap = units, .pix = pix[i], .base = i };
        ref[i].row = i ? row_x : row_y;
    }
    const inlay_step step = { kernel, params, ref, units, 0 };
    assert_int_equal(kernel(base, &step, 0, units), 0);
}

/* The same with entries of floats. */
static void check_floats(const inlay_flat_params *p, uint8_t *x,
                         const int32_t *pix)
{
    const size_t room = (size_t)(p->n / p->pixel * pix[0]);
    float *y = malloc(room * sizeof *y);
    float table[256];
    void *base[] = { y, x, table };
    for (int i = 0; i < 256; i++)
        table[i] = (float)(i * i);
    for (size_t i = 0; i < room; i++)
        y[i] = -1;
    run(inlay_table_f32, p, 3, base, pix, 1, 0, 0);
    for (size_t i = 0; i < room; i++) {
        const bool inside = (int32_t)i % pix[0] < p->pixel;
        const float want = inside ? table[x[i]] : -1.0f;
        assert_memory_equal(y + i, &want, sizeof want);
    }
    free(y);
}

static void tables(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS / 2; round++) {
        const int32_t pixel = 1 + (int32_t)rnd(9);
        const int32_t gap = (int32_t)rnd(3);
        const int32_t pixels = 1 + (int32_t)rnd(7);
        const inlay_flat_params p = { .n = pixel * pixels, .pixel = pixel };
        const size_t room = (size_t)(pixels * (pixel + gap));
        uint8_t *x = rnd_bytes(room);
        uint8_t *table = rnd_bytes(256);
        uint8_t *y = guarded(room);
        void *base[] = { y, x, table };
        const int32_t pix[] = { pixel + gap, pixel + gap, 1 };
        run(inlay_table_8, &p, 3, base, pix, 1, 0, 0);
        for (size_t i = 0; i < room; i++) {
            const bool inside = (int32_t)i % (pixel + gap) < pixel;
            assert_int_equal(y[i], inside ? table[x[i]] : UNTOUCHED);
        }
        assert_int_equal(y[room], UNTOUCHED);
        check_floats(&p, x, pix);
        free(x);
        free(table);
        free(y);
    }
}

static double sum_of(double a, double b)
{
    return a + b;
}
static double product_of(double a, double b)
{
    return a * b;
}
static double quotient_of(double a, double b)
{
    return a / b;
}

/* A pair of [n] and [n], or of [n] and one number, which is never 0. */
static void check_pair(inlay_kernel *kernel, double (*formula)(double, double))
{
    inlay_qstep q = random_numbers();
    const int32_t n = 1 + (int32_t)rnd(200);
    const bool one = rnd(3) == 0;
    const bool over = rnd(3) == 0;
    inlay_nd2_params p = { .rank = 1, .pixel = -1, .n = { n }, .a = { 1 } };
    p.b[0] = !one;
    uint8_t *a = rnd_bytes((size_t)n);
    uint8_t *b = rnd_bytes((size_t)n);
    for (int32_t i = 0; i < n; i++)
        b[i] ^= (b[i] ^ q.flip_b) == q.zb;
    uint8_t *y = guarded((size_t)n);
    uint8_t *kept = malloc((size_t)n);
    memcpy(kept, a, (size_t)n);
    uint8_t *result = over ? a : y;
    void *base[] = { result, a, b, &q };
    const int32_t pix[] = { 1, 1, 1, 1 };
    run(kernel, &p, 4, base, pix, 1, 0, 0);
    for (int32_t i = 0; i < n; i++) {
        const double of_a = number(kept[i], q.flip_a, q.za, q.sa);
        const double of_b = number(b[one ? 0 : i], q.flip_b, q.zb, q.sb);
        check_byte(&q, result[i], formula(of_a, of_b));
    }
    assert_int_equal(y[n], UNTOUCHED);
    free(a);
    free(b);
    free(y);
    free(kept);
}

static void pairs(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        check_pair(inlay_qadd, sum_of);
        check_pair(inlay_qmul, product_of);
        check_pair(inlay_qdiv, quotient_of);
    }
}

#if INLAY_QSOFT
/* Sums and products by integers of all pairs of bytes are those by floats. Returns how many were
 * made. */
static int32_t same_pairs(const inlay_qstep *q)
{
    uint8_t b[256];
    int32_t made = 0;
    for (int i = 0; i < 256; i++)
        b[i] = (uint8_t)i;
    for (int i = 0; i < 256; i++) {
        const uint8_t a = (uint8_t)i;
        const int32_t of_a = (a ^ q->flip_a) - q->za;
        uint8_t y[256];
        int32_t n = inlay_soft_sums_of(y, &a, b, 256, 0, 1, q);
        for (int32_t k = 0; k < n; k++)
            assert_int_equal(y[k], inlay_qsoft_unclear(q, a, b[k]));
        made += n > 0;
        n = inlay_soft_products_of(y, &a, b, 256, 0, 1, q);
        for (int32_t k = 0; k < n; k++) {
            const int32_t of_b = (b[k] ^ q->flip_b) - q->zb;
            assert_int_equal(y[k], inlay_qsoft_product(q, of_a, of_b));
        }
        made += n > 0;
    }
    return made;
}

/* The same of the means of sums of a window. */
static int32_t same_means(inlay_qstep *q)
{
    const int32_t count = 1 + (int32_t)rnd(INLAY_QONE_MOST);
    const int32_t zeros = (int32_t)rnd(256) * count;
    int32_t made = 0;
    q->inner = rnd(2) != 0;
    for (int32_t sum = 0; sum <= 255 * count; sum += 1 + count / 8) {
        uint8_t y;
        if (!inlay_soft_means_of(&y, &sum, 1, zeros, count, q))
            continue;
        assert_int_equal(y, inlay_qstep_mean(q, sum - zeros, count));
        made++;
    }
    return made;
}

static void by_integers(void **state)
{
    (void)state;
    int32_t pairs_made = 0;
    int32_t means_made = 0;
    for (int round = 0; round < 50; round++) {
        inlay_qstep q = random_numbers();
        pairs_made += same_pairs(&q);
        means_made += same_means(&q);
    }
    assert_true(pairs_made > 256 * 50 && means_made > 0);
}
#endif

/* A slope for each of [n], or one. */
static void slopes(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        inlay_qstep q = random_numbers();
        const int32_t n = 1 + (int32_t)rnd(100);
        const bool one = rnd(3) == 0;
        inlay_nd2_params p = { .rank = 1, .pixel = -1, .n = { n }, .a = { 1 } };
        p.b[0] = !one;
        uint8_t *a = rnd_bytes((size_t)n);
        uint8_t *y = guarded((size_t)n);
        float slope[100];
        for (int i = 0; i < 100; i++)
            slope[i] = rnd_float();
        void *base[] = { y, a, slope, &q };
        const int32_t pix[] = { 1, 1, 1, 1 };
        run(inlay_qprelu, &p, 4, base, pix, 1, 0, 0);
        for (int32_t i = 0; i < n; i++) {
            const double v = number(a[i], q.flip_a, q.za, q.sa);
            check_byte(&q, y[i], v < 0 ? v * (double)slope[one ? 0 : i] : v);
        }
        assert_int_equal(y[n], UNTOUCHED);
        free(a);
        free(y);
    }
}

/* The mean of the taps of channel c of a window that begins at row h, pixel w. */
static double mean_of(const inlay_pool_params *p, const inlay_qstep *q,
                      const uint8_t *x, int32_t h, int32_t w, int32_t c)
{
    double sum = 0.0;
    int32_t count = 0;
    for (int32_t i = h; i < h + p->kh; i++)
        for (int32_t k = w; k < w + p->kw; k++) {
            if (i < 0 || i >= p->ih || k < 0 || k >= p->iw)
                continue;
            const int32_t at = (i * p->iw + k) * p->channels + c;
            sum += number(x[at], q->flip_a, q->za, q->sa);
            count++;
        }
    return sum / (p->count_pad ? p->kh * p->kw : count);
}

static inlay_pool_params random_pool(void)
{
    inlay_pool_params p = { .id = 1, .od = 1, .kd = 1, .sd = 1, .dd = 1 };
    p.dh = p.dw = 1;
    p.kh = 1 + (int32_t)rnd(4);
    p.kw = 1 + (int32_t)rnd(4);
    p.sh = 1 + (int32_t)rnd(3);
    p.sw = 1 + (int32_t)rnd(3);
    p.ph = p.eh = (int32_t)rnd((uint32_t)p.kh);
    p.pw = p.ew = (int32_t)rnd((uint32_t)p.kw);
    p.ih = p.kh + (int32_t)rnd(6);
    p.iw = p.kw + (int32_t)rnd(6);
    p.oh = (p.ih + 2 * p.ph - p.kh) / p.sh + 1;
    p.ow = (p.iw + 2 * p.pw - p.kw) / p.sw + 1;
    p.channels = 1 + (int32_t)rnd(70);
    p.count_pad = (int32_t)rnd(2);
    return p;
}

static void pools(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        inlay_qstep q = random_numbers();
        const inlay_pool_params p = random_pool();
        const int32_t row_y = p.ow * p.channels;
        const int32_t row_x = p.iw * p.channels;
        uint8_t *x = rnd_bytes((size_t)(p.ih * row_x));
        uint8_t *y = guarded((size_t)(p.oh * row_y));
        void *base[] = { y, x, &q };
        const int32_t pix[] = { p.channels, p.channels, 1 };
        inlay_ref ref[3] = { 0 };
        for (int i = 0; i < 3; i++)
            ref[i] =
                (inlay_ref){ .cap = p.ih + p.oh, .pix = pix[i], .base = i };
        ref[0].row = (uint32_t)row_y;
        ref[1].row = (uint32_t)row_x;
        const inlay_step step = { inlay_qavgpool, &p, ref, p.oh, 0 };
        assert_int_equal(inlay_qavgpool(base, &step, 0, p.oh), 0);
        for (int32_t i = 0; i < p.oh * row_y; i++) {
            const int32_t h = i / row_y * p.sh - p.ph;
            const int32_t w = i % row_y / p.channels * p.sw - p.pw;
            check_byte(&q, y[i], mean_of(&p, &q, x, h, w, i % p.channels));
        }
        assert_int_equal(y[p.oh * row_y], UNTOUCHED);
        free(x);
        free(y);
    }
}

/* All rows of two images, then bytes of their sums. */
static void sums(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS / 2; round++) {
        enum { IMAGES = 2 };
        inlay_qstep q = random_numbers();
        inlay_globalpool_params p = { .rows = 1 + (int32_t)rnd(6) };
        p.width = 1 + (int32_t)rnd(9);
        p.channels = 1 + (int32_t)rnd(40);
        const int32_t pixels = p.rows * p.width;
        const int32_t n = IMAGES * p.channels;
        uint8_t *x = rnd_bytes((size_t)(pixels * n));
        int32_t *sum = malloc((size_t)n * sizeof *sum);
        uint8_t *y = guarded((size_t)n);
        void *base[] = { sum, x };
        inlay_ref ref[2] = {
            { .cap = IMAGES, .pix = p.channels, .base = 0 },
            { .cap = IMAGES * p.rows, .pix = p.channels, .base = 1 },
        };
        ref[0].row = (uint32_t)p.channels * sizeof *sum;
        ref[1].row = (uint32_t)(p.width * p.channels);
        inlay_kernel *kernel = q.flip_a ? inlay_qsum_i8 : inlay_qsum_u8;
        const inlay_step step = { kernel, &p, ref, IMAGES * p.rows, 0 };
        assert_int_equal(kernel(base, &step, 0, IMAGES * p.rows), 0);
        const inlay_flat_params flat = { .n = n, .pixel = n };
        void *of_bytes[] = { y, sum, &q };
        const int32_t pix[] = { n, n, 1 };
        q.za = (int32_t)rnd(1000);
        run(inlay_qscale, &flat, 3, of_bytes, pix, 1, 0, 0);
        for (int32_t i = 0; i < n; i++) {
            const uint8_t *image = x + i / p.channels * pixels * p.channels;
            int32_t want = 0;
            for (int32_t k = 0; k < pixels; k++) {
                const uint8_t byte = image[k * p.channels + i % p.channels];
                want += (byte ^ q.flip_a) - q.flip_a;
            }
            assert_int_equal(sum[i], want);
            check_byte(&q, y[i], (want - q.za) * (double)q.sa);
        }
        assert_int_equal(y[n], UNTOUCHED);
        free(x);
        free(sum);
        free(y);
    }
}

/* By the table, in the memory of x: the same bytes. */
static void check_table(const inlay_softmax_params *p, inlay_qstep *q,
                        const uint8_t *x, const uint8_t *want, int32_t n)
{
    uint8_t *y = guarded((size_t)n);
    float table[INLAY_QSOFTMAX_TABLE];
    void *base[] = { y, y, q, table };
    const int32_t pix[] = { 1, 1, 1, 1 };
    for (int d = 0; d < INLAY_QSOFTMAX_TABLE; d++)
        table[d] = inlay_exp_f((float)-d * q->sa);
    memcpy(y, x, (size_t)n);
    run(inlay_qsoftmax_table, p, 4, base, pix, 1, 0, 0);
    assert_memory_equal(y, want, (size_t)n);
    assert_int_equal(y[n], UNTOUCHED);
    free(y);
}

static void softmaxes(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        inlay_qstep q = random_numbers();
        inlay_softmax_params p = { .outer = 1 + (int32_t)rnd(3) };
        p.n = 1 + (int32_t)rnd(60);
        p.inner = 1 + (int32_t)rnd(3);
        const int32_t all = p.outer * p.n * p.inner;
        uint8_t *x = rnd_bytes((size_t)all);
        uint8_t *y = guarded((size_t)all);
        void *base[] = { y, x, &q };
        const int32_t pix[] = { 1, 1, 1 };
        run(inlay_qsoftmax, &p, 3, base, pix, 1, 0, 0);
        check_table(&p, &q, x, y, all);
        for (int32_t i = 0; i < all; i++) {
            const int32_t first = i / (p.n * p.inner) * p.n * p.inner;
            const uint8_t *line = x + first + i % p.inner;
            double sum = 0.0;
            for (int32_t k = 0; k < p.n; k++)
                sum += exp(number(line[k * p.inner], q.flip_a, 0, q.sa));
            check_byte(&q, y[i], exp(number(x[i], q.flip_a, 0, q.sa)) / sum);
        }
        assert_int_equal(y[all], UNTOUCHED);
        free(x);
        free(y);
    }
}

/* What a line of n numbers becomes. */
static double normal(const inlay_qnorm_params *p, const inlay_qstep *q,
                     const uint8_t *line, int32_t at)
{
    double mean = 0.0;
    double spread = 0.0;
    for (int32_t k = 0; p->center && k < p->n; k++)
        mean += number(line[k], q->flip_a, q->za, q->sa) / p->n;
    for (int32_t k = 0; k < p->n; k++) {
        const double off = number(line[k], q->flip_a, q->za, q->sa) - mean;
        spread += off * off / p->n;
    }
    const double v = number(line[at], q->flip_a, q->za, q->sa) - mean;
    return v / sqrt(spread + (double)p->epsilon);
}

static void norms(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        inlay_qstep q = random_numbers();
        const inlay_qnorm_params p = { .outer = 1 + (int32_t)rnd(3),
                                       .n = 1 + (int32_t)rnd(80),
                                       .center = (int32_t)rnd(2),
                                       .epsilon = 1e-3f };
        const int32_t all = 2 * p.outer * p.n;
        float factor[160];
        for (int i = 0; i < 160; i++)
            factor[i] = rnd_float();
        float *bias = rnd(2) ? factor + 80 : NULL;
        uint8_t *x = rnd_bytes((size_t)all);
        uint8_t *y = guarded((size_t)all);
        void *base[] = { y, x, factor, bias, &q };
        const int32_t pix[] = { p.n, p.n, 1, 1, 1 };
        const uint32_t row = (uint32_t)(p.outer * p.n);
        inlay_ref ref[5] = { 0 };
        for (int i = 0; i < 5; i++)
            ref[i] = (inlay_ref){ .cap = 2, .pix = pix[i], .base = i };
        ref[0].row = ref[1].row = row;
        if (!bias)
            ref[3].base = INLAY_NONE;
        const inlay_step step = { inlay_qnorm, &p, ref, 2, 0 };
        assert_int_equal(inlay_qnorm(base, &step, 0, 2), 0);
        for (int32_t i = 0; i < all; i++) {
            const int32_t at = i % p.n;
            const double v = normal(&p, &q, x + i - at, at);
            const double scaled = v * (double)factor[at];
            check_byte(&q, y[i], bias ? scaled + (double)bias[at] : scaled);
        }
        assert_int_equal(y[all], UNTOUCHED);
        free(x);
        free(y);
    }
}

/* Two places below `in` and their weights for each of n. */
static void rnd_pairs(int32_t n, int32_t in, int32_t *place, float *weight)
{
    for (int32_t i = 0; i < 2 * n; i++) {
        place[i] = (int32_t)rnd((uint32_t)in);
        weight[i] = (float)rnd(1000) / 1000.0f;
    }
}

enum { MOST_SIDE = 9 };

typedef struct Pairs {
    int32_t row[2 * MOST_SIDE];
    float high[2 * MOST_SIDE];
    int32_t column[2 * MOST_SIDE];
    float wide[2 * MOST_SIDE];
} Pairs;

/* Element i of y: the pixels that the tables name, in its own image. */
static double mixed(const inlay_qresize_params *p, const inlay_qstep *q,
                    const Pairs *pairs, const uint8_t *x, int32_t i)
{
    const int32_t c = i % p->channels;
    const int32_t w = i / p->channels % p->wide_out;
    const int32_t r = i / p->channels / p->wide_out;
    double v = 0.0;
    for (int k = 0; k < 4; k++) {
        const int32_t h = r % p->out * 2 + k / 2;
        const int32_t at = w * 2 + k % 2;
        const int32_t row = r / p->out * p->in + pairs->row[h];
        const int32_t pixel = row * p->wide_in + pairs->column[at];
        const uint8_t byte = x[pixel * p->channels + c];
        v += number(byte, q->flip_a, q->za, q->sa) * (double)pairs->high[h] *
             (double)pairs->wide[at];
    }
    return v;
}

static int32_t rnd_side(void)
{
    return 1 + (int32_t)rnd(MOST_SIDE);
}

static void resizes(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        enum { IMAGES = 2 };
        inlay_qstep q = random_numbers();
        const inlay_qresize_params p = { .in = rnd_side(),
                                         .out = rnd_side(),
                                         .wide_in = rnd_side(),
                                         .wide_out = rnd_side(),
                                         .channels = rnd_side() };
        const int32_t row_y = p.wide_out * p.channels;
        const int32_t row_x = p.wide_in * p.channels;
        const int32_t all = IMAGES * p.out * row_y;
        Pairs pairs;
        rnd_pairs(p.out, p.in, pairs.row, pairs.high);
        rnd_pairs(p.wide_out, p.wide_in, pairs.column, pairs.wide);
        uint8_t *x = rnd_bytes((size_t)(IMAGES * p.in * row_x));
        uint8_t *y = guarded((size_t)all);
        void *base[] = { y,          x, pairs.row, pairs.high, pairs.column,
                         pairs.wide, &q };
        inlay_ref ref[7] = { 0 };
        for (int i = 0; i < 7; i++)
            ref[i] = (inlay_ref){ .cap = IMAGES * MOST_SIDE,
                                  .pix = p.channels,
                                  .base = i };
        ref[0].row = (uint32_t)row_y;
        ref[1].row = (uint32_t)row_x;
        const inlay_step step = { inlay_qresize, &p, ref, IMAGES * p.out, 0 };
        assert_int_equal(inlay_qresize(base, &step, 0, IMAGES * p.out), 0);
        for (int32_t i = 0; i < all; i++)
            check_byte(&q, y[i], mixed(&p, &q, &pairs, x, i));
        assert_int_equal(y[all], UNTOUCHED);
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(pairs),
#if INLAY_QSOFT
        cmocka_unit_test(by_integers),
#endif
        cmocka_unit_test(pools),
        cmocka_unit_test(sums),
        cmocka_unit_test(softmaxes),
        cmocka_unit_test(slopes),
        cmocka_unit_test(norms),
        cmocka_unit_test(resizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
