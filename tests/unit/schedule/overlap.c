/* SPDX-License-Identifier: Apache-2.0
 * How far a result may lie over an input that dies, pixel by pixel: at the distance that the
 * planner gives the checker agrees and the kernel's results are right; one element closer the
 * checker objects. (Not quite always: of rows that later units need the planner counts all columns,
 * and a stride may leave the last one unread.) */
#include "../plan/cases.h"
#include "schedule/overlap.h"
#include "../plan/programs.h"
#include "prove/check.h"

enum { CASES = 3000 };

typedef struct Pair {
    World w;
    Tensor *x, *y;
    Overlap found;
    int n;
} Pair;

/* input -> x -> y -> a result elsewhere. */
static void make(Pair *p, uint64_t seed)
{
    World *w = &p->w;
    world_open(w, seed);
    const int64_t rows = 3 + rnd(w, 9), width = 3 + rnd(w, 20);
    Tensor *image = add_input(w, rows, width, 2);
    p->x = add_pixels(w, image, window(1, 0, 1), rows,
                      (PixelRule){ 1, 0, 1, 1 }, 1 + rnd(w, 5));
    const int32_t kh = 1 + (int32_t)rnd(w, 3), kw = 1 + (int32_t)rnd(w, 3),
                  sh = 1 + (int32_t)rnd(w, 2),
                  ph = (int32_t)rnd(w, (uint32_t)kh);
    const PixelRule pixels = { 1 + (int32_t)rnd(w, 2),
                               (int32_t)rnd(w, (uint32_t)kw), kw,
                               1 + (int32_t)rnd(w, 5) };
    p->y = add_pixels(w, p->x, window(sh, ph, kh),
                      (rows + 2 * ph - kh) / sh + 1, pixels, 1 + rnd(w, 7));
    make_output(w, add_pixels(w, p->y, window(1, 0, 1), p->y->shape.dim[1],
                              (PixelRule){ 1, 0, 1, 1 }, 1));
    const Items all =
        items_find(&w->arena, &w->program, &(PlanOptions){ .align = 4 });
    p->n = overlap_find(&all, 1, true, &p->found);
}

/* out - in = distance; the loop forward or backward. */
static bool holds(Pair *p, int64_t distance, bool backward)
{
    World *w = &p->w;
    p->x->offset = distance < 0 ? -distance : 0;
    p->y->offset = distance < 0 ? 0 : distance;
    const int64_t x = p->x->offset + tensor_bytes(p->x),
                  y = p->y->offset + tensor_bytes(p->y);
    w->program.plan.arena_size = x > y ? x : y;
    w->program.step.at[1]->backward = backward;
    program_link(&w->program);
    return plan_holds(&w->program, NULL);
}

static bool same_results(Pair *p)
{
    World *w = &p->w;
    size_t n;
    const unsigned char *got = run_program(w, 0xa5, &n);
    w->program.step.at[1]->backward = false;
    place_apart(w);
    return !memcmp(got, run_program(w, 0x5a, &n), n);
}

static void distances(void **state)
{
    (void)state;
    int tight = 0, loose = 0;
    const int n = cases(CASES);
    for (int c = 0; c < n; c++)
        for (int way = 0; way < 2; way++) {
            Pair p;
            make(&p, (uint64_t)c + 1);
            assert_int_equal(p.n, 1);
            const int64_t x = tensor_bytes(p.x), y = tensor_bytes(p.y),
                          d = way ? p.found.backward : p.found.forward;
            const int64_t at = way ? d : -d;
            if (d < (way ? x : y)) { /* else they do not overlap */
                assert_true(holds(&p, at, way));
                loose += d != 0 && holds(&p, way ? at - 4 : at + 4, way);
                assert_true(holds(&p, at, way) && same_results(&p));
                tight++;
            }
            world_close(&p.w);
        }
    assert_true(tight > n && loose < n / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(distances) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
