/* SPDX-License-Identifier: Apache-2.0
 * A run of model m, and a writer that comes between: it begins at some point of the run, stops at
 * some word that it writes, and goes on at a later point of the run, or behind it. A run that is
 * not reported has the result of whole tensors: with tags, of the weights that were committed when
 * it began; with the fence, of the old tensor or of the new one.
 *
 *     interleave MOST: so many of the pairs of points and words at most, of each tensor */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "m.h"
#include "point.h"

#ifdef FENCE
enum { FENCED = 1 };
#else
enum { FENCED = 0 };
#endif

static _Alignas(64) unsigned char blob[M_BLOB_SIZE];
static _Alignas(64) unsigned char arena[M_ARENA_SIZE + 64];
static m_live live;
static float in0[M_IN0_LENGTH], out0[M_OUT0_LENGTH];
static float before[M_OUT0_LENGTH], after[M_OUT0_LENGTH];

/* A constant as `inlay weights info` lists it: place, bytes, and what it is replaced by. */
typedef struct Constant {
    int number;
    size_t at, bytes;
    unsigned char *old, *new;
} Constant;

static Constant constant[M_TENSORS];
static int constants;

static _Noreturn void fail(const char *what, long a, long b)
{
    printf("not ok - %s: %ld, %ld\n1..1\n", what, a, b);
    exit(1);
}

/* ---- the two sides ---- */

typedef struct Schedule {
    long start, go_on; /* points of the run */
    long pause;        /* of the writer */
} Schedule;

static ucontext_t reader, writer;
static char stack[64 * 1024];
static Schedule schedule;
static long run_points, writer_points;
static bool writing, written;
static int first_put, last_put, put_error;

static void write_tensors(void)
{
    m_weights_begin(&live);
    for (int i = first_put; i <= last_put; i++) {
        const Constant *c = constant + i;
        put_error = m_weights_put(&live, c->number, c->new, c->bytes);
    }
    m_weights_commit(&live);
    written = true;
    writing = false;
    swapcontext(&writer, &reader);
}

static void go_on_writing(void)
{
    writing = true;
    swapcontext(&reader, &writer);
}

void test_point(void)
{
    if (writing) {
        if (++writer_points != schedule.pause)
            return;
        writing = false;
        swapcontext(&writer, &reader);
        return;
    }
    run_points++;
    if (written)
        return;
    if (run_points == schedule.start || run_points == schedule.go_on)
        go_on_writing();
}

static int run(void)
{
    const m_inputs in = { in0 };
    const m_outputs out = { out0 };
    run_points = 0;
    return m_run_live(&live, arena, &in, &out);
}

/* A run with the writer between, which ends behind it; what the run returned. */
static int interleaved(Schedule of)
{
    schedule = of;
    writer_points = 0;
    written = false;
    getcontext(&writer);
    writer.uc_stack.ss_sp = stack;
    writer.uc_stack.ss_size = sizeof stack;
    makecontext(&writer, write_tensors, 0);
    const int error = run();
    schedule.pause = -1;
    if (!written)
        go_on_writing();
    return error;
}

/* ---- what must come of it ---- */

static bool result_is(const float *wanted)
{
    return !memcmp(out0, wanted, sizeof out0);
}

static void quiet(void)
{
    schedule = (Schedule){ -1, -1, -1 };
    written = true;
}

/* The old tensors are back, nobody runs. */
static void restore(void)
{
    quiet();
    m_weights_begin(&live);
    for (int i = 0; i < constants; i++)
        if (m_weights_put(&live, constant[i].number, constant[i].old,
                          constant[i].bytes))
            fail("a tensor cannot be put between runs", i, 0);
    m_weights_commit(&live);
}

static void measure(void)
{
    restore();
    if (run())
        fail("a run without a writer is reported", 0, 0);
    memcpy(before, out0, sizeof out0);
    for (int i = first_put; i <= last_put; i++)
        memcpy((unsigned char *)live.state.weights + constant[i].at,
               constant[i].new, constant[i].bytes);
    if (run())
        fail("a run of the new weights is reported", 0, 0);
    memcpy(after, out0, sizeof out0);
    restore();
}

static long reported, kept, renewed, busy, mixed;

static void check(Schedule of, int error)
{
    if (error && error != M_E_UPDATED)
        fail("the run ends with an error", error, of.start);
    reported += error == M_E_UPDATED;
    busy += put_error == M_E_BUSY;
    if (!error && result_is(before))
        kept++;
    else if (!error && FENCED && !put_error && result_is(after))
        renewed++;
    else
        mixed += !error;
    quiet();
    if (run() || !result_is(put_error ? before : after))
        fail("the run after it has other weights", of.start, of.pause);
    restore();
}

static long points_of(int *of_writer)
{
    measure();
    const Schedule at_end = { -1, -1, -1 };
    if (interleaved(at_end))
        fail("a run before the writer is reported", 0, 0);
    const long points = run_points;
    *of_writer = (int)writer_points;
    restore();
    return points;
}

/* Each point of the run with each of the writer, which goes on anywhere behind. */
static void every_point(long most)
{
    static unsigned long seed = 1;
    int words;
    const long points = points_of(&words);
    const long stride = points * words / most + 1;
    for (long i = seed % (unsigned long)stride; i < points * words;
         i += stride) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        const long start = i / words + 1;
        const Schedule of = {
            .start = start,
            .go_on = start + 1 + (long)(seed >> 33) % (points - start + 2),
            .pause = i % words + 1,
        };
        check(of, interleaved(of));
    }
}

static void all_tensors(long most)
{
    for (int i = 0; i < constants; i++) {
        first_put = last_put = i;
        every_point(most);
    }
    if (FENCED)
        return;
    first_put = 0;
    last_put = constants - 1;
    every_point(most * constants);
}

/* ---- the model ---- */

static void read_constants(const char *path)
{
    FILE *file = fopen(path, "r");
    const unsigned char *weights = live.state.weights;
    Constant c;
    if (!file)
        fail("no list of constants", 0, 0);
    while (fscanf(file, "%d %zu %zu", &c.number, &c.at, &c.bytes) == 3) {
        c.old = malloc(c.bytes);
        c.new = malloc(c.bytes);
        if (!c.old || !c.new)
            fail("no memory", 0, 0);
        memcpy(c.old, weights + c.at, c.bytes);
        memcpy(c.new, c.old, c.bytes);
        for (size_t i = 0; i < c.bytes; i += 4)
            c.new[i + 2] ^= 0x45; /* other fractions of floats */
        constant[constants++] = c;
    }
    fclose(file);
}

static void refused(void)
{
    const Constant *c = constant;
    if (m_weights_put(&live, c->number, c->new, c->bytes) != M_E_ARG)
        fail("a tensor is put before begin", 0, 0);
    m_weights_begin(&live);
    if (m_weights_put(&live, c->number, c->new, c->bytes - 1) != M_E_ARG ||
        m_weights_put(&live, -1, c->new, c->bytes) != M_E_ARG ||
        m_weights_put(&live, M_TENSORS, c->new, c->bytes) != M_E_ARG ||
        m_weights_put(&live, c->number, NULL, c->bytes) != M_E_ARG)
        fail("what is no tensor is put", 0, 0);
    m_weights_commit(&live);
}

int main(int argc, char **argv)
{
    const void *weights;
    FILE *file = fopen("m.blob", "rb");
    if (argc < 2 || !file || fread(blob, 1, sizeof blob, file) != sizeof blob)
        fail("no blob", 0, 0);
    fclose(file);
    if (m_weights_open(blob, sizeof blob, &weights))
        fail("the blob is not opened", 0, 0);
    live.state.weights = (void *)(uintptr_t)weights;
    for (int i = 0; i < (int)M_IN0_LENGTH; i++)
        in0[i] = (float)(i % 7) / 4 - .5f;
    quiet();
    read_constants("constants");
    refused();
    all_tensors(atol(argv[1]));
    printf("reported %ld kept %ld renewed %ld busy %ld mixed %ld\n", reported,
           kept, renewed, busy, mixed);
    return mixed != 0;
}
