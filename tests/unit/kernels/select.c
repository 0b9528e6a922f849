/* SPDX-License-Identifier: Apache-2.0
 * Selections whose size is known when they run: what is used of the bound, what is cleared, what is
 * handed back. */
#include "steps.h"

#include "kernels/nms.h"
#include "kernels/select.h"
#include "kernels/settle.h"

static void nonzeros(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        float x[24];
        int64_t y[2 * 24], count = -1;
        const inlay_nonzero_params p = { .rank = 2, .room = 24, .n = { 4, 6 } };
        inlay_nonzero_params small = p;
        int32_t found = 0;
        for (int i = 0; i < 24; i++)
            x[i] = rnd(2) ? 0.0f : rnd_float();
        memset(y, -1, sizeof y);
        assert_int_equal(RUN(inlay_nonzero_f32, &p, y, &count, x), 0);
        for (int i = 0; i < 24; i++) {
            if (!(x[i] < 0.0f || x[i] > 0.0f))
                continue;
            assert_true(y[found] == i / 6 && y[24 + found] == i % 6);
            found++;
        }
        assert_int_equal(count, found);
        for (int i = found; i < 24; i++)
            assert_true(y[i] == 0 && y[24 + i] == 0);
        if (!found)
            continue;
        small.room = found - 1;
        assert_int_equal(RUN(inlay_nonzero_f32, &small, y, &count, x),
                         -INLAY_E_SHAPE);
    }
}

/* Against a walk over all places. */
static void settles(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        const inlay_settle_params p = {
            .rank = 3, .size = 2, .dense = (int32_t)rnd(2), .n = { 3, 4, 5 }
        };
        int64_t real[3] = { rnd(4), rnd(5), rnd(6) };
        int16_t x[60], want[60] = { 0 };
        int at = 0;
        for (int i = 0; i < 60; i++)
            x[i] = (int16_t)(1 + rnd(1000));
        for (int i = 0; i < 60; i++) {
            const bool inside =
                i / 20 < real[0] && i / 5 % 4 < real[1] && i % 5 < real[2];
            if (inside)
                want[p.dense ? at++ : i] = x[i];
        }
        assert_int_equal(RUN(inlay_settle, &p, x, x, real), 0); /* in place */
        assert_memory_equal(x, want, sizeof x);
        real[1] = 5;
        assert_int_equal(RUN(inlay_settle, &p, x, x, real), -INLAY_E_SHAPE);
    }
}

/* Six boxes of the standard's example, with corners in either order, and as centres. */
static void boxes(void **state)
{
    (void)state;
    float corner[24] = { 0, 0,  1, 1,  1, 1.1f,  0, 0.1f,  0, -0.1f, 1, 0.9f,
                         0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101 },
          center[24];
    float score[6] = { 0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f }, overlap = 0.5f,
          least = 0.4f;
    int64_t y[18], count = 0, most = 3;
    unsigned char scratch[6];
    inlay_nms_params p = { 1, 1, 6, 6, 0, 1, 6, 0 };
    for (int i = 0; i < 6; i++) {
        const float *b = corner + 4 * i;
        const float to[4] = { (b[1] + b[3]) / 2.0f, (b[0] + b[2]) / 2.0f,
                              fabsf(b[3] - b[1]), fabsf(b[2] - b[0]) };
        memcpy(center + 4 * i, to, sizeof to);
    }
    const int64_t three[9] = { 0, 0, 3, 0, 0, 0, 0, 0, 5 };
    for (int k = 0; k < 2; k++) {
        p.center = k;
        assert_int_equal(RUN(inlay_nms_f32, &p, y, &count, k ? center : corner,
                             score, &most, &overlap, NULL, scratch),
                         0);
        assert_int_equal(count, 3);
        assert_memory_equal(y, three, sizeof three);
        for (int i = 9; i < 18; i++)
            assert_int_equal(y[i], 0);
    }
    assert_int_equal(RUN(inlay_nms_f32, &p, y, &count, center, score, &most,
                         &overlap, &least, scratch),
                     0);
    assert_int_equal(count, 2);
    p.room = 1;
    assert_int_equal(RUN(inlay_nms_f32, &p, y, &count, center, score, &most,
                         &overlap, &least, scratch),
                     -INLAY_E_SHAPE);
    /* a second class, whose scores lie between those of the first */
    float by_box[12] = { 0 };
    for (int i = 0; i < 6; i++)
        by_box[2 * i] = score[i];
    p = (inlay_nms_params){ 1, 2, 6, 6, 1, 2, 1, 0 };
    assert_int_equal(RUN(inlay_nms_f32, &p, y, &count, center, by_box, &most,
                         &overlap, &least, scratch),
                     0);
    assert_int_equal(count, 2);
    assert_int_equal(y[2], 3);
}

enum { MANY = 60, CLASSES = 2, ROOM = CLASSES * MANY };

/* Boxes that often overlap, and scores of which some are alike, and some no numbers. */
static void random_boxes(float *box, float *score, int strange)
{
    static const float odd[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN };
    for (int i = 0; i < 4 * MANY; i++)
        box[i] = (float)rnd(8);
    for (int i = 0; i < CLASSES * MANY; i++) {
        score[i] = rnd(2) ? (float)rnd(5) - 2.0f : rnd_float();
        if (strange && rnd(4) == 0)
            score[i] = odd[rnd(3 + (uint32_t)strange)];
    }
}

/* By a heap as by searches. */
static void sorted_boxes(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        float box[4 * MANY], score[CLASSES * MANY];
        float overlap = 0.1f * (float)rnd(8),
              least = 0.2f * (float)rnd(5) - 0.5f;
        int64_t y[2][3 * ROOM], count[2] = { -1, -1 }, most = rnd(MANY + 1);
        uint64_t scratch[MANY];
        const int by_box = (int)rnd(2);
        int status[2];
        inlay_nms_params p = {
            .batch = 1,
            .classes = CLASSES,
            .n = 1 + (int32_t)rnd(MANY),
            .room = ROOM,
            .center = (int32_t)rnd(2),
            .next_box = by_box ? CLASSES : 1,
            .next_class = by_box ? 1 : MANY,
        };
        if (rnd(4) == 0)
            p.room = (int32_t)rnd(10);
        random_boxes(box, score, (int)rnd(3));
        for (p.sorted = 0; p.sorted < 2; p.sorted++) {
            memset(y[p.sorted], -1, sizeof *y);
            status[p.sorted] =
                RUN(inlay_nms_f32, &p, y[p.sorted], count + p.sorted, box,
                    score, &most, &overlap, round % 3 ? &least : NULL, scratch);
        }
        assert_int_equal(status[0], status[1]);
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(y[0], y[1], sizeof *y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nonzeros),
                                        cmocka_unit_test(settles),
                                        cmocka_unit_test(boxes),
                                        cmocka_unit_test(sorted_boxes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
