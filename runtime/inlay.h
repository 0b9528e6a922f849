/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: executes a table of steps. No heap, no stdio, no mutable data.
 *
 * A generated model is a constant table of steps; each step is one kernel, its
 * parameters and its operands. All memory is reached through a short array of
 * base pointers (weights, arena, the caller's inputs and outputs), so the same
 * code runs in any number of arenas at once.
 *
 * Runtime and kernels are headers of `static inline` functions, included by the
 * generated source: only what a model uses is compiled, two models in one program
 * never collide, and a call with literal parameters is specialised by the C compiler. */
#ifndef INLAY_H
#define INLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run returns. Numbers never change their meaning. */
enum {
    INLAY_OK = 0,
    INLAY_E_ARG = 1,   /* a NULL arena, input or output */
    INLAY_E_ALIGN = 2, /* the arena is not aligned as the header says */
    INLAY_E_SHAPE =
        3, /* a value read at run time asks for another shape than was compiled */
    INLAY_E_INDEX = 4, /* an index read at run time lies outside its tensor */
    INLAY_MORE = 5,    /* no error: the next row of input is awaited */
    INLAY_E_CHECK =
        6, /* -DINLAY_CHECK: a row that a step needs is not in the arena, or no more */
    INLAY_E_WEIGHTS =
        7,           /* the weights are not those that the code was made for */
    INLAY_E_SIZE = 8 /* an arena is smaller than the header says */
};

/* Where a tensor lies: rows in a ring. A whole tensor is a ring with cap == its rows.
 * Row r begins `off + (r % cap) * row` bytes into base. With INLAY_ROW_SLOTS, which the source of a
 * model that needs it defines, rows may also have been dealt slots of a pool that the rings of a
 * stream share: row r then begins `off + slot[r] * unit` bytes into base, and cap is all rows. */
typedef struct inlay_ref {
    size_t off; /* bytes from the base to row 0 */
    /* bytes from one row to the next; unused where the tensor is one unit */
    size_t row;
    int32_t cap; /* rows that exist at a time, >= 1 */
    /* elements from one pixel to the next (>= channels: part of a concat) */
    int32_t pix;
    /* index of the base pointer; INLAY_NONE: the operand is left out */
    int32_t base;
#ifdef INLAY_ROW_SLOTS
    uint32_t unit;        /* bytes, a multiple of 4 */
    const uint16_t *slot; /* of each row; NULL: a ring */
#endif
} inlay_ref;

#define INLAY_NONE (-1)
#define INLAY_WEIGHTS 0 /* base 0: the constant weights */
#define INLAY_ARENA \
    1 /* base 1: the arena; then further regions, inputs and outputs */

/* Ends the compilation where `what`, a constant, does not hold. */
#if defined __cplusplus
#define INLAY_ASSERT(name, what) static_assert(what, #name)
#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L
#define INLAY_ASSERT(name, what) _Static_assert(what, #name)
#else
#define INLAY_ASSERT(name, what) typedef char name[(what) ? 1 : -1]
#endif

typedef struct inlay_step inlay_step;

/* Makes units [r0, r1) of a step. A unit is a row of the output (of the input
 * for a global reduction), or the whole operator where it has no rows.
 * Returns 0; a positive number: go on with step number - 1 (branches and loops
 * are steps like any other); or -INLAY_E_... */
typedef int inlay_kernel(void *const *base, const inlay_step *s, int32_t r0,
                         int32_t r1);

struct inlay_step {
    inlay_kernel *run;
    const void *params; /* the kernel's own constant structure */
    /* operands: outputs first, then inputs, then scratch */
    const inlay_ref *ref;
    int32_t units;
    /* INLAY_BACKWARD: rows, tiles and pixels from last to first */
    int32_t backward;
};

enum {
    INLAY_BACKWARD = 1,
    INLAY_UNIT_BY_UNIT =
        2 /* a unit for a call, from the last to the first: the kernel itself knows
                              no other way than forward */
};

/* Steps that run together. Layer by layer: one step, its units at once (n_list == 0).
 * Streamed: `list` names steps (relative to first), one unit each: a prologue,
 * `repeats` periods, an epilogue. Units of a step that follow one another are one call. */
typedef struct inlay_segment {
    int32_t first, count;                        /* steps */
    int32_t prologue, period, repeats, epilogue; /* entries */
    const uint8_t *list;
} inlay_segment;

typedef struct inlay_model {
    const inlay_step *step;
    int32_t steps;
    const inlay_segment *segment; /* NULL: all steps layer by layer */
    int32_t segments;
    /* arena offset of the row counters of a streamed segment, uint16_t each */
    size_t state;
#ifdef INLAY_CHECK
    /* of a step's operands: inlay_check.h */
    const struct inlay_rule *const *rule;
    const int32_t *rules; /* how many */
    const struct inlay_life *life;
    int32_t lives;
    int32_t areas; /* memories: the arena, or its regions */
    /* where the bytes of each begin in the tags, and their end */
    const size_t *area;
    uint32_t *tags; /* one for each byte */
#endif
} inlay_model;

/* Operand i of a step: its first byte, or NULL where it is left out. */
static inline void *inlay_at(void *const *base, const inlay_step *s, int i)
{
    const inlay_ref *r = s->ref + i;
    return r->base < 0 ? NULL
                       : (void *)((unsigned char *)base[r->base] + r->off);
}

/* Do the rows lie in slots? A kernel that makes several rows in a call may go through them in any
 * order: no row that it writes lies over one that it reads. */
static inline int inlay_is_dealt(const inlay_ref *f)
{
#ifdef INLAY_ROW_SLOTS
    return f->slot != NULL;
#else
    (void)f;
    return 0;
#endif
}

/* Bytes from `off` to row r. */
static inline size_t inlay_row_at(const inlay_ref *f, int32_t r)
{
#ifdef INLAY_ROW_SLOTS
    if (f->slot)
        return (size_t)f->slot[r] * f->unit;
#endif
    return (size_t)(r % f->cap) * f->row;
}

/* Row r of operand i. */
static inline void *inlay_row(void *const *base, const inlay_step *s, int i,
                              int32_t r)
{
    const inlay_ref *f = s->ref + i;
    return (void *)((unsigned char *)base[f->base] + f->off +
                    inlay_row_at(f, r));
}

#if defined __GNUC__
/* The C compiler copies such a function into each caller, where its arguments are constants. */
#define INLAY_INLINE static inline __attribute__((always_inline))
/* Such a function stays one: its code stands once, however many callers it has. */
#define INLAY_APART static __attribute__((noinline, unused))
/* A type that may lie over objects of other types, as bytes may. */
#define INLAY_ALIAS __attribute__((may_alias))
#else
#define INLAY_INLINE static inline
#define INLAY_APART static inline
#define INLAY_ALIAS
#endif
/* In front of a loop with few and constant rounds: they are written out, so that an array that it
 * walks becomes registers, at -Os as well. */
#if defined __clang__
#define INLAY_UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__ && __GNUC__ >= 8
#define INLAY_UNROLL _Pragma("GCC unroll 20")
#else
#define INLAY_UNROLL
#endif
/* In front of a loop with few and constant rounds that compilers make vectors of: written out
 * first, it would become many scalar operations. */
#if defined __clang__
#define INLAY_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined __GNUC__ && __GNUC__ >= 8
#define INLAY_ROLLED _Pragma("GCC unroll 1")
#else
#define INLAY_ROLLED
#endif

#ifdef INLAY_CHECK
#include "inlay_check.h"
#endif

/* Comes after each call of a kernel, with its step's number; the generated source may have it. */
#ifndef INLAY_ON_STEP
#define INLAY_ON_STEP(step) ((void)0)
#endif

static inline int inlay_run_layers(const inlay_model *m, void *const *base,
                                   int32_t first, int32_t end)
{
    int32_t i = first;
    while (i < end) {
        const inlay_step *s = m->step + i;
#ifdef INLAY_CHECK
        const int r = inlay_check_step(m, base, (int32_t)(s - m->step));
#else
        const int r = s->run(base, s, 0, s->units);
#endif
        INLAY_ON_STEP(i);
        if (r < 0)
            return -r;
        i = r ? r - 1 : i + 1;
    }
    return INLAY_OK;
}

/* The next n units of a step of which `made` are made. */
static inline int inlay_run_units(void *const *base, const inlay_step *s,
                                  int32_t made, int32_t n)
{
    return s->backward ? s->run(base, s, s->units - made - n, s->units - made)
                       : s->run(base, s, made, made + n);
}

/* Of `entries` entries of a list, how many at its head name the same step s, where its kernel may
 * make them in one call. */
static inline int32_t inlay_burst(const uint8_t *list, int32_t entries,
                                  const inlay_step *s)
{
    int32_t n = 1;
    while (s->backward != INLAY_UNIT_BY_UNIT && n < entries &&
           list[n] == list[0])
        n++;
    return n;
}

/* `entries` entries of the list. */
static inline int inlay_run_entries(const inlay_model *m,
                                    const inlay_segment *g, void *const *base,
                                    const uint8_t *list, int32_t entries)
{
    uint16_t *made =
        (uint16_t *)(void *)((unsigned char *)base[INLAY_ARENA] + m->state);
    int32_t i, n;
    for (i = 0; i < entries; i += n) {
        const uint8_t k = list[i];
        int r;
        n = inlay_burst(list + i, entries - i, m->step + g->first + k);
#ifdef INLAY_CHECK
        r = inlay_check_units(m, base, g->first + k, made[k], made[k] + n);
#else
        r = inlay_run_units(base, m->step + g->first + k, made[k], n);
#endif
        INLAY_ON_STEP(g->first + k);
        if (r < 0)
            return -r;
        made[k] = (uint16_t)(made[k] + n);
    }
    return INLAY_OK;
}

static inline int inlay_run_stream(const inlay_model *m, const inlay_segment *g,
                                   void *const *base)
{
    uint16_t *made =
        (uint16_t *)(void *)((unsigned char *)base[INLAY_ARENA] + m->state);
    int32_t i;
    int r;
    for (i = 0; i < g->count; i++)
        made[i] = 0;
    r = inlay_run_entries(m, g, base, g->list, g->prologue);
    for (i = 0; !r && i < g->repeats; i++)
        r = inlay_run_entries(m, g, base, g->list + g->prologue, g->period);
    if (!r)
        r = inlay_run_entries(m, g, base, g->list + g->prologue + g->period,
                              g->epilogue);
#ifdef INLAY_CHECK
    for (i = 0; !r && i < g->count; i++)
        inlay_check_after(m, base, g->first + i);
#endif
    return r;
}

/* Runs all steps of a model without segments. 0 or INLAY_E_... */
static inline int inlay_run_steps(const inlay_model *m, void *const *base)
{
    int r;
#ifdef INLAY_CHECK
    inlay_check_begin(m, base);
#endif
    r = inlay_run_layers(m, base, 0, m->steps);
#ifdef INLAY_CHECK
    if (!r)
        r = inlay_check_end(m);
#endif
    return r;
}

/* Runs all steps. 0 or INLAY_E_... */
static inline int inlay_run(const inlay_model *m, void *const *base)
{
    int32_t i;
    if (!m->segment)
        return inlay_run_steps(m, base);
#ifdef INLAY_CHECK
    inlay_check_begin(m, base);
#endif
    for (i = 0; i < m->segments; i++) {
        const inlay_segment *g = m->segment + i;
        const int r =
            g->list ? inlay_run_stream(m, g, base)
                    : inlay_run_layers(m, base, g->first, g->first + g->count);
        if (r)
            return r;
    }
#ifdef INLAY_CHECK
    return inlay_check_end(m);
#else
    return INLAY_OK;
#endif
}

#ifdef __cplusplus
}
#endif
#endif
