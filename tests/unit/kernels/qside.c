/* SPDX-License-Identifier: Apache-2.0
 * Steps between quantized bytes against their formulas in double: any number of elements, any mix
 * of signs, operands that repeat, results over operands. Built for each width of vectors that the
 * machine has. Scales are powers of two: that products are exact makes it all one whether they are
 * added at once. */
#include "images.h"

#include "kernels/qstep.h"

enum { MOST = 90, AROUND = 32, MARK = 0x5a };

typedef struct Line {
    uint8_t memory[MOST + 2 * AROUND], *at;
} Line;

static void fill(Line *line)
{
    memset(line->memory, MARK, sizeof line->memory);
    line->at = line->memory + AROUND;
    for (int i = 0; i < MOST; i++)
        line->at[i] = (uint8_t)rnd(256);
}

static void check_around(const Line *line, int n)
{
    for (int i = 0; i < AROUND; i++)
        assert_int_equal(line->memory[i], MARK);
    for (int i = AROUND + MOST; i < MOST + 2 * AROUND; i++)
        assert_int_equal(line->memory[i], MARK);
    assert_true(n <= MOST);
}

static inlay_qstep random_numbers(void)
{
    inlay_qstep q = {
        .flip_a = rnd(2) ? 128 : 0,
        .flip_b = rnd(2) ? 128 : 0,
        .flip_y = rnd(2) ? 128 : 0,
        .za = (int32_t)rnd(256),
        .zb = (int32_t)rnd(256),
        .zy = (int32_t)rnd(256),
        .hi = 255,
        .sa = ldexpf(1.0f, -(int)rnd(8)),
        .sb = ldexpf(1.0f, -(int)rnd(8)),
        .sy = 0.003f + (float)rnd(1000) * 0.002f,
    };
    if (rnd(4) == 0)
        q.lo = q.zy;
    return q;
}

static int byte_of(const inlay_qstep *q, float v)
{
    double y = nearbyint((double)(v / q->sy)) + q->zy;
    y = y < q->lo ? q->lo : y;
    y = y > q->hi ? q->hi : y;
    return (int)y ^ q->flip_y;
}

static float number(int byte, int flip, int zero, float scale)
{
    return (float)((byte ^ flip) - zero) * scale;
}

static void two_are_exact(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const inlay_qstep q = random_numbers();
        const bool product = rnd(2);
        const int n = 1 + (int)rnd(MOST / 2);
        const int step_a = (int)rnd(3);
        const int step_b = (int)rnd(3);
        const bool over = step_a == 1 && rnd(2);
        Line a, b, y;
        fill(&a);
        fill(&b);
        fill(&y);
        const Line before = a;
        inlay_qtwo *run = product ? inlay_qmul_run : inlay_qadd_run;
        Line *to = over ? &a : &y;
        const uint8_t next = to->at[n];
        run(to->at, a.at, b.at, n, step_a, step_b, &q);
        assert_int_equal(to->at[n], next);
        check_around(to, n);
        for (int i = 0; i < n; i++) {
            const uint8_t of_a = before.memory[AROUND + i * step_a];
            const float va = number(of_a, q.flip_a, q.za, q.sa);
            const float vb = number(b.at[i * step_b], q.flip_b, q.zb, q.sb);
            assert_int_equal(to->at[i],
                             byte_of(&q, product ? va * vb : va + vb));
        }
    }
}

static void scale_is_exact(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        inlay_qstep q = random_numbers();
        const int units = 1 + (int)rnd(4);
        const inlay_flat_params p = { .n = 1 + (int32_t)rnd(20) };
        const int gap = (int)rnd(3);
        int32_t x[MOST];
        Line y;
        fill(&y);
        for (int i = 0; i < MOST; i++)
            x[i] = (int32_t)rnd(40000) - 20000;
        const Line before = y;
        void *base[] = { y.at, x, &q };
        const inlay_ref ref[] = {
            { .row = (size_t)(p.n + gap), .cap = units, .pix = p.n },
            { .row = 4 * (size_t)p.n, .cap = units, .pix = p.n, .base = 1 },
            { .cap = 1, .pix = 1, .base = 2 },
        };
        const inlay_step s = { inlay_qscale, &p, ref, units, 0 };
        const int middle = (int)rnd((uint32_t)units + 1);
        inlay_qscale(base, &s, 0, middle);
        inlay_qscale(base, &s, middle, units);
        for (int i = 0; i < units * (p.n + gap); i++) {
            const int at = i / (p.n + gap) * p.n + i % (p.n + gap);
            if (i % (p.n + gap) < p.n)
                assert_int_equal(y.at[i],
                                 byte_of(&q, (float)(x[at] - q.za) * q.sa));
            else
                assert_int_equal(y.at[i], before.memory[AROUND + i]);
        }
    }
}

static void sums_are_exact(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        const int32_t rows = 1 + (int32_t)rnd(3);
        const inlay_globalpool_params p = {
            .rows = rows,
            .width = 1 + (int32_t)rnd(5),
            .channels = 1 + (int32_t)rnd(MOST),
        };
        const int32_t pix = p.channels + (int32_t)rnd(3);
        const bool is_signed = rnd(2);
        const size_t bytes = (size_t)(rows * p.width * pix);
        uint8_t *x = malloc(bytes);
        int32_t y[MOST + 1] = { 0 };
        for (size_t i = 0; i < bytes; i++)
            x[i] = (uint8_t)rnd(256);
        y[p.channels] = MARK;
        void *base[] = { y, x };
        const inlay_ref ref[] = {
            { .row = sizeof y, .cap = 1, .pix = p.channels },
            { .row = (size_t)(p.width * pix),
              .cap = rows,
              .pix = pix,
              .base = 1 },
        };
        inlay_kernel *run = is_signed ? inlay_qsum_i8 : inlay_qsum_u8;
        const inlay_step s = { run, &p, ref, rows, 0 };
        run(base, &s, 0, 1);
        run(base, &s, 1, rows);
        for (int c = 0; c < p.channels; c++) {
            int32_t sum = 0;
            for (int i = 0; i < rows * p.width; i++) {
                const uint8_t byte = x[i * pix + c];
                sum += is_signed ? (int8_t)byte : byte;
            }
            assert_int_equal(y[c], sum);
        }
        assert_int_equal(y[p.channels], MARK);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_are_exact),
        cmocka_unit_test(scale_is_exact),
        cmocka_unit_test(sums_are_exact),
    };
    if (integer_vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
