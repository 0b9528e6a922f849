/* SPDX-License-Identifier: Apache-2.0
 * Random chains of rewritings against a naive interpreter that holds every value in memory.
 *
 * The oracle keeps a tensor as an array of doubles (of exact integers and of floats that
 * fit), moves elements one by one, and encodes the result on its own. Windows are tiny,
 * so that tiles are cut everywhere. INLAY_CASES and INLAY_SEED choose another run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "ir/recipe.h"

enum { MOST = 6000, LONGEST_CHAIN = 6 };

/* --- randomness --- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

static int64_t pick(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(state) >> 11) % (high - low + 1);
}

/* --- the oracle --- */

typedef struct Naive {
    DType dtype;
    int rank;
    int64_t dim[MAX_RANK];
    double *x;
} Naive;

typedef struct Case {
    Arena arena;
    Store store;
    uint64_t random;
    File *file, *out; /* shared by all cases, overwritten by each */
    Naive want;
    Recipe *got;
    int axis; /* of the rewriting before */
    char log[1024];
    size_t logged;
} Case;

static void note(Case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note(Case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t room = sizeof c->log - c->logged;
    const int n = vsnprintf(c->log + c->logged, room, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < room)
        c->logged += (size_t)n;
}

static int64_t count_of(const Naive *t)
{
    int64_t n = 1;
    for (int a = 0; a < t->rank; a++)
        n *= t->dim[a];
    return n;
}

static Naive naive(Case *c, DType t, int rank, const int64_t *dims)
{
    Naive n = { .dtype = t, .rank = rank };
    memcpy(n.dim, dims, (size_t)rank * sizeof *dims);
    n.x = NEW_ARRAY(&c->arena, double, count_of(&n));
    return n;
}

static void index_of(const Naive *t, int64_t e, int64_t *i)
{
    for (int a = t->rank; a-- > 0; e /= t->dim[a])
        i[a] = e % t->dim[a];
}

static int64_t element(const Naive *t, const int64_t *i)
{
    int64_t e = 0;
    for (int a = 0; a < t->rank; a++)
        e = e * t->dim[a] + i[a];
    return e;
}

/* Types of the random chains; all their values are kept exact in a double. */
static const DType types[] = { DT_F32, DT_F32, DT_I8,  DT_U8,  DT_I16,
                               DT_I32, DT_I64, DT_F16, DT_F64, DT_I4,
                               DT_U4,  DT_I2,  DT_BOOL };

/* A value that every type of the list holds: bool 0..1, 2 bits -2..1, 4 bits 0..7. */
static double draw(Case *c, DType t)
{
    switch (t) {
    case DT_BOOL:
        return (double)pick(&c->random, 0, 1);
    case DT_I2:
        return (double)pick(&c->random, -2, 1);
    case DT_I4:
        return (double)pick(&c->random, -8, 7);
    case DT_U4:
        return (double)pick(&c->random, 0, 15);
    case DT_U8:
        return (double)pick(&c->random, 0, 255);
    case DT_I8:
        return (double)pick(&c->random, -128, 127);
    case DT_F16:
        return (double)pick(&c->random, -2048, 2048) / 8;
    case DT_F32:
    case DT_F64:
        return (double)pick(&c->random, -4096, 4096) / 16;
    default:
        return (double)pick(&c->random, -30000, 30000);
    }
}

static uint16_t half_of(double x) /* exact values only */
{
    if (x == 0)
        return signbit(x) ? 0x8000 : 0;
    int e;
    const double m = frexp(fabs(x), &e);
    const int mantissa = (int)ldexp(m, 11) - 1024;
    return (uint16_t)((x < 0 ? 0x8000 : 0) | (e + 14) << 10 | mantissa);
}

static void encode(DType t, uint8_t *to, int64_t i, double x)
{
    const int64_t v = (int64_t)x;
    switch (t) {
    case DT_F32: {
        const float f = (float)x;
        memcpy(to + 4 * i, &f, 4);
        break;
    }
    case DT_F64:
        memcpy(to + 8 * i, &x, 8);
        break;
    case DT_F16: {
        const uint16_t h = half_of(x);
        memcpy(to + 2 * i, &h, 2);
        break;
    }
    case DT_I4:
    case DT_U4:
        to[i / 2] = (uint8_t)(to[i / 2] | (v & 15) << 4 * (i & 1));
        break;
    case DT_I2:
        to[i / 4] = (uint8_t)(to[i / 4] | (v & 3) << 2 * (i & 3));
        break;
    default:
        memcpy(to + i * (dtype_bits(t) / 8), &v, (size_t)dtype_bits(t) / 8);
    }
}

static uint8_t *encoded(Case *c, const Naive *t)
{
    const int64_t n = count_of(t);
    uint8_t *bytes = arena_alloc(&c->arena, (size_t)dtype_bytes(t->dtype, n));
    for (int64_t i = 0; i < n; i++)
        encode(t->dtype, bytes, i, t->x[i]);
    return bytes;
}

/* --- sources --- */

static void write_varints(Case *c, const Naive *t, uint64_t at)
{
    const uint8_t *bytes = encoded(c, t);
    uint8_t *out = arena_alloc(&c->arena, (size_t)count_of(t) * 10);
    size_t used = 0;
    const bool packed = dtype_bits(t->dtype) < 8;
    const int64_t n = packed ? dtype_bytes(t->dtype, count_of(t)) : count_of(t);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = packed ? bytes[i] : (uint64_t)(int64_t)t->x[i];
        if (t->dtype == DT_F16)
            v = half_of(t->x[i]);
        for (bool more = true; more; v >>= 7) {
            more = v > 127;
            out[used++] = (uint8_t)((v & 127) | (more ? 128 : 0));
        }
    }
    file_write(c->file, at, out, used);
}

/* The same values as memory, fixed or varint elements of a file, in one to three runs. */
static Recipe *as_recipe(Case *c, const Naive *t)
{
    const bool varint_type = t->dtype != DT_F32 && t->dtype != DT_F64;
    const int kind = (int)pick(&c->random, 0, varint_type ? 2 : 1);
    if (kind == 0)
        return recipe_memory(&c->store, t->dtype, t->rank, t->dim,
                             encoded(c, t));
    Source s = { .dtype = t->dtype,
                 .count = count_of(t),
                 .encoding = kind == 1 ? ENC_FIXED : ENC_VARINT,
                 .file = c->file };
    const uint64_t at = c->file->size + (uint64_t)pick(&c->random, 0, 9);
    const uint64_t bytes = (uint64_t)dtype_bytes(t->dtype, s.count);
    if (kind == 1)
        file_write(c->file, at, encoded(c, t), bytes);
    else
        write_varints(c, t, at);
    const uint64_t length = c->file->size > at ? c->file->size - at : 0,
                   cut = (uint64_t)pick(&c->random, 0, (int64_t)length);
    Span whole[3] = { { at, cut },
                      { at + cut, 0 },
                      { at + cut, length - cut } };
    if (pick(&c->random, 0, 1))
        whole[0].length = length;
    s.span = whole;
    s.spans = whole[0].length == length ? 1 : 3;
    note(c, " [kind %d spans %d]", kind, s.spans);
    return recipe_source(&c->store, &s, t->rank, t->dim);
}

static Naive random_tensor(Case *c, DType t, int rank, const int64_t *dims)
{
    Naive n = naive(c, t, rank, dims);
    for (int64_t i = 0; i < count_of(&n); i++)
        n.x[i] = draw(c, t);
    return n;
}

/* Half the time the axis of the rewriting before: what meets there is what goes wrong. */
static int pick_axis(Case *c)
{
    if (c->axis >= c->want.rank || pick(&c->random, 0, 1))
        c->axis = (int)pick(&c->random, 0, c->want.rank - 1);
    return c->axis;
}

static void begin_chain(Case *c)
{
    int64_t dims[MAX_RANK], most = pick(&c->random, 0, 3) ? 7 : 40;
    const int rank = (int)pick(&c->random, 0, 4);
    for (int a = 0; a < rank; a++)
        dims[a] = pick(&c->random, pick(&c->random, 0, 30) ? 1 : 0, most);
    const DType t =
        types[pick(&c->random, 0, (int64_t)(sizeof types / sizeof *types) - 1)];
    if (pick(&c->random, 0, 15) == 0) {
        c->want = naive(c, t, rank, dims);
        const double v = draw(c, t);
        uint8_t one[8] = { 0 };
        encode(t, one, 0, v);
        for (int64_t i = 0; i < count_of(&c->want); i++)
            c->want.x[i] = v;
        c->got = recipe_fill(&c->store, t, rank, dims, one);
        note(c, "fill");
    } else {
        c->want = random_tensor(c, t, rank, dims);
        c->got = as_recipe(c, &c->want);
    }
    note(c, " %s", dtype_name(t));
    for (int a = 0; a < rank; a++)
        note(c, " %d", (int)dims[a]);
}

/* --- rewritings, by the oracle and by recipes --- */

static void transpose(Case *c, const int *perm)
{
    const Naive old = c->want;
    int64_t dims[MAX_RANK], i[MAX_RANK] = { 0 }, j[MAX_RANK] = { 0 };
    for (int a = 0; a < old.rank; a++)
        dims[a] = old.dim[perm[a]];
    c->want = naive(c, old.dtype, old.rank, dims);
    for (int64_t e = 0; e < count_of(&old); e++) {
        index_of(&c->want, e, i);
        for (int a = 0; a < old.rank; a++)
            j[perm[a]] = i[a];
        c->want.x[e] = old.x[element(&old, j)];
    }
    c->got = recipe_transpose(&c->store, c->got, perm);
    note(c, " | T");
    for (int a = 0; a < old.rank; a++)
        note(c, " %d", perm[a]);
}

static void do_transpose(Case *c)
{
    int perm[MAX_RANK];
    for (int a = 0; a < c->want.rank; a++) {
        const int at = (int)pick(&c->random, 0, a);
        perm[a] = perm[at];
        perm[at] = a;
    }
    transpose(c, perm);
}

/* Splits even axes, joins neighbours, adds ones; now and then swaps two sizes so that cuts do not
 * nest. */
static void do_reshape(Case *c)
{
    int64_t dims[3 * MAX_RANK];
    int rank = 0;
    for (int a = 0; a < c->want.rank; a++) {
        int64_t n = c->want.dim[a];
        const int64_t by = pick(&c->random, 2, 3);
        if (n > by && n % by == 0 && pick(&c->random, 0, 1)) {
            dims[rank++] = by;
            n /= by;
        }
        if (rank && pick(&c->random, 0, 2) == 0)
            dims[rank - 1] *= n;
        else
            dims[rank++] = n;
    }
    if (pick(&c->random, 0, 4) == 0)
        dims[rank++] = 1;
    if (rank > 1 && pick(&c->random, 0, 5) == 0) {
        const int64_t t = dims[0];
        dims[0] = dims[rank - 1];
        dims[rank - 1] = t;
    }
    if (rank > MAX_RANK)
        return;
    memcpy(c->want.dim, dims, (size_t)rank * sizeof *dims);
    c->want.rank = rank;
    c->got = recipe_reshape(&c->store, c->got, rank, dims);
    note(c, " | R");
    for (int a = 0; a < rank; a++)
        note(c, " %d", (int)dims[a]);
}

static void slice(Case *c, int axis, int64_t start, int64_t step, int64_t count)
{
    const Naive old = c->want;
    int64_t dims[MAX_RANK], i[MAX_RANK] = { 0 };
    memcpy(dims, old.dim, sizeof dims);
    dims[axis] = count;
    c->want = naive(c, old.dtype, old.rank, dims);
    for (int64_t e = 0; e < count_of(&c->want); e++) {
        index_of(&c->want, e, i);
        i[axis] = start + step * i[axis];
        c->want.x[e] = old.x[element(&old, i)];
    }
    c->got = recipe_slice(&c->store, c->got, axis, start, step, count);
    note(c, " | S axis %d start %d step %d count %d", axis, (int)start,
         (int)step, (int)count);
}

static void do_slice(Case *c)
{
    if (!c->want.rank || !count_of(&c->want))
        return;
    const int axis = pick_axis(c);
    const int64_t n = c->want.dim[axis], start = pick(&c->random, 0, n - 1);
    const int64_t step = pick(&c->random, 0, 1)   ? 1
                         : pick(&c->random, 0, 1) ? pick(&c->random, 2, 3)
                                                  : -pick(&c->random, 1, 2);
    const int64_t most =
        step > 0 ? (n - 1 - start) / step + 1 : start / -step + 1;
    slice(c, axis, start, step,
          pick(&c->random, pick(&c->random, 0, 20) ? 1 : 0, most));
}

static void pad(Case *c, int axis, int64_t before, int64_t after)
{
    const Naive old = c->want;
    int64_t dims[MAX_RANK], i[MAX_RANK] = { 0 };
    memcpy(dims, old.dim, sizeof dims);
    dims[axis] += before + after;
    c->want = naive(c, old.dtype, old.rank, dims);
    for (int64_t e = 0; e < count_of(&old); e++) {
        index_of(&old, e, i);
        i[axis] += before;
        c->want.x[element(&c->want, i)] = old.x[e];
    }
    c->got = recipe_pad(&c->store, c->got, axis, before, after);
    note(c, " | P axis %d %d %d", axis, (int)before, (int)after);
}

static void do_pad(Case *c)
{
    if (!c->want.rank)
        return;
    const int axis = pick_axis(c);
    const int64_t before = pick(&c->random, 0, 3);
    pad(c, axis, before, pick(&c->random, 0, 3));
}

static void do_concat(Case *c)
{
    const Naive old = c->want;
    if (!old.rank)
        return;
    const int axis = pick_axis(c), n = (int)pick(&c->random, 1, 3),
              mine = (int)pick(&c->random, 0, n - 1);
    Naive part[3];
    Recipe *r[3];
    int64_t dims[MAX_RANK], i[MAX_RANK] = { 0 }, offset = 0;
    memcpy(dims, old.dim, sizeof dims);
    dims[axis] = 0;
    note(c, " | C axis %d", axis);
    for (int k = 0; k < n; k++) {
        int64_t d[MAX_RANK];
        memcpy(d, old.dim, sizeof d);
        d[axis] = pick(&c->random, 0, 4);
        part[k] = k == mine ? old : random_tensor(c, old.dtype, old.rank, d);
        r[k] = k == mine ? c->got : as_recipe(c, &part[k]);
        dims[axis] += part[k].dim[axis];
        note(c, " %d", (int)part[k].dim[axis]);
    }
    c->want = naive(c, old.dtype, old.rank, dims);
    for (int k = 0; k < n; offset += part[k++].dim[axis]) {
        for (int64_t e = 0; e < count_of(part + k); e++) {
            index_of(part + k, e, i);
            i[axis] += offset;
            c->want.x[element(&c->want, i)] = part[k].x[e];
        }
    }
    c->got = recipe_concat(&c->store, n, r, axis);
}

static void do_expand(Case *c)
{
    const Naive old = c->want;
    const int more = (int)pick(&c->random, 0, 1), rank = old.rank + more;
    if (rank > MAX_RANK)
        return;
    int64_t dims[MAX_RANK], given[MAX_RANK], i[MAX_RANK] = { 0 },
                                             j[MAX_RANK] = { 0 };
    for (int a = 0; a < rank; a++) {
        const int64_t n = a < more ? 1 : old.dim[a - more];
        dims[a] = n == 1 ? pick(&c->random, 1, 4) : n;
        given[a] = n != 1 && pick(&c->random, 0, 3) == 0 ? 1 : dims[a];
    }
    c->want = naive(c, old.dtype, rank, dims);
    for (int64_t e = 0; e < count_of(&c->want); e++) {
        index_of(&c->want, e, i);
        for (int a = more; a < rank; a++)
            j[a - more] = old.dim[a - more] == 1 ? 0 : i[a];
        c->want.x[e] = old.x[element(&old, j)];
    }
    c->got = recipe_expand(&c->store, c->got, rank, given);
    note(c, " | E");
    for (int a = 0; a < rank; a++)
        note(c, " %d", (int)dims[a]);
}

/* Only to types that hold all the values exactly: rounding has its own tests. */
static void do_cast(Case *c)
{
    static const DType to[] = { DT_F32, DT_F64, DT_I32, DT_I64 };
    DType t = to[pick(&c->random, 0, 3)];
    const bool whole =
        dtype_is_integer(c->want.dtype) || c->want.dtype == DT_BOOL;
    if (!whole)
        t = pick(&c->random, 0, 1) ? DT_F32 : DT_F64;
    for (int64_t e = 0; e < count_of(&c->want); e++)
        if ((double)(float)c->want.x[e] != c->want.x[e])
            return;
    c->want.dtype = t;
    c->got = recipe_cast(&c->store, c->got, t);
    note(c, " | K %s", dtype_name(t));
}

static void change_each(Case *c, bool add, const Naive *v, const Recipe *got)
{
    int64_t i[MAX_RANK] = { 0 };
    const int first = c->want.rank - v->rank;
    for (int64_t e = 0; e < count_of(&c->want); e++) {
        index_of(&c->want, e, i);
        int64_t at = 0;
        for (int a = 0; a < v->rank; a++)
            at = at * v->dim[a] + (v->dim[a] == 1 ? 0 : i[first + a]);
        const float f = (float)v->x[at], x = (float)c->want.x[e];
        c->want.x[e] = (double)(add ? x + f : x * f);
    }
    c->got = add ? recipe_add(&c->store, c->got, got)
                 : recipe_mul(&c->store, c->got, got);
    note(c, " | %s of %d", add ? "A" : "M", v->rank);
    for (int a = 0; a < v->rank; a++)
        note(c, " %d", (int)v->dim[a]);
}

static void begin_with(Case *c, DType t, int rank, const int64_t *dims)
{
    c->want = random_tensor(c, t, rank, dims);
    c->got = as_recipe(c, &c->want);
}

/* Stored the other way round. */
static void make_turned(Case *c, DType t, int rank, const int64_t *dims)
{
    int64_t turned[MAX_RANK];
    int perm[MAX_RANK];
    for (int a = 0; a < rank; a++) {
        turned[a] = dims[rank - 1 - a];
        perm[a] = rank - 1 - a;
    }
    begin_with(c, t, rank, turned);
    transpose(c, perm);
}

/* A part of something larger, forwards or backwards, or something smaller between zeros. */
static void make_cut(Case *c, DType t, int rank, const int64_t *dims)
{
    int64_t other[MAX_RANK];
    const int axis = (int)pick(&c->random, 0, rank - 1);
    const int64_t n = dims[axis];
    memcpy(other, dims, (size_t)rank * sizeof *dims);
    other[axis] = n > 1 && pick(&c->random, 0, 1) ? n - 1 : 2 * n + 1;
    begin_with(c, t, rank, other);
    if (other[axis] < n)
        pad(c, axis, 1, 0);
    else if (pick(&c->random, 0, 1))
        slice(c, axis, 1, 2, n);
    else
        slice(c, axis, n, -1, n);
}

/* Makes an axis of n elements one of two factors: [n / by][by] is turned. */
static void swap_factors(Case *c, int axis, int64_t by)
{
    const Naive old = c->want;
    if (axis >= old.rank || old.rank == MAX_RANK || old.dim[axis] % by)
        return;
    int perm[MAX_RANK];
    for (int a = 0; a < old.rank; a++) {
        c->want.dim[a + (a > axis)] = old.dim[a];
        perm[a + (a > axis)] = a + (a > axis);
    }
    c->want.dim[axis] = old.dim[axis] / by;
    c->want.dim[axis + 1] = by;
    perm[axis] = axis + 1;
    perm[axis + 1] = axis;
    c->want.rank++;
    c->got = recipe_reshape(&c->store, c->got, c->want.rank, c->want.dim);
    transpose(c, perm);
    c->want.rank = old.rank;
    memcpy(c->want.dim, old.dim, sizeof old.dim);
    c->got = recipe_reshape(&c->store, c->got, old.rank, old.dim);
}

static void make_operand(Case *c, int rank, const int64_t *dims)
{
    const DType t =
        types[pick(&c->random, 0, (int64_t)(sizeof types / sizeof *types) - 1)];
    const int kind = rank ? (int)pick(&c->random, 0, 4) : 0;
    if (kind == 1)
        make_turned(c, t, rank, dims);
    else if (kind == 2)
        make_cut(c, t, rank, dims);
    else
        begin_with(c, t, rank, dims);
    if (kind == 3)
        swap_factors(c, (int)pick(&c->random, 0, rank - 1),
                     pick(&c->random, 2, 3));
    c->want.dtype = DT_F32;
    c->got = recipe_cast(&c->store, c->got, DT_F32);
    if (pick(&c->random, 0, 1)) {
        const int64_t one[1] = { 1 };
        const Naive number =
            random_tensor(c, DT_F32, (int)pick(&c->random, 0, rank > 0), one);
        change_each(c, pick(&c->random, 0, 1), &number,
                    recipe_number(&c->store, (float)number.x[0]));
    }
}

/* Times or plus an operand over some of the last axes, each of them whole or of one element. */
static void do_operand(Case *c)
{
    if (c->want.dtype != DT_F32 || !count_of(&c->want))
        return;
    if (c->want.rank && pick(&c->random, 0, 1))
        swap_factors(c, pick_axis(c), pick(&c->random, 2, 3));
    const Naive want = c->want;
    Recipe *got = c->got;
    int64_t dims[MAX_RANK];
    const int rank = (int)pick(&c->random, 0, want.rank),
              first = want.rank - rank;
    for (int a = 0; a < rank; a++)
        dims[a] = pick(&c->random, 0, 2) ? want.dim[first + a] : 1;
    note(c, " (");
    make_operand(c, rank, dims);
    const Naive v = c->want;
    const Recipe *by = c->got;
    note(c, ")");
    c->want = want;
    c->got = got;
    change_each(c, pick(&c->random, 0, 1), &v, by);
}

/* Pads an axis to blocks of 4 or 16 and makes the block the last axis: packing. */
static void do_pack(Case *c)
{
    const Naive old = c->want;
    if (!old.rank || old.rank >= MAX_RANK || !count_of(&old))
        return;
    const int axis = pick_axis(c);
    const int64_t width = pick(&c->random, 0, 1) ? 4 : 16,
                  before =
                      pick(&c->random, 0, 2) ? 0 : pick(&c->random, 1, width);
    const int64_t blocks = (before + old.dim[axis] + width - 1) / width;
    int64_t dims[MAX_RANK], split[MAX_RANK], i[MAX_RANK] = { 0 },
                                             j[MAX_RANK] = { 0 };
    int perm[MAX_RANK], m = 0;
    dims[m++] = blocks;
    for (int a = 0; a < old.rank; a++)
        if (a != axis)
            dims[m++] = old.dim[a];
    dims[m] = width;
    c->want = naive(c, old.dtype, old.rank + 1, dims);
    for (int64_t e = 0; e < count_of(&old); e++) {
        index_of(&old, e, i);
        m = 0;
        i[axis] += before;
        j[m++] = i[axis] / width;
        for (int a = 0; a < old.rank; a++)
            if (a != axis)
                j[m++] = i[a];
        j[m] = i[axis] % width;
        c->want.x[element(&c->want, j)] = old.x[e];
    }
    for (int a = 0; a < old.rank; a++)
        split[a + (a > axis)] = old.dim[a];
    split[axis] = blocks;
    split[axis + 1] = width;
    m = 0;
    perm[m++] = axis;
    for (int a = 0; a <= old.rank; a++)
        if (a != axis && a != axis + 1)
            perm[m++] = a;
    perm[m] = axis + 1;
    c->got = recipe_pad(&c->store, c->got, axis, before,
                        blocks * width - before - old.dim[axis]);
    c->got = recipe_reshape(&c->store, c->got, old.rank + 1, split);
    c->got = recipe_transpose(&c->store, c->got, perm);
    note(c, " | G axis %d width %d before %d", axis, (int)width, (int)before);
}

/* Columns [from, from + n) of [groups][columns], padded to whole blocks: [groups][blocks][width]
 * turned to [groups][width][blocks] and made flat. */
static void make_section(Case *c, int64_t from, int64_t n, int64_t width)
{
    const int64_t groups = c->want.dim[0], blocks = (n + width - 1) / width;
    slice(c, 1, from, 1, n);
    pad(c, 1, 0, blocks * width - n);
    c->want.rank = 3;
    c->want.dim[1] = blocks;
    c->want.dim[2] = width;
    c->got = recipe_reshape(&c->store, c->got, 3, c->want.dim);
    transpose(c, (const int[]){ 0, 2, 1 });
    c->want.rank = 2;
    c->want.dim[1] = blocks * width;
    c->got = recipe_reshape(&c->store, c->got, 2,
                            (const int64_t[]){ groups, blocks * width });
}

/* Widths that are no multiple of the block: sections of their own, side by side in each group. */
static void do_sections(Case *c)
{
    const int64_t count = count_of(&c->want);
    if (!count || count >= MOST)
        return;
    const int64_t groups = c->want.rank && pick(&c->random, 0, 1)
                               ? c->want.dim[0]
                               : 1,
                  columns = count / groups, width = pick(&c->random, 2, 5);
    c->want.rank = 2;
    c->want.dim[0] = groups;
    c->want.dim[1] = columns;
    c->got = recipe_reshape(&c->store, c->got, 2, c->want.dim);
    const Naive whole = c->want;
    Recipe *got = c->got, *part[2];
    Naive want[2];
    int n = 0;
    for (int64_t from = 0; from < columns; n++) {
        const int64_t k =
            n || columns <= width ? columns - from : columns / width * width;
        c->want = whole;
        c->got = got;
        make_section(c, from, k, width + n);
        want[n] = c->want;
        part[n] = c->got;
        from += k;
    }
    if (n == 1)
        return;
    const int64_t dims[2] = { groups, want[0].dim[1] + want[1].dim[1] };
    c->want = naive(c, whole.dtype, 2, dims);
    for (int64_t e = 0; e < count_of(&c->want); e++) {
        const int64_t g = e / dims[1], at = e % dims[1], first = want[0].dim[1];
        c->want.x[e] = at < first ? want[0].x[g * first + at]
                                  : want[1].x[g * want[1].dim[1] + at - first];
    }
    c->got = recipe_concat(&c->store, 2, part, 1);
    note(c, " | sections of %d", (int)width);
}

static void do_one(Case *c)
{
    switch (pick(&c->random, 0, 10)) {
    case 10:
        do_sections(c);
        break;
    case 0:
        do_transpose(c);
        break;
    case 1:
    case 2:
        do_reshape(c);
        break;
    case 3:
        do_slice(c);
        break;
    case 4:
        do_pad(c);
        break;
    case 5:
        do_concat(c);
        break;
    case 6:
        do_expand(c);
        break;
    case 7:
        do_cast(c);
        break;
    case 8:
        do_operand(c);
        break;
    default:
        do_pack(c);
        break;
    }
}

/* --- comparing --- */

static bool same_value(DType t, const uint8_t *a, const uint8_t *b, int64_t i)
{
    if (t == DT_F32) {
        float x, y;
        memcpy(&x, a + 4 * i, 4);
        memcpy(&y, b + 4 * i, 4);
        return x == y; /* -0 is 0 */
    }
    if (t == DT_F64) {
        double x, y;
        memcpy(&x, a + 8 * i, 8);
        memcpy(&y, b + 8 * i, 8);
        return x == y;
    }
    const int64_t size = dtype_bits(t) / 8;
    return dtype_bits(t) < 8 ||
           !memcmp(a + i * size, b + i * size, (size_t)size);
}

static void compare(Case *c, const uint8_t *got, const char *how)
{
    const Naive *w = &c->want;
    const uint8_t *want = encoded(c, w);
    if (dtype_bits(w->dtype) < 8 &&
        memcmp(got, want, (size_t)dtype_bytes(w->dtype, count_of(w))))
        fail_msg("%s: packed bytes differ: %s", how, c->log);
    for (int64_t i = 0; i < count_of(w); i++)
        if (!same_value(w->dtype, got, want, i))
            fail_msg("%s: element %d differs: %s", how, (int)i, c->log);
}

static void check(Case *c)
{
    const Naive *w = &c->want;
    if (recipe_rank(c->got) != w->rank || recipe_dtype(c->got) != w->dtype ||
        recipe_count(c->got) != count_of(w))
        fail_msg("facts differ: %s", c->log);
    for (int a = 0; a < w->rank; a++)
        assert_int_equal(recipe_dims(c->got)[a], w->dim[a]);
    const int64_t bytes = recipe_bytes(c->got);
    compare(c, recipe_values(&c->store, &c->arena, c->got), "values");
    File *out = c->out;
    out->size = 0;
    const uint64_t at = (uint64_t)pick(&c->random, 0, 70);
    recipe_write(&c->store, c->got, out, at);
    assert_int_equal(out->size, bytes ? at + (uint64_t)bytes : 0);
    uint8_t *back = arena_alloc(&c->arena, (size_t)bytes);
    file_read(out, bytes ? at : 0, back, (size_t)bytes);
    compare(c, back, "write");
    assert_true(recipe_same(c->got, c->got));
}

static void run_case(uint64_t seed, File *in, File *out)
{
    static const size_t windows[] = { 1,        3 * 4096, 3 * 2048,
                                      5 * 4096, 1 << 16,  1 << 20 };
    Case c = { .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
               .file = in,
               .out = out };
    for (int i = 0; i < 4; i++)
        (void)next_random(&c.random);
    c.store.arena = &c.arena;
    c.store.window = windows[pick(&c.random, 0, 5)];
    in->size = 0;
    note(&c, "seed %llu window %zu: ", (unsigned long long)seed,
         c.store.window);
    begin_chain(&c);
    const int64_t chain = pick(&c.random, 0, LONGEST_CHAIN);
    for (int64_t i = 0; i < chain && count_of(&c.want) < MOST; i++)
        do_one(&c);
    check(&c);
    file_close_all(&c.arena);
    arena_free(&c.store.scratch);
    arena_free(&c.arena);
}

static void chains_match_the_oracle(void **state)
{
    (void)state;
    const char *cases = getenv("INLAY_CASES"), *seed = getenv("INLAY_SEED");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
                   n = cases ? strtoull(cases, NULL, 10) : 6000;
    Arena arena = { 0 };
    File *in = file_temporary(&arena), *out = file_temporary(&arena);
    for (uint64_t i = 0; i < n; i++)
        run_case(first + i, in, out);
    file_close_all(&arena);
    arena_free(&arena);
}

/* --- single facts --- */

static Store store_in(Arena *a)
{
    return (Store){ .arena = a, .window = 3 * 4096 };
}

/* 0.00, 0.01 ... in [k][n], packed to [n/16][k][16]; large enough for many tiles and for the spill
 * file. */
static void packs_a_matrix(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    enum { K = 200, N = 330 };
    float *w = NEW_ARRAY(&arena, float, K *N);
    for (int i = 0; i < K * N; i++)
        w[i] = (float)i;
    Recipe *r = recipe_memory(&s, DT_F32, 2, (const int64_t[]){ K, N }, w);
    r = recipe_pad(&s, r, 1, 0, 6);
    r = recipe_reshape(&s, r, 3, (const int64_t[]){ K, 21, 16 });
    r = recipe_transpose(&s, r, (const int[]){ 1, 0, 2 });
    assert_int_equal(s.bytes_spilled, 0);
    File *f = file_temporary(&arena);
    recipe_write(&s, r, f, 0);
    float *p = NEW_ARRAY(&arena, float, 21 * K * 16);
    file_read(f, 0, p, 21 * K * 16 * sizeof *p);
    for (int b = 0; b < 21; b++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < 16; j++)
                assert_true(
                    p[(b * K + k) * 16 + j] ==
                    (b * 16 + j < N ? (float)(k * N + b * 16 + j) : 0.0f));
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

/* Side by side without the spill file, twice: joined of joined. */
static void joins_what_has_other_factors(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    enum { G = 3, A = 40, B = 50 };
    float *w = NEW_ARRAY(&arena, float, G *A *B);
    for (int i = 0; i < G * A * B; i++)
        w[i] = (float)i;
    Recipe *r = recipe_memory(
        &s, DT_F32, 3,
        (const int64_t[]) {
            G, A
            , B
        },
        w);
    r = recipe_transpose(&s, r, (const int[]){ 0, 2, 1 });
    r = recipe_reshape(
        &s, r, 2, (const int64_t[]) {
            G, A
            *B
        });
    Recipe *two = recipe_concat(&s, 2, (Recipe *[]){ r, r }, 1);
    Recipe *three = recipe_concat(&s, 2, (Recipe *[]){ two, r }, 1);
    Recipe *all = recipe_concat(&s, 2, (Recipe *[]){ three, three }, 0);
    const float *v = recipe_values(&s, &arena, all);
    for (int i = 0; i < 2 * 3 * G * A * B; i++) {
        const int g = i / (3 * A * B) % G, at = i % (A * B);
        assert_true(v[i] == (float)(g * A * B + at % A * B + at / A));
    }
    assert_int_equal(s.bytes_spilled, 0);
    assert_true(recipe_same(all, recipe_reshape(&s, all, 2, recipe_dims(all))));
    arena_free(&s.scratch);
    arena_free(&arena);
}

/* After a transposition these cuts do not nest: more than 64 KiB go through the spill file. */
static void spills_what_does_not_nest(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    enum { A = 150, B = 140 };
    int32_t *w = NEW_ARRAY(&arena, int32_t, A * B);
    for (int i = 0; i < A * B; i++)
        w[i] = i;
    Recipe *r = recipe_memory(
        &s, DT_I32, 2,
        (const int64_t[]) {
            A
            , B
        },
        w);
    r = recipe_transpose(&s, r, (const int[]){ 1, 0 });
    r = recipe_reshape(&s, r, 2, (const int64_t[]){ 100, 210 });
    assert_int_equal(s.bytes_spilled, A * B * 4);
    assert_non_null(s.spill);
    const int32_t *v = recipe_values(&s, &arena, r);
    for (int i = 0; i < A * B; i++)
        assert_int_equal(v[i], i % A * B + i / A);
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

/* A guard over two factors begins inside a run whose scale goes by the place in the block. */
static void clipped_runs_keep_their_channel(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    const float ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
                scale[] = { 2, 3, 4, 5 };
    Recipe *r = recipe_memory(&s, DT_F32, 1, (const int64_t[]){ 9 }, ones);
    r = recipe_pad(&s, r, 0, 6, 1);
    r = recipe_reshape(&s, r, 2, (const int64_t[]){ 4, 4 });
    r = recipe_mul(&s, r, recipe_along(&s, 2, 1, 4, scale));
    assert_int_equal(s.bytes_spilled, 0);
    const float *v = recipe_values(&s, &arena, r);
    for (int i = 0; i < 16; i++)
        assert_true(v[i] == (i >= 6 && i < 15 ? scale[i % 4] : 0));
    arena_free(&s.scratch);
    arena_free(&arena);
}

static void plain_constants_are_small(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    File *f = file_temporary(&arena);
    const Span span = { 0, 64 };
    const Source source = {
        .dtype = DT_F32, .count = 16, .file = f, .span = &span, .spans = 1
    };
    const int64_t dims[] = { 4, 4 };
    enum { N = 100000 };
    const uint64_t before = arena.total;
    for (int i = 0; i < N; i++)
        (void)recipe_source(&s, &source, 2, dims);
    assert_true((arena.total - before) / N <= 176);
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

static void equal_recipes_are_known(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    File *f = file_temporary(&arena);
    const Span span = { 8, 24 }, other = { 32, 24 };
    Source source = {
        .dtype = DT_F32, .count = 6, .file = f, .span = &span, .spans = 1
    };
    const int64_t dims[] = { 2, 3 };
    Recipe *a = recipe_source(&s, &source, 2, dims),
           *b = recipe_source(&s, &source, 2, dims);
    source.span = &other;
    Recipe *c = recipe_source(&s, &source, 2, dims);
    assert_true(recipe_same(a, b));
    assert_false(recipe_same(a, c));
    const int perm[] = { 1, 0 };
    assert_true(recipe_same(recipe_transpose(&s, a, perm),
                            recipe_transpose(&s, b, perm)));
    assert_false(recipe_same(recipe_transpose(&s, a, perm), a));
    assert_false(recipe_same(recipe_transpose(&s, a, perm),
                             recipe_transpose(&s, c, perm)));
    assert_false(recipe_same(recipe_slice(&s, a, 0, 0, 1, 1),
                             recipe_slice(&s, a, 0, 1, 1, 1)));
    assert_true(
        recipe_same(recipe_reshape(&s, a, 1, (const int64_t[]){ 6 }), b));
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

typedef struct Broken {
    Store *s;
    Recipe *r;
} Broken;

static void read_broken(void *context)
{
    Broken *b = context;
    (void)recipe_values(b->s, b->s->arena, b->r);
}

static Status read_bytes(Encoding e, DType t, int64_t count, const void *bytes,
                         size_t n)
{
    Arena arena = { 0 };
    Store s = store_in(&arena);
    File *f = file_temporary(&arena);
    file_write(f, 0, bytes, n);
    const Span span = { 0, n };
    const Source source = { .dtype = t,
                            .count = count,
                            .encoding = e,
                            .file = f,
                            .span = &span,
                            .spans = 1 };
    Broken b = { &s, recipe_source(&s, &source, 1, &count) };
    FILE *quiet = tmpfile();
    Diag d = { .out = quiet };
    const Status status = protect(&d, read_broken, &b);
    fclose(quiet);
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
    return status;
}

static void short_or_broken_data_is_refused(void **state)
{
    (void)state;
    const uint8_t ten[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
                            0xff, 0xff, 0xff, 0xff, 0x01 };
    const uint8_t eleven[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                               0xff, 0xff, 0xff, 0xff, 0x01 };
    const uint8_t open[] = { 1, 2, 0x80 };
    assert_int_equal(read_bytes(ENC_VARINT, DT_I64, 1, ten, sizeof ten),
                     STATUS_OK);
    assert_int_equal(read_bytes(ENC_VARINT, DT_I64, 1, eleven, sizeof eleven),
                     STATUS_MALFORMED);
    assert_int_equal(read_bytes(ENC_VARINT, DT_I64, 3, open, sizeof open),
                     STATUS_MALFORMED);
    assert_int_equal(read_bytes(ENC_VARINT, DT_I32, 2, open, sizeof open),
                     STATUS_OK);
    assert_int_equal(read_bytes(ENC_VARINT, DT_I32, 4, open, sizeof open),
                     STATUS_MALFORMED);
    assert_int_equal(read_bytes(ENC_FIXED, DT_I64, 1, ten, sizeof ten),
                     STATUS_OK);
    assert_int_equal(read_bytes(ENC_FIXED, DT_I64, 2, ten, sizeof ten),
                     STATUS_MALFORMED);
}

/* Varints of many lengths, more than the table has marks for, read from places all over. */
static void varints_are_addressable(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = store_in(&arena);
    File *f = file_temporary(&arena);
    enum { ROWS = 1200, COLUMNS = 1000 };
    const int64_t n = (int64_t)ROWS * COLUMNS;
    uint8_t *bytes = arena_alloc(&arena, (size_t)n * 10);
    uint64_t at = 0;
    for (int64_t i = 0; i < n; i++)
        for (uint64_t v = (uint64_t)(i % 7 ? i * i : -i), more = 1; more;
             v >>= 7) {
            more = v > 127;
            bytes[at++] = (uint8_t)((v & 127) | (more ? 128 : 0));
        }
    file_write(f, 0, bytes, at);
    const Span span = { 0, at };
    const Source source = { .dtype = DT_I64,
                            .count = n,
                            .encoding = ENC_VARINT,
                            .file = f,
                            .span = &span,
                            .spans = 1 };
    Recipe *r =
        recipe_source(&s, &source, 2, (const int64_t[]){ ROWS, COLUMNS });
    r = recipe_slice(&s, r, 0, ROWS - 1, -1, ROWS);
    r = recipe_slice(&s, r, 1, 3, 250, 4);
    const int64_t *v = recipe_values(&s, &arena, r);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < 4; j++) {
            const int64_t e = (ROWS - 1 - i) * COLUMNS + 3 + 250 * j;
            assert_int_equal(v[i * 4 + j], e % 7 ? e * e : -e);
        }
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_constants_are_small),
        cmocka_unit_test(equal_recipes_are_known),
        cmocka_unit_test(packs_a_matrix),
        cmocka_unit_test(joins_what_has_other_factors),
        cmocka_unit_test(spills_what_does_not_nest),
        cmocka_unit_test(clipped_runs_keep_their_channel),
        cmocka_unit_test(short_or_broken_data_is_refused),
        cmocka_unit_test(varints_are_addressable),
        cmocka_unit_test(chains_match_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
