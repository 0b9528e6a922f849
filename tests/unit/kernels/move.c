/* SPDX-License-Identifier: Apache-2.0
 * Moves of all element sizes over random loops, both layout changes of an image row by row, Concat,
 * moves by tables, Slice and Pad whose amounts are values. */
#include "steps.h"

#include "kernels/concat.h"
#include "kernels/move.h"
#include "kernels/move_rows.h"
#include "kernels/shuffle.h"
#include "kernels/pick.h"
#include "kernels/values.h"

static inlay_kernel *const moves[] = { inlay_move_8, inlay_move_16,
                                       inlay_move_32, inlay_move_64,
                                       inlay_move_128 };

static unsigned char *rnd_bytes(size_t n)
{
    unsigned char *b = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        b[i] = (unsigned char)rnd(256);
    return b;
}

/* A random permutation of dims with some axes reversed and some repeated. */
static void random_moves(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        const int kind = round % 5, rank = 2 + (int)rnd(4);
        const size_t size = (size_t)1 << kind;
        inlay_move_params p = { .rank = rank, .units_in = 1, .pixel = -1 };
        int order[8];
        int32_t step = 1, dense = 1;
        for (int i = 0; i < rank; i++) {
            const int k = (int)rnd((uint32_t)i + 1);
            order[i] = order[k];
            order[k] = i;
            p.n[i] = 1 + (int32_t)rnd(round & 1 ? 25 : 5);
        }
        for (int i = rank - 1; i >= 0; i--) {
            const int d = order[i];
            p.x[d] = step;
            step *= p.n[d];
        }
        for (int d = rank - 1; d >= 0; d--) {
            p.y[d] = dense;
            dense *= p.n[d];
            const uint32_t special = rnd(6);
            if (special == 0) {
                p.x0 += p.x[d] * (p.n[d] - 1);
                p.x[d] = -p.x[d];
            }
            if (special == 1)
                p.x[d] = 0;
        }
        unsigned char *x = rnd_bytes((size_t)step * size),
                      *y = rnd_bytes((size_t)dense * size);
        assert_int_equal(RUN(moves[kind], &p, y, x), 0);
        for (int32_t i = 0; i < dense; i++) {
            int32_t rest = i;
            ptrdiff_t from = p.x0;
            for (int d = rank - 1; d >= 0; d--) {
                from += (ptrdiff_t)(rest % p.n[d]) * p.x[d];
                rest /= p.n[d];
            }
            assert_memory_equal(y + (size_t)i * size,
                                x + from * (ptrdiff_t)size, size);
        }
        free(x);
        free(y);
    }
}

/* Planes to an image in a ring with gaps and back. */
static void layouts(void **state)
{
    (void)state;
    enum { N = 2, H = 6, W = 37, C = 21, ALL = N * H * W * C };
    float *planes = rnd_floats(ALL), *back = rnd_floats(ALL);
    Ring image = ring_new(N * H, W, C, 3, C + 2, 1);
    const inlay_move_params in = { .rank = 2,
                                   .rows = 1,
                                   .units_in = H,
                                   .outer = C * H * W,
                                   .inner = W,
                                   .pixel = 0,
                                   .n = { W, C },
                                   .y = { C, 1 },
                                   .x = { 1, H * W } };
    const inlay_move_params out = { .rank = 2,
                                    .rows = 2,
                                    .units_in = H,
                                    .outer = C * H * W,
                                    .inner = W,
                                    .pixel = 1,
                                    .n = { C, W },
                                    .y = { H * W, 1 },
                                    .x = { 1, C } };
    void *base[] = { image.memory, planes, back };
    const inlay_ref to[] = { ring_ref(&image, 0), { .cap = 1, .base = 1 } },
                    from[] = { { .cap = 1, .base = 2 }, ring_ref(&image, 0) };
    const inlay_step a = { inlay_move_32, &in, to, N * H, 0 },
                     b = { inlay_move_32, &out, from, N * H, 0 };
    for (int r = 0; r < N * H; r++) {
        assert_int_equal(a.run(base, &a, r, r + 1), 0);
        for (int i = 0; i < W * C; i++)
            assert_true(ring_pixel(&image, r, i / C)[i % C] ==
                        planes[((r / H * C + i % C) * H + r % H) * W + i / C]);
        assert_int_equal(b.run(base, &b, r, r + 1), 0);
    }
    assert_memory_equal(planes, back, ALL * sizeof *back);
    ring_check_guards(&image);
    free(planes);
    free(back);
    free(image.memory);
}

/* The formula of the header, element by element. */
static float moved(const inlay_move_rows_params *p, const Ring *x, int unit,
                   const int32_t *inner)
{
    int row = p->first, pixel = p->x_pixel, channel = p->x_channel;
    for (int d = p->rank - 1, rest = unit; d >= 0; d--) {
        const int32_t at = d < p->units ? rest % p->n[d] : inner[d];
        if (d < p->units)
            rest /= p->n[d];
        row += at * p->row[d];
        *(p->x_pixels >> d & 1 ? &pixel : &channel) += at * p->x[d];
    }
    return ring_pixel(x, row, pixel)[channel];
}

/* Blocks of 2x2 pixels into channels and back, a slice of every second row from the last on,
 * channels turned; through rings, both ways. */
static void rows_moved(void **state)
{
    (void)state;
    enum { H = 8, W = 6, C = 5 };
    const struct {
        inlay_move_rows_params p;
        int rows, w, c;
    } cases[] = {
        { { .rank = 5,
            .units = 1,
            .y_pixels = 4,
            .x_pixels = 4 | 8,
            .n = { H / 2, 2, W / 2, 2, C },
            .y = { 0, 2 * C, 1, C, 1 },
            .row = { 2, 1 },
            .x = { 0, 0, 2, 1, 1 } },
          H / 2,
          W / 2,
          4 * C },
        { { .rank = 4,
            .units = 2,
            .y_pixels = 4,
            .x_pixels = 4,
            .n = { H, 1, W, C },
            .y = { 0, 0, 1, 1 },
            .row = { 1 },
            .x = { 0, 0, 1, 1 } },
          H,
          W,
          C },
        { { .rank = 3,
            .units = 1,
            .first = H - 1,
            .x_pixel = 1,
            .x_channel = 2,
            .y_pixels = 2,
            .x_pixels = 2,
            .n = { H / 2, W / 2, 2 },
            .y = { 0, 1, 1 },
            .row = { -2 },
            .x = { 0, 2, 1 } },
          H / 2,
          W / 2,
          2 },
        { { .rank = 3,
            .units = 1,
            .x_channel = C - 1,
            .y_pixels = 2,
            .x_pixels = 2,
            .n = { H, W, C },
            .y = { 0, 1, 1 },
            .row = { 1 },
            .x = { 0, 1, -1 } },
          H,
          W,
          C },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const inlay_move_rows_params *p = &cases[k].p;
        float *data = rnd_floats(H * W * C);
        for (int back = 0; back < 2; back++) {
            Ring x = ring_new(H, W, C, H, C + 3, 2),
                 y = ring_new(cases[k].rows, cases[k].w, cases[k].c,
                              cases[k].rows, cases[k].c + 1, 1);
            for (int r = 0; r < H; r++)
                ring_put(&x, r, data);
            ring_poison(&y);
            void *base[] = { y.memory, x.memory };
            const inlay_ref ref[] = { ring_ref(&y, 0), ring_ref(&x, 1) };
            const inlay_step s = { inlay_move_rows_32, p, ref, cases[k].rows,
                                   back };
            assert_int_equal(s.run(base, &s, 0, cases[k].rows), 0);
            for (int u = 0; u < cases[k].rows; u++) {
                int32_t at[12] = { 0 };
                for (int d = p->rank - 1; d >= p->units;) {
                    int pixel = 0, channel = 0;
                    for (int i = p->units; i < p->rank; i++)
                        *(p->y_pixels >> i & 1 ? &pixel : &channel) +=
                            at[i] * p->y[i];
                    assert_true(ring_pixel(&y, u, pixel)[channel] ==
                                moved(p, &x, u, at));
                    for (d = p->rank - 1; d >= p->units && ++at[d] == p->n[d];
                         d--)
                        at[d] = 0;
                }
            }
            ring_check_guards(&y);
            free(x.memory);
            free(y.memory);
        }
        free(data);
    }
}

/* Channels 0 2 4 1 3 5 of each pixel, 5 and 0 staying: apart and in place, both ways. */
static void shuffles(void **state)
{
    (void)state;
    enum { H = 3, W = 4, C = 6 };
    const uint16_t from[C] = { 0, 2, 4, 1, 3, 5 },
                   cycles[] = { 1, 0, 4, 1, 2, 4, 3, 1, 5 };
    const inlay_shuffle_params p = { W, sizeof cycles / sizeof *cycles };
    float *data = rnd_floats(H * W * C);
    for (int way = 0; way < 4; way++) {
        const int place = way % 2, back = way / 2;
        Ring x = ring_new(H, W, C, H, C + 1, 1),
             y = ring_new(H, W, C, H, C + 3, 1), *to = place ? &x : &y;
        for (int r = 0; r < H; r++)
            ring_put(&x, r, data);
        ring_poison(&y);
        void *base[] = { to->memory, x.memory, (void *)(uintptr_t)cycles };
        const inlay_ref ref[] = { ring_ref(to, 0),
                                  ring_ref(&x, 1),
                                  { .cap = 1, .base = 2 } };
        const inlay_step s = { inlay_shuffle_32, &p, ref, H, back };
        assert_int_equal(s.run(base, &s, 0, H), 0);
        for (int r = 0; r < H; r++)
            for (int w = 0; w < W; w++)
                for (int c = 0; c < C; c++)
                    assert_true(ring_pixel(to, r, w)[c] ==
                                data[(r * W + w) * C + from[c]]);
        ring_check_guards(to);
        free(x.memory);
        free(y.memory);
    }
    free(data);
}

/* The same for smaller elements, rows without gaps. */
static void small_shuffles(void **state)
{
    (void)state;
    enum { H = 3, W = 4, C = 6, ALL = H * W * C };
    static inlay_kernel *const kernels[] = { inlay_shuffle_8,
                                             inlay_shuffle_16 };
    const uint16_t from[C] = { 0, 2, 4, 1, 3, 5 },
                   cycles[] = { 1, 0, 4, 1, 2, 4, 3, 1, 5 };
    const inlay_shuffle_params p = { W, sizeof cycles / sizeof *cycles };
    for (int way = 0; way < 8; way++) {
        const size_t size = (size_t)1 << way / 4;
        unsigned char *data = rnd_bytes(ALL * size), x[2 * ALL], y[2 * ALL],
                      *to = way % 2 ? x : y;
        memcpy(x, data, ALL * size);
        void *base[] = { to, x, (void *)(uintptr_t)cycles };
        const inlay_ref ref[] = {
            { .row = W * C * size, .cap = H, .pix = C },
            { .row = W * C * size, .cap = H, .pix = C, .base = 1 },
            { .cap = 1, .base = 2 }
        };
        const inlay_step s = { kernels[way / 4], &p, ref, H, way / 2 % 2 };
        assert_int_equal(s.run(base, &s, 0, H), 0);
        for (size_t i = 0; i < ALL; i++)
            assert_memory_equal(to + i * size,
                                data + (i / C * C + from[i % C]) * size, size);
        free(data);
    }
}

static void concats(void **state)
{
    (void)state;
    float x[2 * 3 * 2], y[2 * 3 * 5], z[2 * 3 * 7];
    int64_t table[] = { 2 * sizeof(float), 5 * sizeof(float) };
    for (int i = 0; i < 12; i++)
        x[i] = (float)i;
    for (int i = 0; i < 30; i++)
        y[i] = 100.0f + (float)i;
    const inlay_concat_params p = { 2, 6, 0, 7 * sizeof(float) };
    assert_int_equal(RUN(inlay_concat, &p, z, x, y, table), 0);
    for (int i = 0; i < 42; i++)
        assert_true(z[i] == (i % 7 < 2 ? x[i / 7 * 2 + i % 7]
                                       : y[i / 7 * 5 + i % 7 - 2]));
}

static void tables(void **state)
{
    (void)state;
    float x[3 * 4 * 2], y[5 * 3 * 2];
    int32_t table[] = { 16, 8, 0, 0, 16, 6, 2, 2 };
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    const inlay_pick_params p = { .rank = 2, .run = 2, .n = { 5, 3 } };
    assert_int_equal(RUN(inlay_pick_32, &p, y, x, table), 0);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                assert_true(y[(i * 3 + j) * 2 + k] ==
                            x[table[i] + table[5 + j] + k]);
}

/* The places of a line that is padded by repeating its last elements, or any places. */
static void some_places(int32_t *table, int32_t n, int32_t run, bool padded)
{
    const int32_t ahead = (int32_t)rnd(4);
    const int32_t size = n > 2 * ahead ? n - 2 * ahead : n;
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = i < ahead ? 0 : i - ahead;
        const int32_t edge = at < size ? at : size - 1;
        table[i] = run * (padded ? edge : (int32_t)rnd((uint32_t)n));
    }
}

/* Lines with a part that lies together, without one, and some that come twice. */
static void random_tables(void **state)
{
    (void)state;
    inlay_kernel *const kernels[] = { inlay_pick_8, inlay_pick_16,
                                      inlay_pick_32, inlay_pick_64,
                                      inlay_pick_128 };
    enum { ROWS = 6, MOST = 60, RUNS = 3 };
    for (int round = 0; round < 500; round++) {
        const int kind = round % 5;
        const size_t size = (size_t)1 << kind;
        const int32_t run = 1 + (int32_t)rnd(RUNS);
        const int32_t n = 1 + (int32_t)rnd(MOST);
        const int32_t row = n * run;
        const inlay_pick_params p = { .rank = 2, .run = run, .n = { ROWS, n } };
        const size_t bytes = (size_t)(ROWS * row) * size;
        unsigned char *x = rnd_bytes(bytes);
        unsigned char *y = rnd_bytes(bytes);
        int32_t table[ROWS + MOST];
        some_places(table, ROWS, row, round % 2);
        some_places(table + ROWS, n, run, round / 2 % 2);
        y[bytes] = 99;
        assert_int_equal(RUN(kernels[kind], &p, y, x, table), 0);
        assert_int_equal(y[bytes], 99);
        for (int32_t i = 0; i < ROWS * n; i++) {
            const int32_t from = table[i / n] + table[ROWS + i % n];
            assert_memory_equal(y + (size_t)(i * run) * size,
                                x + (size_t)from * size, (size_t)run * size);
        }
        free(x);
        free(y);
    }
}

/* Where: of lines of any length, each operand having elements or one for all; in place, too. */
static void selections(void **state)
{
    (void)state;
    inlay_kernel *const kernels[] = { inlay_select_8, inlay_select_16,
                                      inlay_select_32, inlay_select_64,
                                      inlay_select_128 };
    enum { MOST = 70, WIDEST = 16 };
    for (int round = 0; round < 800; round++) {
        const int kind = round % 5, steps = round / 5 % 8;
        const size_t size = (size_t)1 << kind;
        const int32_t n = 1 + (int32_t)rnd(MOST);
        const int of_a = steps & 1, of_b = steps >> 1 & 1, of_c = steps >> 2;
        const inlay_nd3_params p = { .rank = 1,
                                     .pixel = -1,
                                     .n = { n },
                                     .a = { of_a },
                                     .b = { of_b },
                                     .c = { of_c } };
        unsigned char *a = rnd_bytes(MOST);
        unsigned char *b = rnd_bytes(MOST * WIDEST);
        unsigned char *c = rnd_bytes(MOST * WIDEST);
        unsigned char *y = rnd_bytes(MOST * WIDEST);
        for (int i = 0; i < MOST; i++)
            a[i] &= 1;
        y[(size_t)n * size] = 99;
        assert_int_equal(RUN(kernels[kind], &p, y, a, b, c), 0);
        assert_int_equal(y[(size_t)n * size], 99);
        for (int32_t i = 0; i < n; i++) {
            const unsigned char *from = a[i * of_a] ? b : c;
            const int of = from == b ? of_b : of_c;
            assert_memory_equal(y + (size_t)i * size,
                                from + (size_t)(i * of) * size, size);
        }
        if (of_b) {
            assert_int_equal(RUN(kernels[kind], &p, b, a, b, c), 0);
            assert_memory_equal(b, y, (size_t)n * size);
        }
        free(a);
        free(b);
        free(c);
        free(y);
    }
}

static void slices_by_value(void **state)
{
    (void)state;
    int16_t x[4 * 6], y[2 * 3];
    int64_t starts[] = { -1, 1 }, ends[] = { -100, 100 }, axes[] = { 1, -2 },
            steps[] = { -2, 2 };
    inlay_window_nd_params p = {
        .rank = 2, .size = 2, .count = 2, .x = { 4, 6 }, .y = { 2, 3 }
    };
    for (int i = 0; i < 24; i++)
        x[i] = (int16_t)i;
    assert_int_equal(
        RUN(inlay_slice_values, &p, y, x, starts, ends, axes, steps), 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(y[i], (1 + i / 3 * 2) * 6 + 5 - i % 3 * 2);
    steps[0] = -1;
    assert_int_equal(
        RUN(inlay_slice_values, &p, y, x, starts, ends, axes, steps),
        -INLAY_E_SHAPE);
    axes[0] = 2;
    assert_int_equal(
        RUN(inlay_slice_values, &p, y, x, starts, ends, axes, steps),
        -INLAY_E_INDEX);
}

static void pads_by_value(void **state)
{
    (void)state;
    float x[] = { 1, 2, 3 }, y[7], fill = 9;
    int64_t pads[] = { 2, 2 };
    static const float want[4][7] = { { 9, 9, 1, 2, 3, 9, 9 },
                                      { 1, 1, 1, 2, 3, 3, 3 },
                                      { 3, 2, 1, 2, 3, 2, 1 },
                                      { 2, 3, 1, 2, 3, 1, 2 } };
    inlay_window_nd_params p = {
        .rank = 1, .size = 4, .count = 1, .x = { 3 }, .y = { 7 }
    };
    for (p.mode = 0; p.mode < 4; p.mode++) {
        assert_int_equal(RUN(inlay_pad_values, &p, y, x, pads, &fill, NULL), 0);
        assert_memory_equal(y, want[p.mode], sizeof y);
    }
    pads[1] = 1;
    assert_int_equal(RUN(inlay_pad_values, &p, y, x, pads, &fill, NULL),
                     -INLAY_E_SHAPE);
    pads[0] = -1;
    pads[1] = 5;
    p.mode = 0;
    assert_int_equal(RUN(inlay_pad_values, &p, y, x, pads, &fill, NULL), 0);
    assert_true(y[0] == 2 && y[1] == 3 && y[2] == 9 && y[6] == 9);
}

/* [2][37][19] becomes [19] columns of each of two groups, row by row of the source: rows that lie
 * together in one call, and rows of a ring. */
static void turned_by_rows_of_the_source(void **state)
{
    (void)state;
    enum { GROUPS = 2, ROWS = 37, COLUMNS = 19, ALL = GROUPS * ROWS };
    float *x = malloc(ALL * COLUMNS * sizeof *x);
    float *y = malloc(ALL * COLUMNS * sizeof *y);
    float ring[3 * COLUMNS];
    const inlay_move_params p = { .rank = 2,
                                  .rows = 2,
                                  .units_in = ROWS,
                                  .outer = ROWS * COLUMNS,
                                  .inner = 1,
                                  .pixel = -1,
                                  .n = { 1, COLUMNS },
                                  .y = { 0, ROWS },
                                  .x = { 0, 1 } };
    for (int i = 0; i < ALL * COLUMNS; i++)
        x[i] = (float)i;
    for (int whole = 0; whole < 2; whole++) {
        const inlay_ref ref[] = {
            { .cap = 1, .pix = 1, .base = 0 },
            { .row = COLUMNS * sizeof *x,
              .cap = whole ? ALL : 3,
              .pix = COLUMNS,
              .base = 1 },
        };
        const inlay_step s = { inlay_move_32, &p, ref, ALL, 0 };
        void *base[] = { y, whole ? x : ring };
        memset(y, 0, ALL * COLUMNS * sizeof *y);
        if (whole)
            assert_int_equal(s.run(base, &s, 0, ALL), 0);
        for (int r = 0; !whole && r < ALL; r += 2) {
            memcpy(ring + r % 3 * COLUMNS, x + r * COLUMNS, COLUMNS * 4);
            memcpy(ring + (r + 1) % 3 * COLUMNS, x + (r + 1) * COLUMNS,
                   COLUMNS * 4);
            assert_int_equal(s.run(base, &s, r, r + 2), 0);
        }
        for (int i = 0; i < ALL * COLUMNS; i++) {
            const int row = i / COLUMNS;
            const int at = row / ROWS * ROWS * COLUMNS + row % ROWS;
            assert_true(y[at + i % COLUMNS * ROWS] == x[i]);
        }
    }
    free(x);
    free(y);
}

/* The same row by row of the result, from a source that is there as a whole. */
static void turned_by_rows_of_the_result(void **state)
{
    (void)state;
    enum { GROUPS = 2, ROWS = 37, COLUMNS = 19, ALL = GROUPS * ROWS };
    float x[ALL * COLUMNS];
    float y[ALL * COLUMNS];
    const inlay_move_params p = { .rank = 2,
                                  .rows = 1,
                                  .units_in = ROWS,
                                  .outer = ROWS * COLUMNS,
                                  .inner = 1,
                                  .pixel = -1,
                                  .n = { 1, COLUMNS },
                                  .y = { 0, 1 },
                                  .x = { 0, ROWS } };
    for (int i = 0; i < ALL * COLUMNS; i++)
        x[i] = (float)i;
    for (int rows = 3; rows <= ALL; rows += ALL - 3) {
        const inlay_ref ref[] = {
            { .row = COLUMNS * sizeof *y,
              .cap = (uint16_t)rows,
              .pix = COLUMNS,
              .base = 0 },
            { .cap = 1, .pix = 1, .base = 1 },
        };
        const inlay_step s = { inlay_move_32, &p, ref, ALL, 0 };
        void *base[] = { y, x };
        for (int r = 0; r < ALL; r += rows) {
            const int end = r + rows < ALL ? r + rows : ALL;
            memset(y, 0, sizeof y);
            assert_int_equal(s.run(base, &s, r, end), 0);
            for (int i = r * COLUMNS; i < end * COLUMNS; i++) {
                const int row = i / COLUMNS;
                const int at = row / ROWS * ROWS * COLUMNS + row % ROWS;
                const int made = row % rows * COLUMNS + i % COLUMNS;
                assert_true(y[made] == x[at + i % COLUMNS * ROWS]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turned_by_rows_of_the_result),
        cmocka_unit_test(turned_by_rows_of_the_source),
        cmocka_unit_test(random_moves),
        cmocka_unit_test(layouts),
        cmocka_unit_test(rows_moved),
        cmocka_unit_test(shuffles),
        cmocka_unit_test(small_shuffles),
        cmocka_unit_test(concats),
        cmocka_unit_test(tables),
        cmocka_unit_test(random_tables),
        cmocka_unit_test(selections),
        cmocka_unit_test(slices_by_value),
        cmocka_unit_test(pads_by_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
