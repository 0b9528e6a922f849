/* SPDX-License-Identifier: Apache-2.0
 * Fully connected layers against sums one product after the other, the same bits: any number of
 * inputs and outputs, bounds, a second addend, and nothing written behind the outputs. */
#include "images.h"

#include "kernels/dense_f32.h"

#ifndef ROUNDS
#define ROUNDS 400
#endif

enum { MOST = 40 };

typedef struct Case {
    inlay_dense_params p;
    float x[MOST], w[MOST * MOST], bias[MOST], q[MOST];
    float y[MOST + 4];
    bool added;
} Case;

static float wanted(const Case *c, int32_t n)
{
    const float *w = c->w + n / 4 * 4 * c->p.k + n % 4;
    float sum = 0.0f;
    for (int32_t k = 0; k < c->p.k; k++)
        sum = inlay_fma1(c->x[k], w[4 * k], sum);
    sum += c->bias[n];
    if (c->added)
        sum += c->q[n];
    if (c->p.clamp & 1)
        sum = inlay_max1(c->p.a, sum);
    return c->p.clamp & 2 ? inlay_min1(c->p.b, sum) : sum;
}

static void fill(float *to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = rnd_float();
}

static void make(Case *c)
{
    c->p = (inlay_dense_params){
        .k = 1 + (int32_t)rnd(MOST),
        .n = 1 + (int32_t)rnd(MOST),
        .clamp = (int32_t)rnd(4),
        .a = -0.5f,
        .b = 1.5f,
    };
    c->added = rnd(2);
    fill(c->x, MOST);
    fill(c->w, MOST * MOST);
    fill(c->bias, MOST);
    fill(c->q, MOST);
    if (rnd(8) == 0)
        c->x[rnd((uint32_t)c->p.k)] = NAN;
    for (int i = 0; i < MOST + 4; i++)
        c->y[i] = GUARD;
}

static void run(Case *c)
{
    enum { OPERANDS = 5 };
    float *const operand[OPERANDS] = { c->y, c->x, c->w, c->bias, c->q };
    void *base[OPERANDS];
    inlay_ref ref[OPERANDS];
    memset(ref, 0, sizeof ref);
    for (int i = 0; i < OPERANDS; i++) {
        base[i] = operand[i];
        ref[i].cap = 1;
        ref[i].base = i;
    }
    if (!c->added)
        ref[OPERANDS - 1].base = INLAY_NONE;
    const inlay_step step = { inlay_dense_f32, &c->p, ref, 1, 0 };
    assert_int_equal(inlay_dense_f32(base, &step, 0, 1), 0);
}

static void layers(void **state)
{
    static Case c;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        make(&c);
        run(&c);
        for (int32_t n = 0; n < c.p.n; n++) {
            const float want = wanted(&c, n);
            assert_true(want == c.y[n] || (isnan(want) && isnan(c.y[n])));
        }
        for (int32_t n = c.p.n; n < MOST + 4; n++)
            assert_true(c.y[n] == GUARD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(layers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
