/* SPDX-License-Identifier: Apache-2.0
 * Where the checker lets a result lie over an input, does the kernel give the same bytes? Each
 * step of a model is taken by itself, its result is moved as near to each of its inputs as the
 * checker accepts, from below and from above, forward and backward, and it is run there: as a
 * whole, as layers are, and unit by unit, as in streams. So the rules of rows and of pixels are
 * those of the kernels.
 *
 *   tight run MODEL.onnx [--shape ...] [--input FILE.pb ...] [--plan ...]      options are those
 *       of inlay run */
#include "bench.h"

#include "prove/check.h"

enum { MOST_OPERANDS = 300, MOST_WORK = 1 << 14, RUBBISH = 0x7f };

/* One step as a program of its own: all that changes is in one arena, inputs are there when it
 * begins. */
typedef struct Alone {
    Bench *bench;
    Graph graph;
    Program program;
    Step step, *list;
    const Step *of;
    Tensor *root
        [MOST_OPERANDS]; /* of the operands, as they are for it; NULL: constant */
    unsigned char *memory;
} Alone;

static Tensor *stand_in(Alone *t, const Tensor *root)
{
    for (int k = 0; k < t->of->n_operand; k++)
        if (t->root[k] && t->root[k]->id == root->id)
            return t->root[k];
    Tensor *own = arena_copy(t->bench->arena, root, sizeof *root);
    own->storage = STORE_ARENA;
    own->region = 0;
    return own;
}

static void isolate(Alone *t, Bench *b, const Step *s)
{
    *t = (Alone){ .bench = b,
                  .of = s,
                  .graph = *b->program->graph,
                  .step = *s,
                  .list = &t->step };
    t->step.index = 0;
    t->step.loop_end = -1;
    t->step.operand = arena_copy(b->arena, s->operand,
                                 (size_t)s->n_operand * sizeof *s->operand);
    t->graph.input.n = t->graph.input.room = t->graph.output.n =
        t->graph.output.room = 0;
    t->graph.dims_outputs = 0;
    t->graph.in_form = t->graph.out_form = NULL;
    for (int k = 0; k < s->n_operand; k++) {
        Operand *o = t->step.operand + k;
        int64_t at;
        if (!changes(o))
            continue;
        t->root[k] = stand_in(t, root_of(o, &at));
        if (o->tensor->dtype != t->root[k]->dtype) {
            t->root[k]->dtype = o->tensor->dtype;
            t->root[k]->shape =
                shape_vector(tensor_bytes(root_of(o, &at)) * 8 /
                             i64_max(1, dtype_bits(o->tensor->dtype)));
        }
        o->offset = at;
        o->tensor = t->root[k];
    }
    t->program =
        (Program){ .graph = &t->graph, .lowered = b->program->lowered };
    t->program.step.at = &t->list;
    t->program.step.n = t->program.step.room = 1;
    t->program.plan.arena_align = 1;
}

/* Places all apart but the result, which comes last; the place of tensor `under` leaves room for it
 * on both sides. */
static void lay_out(Alone *t, int y, int under)
{
    int64_t at = 0;
    const int64_t beside = (int64_t)size_align(
        (size_t)tensor_bytes(t->root[y]) + BENCH_ALIGN, BENCH_ALIGN);
    t->graph.input.n = t->graph.input.room = 0;
    t->graph.input.at = NULL;
    for (int k = 0; k < t->of->n_operand; k++) {
        Tensor *r = t->root[k];
        bool seen = !r || r == t->root[y];
        for (int i = 0; i < k && !seen; i++)
            seen = t->root[i] == r;
        if (seen)
            continue;
        if (r == t->root[under])
            at += beside;
        r->offset = at;
        at += (int64_t)size_align((size_t)tensor_bytes(r) + BENCH_ALIGN,
                                  BENCH_ALIGN) +
              (r == t->root[under] ? beside : 0);
        if (!t->of->operand[k].scratch)
            VEC_PUSH(t->bench->arena, &t->graph.input, r);
    }
    t->program.plan.arena_size = at;
    t->memory = arena_alloc(t->bench->arena, (size_t)at + BENCH_ALIGN);
    t->memory +=
        (BENCH_ALIGN - (uintptr_t)t->memory % BENCH_ALIGN) % BENCH_ALIGN;
}

static bool accepted(Alone *t, int y, int under, int64_t distance)
{
    t->root[y]->offset = t->root[under]->offset + distance;
    program_link(&t->program);
    return plan_holds(&t->program, NULL);
}

/* Nearest to `bad`, which is not accepted, coming from `good`, which is. */
static int64_t nearest(Alone *t, int y, int under, int64_t good, int64_t bad,
                       int64_t unit)
{
    while (good - bad > unit || bad - good > unit) {
        const int64_t middle = good + (bad - good) / 2 / unit * unit;
        if (middle == good)
            break;
        if (accepted(t, y, under, middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

static void fill(Alone *t)
{
    const Bench *b = t->bench;
    memset(t->memory, RUBBISH, (size_t)t->program.plan.arena_size);
    for (size_t i = 0; i < t->graph.input.n; i++) {
        const Tensor *r = t->graph.input.at[i];
        for (int k = 0; k < t->of->n_operand; k++) {
            int64_t at;
            if (t->root[k] != r)
                continue;
            memcpy(t->memory + r->offset,
                   root_bytes(b->real, b->program,
                              root_of(t->of->operand + k, &at)),
                   (size_t)tensor_bytes(r));
            break;
        }
    }
}

/* Does the result hold what it should? */
static bool is_right(const Alone *t, int y)
{
    const Bench *b = t->bench;
    const Operand *o = t->step.operand + y;
    int64_t at;
    const unsigned char *want = root_bytes(b->real, b->program,
                                           root_of(t->of->operand + y, &at)),
                        *got = t->memory + t->root[y]->offset;
    const int64_t part = o->part * element_bits(o) / 8, row = o->row_bytes,
                  step = part ? operand_pitch(o) : row;
    const int64_t end = part ? o->rows * row
                             : i64_min(o->rows * row,
                                       tensor_bytes(t->root[y]) - o->offset),
                  n = part ? part : i64_min(row, end);
    for (int64_t k = 0; n && k + n <= end; k += step)
        if (!same_if_made(want + o->offset + k, got + o->offset + k, n,
                          RUBBISH))
            return false;
    return true;
}

static void run_there(Alone *t, int y, int under, int64_t distance)
{
    Bench *b = t->bench;
    const Step *s = &t->step;
    char what[160];
    if (!accepted(t, y, under, distance))
        return;
    const inlay_model m = program_model(b->arena, &t->program);
    void *base[] = {
        [INLAY_WEIGHTS] = b->real[INLAY_WEIGHTS], [INLAY_ARENA] = t->memory
    };
    for (int by_unit = 0; by_unit < 2; by_unit++) {
        fill(t);
        for (int32_t i = 0; i < (by_unit ? s->units : 1); i++) {
            const int32_t u = s->backward ? s->units - 1 - i : i;
            m.step->run(base, m.step, by_unit ? u : 0,
                        by_unit ? u + 1 : s->units);
        }
        b->runs++;
        snprintf(what, sizeof what,
                 "%s, %lld bytes behind operand %d: other bytes",
                 by_unit ? "unit by unit" : "as a whole", (long long)distance,
                 under);
        b->backward = s->backward;
        if (!is_right(t, y))
            fault(b, y, 0, what);
    }
}

/* All distances of one result to one input that are worth a run. */
static void approach(Alone *t, int y, int under)
{
    const int64_t unit = i64_max(4, dtype_bits(t->root[y]->dtype) / 8),
                  below = -i64_ceil_div(tensor_bytes(t->root[y]), unit) * unit;
    const int64_t above =
                      i64_ceil_div(tensor_bytes(t->root[under]), unit) * unit,
                  between[] = { 0, unit, -unit,
                                (below + above) / 2 / unit * unit };
    lay_out(t, y, under);
    if (!accepted(t, y, under, below) || !accepted(t, y, under, above)) {
        fault(t->bench, y, 0, "a result apart from its input is refused");
        return;
    }
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        if (accepted(t, y, under, between[i])) {
            run_there(t, y, under, between[i]);
            continue;
        }
        run_there(t, y, under, nearest(t, y, under, below, between[i], unit));
        run_there(t, y, under, nearest(t, y, under, above, between[i], unit));
        break;
    }
}

static int64_t work_of(const Step *s)
{
    int64_t width = 1;
    for (int k = 0; k < s->n_operand; k++)
        if (s->operand[k].tensor && s->operand[k].pixels.tile &&
            s->operand[k].pixel)
            width =
                i64_max(width, s->operand[0].row_bytes /
                                   (s->operand[0].pixel *
                                    i64_max(1, element_bits(s->operand) / 8)));
    return width * s->units;
}

static void judge(Bench *b, const Step *s, unsigned char *const *before)
{
    Alone t;
    if (s->n_operand > MOST_OPERANDS || s->n_out != 1 || !changes(s->operand) ||
        before[0] || s->control || s->pushed || s->accumulates ||
        work_of(s) > MOST_WORK)
        return;
    isolate(&t, b, s);
    b->steps++;
    for (int k = 1; k < s->n_operand; k++) {
        bool seen = !t.root[k] || s->operand[k].scratch ||
                    t.root[k] == t.root[0] || !tensor_bytes(t.root[k]) ||
                    !tensor_bytes(t.root[0]);
        for (int i = 1; i < k && !seen; i++)
            seen = t.root[i] == t.root[k];
        for (int turn = 0; turn <= step_reverses(s) && !seen; turn++) {
            t.step.backward = turn;
            approach(&t, 0, k);
        }
    }
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, judge);
}
