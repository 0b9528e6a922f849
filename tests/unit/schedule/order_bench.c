/* SPDX-License-Identifier: Apache-2.0
 * The order search on the graphs of planner-bench, against their proved least peaks. They lie
 * beside the sources, or where INLAY_SHARED says; skipped without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "schedule/order_search.h"

enum { MOST = 4096 };

typedef VEC(int32_t) List;

/* An ordering problem as it is read. The first step makes the graph's inputs, the last reads its
 * outputs. */
typedef struct Text {
    Arena arena;
    long long as_given, least;
    int64_t size[MOST];
    int32_t same[MOST]; /* the tensor that this one is a view of, or itself */
    int32_t maker[MOST];
    int32_t steps, tensors;
    List input, output, before, touch;
    VEC(OrderGain) gain;
    int32_t before_of[MOST], touch_of[MOST], gain_of[MOST];
} Text;

static void open_step(Text *t)
{
    t->before_of[t->steps] = (int32_t)t->before.n;
    t->touch_of[t->steps] = (int32_t)t->touch.n;
    t->gain_of[t->steps] = (int32_t)t->gain.n;
}

static void touch(Text *t, int32_t tensor)
{
    const int32_t root = t->same[tensor];
    for (int32_t k = t->touch_of[t->steps]; k < (int32_t)t->touch.n; k++)
        if (t->touch.at[k] == root)
            return;
    VEC_PUSH(&t->arena, &t->touch, root);
}

static void come_after(Text *t, int32_t step)
{
    for (int32_t k = t->before_of[t->steps]; k < (int32_t)t->before.n; k++)
        if (t->before.at[k] == step)
            return;
    VEC_PUSH(&t->arena, &t->before, step);
}

static List numbers(Text *t, const char *text)
{
    List l = { 0 };
    for (char *end; *text >= '0' && *text <= '9';
         text = *end == ',' ? end + 1 : end)
        VEC_PUSH(&t->arena, &l, (int32_t)strtol(text, &end, 10));
    return l;
}

static void add_op(Text *t, const char *in, const char *out, const char *view,
                   const char *inplace)
{
    const List ins = numbers(t, in), outs = numbers(t, out),
               over = numbers(t, inplace), of = numbers(t, view);
    open_step(t);
    for (size_t k = 0; k < outs.n; k++) {
        t->maker[outs.at[k]] = t->steps;
        if (of.n && k == 0)
            t->same[outs.at[k]] = t->same[of.at[0]];
    }
    for (size_t k = 0; k < ins.n; k++) {
        touch(t, ins.at[k]);
        come_after(t, t->maker[ins.at[k]]);
    }
    for (size_t k = 0; k < outs.n; k++)
        touch(t, outs.at[k]);
    for (size_t k = 0; k < over.n && !of.n; k++)
        VEC_PUSH(&t->arena, &t->gain,
                 ((OrderGain){ t->same[over.at[k]], t->size[outs.at[0]] }));
    t->steps++;
}

static void add_inputs(Text *t)
{
    open_step(t);
    for (size_t k = 0; k < t->input.n; k++)
        touch(t, t->input.at[k]);
    t->steps++;
}

static void add_outputs(Text *t)
{
    open_step(t);
    for (int32_t s = 0; s < t->steps; s++)
        come_after(t, s);
    for (size_t k = 0; k < t->output.n; k++)
        touch(t, t->output.at[k]);
    t->steps++;
}

static bool read_graph(Text *t, const char *path)
{
    FILE *f = fopen(path, "rb");
    char line[16384], in[8192], out[1024], view[64], inplace[8192], kind;
    if (!f)
        return false;
    for (bool ops = false; fgets(line, sizeof line, f);) {
        int id;
        long long size;
        if (sscanf(line, "# file_order_peak %lld optimal_order_peak %lld",
                   &t->as_given, &t->least) == 2)
            continue;
        if (sscanf(line, "tensor %d %lld %c", &id, &size, &kind) == 3) {
            assert_true(id >= 0 && id < MOST);
            t->size[id] = size;
            t->same[id] = id;
            if (id >= t->tensors)
                t->tensors = id + 1;
            if (kind == 'i')
                VEC_PUSH(&t->arena, &t->input, id);
            if (kind == 'o')
                VEC_PUSH(&t->arena, &t->output, id);
        } else if (sscanf(line,
                          "op %*d %*s in=%8191s out=%1023s view=%63s "
                          "inplace=%8191s",
                          in, out, view, inplace) == 4) {
            if (!ops)
                add_inputs(t);
            ops = true;
            add_op(t, in, out, view, inplace);
            assert_true(t->steps < MOST - 2);
        }
    }
    fclose(f);
    add_outputs(t);
    open_step(t);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a folder that end in graph.txt, sorted. */
static size_t list_graphs(Arena *a, const char *folder, char ***out)
{
    VEC(char *) list = { 0 };
    DIR *d = opendir(folder);
    if (!d)
        return 0;
    for (const struct dirent *e; (e = readdir(d));) {
        const char *end = strstr(e->d_name, "graph.txt");
        if (end && !strcmp(end, "graph.txt"))
            VEC_PUSH(a, &list, arena_text(a, e->d_name, strlen(e->d_name)));
    }
    closedir(d);
    qsort(list.at, list.n, sizeof *list.at, by_name);
    *out = list.at;
    return list.n;
}

static void least_peaks(void **state)
{
    (void)state;
    Arena a = { 0 };
    const char *shared = getenv("INLAY_SHARED"),
               *source = getenv("INLAY_SOURCE");
    const char *folder = arena_printf(
        &a, "%s/planner-bench/models",
        shared ? shared
               : arena_printf(&a, "%s/../shared", source ? source : "."));
    char **name;
    const size_t n = list_graphs(&a, folder, &name);
    if (!n) {
        arena_free(&a);
        skip();
    }
    for (size_t i = 0; i < n; i++) {
        Text *t = NEW(&a, Text);
        assert_true(read_graph(t, arena_printf(&a, "%s/%s", folder, name[i])));
        const OrderProblem p = { .steps = t->steps,
                                 .items = t->tensors,
                                 .size = t->size,
                                 .before_of = t->before_of,
                                 .before = t->before.at,
                                 .touch_of = t->touch_of,
                                 .touch = t->touch.at,
                                 .gain_of = t->gain_of,
                                 .gain = t->gain.at };
        const Order o = order_search(&t->arena, &p, 0);
        assert_int_equal(o.given, t->as_given);
        assert_int_equal(o.peak, t->least);
        assert_int_equal(o.bound, t->least);
        arena_free(&t->arena);
    }
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(least_peaks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
