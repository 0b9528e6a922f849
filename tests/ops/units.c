/* SPDX-License-Identifier: Apache-2.0
 * Do kernels keep to the rows that their steps state? Each step of a model runs once as a whole,
 * and again unit by unit in memory where only the rows are open that the unit may read, the rest
 * being rubbish: it must give the same bytes, and write nothing but its row. Streams, overlaps and
 * the proof of a plan all stand on these rules. Under AddressSanitizer the rest may not even be
 * read.
 *
 *   units run MODEL.onnx [--shape ...] [--input FILE.pb ...] [--plan ...]      options are those
 *       of inlay run */
#include "bench.h"

#if defined __SANITIZE_ADDRESS__
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#else
#define __asan_poison_memory_region(at, size) ((void)(at), (void)(size))
#define __asan_unpoison_memory_region(at, size) ((void)(at), (void)(size))
#endif

enum { MOST_SCANNED = 1 << 28 };

enum { OPEN, SHUT, SAME, SAME_IF_MADE };

/* Goes through the bytes of row r: opens it with what the run has, shuts it, or compares. */
static bool each_row(const Bench *b, const Operand *o, int32_t r, int what)
{
    int64_t at;
    const Tensor *root = root_of(o, &at);
    const int64_t part = o->part * element_bits(o) / 8,
                  step = part ? operand_pitch(o) : o->row_bytes;
    const int64_t row = part ? o->row_bytes
                             : i64_min(o->row_bytes, tensor_bytes(root) - at),
                  n = part ? part : row;
    const int64_t first = at + r * o->row_bytes;
    unsigned char *x = root_bytes(b->real, b->program, root),
                  *y = root_bytes(b->box, b->program, root);
    for (int64_t k = first; n && k + n <= first + row; k += step) {
        if (what == OPEN)
            memcpy(y + k, x + k, (size_t)n);
        else if (what == SHUT)
            memset(y + k, b->rubbish, (size_t)n);
        else if (what == SAME_IF_MADE &&
                 same_if_made(x + k, y + k, n, b->rubbish))
            continue;
        else if (memcmp(x + k, y + k, (size_t)n))
            return false;
    }
    return true;
}

static bool each_rows(const Bench *b, const Operand *o, Range r, int what)
{
    bool all = true;
    for (int32_t i = r.lo; i < r.hi && all; i++)
        all = each_row(b, o, i, what);
    return all;
}

static void open_to_sanitizer(const Bench *b, const Operand *o, Range r)
{
    int64_t at;
    const Tensor *root = root_of(o, &at);
    unsigned char *y = root_bytes(b->box, b->program, root);
    const int64_t lane = o->part ? at % operand_pitch(o) : 0,
                  end = i64_min(tensor_bytes(root),
                                at - lane + r.hi * o->row_bytes);
    if (r.lo < r.hi)
        __asan_unpoison_memory_region(
            y + at - lane + r.lo * o->row_bytes,
            (size_t)(end - (at - lane) - r.lo * o->row_bytes));
}

/* ---- one step ---- */

static bool is_rubbish(const Bench *b, const Tensor *root)
{
    const unsigned char *y = root_bytes(b->box, b->program, root);
    const size_t n = (size_t)tensor_bytes(root);
    return !n || (y[0] == b->rubbish && !memcmp(y, y + 1, n - 1));
}

static bool by_rows(const Operand *o)
{
    return !o->write && !o->scratch && o->rule.kind != ROWS_ALL;
}
static bool kept(const Step *s, const Operand *o)
{
    return o->write && !o->scratch && !by_row(s, o);
}

/* Rubbish everywhere, but what is read by all units. */
static void begin(const Bench *b, const Step *s, unsigned char *const *before)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        int64_t at;
        if (changes(o))
            memset(root_bytes(b->box, b->program, root_of(o, &at)), b->rubbish,
                   (size_t)tensor_bytes(root_of(o, &at)));
    }
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        int64_t at;
        if (!changes(o) || o->scratch)
            continue;
        if (before[k])
            memcpy(root_bytes(b->box, b->program, root_of(o, &at)), before[k],
                   (size_t)tensor_bytes(root_of(o, &at)));
        else if (o->read && !o->write && !by_rows(o))
            each_rows(b, o, (Range){ 0, o->rows }, OPEN);
    }
}

static void close_others(const Bench *b, const Step *s, int32_t u)
{
    __asan_poison_memory_region(b->box[INLAY_ARENA],
                                (size_t)b->program->plan.arena_size);
    for (int k = 0; k < s->n_operand; k++)
        if (changes(s->operand + k))
            open_to_sanitizer(b, s->operand + k,
                              s->operand[k].scratch
                                  ? (Range){ 0, s->operand[k].rows }
                                  : rows_of(s, s->operand + k, u));
}

static bool judge_writes(Bench *b, const Step *s, int32_t u, bool scan)
{
    bool good = true;
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        int64_t at;
        if (!changes(o) || o->scratch || kept(s, o))
            continue;
        if (o->write &&
            !each_row(b, o, u,
                      b->made[root_of(o, &at)->id] ? SAME : SAME_IF_MADE))
            good =
                fault(b, k, u, "gives other bytes than in a run of all units");
        if (o->write || by_rows(o))
            each_rows(b, o, rows_of(s, o, u), SHUT);
        if (scan && o->write && !is_rubbish(b, root_of(o, &at)))
            return fault(b, k, u, "writes beside its row");
    }
    return good;
}

static bool run_unit(Bench *b, const Step *s, int32_t u, bool scan)
{
    inlay_step own = b->model.step[s->index];
    own.backward = b->backward;
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (changes(o) && by_rows(o))
            each_rows(b, o, rows_of(s, o, u), OPEN);
        if (changes(o) && o->scratch)
            each_rows(b, o, (Range){ 0, o->rows }, SHUT);
    }
    close_others(b, s, u);
    const int r = own.run(b->box, &own, u, u + 1);
    __asan_unpoison_memory_region(b->box[INLAY_ARENA],
                                  (size_t)b->program->plan.arena_size);
    b->runs++;
    return r < 0 ? fault(b, 0, u, "ends with an error")
                 : judge_writes(b, s, u, scan);
}

/* What units gather is complete; inputs were only read. */
static bool judge_end(Bench *b, const Step *s)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        int64_t at;
        if (!changes(o) || o->scratch)
            continue;
        const bool first =
            o->write && !o->read && !b->made[root_of(o, &at)->id];
        if (kept(s, o) && !each_rows(b, o, (Range){ 0, o->rows },
                                     first ? SAME_IF_MADE : SAME))
            return fault(b, k, s->units - 1,
                         "gives other bytes than in a run of all units");
        if (by_rows(o) && !is_rubbish(b, root_of(o, &at)))
            return fault(b, k, s->units - 1, "was written to");
        if (o->read && !o->write && !by_rows(o) &&
            !each_rows(b, o, (Range){ 0, o->rows }, SAME))
            return fault(b, k, s->units - 1, "was written to");
    }
    return true;
}

static bool run_units(Bench *b, const Step *s, unsigned char *const *before)
{
    int64_t bytes = 0, at;
    for (int k = 0; k < s->n_operand; k++)
        if (changes(s->operand + k) && s->operand[k].write)
            bytes += tensor_bytes(root_of(s->operand + k, &at));
    const int32_t every = (int32_t)(bytes * s->units / MOST_SCANNED) + 1;
    begin(b, s, before);
    for (int32_t i = 0; i < s->units; i++)
        if (!run_unit(b, s, b->backward ? s->units - 1 - i : i, i % every == 0))
            return false;
    return judge_end(b, s);
}

/* Two operands on one tensor, of which one is written: its rows cannot be told apart here. */
static bool entangled(const Step *s)
{
    int64_t at;
    for (int k = 0; k < s->n_operand; k++)
        for (int i = 0; i < s->n_operand; i++)
            if (i != k && s->operand[k].write && changes(s->operand + k) &&
                changes(s->operand + i) &&
                root_of(s->operand + k, &at) == root_of(s->operand + i, &at))
                return true;
    return false;
}

static void judge(Bench *b, const Step *s, unsigned char *const *before)
{
    if (entangled(s))
        return;
    b->steps++;
    for (b->rubbish = 0x7f; b->rubbish <= 0xff; b->rubbish += 0x80)
        for (int turn = 0; turn <= step_reverses(s); turn++) {
            b->backward = turn;
            run_units(b, s, before);
        }
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, judge);
}
