/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: a number of 32 bits for what each step of a run writes, for self-tests.
 *
 * A summed step is a step whose kernel calls that of another one and then adds up what it wrote.
 * Rows may come in any order and any number at a time. What is computed from whole numbers alone
 * is the same on every machine: the word of its step is a hash of its bytes. What floating-point
 * arithmetic had a part in may differ by its last bits: there the word is a float, the sum of all
 * elements times made-up factors from -1 to 1, and near what another machine gives. */
#ifndef INLAY_SUMS_H
#define INLAY_SUMS_H

#include "inlay.h"
#include "inlay_memory.h"
#include "kernels/half.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the elements are read: as bytes for the hash, or as numbers of these types. */
enum {
    INLAY_SUM_BYTES,
    INLAY_SUM_I8,
    INLAY_SUM_U8,
    INLAY_SUM_I16,
    INLAY_SUM_U16,
    INLAY_SUM_I32,
    INLAY_SUM_U32,
    INLAY_SUM_I64,
    INLAY_SUM_U64,
    INLAY_SUM_F16,
    INLAY_SUM_BF16,
    INLAY_SUM_F32,
    INLAY_SUM_F64
};

/* A result of a step. */
typedef struct inlay_sum {
    int32_t operand;
    int32_t kind; /* INLAY_SUM_... */
    int32_t size; /* bytes of an element */
    int32_t rows;
    /* unit u writes row u; 0: all rows are there after the last unit */
    int32_t by_row;
    size_t row; /* bytes of a row */
    size_t pitch,
        part; /* `part` bytes of every `pitch` are its own; part 0: the row */
} inlay_sum;

/* The parameters of a summed step. */
typedef struct inlay_summed {
    const inlay_step *step;
    const inlay_sum *sum;
    int32_t sums; /* 0: what the step writes is not the same in every run */
    int32_t base; /* index of the base pointer to the words, uint32_t each */
    int32_t word;
} inlay_summed;

/* Byte i of the elements as a little-endian machine has them. */
static inline size_t inlay_sum_place(size_t i, int32_t size)
{
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    return i ^ (size_t)(size - 1);
#else
    (void)size;
    return i;
#endif
}

/* FNV-1a. */
static inline uint32_t inlay_sum_hash(const inlay_sum *q, uint32_t hash,
                                      const unsigned char *from, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        hash = (hash ^ from[inlay_sum_place(i, q->size)]) * 16777619u;
    return hash;
}

static inline float inlay_sum_integer(int32_t kind, const unsigned char *from)
{
    int8_t i8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    switch (kind) {
    case INLAY_SUM_I8:
        memcpy(&i8, from, sizeof i8);
        return (float)i8;
    case INLAY_SUM_I16:
        memcpy(&i16, from, sizeof i16);
        return (float)i16;
    case INLAY_SUM_U16:
        memcpy(&u16, from, sizeof u16);
        return (float)u16;
    case INLAY_SUM_I32:
        memcpy(&i32, from, sizeof i32);
        return (float)i32;
    case INLAY_SUM_U32:
        memcpy(&u32, from, sizeof u32);
        return (float)u32;
    case INLAY_SUM_I64:
        memcpy(&i64, from, sizeof i64);
        return (float)i64;
    case INLAY_SUM_U64:
        memcpy(&u64, from, sizeof u64);
        return (float)u64;
    default:
        return (float)*from;
    }
}

/* An element as a number. */
static inline float inlay_sum_number(int32_t kind, const unsigned char *from)
{
    float f32;
    double f64;
    uint16_t u16;
    switch (kind) {
    case INLAY_SUM_F16:
        memcpy(&u16, from, sizeof u16);
        return inlay_from_f16(u16);
    case INLAY_SUM_BF16:
        memcpy(&u16, from, sizeof u16);
        return inlay_from_bf16(u16);
    case INLAY_SUM_F32:
        memcpy(&f32, from, sizeof f32);
        return f32;
    case INLAY_SUM_F64:
        memcpy(&f64, from, sizeof f64);
        return (float)f64;
    default:
        return inlay_sum_integer(kind, from);
    }
}

/* The elements times factors that follow from `random`, which goes on. */
static inline float inlay_sum_products(const inlay_sum *q, uint32_t *random,
                                       const unsigned char *from, size_t n)
{
    float sum = 0.0f;
    size_t i;
    for (i = 0; i < n; i += (size_t)q->size) {
        float factor;
        *random = *random * 1664525u + 1013904223u;
        factor = (float)((int32_t)(*random >> 8) - 8388608) / 8388608.0f;
        sum += factor * inlay_sum_number(q->kind, from + i);
    }
    return sum;
}

/* How many bytes lie together, and after how many the next ones come. */
static inline size_t inlay_sum_together(const inlay_sum *q)
{
    return q->part ? q->part : q->row;
}
static inline size_t inlay_sum_apart(const inlay_sum *q)
{
    return q->part ? q->pitch : q->row;
}

/* Adds row r of a result to the word. */
static inline void inlay_sum_row(const inlay_sum *q, int32_t r,
                                 const unsigned char *row, uint32_t *word)
{
    const size_t n = inlay_sum_together(q);
    const uint32_t seed =
        ((uint32_t)r * 16u + (uint32_t)q->operand) * 2654435761u;
    uint32_t hash = 2166136261u ^ seed;
    uint32_t random = seed;
    float sum = 0.0f;
    float old;
    size_t k;
    for (k = 0; n && k + n <= q->row; k += inlay_sum_apart(q))
        if (q->kind == INLAY_SUM_BYTES)
            hash = inlay_sum_hash(q, hash, row + k, n);
        else
            sum += inlay_sum_products(q, &random, row + k, n);
    if (q->kind == INLAY_SUM_BYTES) {
        *word += hash;
        return;
    }
    memcpy(&old, word, sizeof old);
    old += sum;
    memcpy(word, &old, sizeof old);
}

/* Rows [*lo, *hi) of a result are complete when units [r0, r1) of the step have been made. */
static inline void inlay_sum_rows(const inlay_sum *q, const inlay_step *s,
                                  int32_t r0, int32_t r1, int32_t *lo,
                                  int32_t *hi)
{
    const int done = s->backward ? !r0 : r1 == s->units;
    *lo = 0;
    *hi = done ? q->rows : 0;
    if (q->by_row) {
        *lo = r0;
        *hi = r1;
    }
}

/* The kernel of a summed step. */
static inline int inlay_summed_run(void *const *base, const inlay_step *step,
                                   int32_t r0, int32_t r1)
{
    const inlay_summed *p = (const inlay_summed *)step->params;
    const inlay_step *s = p->step;
    uint32_t *word = (uint32_t *)base[p->base] + p->word;
    const int result = s->run(base, s, r0, r1);
    int32_t i, r, lo, hi;
    for (i = 0; i < p->sums && result >= 0; i++) {
        const inlay_sum *q = p->sum + i;
        inlay_sum_rows(q, s, r0, r1, &lo, &hi);
        for (r = lo; r < hi; r++)
            inlay_sum_row(
                q, r, (const unsigned char *)inlay_row(base, s, q->operand, r),
                word);
    }
    return result;
}

#ifdef __cplusplus
}
#endif
#endif
