/* SPDX-License-Identifier: Apache-2.0
 * Packed products of bytes against plain sums: random windows, strides, dilations, groups, signs,
 * zero points, kinds of results, rings, both directions. Bytes around every buffer stay as they
 * are, results are equal. Built for each width of vectors that the machine has, and for models
 * whose products have less than all that there is code for. */
#ifdef INLAY_QPACKED_USE /* on bare cores, where the compiler is not, it is never stated */
#define HAS_LESS
#include "rules/families.h"
#endif
#include "qnarrow_net.h"

#ifndef ROUNDS
#define ROUNDS 1500
#endif

#ifdef HAS_LESS
/* What the compiler would say of the net: INLAY_QUSE_... */
static int32_t uses_of(const Net *n)
{
    enum { ZEROS = 5, SUMS, ZERO, FACTOR, ADDEND, OPERANDS };
    const inlay_qpacked_params *p = &n->p;
    const bool floats = p->out == INLAY_QOUT_F32;
    static Tensor some;
    Operand operand[OPERANDS] = { 0 };
    operand[ZEROS].tensor = p->scales > 1 && !n->usual ? &some : NULL;
    operand[SUMS].tensor = n->late_zero ? &some : NULL;
    operand[ZERO].tensor = n->late_zero ? &some : NULL;
    operand[FACTOR].tensor = floats ? &some : NULL;
    operand[ADDEND].tensor = floats ? &some : NULL;
    operand[1].ref.pix = n->x_pix;
    const Step step = { .params = (void *)(uintptr_t)p, .operand = operand };
    if (n->multiplied)
        return packed_multiplied(&step);
    return n->depthwise ? packed_depthwise(&step) : packed_conv(&step);
}

/* Is there code for it? */
static bool has_code(const Net *n)
{
    return !(uses_of(n) & ~INLAY_QPACKED_USE);
}
#elif defined INLAY_MVE_CLIPS
/* No results within other bounds than those of their type. */
static bool has_code(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    return INLAY_MVE_CLIPS || inlay_qout_is_wide(p->out) ||
           p->hi - p->lo == UINT8_MAX;
}
#else
static bool has_code(const Net *n)
{
    (void)n;
    return true;
}
#endif

static void draw_net(Net *n, bool usual)
{
    random_net(n, usual);
    while (!has_code(n)) {
        free_net(n);
        random_net(n, usual);
    }
}

/* All rows in the walking direction: each by a call of its own, or those up to one and the rest. */
static void run_rows(const inlay_step *s, void *const *base, int32_t rows)
{
    const int32_t middle = (int32_t)rnd((uint32_t)rows + 1);
    const bool singly = rnd(2);
    for (int32_t done = 0, n; done < rows; done += n) {
        const int32_t left = rows - done;
        n = done < middle ? middle - done : left;
        if (singly)
            n = 1;
        s->run(base, s, s->backward ? left - n : done,
               s->backward ? left : done + n);
    }
}

static inlay_kernel *kernel_of(const Net *n, const FewBits *narrow)
{
    if (narrow)
        return n->depthwise ? inlay_qdwconv_narrow : inlay_qconv_narrow;
    if (n->multiplied)
        return inlay_qdwmany_packed;
    return n->depthwise ? inlay_qdwconv_packed : inlay_qconv_packed;
}

/* narrow NULL: the weights are bytes. */
static void run_by(Net *n, FewBits *narrow)
{
    enum { OPERANDS = INLAY_QPANEL + 1 };
    inlay_qpacked_params *p = &n->p;
    const bool floats = p->out == INLAY_QOUT_F32;
    const bool wide = floats || p->out == INLAY_QOUT_I32;
    const bool each_zero = p->scales > 1 && !n->usual;
    const int32_t rows = n->images * p->od * p->oh;
    void *base[] = {
        n->over_y ? n->over_y : n->y.at,
        n->over_x ? n->over_x : n->x.at,
        narrow ? narrow->words.at : (void *)n->packed,
        n->bias,
        p->out == INLAY_QOUT_I32 ? NULL : (void *)n->scale,
        each_zero ? (void *)n->zeros : NULL,
        n->late_zero ? (void *)n->sums : NULL,
        n->late_zero ? (void *)&n->zx : NULL,
        floats ? (void *)&n->sx : NULL,
        floats ? (void *)n->add : NULL,
        n->scratch.at,
        narrow ? narrow->panel.at : NULL,
    };
    inlay_ref ref[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
        ref[i] = (inlay_ref){ .cap = 1, .pix = 1, .base = base[i] ? i : -1 };
    ref[0].cap = rows;
    ref[0].pix = n->y_pix;
    ref[0].row = (size_t)(p->ow * n->y_pix) * (wide ? 4u : 1u);
    ref[1].cap = n->cap;
    ref[1].pix = n->x_pix;
    ref[1].row = (size_t)(p->iw * n->x_pix);
    inlay_step s = { kernel_of(n, narrow), p, ref, rows, n->backward };
    if (each_zero)
        p->zw = 99; /* each channel has its own */
    if (narrow) {
        memcpy(&narrow->p, p, sizeof *p);
        s.params = &narrow->p;
    }
    run_rows(&s, base, rows);
}

static void run(Net *n)
{
    run_by(n, NULL);
}

static void check_element(const Net *n, size_t at, int32_t sum, int o)
{
    const inlay_qpacked_params *p = &n->p;
    const uint8_t *y = n->over_y ? n->over_y : n->y.at;
    float f;
    int32_t i;
    if (p->out == INLAY_QOUT_I32) {
        memcpy(&i, y + 4 * at, 4);
        assert_int_equal(i, sum);
        return;
    }
    if (p->out == INLAY_QOUT_F32) {
        memcpy(&f, y + 4 * at, 4);
        const float exact = (float)sum * (n->sx * n->given_scale[o]);
        const float size =
            fabsf(exact) +
            fabsf(n->add[o]); /* multiplied and added at once, or not */
        assert_true(fabsf(f - (exact + n->add[o])) <= 1e-6f * size);
        return;
    }
    const float v = (float)sum * n->given_scale[o];
    double q = nearbyint((double)v) + p->zy;
    q = q < p->lo ? p->lo : q;
    q = q > p->hi ? p->hi : q;
    assert_int_equal(number(y[at], p->out == INLAY_QOUT_I8), (int)q);
}

static void check_all(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    for (int r = 0; r < n->images * p->od * p->oh; r++)
        for (int c = 0; c < p->ow; c++)
            for (int o = 0; o < n->channels; o++) {
                const size_t pixel = (size_t)(r * p->ow + c);
                check_element(n, pixel * (size_t)n->y_pix + (size_t)o,
                              sum_of(n, r, c, o), o);
            }
}

static void check_sums(int rounds, bool usual)
{
    for (int i = 0; i < rounds; i++) {
        Net n;
        draw_net(&n, usual);
        run(&n);
        check_all(&n);
        free_net(&n);
    }
}

static void sums_of_few_bits_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS * 2 / 3; i++) {
        Net n;
        FewBits narrow;
        draw_net(&n, rnd(4) == 0);
        make_narrow(&n, &narrow, rnd(3) ? 4 : 2);
        run_by(&n, &narrow);
        check_all(&n);
        free_narrow(&narrow);
        free_net(&n);
    }
}

static void sums_are_exact(void **state)
{
    (void)state;
    check_sums(ROUNDS, false);
}

static void usual_depthwise_is_exact(void **state)
{
    (void)state;
    check_sums(ROUNDS * 2 / 5, true);
}

static void multiplied_is_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 3; i++) {
        Net n;
        multiplied_net(&n);
        if (has_code(&n)) {
            run(&n);
            check_all(&n);
        }
        free_net(&n);
    }
}

static void odd_rows_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 3; i++) {
        Net n;
        odd_net(&n);
        if (has_code(&n)) {
            run(&n);
            check_all(&n);
        }
        free_net(&n);
    }
}

/* ---- y over x: of each channel, a row of y lies where x's row two before it was ---- */

/* Makes y, and x behind it, one buffer; off: bytes by which a channel of y misses that of x. */
static void lay_over(Net *n, int off)
{
    const size_t pitch = (size_t)n->p.iw * (size_t)n->x_pix;
    const size_t before = n->backward ? (size_t)off : 2 * pitch + (size_t)off;
    const size_t y_at = n->backward ? 2 * pitch + 2 * (size_t)off : 0;
    Buffer both = buffer_of(n->x.n + 2 * pitch + 2 * (size_t)off);
    memcpy(both.at + before, n->x.at, n->x.n);
    n->over = both;
    n->over_x = both.at + before;
    n->over_y = both.at + y_at;
}

/* A product of each pixel, of one group of numbers without a zero point of its own. */
static bool is_product(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    const bool bytes = p->out == INLAY_QOUT_I8 || p->out == INLAY_QOUT_U8;
    return !n->depthwise && p->groups == 1 && taps_of(p) == 1 && bytes &&
           p->ih == p->oh && p->iw == p->ow && p->id == p->od &&
           p->pd + p->ph + p->pw == 0 && p->oc <= n->x_pix;
}

/* Most nets are none, and some are large. */
static void draw_product(Net *n)
{
    for (;;) {
        do
            random_shape(n, false);
        while (!is_product(n));
        net_of_shape(n);
        if (has_code(n))
            return;
        free_net(n);
    }
}

/* Groups of whole fours of channels, for cores that widen the windows of two pixels. */
static bool has_wide_groups(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    return !n->depthwise && p->groups > 1 && p->ic % 4 == 0 && p->wide > 1;
}

static bool draw_groups(Net *n)
{
    for (int i = 0; i < 40; i++) {
        do
            random_shape(n, false);
        while (!has_wide_groups(n));
        net_of_shape(n);
        if (has_code(n))
            return true;
        free_net(n);
    }
    return false;
}

static void wide_groups_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 10; i++) {
        Net n;
        if (!draw_groups(&n))
            return;
        run(&n);
        check_all(&n);
        free_net(&n);
    }
}

/* Is the row two before the windows' first one read no more? */
static bool may_lie_over(const inlay_qpacked_params *p)
{
    return p->dh == 1 && p->sh == 1 && p->sw == 1 && p->ph == 1 && p->pw == 1;
}

static void rows_may_lie_over_others(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        Net n;
        do {
            draw_net(&n, true);
            if (!may_lie_over(&n.p))
                free_net(&n);
        } while (!may_lie_over(&n.p));
        n.y_pix = n.x_pix;
        lay_over(&n, rnd(2) ? (int)rnd(8) : 0);
        run(&n);
        check_all(&n);
        buffer_free(&n.over);
        free_net(&n);
    }
}

/* Products of pixels, a row of which lies where x's row two before it was: a call of several rows
 * makes them one by one. */
static void rows_of_few_bits_may_lie_over_others(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        Net n;
        FewBits narrow;
        draw_product(&n);
        n.y_pix = n.x_pix;
        lay_over(&n, 0);
        make_narrow(&n, &narrow, 4);
        run_by(&n, &narrow);
        check_all(&n);
        buffer_free(&n.over);
        free_narrow(&narrow);
        free_net(&n);
    }
}

/* Counts that end within a word: the numbers, and nothing behind the word's. */
static void any_count_is_unpacked(void **state)
{
    enum { MOST = 80 };
    (void)state;
    for (int i = 0; i < 2000; i++) {
        inlay_qnarrow_params p = { .bits = rnd(2) ? 4 : 2 };
        const int n = 1 + (int)rnd(MOST);
        const int each = 32 / p.bits;
        const int words = (n + each - 1) / each;
        uint32_t from[MOST / 8];
        Buffer to = buffer_of((size_t)(words * each));
        p.middle = (int32_t)rnd(1u << p.bits);
        for (int k = 0; k < words; k++)
            from[k] = rnd(0x10000) << 16 | rnd(0x10000);
        inlay_qunpack((uint32_t *)(void *)to.at, from, n, &p);
        for (int k = 0; k < n; k++) {
            const uint32_t in = from[k / each] >> k % 4 * 8;
            const int number =
                (int)(in >> k % each / 4 * p.bits) & ((1 << p.bits) - 1);
            assert_int_equal((int8_t)to.at[k], number - p.middle);
        }
        buffer_free(&to);
    }
}

static bool may_be_at_ends(const Net *n)
{
    const bool all = INLAY_QPACKED_USE == INLAY_QUSE_ALL;
    return !n->depthwise && !n->p.wide && (!all || n->p.out == INLAY_QOUT_I32);
}

/* Numbers at their ends: where products of pairs are summed in 16 bits, these do not fit. */
static void ends_do_not_saturate(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        Net n;
        do {
            draw_net(&n, false);
            if (!may_be_at_ends(&n))
                free_net(&n);
        } while (!may_be_at_ends(&n));
        memset(n.x.at, n.p.flip ? 128 : 255, n.x.n);
        memset(n.w.at, n.w_signed ? 128 : 0, n.w.n);
        free(n.packed);
        pack(&n);
        run(&n);
        for (int o = 0; o < n.channels; o++)
            check_element(&n, (size_t)o, sum_of(&n, 0, 0, o), o);
        free_net(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(wide_groups_are_exact),
        cmocka_unit_test(usual_depthwise_is_exact),
        cmocka_unit_test(multiplied_is_exact),
        cmocka_unit_test(odd_rows_are_exact),
        cmocka_unit_test(sums_of_few_bits_are_exact),
        cmocka_unit_test(rows_of_few_bits_may_lie_over_others),
        cmocka_unit_test(any_count_is_unpacked),
        cmocka_unit_test(rows_may_lie_over_others),
        cmocka_unit_test(ends_do_not_saturate),
    };
    if (integer_vectors_are_missing())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
