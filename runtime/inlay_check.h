/* SPDX-License-Identifier: 0BSD
 * The plan watched while it runs: part of the program only with -DINLAY_CHECK, for tests on a host.
 *
 * Every byte of the arena has a tag that says of which tensor it is which byte. A unit's rows are
 * looked up before it runs, what it makes is tagged afterwards; what is not needed any more is
 * filled with rubbish. Under AddressSanitizer a unit may moreover touch nothing but its own rows. A
 * run that finds another tag ends with INLAY_E_CHECK. The tags are static: one run at a time. */
#ifndef INLAY_CHECK_H
#define INLAY_CHECK_H

#if defined __SANITIZE_ADDRESS__
#define INLAY_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define INLAY_ASAN 1
#endif
#endif
#ifdef INLAY_ASAN
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#endif

enum {
    INLAY_READ = 1,
    INLAY_WRITE = 2,
    INLAY_SCRATCH = 4,
    INLAY_SUM = 8,
    INLAY_BY_ROW = 16
};
enum { INLAY_RUBBISH = 0xA5 };

/* What a step does with an operand; tensor 0: the operand is not in the arena. */
struct inlay_rule {
    uint32_t tensor;
    int32_t does; /* INLAY_READ ... */
    int32_t rows;
    int32_t kind; /* of reading: 0 all rows, 1 row u, 2 a window, 3 by table */
    int32_t stride, pad, extent;
    const int32_t *table; /* first and end row of each unit */
    uint32_t at, row;     /* bytes of the tensor: row 0, and from row to row */
    uint32_t pitch,
        part; /* bytes: `part` of them of every `pitch`; part 0: all of the row */
};

/* A tensor that is there from the beginning (step -1), not needed after a step, or the caller's
 * when all are done (step: their number): where it lies, the bytes that takes (a ring has fewer
 * than the tensor), and its own. */
struct inlay_life {
    int32_t step, base;
    uint32_t tensor, off, extent, bytes;
};

/* Bytes of the memory that a base pointer stands for, and their tags. */
static inline size_t inlay_check_size(const inlay_model *m, int32_t base)
{
    return m->area[base - INLAY_ARENA + 1] - m->area[base - INLAY_ARENA];
}
static inline uint32_t *inlay_check_tags(const inlay_model *m, int32_t base)
{
    return m->tags + m->area[base - INLAY_ARENA];
}

static inline uint32_t inlay_tag(uint32_t tensor, uint32_t byte)
{
    return tensor * 2654435761u + byte + 1u;
}

/* Rows of an operand that unit u reads or writes. */
static inline void inlay_rule_rows(const struct inlay_rule *r, int32_t u,
                                   int32_t *lo, int32_t *hi)
{
    *lo = 0, *hi = r->rows;
    if (r->does & INLAY_BY_ROW)
        *lo = u, *hi = u + 1;
    if (r->does & (INLAY_WRITE | INLAY_SCRATCH))
        return;
    if (r->kind == 2)
        *lo = u * r->stride - r->pad, *hi = *lo + r->extent;
    if (r->kind == 3)
        *lo = r->table[2 * u], *hi = r->table[2 * u + 1];
    if (*lo < 0)
        *lo = 0;
    if (*hi > r->rows)
        *hi = r->rows;
}

enum { INLAY_FIND, INLAY_SET, INLAY_CLAIM, INLAY_HELD, INLAY_OPEN };

/* Looks up or sets the tag of one byte, `full` or its complement; 0: it is another one. */
static inline int inlay_check_byte(uint32_t *tag, uint32_t full, int how)
{
    const uint32_t half = ~full;
    if (how == INLAY_FIND)
        return *tag == full;
    if (how == INLAY_HELD)
        return *tag == half;
    if (how == INLAY_SET)
        *tag = full;
    if (how == INLAY_CLAIM)
        *tag = half;
    return 1;
}

/* n adjacent bytes of a tensor, from byte `at` of it on. */
static inline int inlay_check_bytes(uint32_t *tag, uint32_t tensor, uint32_t at,
                                    uint32_t n, int how)
{
    uint32_t b;
    for (b = 0; b < n; b++)
        if (!inlay_check_byte(tag + b, inlay_tag(tensor, at + b), how))
            return 0;
    return 1;
}

/* Goes through the bytes of row i; 0: a byte has another tag than was looked for. */
static inline int inlay_check_row(const inlay_model *m, void *const *base,
                                  const inlay_ref *f,
                                  const struct inlay_rule *r, int32_t i,
                                  int how)
{
    const uint32_t n = r->part ? r->part : r->row;
    const uint32_t step = r->part ? r->pitch : r->row;
    const size_t begin = f->off + inlay_row_at(f, i);
    uint32_t *tags = inlay_check_tags(m, f->base) + begin;
    const uint32_t at = r->at + (uint32_t)i * r->row;
    uint32_t k;
    for (k = 0; k + n <= r->row && n; k += step) {
        if (begin + k + n > inlay_check_size(m, f->base))
            return 0;
#ifdef INLAY_ASAN
        if (how == INLAY_OPEN)
            __asan_unpoison_memory_region(
                (unsigned char *)base[f->base] + begin + k, n);
#endif
        if (how == INLAY_OPEN)
            continue;
        if (!inlay_check_bytes(tags + k, r->tensor, at + k, n, how))
            return 0;
    }
    (void)base;
    return 1;
}

static inline int inlay_check_rows(const inlay_model *m, void *const *base,
                                   const inlay_ref *f,
                                   const struct inlay_rule *r, int32_t u,
                                   int how)
{
    int32_t lo, hi;
    inlay_rule_rows(r, u, &lo, &hi);
    for (; lo < hi; lo++)
        if (!inlay_check_row(m, base, f, r, lo, how))
            return 0;
    return 1;
}

/* Nobody may touch the arena, or its regions ... */
static inline void inlay_check_close(const inlay_model *m, void *const *base)
{
#ifdef INLAY_ASAN
    int i;
    for (i = INLAY_ARENA; i < INLAY_ARENA + m->areas; i++)
        __asan_poison_memory_region(base[i], inlay_check_size(m, i));
#else
    (void)m, (void)base;
#endif
}

/* ... but through the rows of unit u. 0: one of them lies beyond the arena. */
static inline int inlay_check_admit(const inlay_model *m, void *const *base,
                                    const inlay_step *s,
                                    const struct inlay_rule *rule, int n,
                                    int32_t u)
{
    int i;
    for (i = 0; i < n; i++)
        if (rule[i].tensor &&
            !inlay_check_rows(m, base, s->ref + i, rule + i, u, INLAY_OPEN))
            return 0;
    return 1;
}

static inline void inlay_check_open(const inlay_model *m, void *const *base)
{
#ifdef INLAY_ASAN
    int i;
    for (i = INLAY_ARENA; i < INLAY_ARENA + m->areas; i++)
        __asan_unpoison_memory_region(base[i], inlay_check_size(m, i));
#else
    (void)m, (void)base;
#endif
}

/* Rubbish over the bytes from off on that are still the tensor's (0: anybody's). */
static inline void inlay_check_drop(const inlay_model *m, void *const *base,
                                    int32_t area, uint32_t tensor, size_t off,
                                    size_t bytes, uint32_t most)
{
    uint32_t *tags = inlay_check_tags(m, area);
    size_t i;
    for (i = off; i < off + bytes && i < inlay_check_size(m, area); i++) {
        if (tensor && (uint32_t)(tags[i] - inlay_tag(tensor, 0)) >= most)
            continue;
        tags[i] = 0;
        ((unsigned char *)base[area])[i] = INLAY_RUBBISH;
    }
}

/* What is not needed after step k. */
static inline void inlay_check_after(const inlay_model *m, void *const *base,
                                     int32_t k)
{
    int32_t i;
    for (i = 0; i < m->lives; i++) {
        const struct inlay_life *l = m->life + i;
        if (l->step == k)
            inlay_check_drop(m, base, l->base, l->tensor, l->off, l->extent,
                             l->bytes);
    }
}

static inline void inlay_check_begin(const inlay_model *m, void *const *base)
{
    int32_t i;
    size_t b;
    for (b = 0; b < m->area[m->areas]; b++)
        m->tags[b] = 0;
    for (i = 0; i < m->lives; i++)
        for (b = 0; m->life[i].step == -1 && b < m->life[i].bytes; b++)
            inlay_check_tags(m, m->life[i].base)[m->life[i].off + b] =
                inlay_tag(m->life[i].tensor, (uint32_t)b);
    for (i = INLAY_ARENA; i < INLAY_ARENA + m->areas; i++)
        for (b = 0; b < inlay_check_size(m, i); b++)
            if (!inlay_check_tags(m, i)[b])
                ((unsigned char *)base[i])[b] = INLAY_RUBBISH;
}

/* Are the results there when all steps are done? INLAY_OK or INLAY_E_CHECK. */
static inline int inlay_check_end(const inlay_model *m)
{
    int32_t i;
    for (i = 0; i < m->lives; i++) {
        const struct inlay_life *l = m->life + i;
        if (l->step == m->steps &&
            !inlay_check_bytes(inlay_check_tags(m, l->base) + l->off, l->tensor,
                               0, l->bytes, INLAY_FIND))
            return INLAY_E_CHECK;
    }
    return INLAY_OK;
}

/* Is the operand a tensor in the arena that the step writes? */
static inline int inlay_rule_writes(const struct inlay_rule *r)
{
    return r->tensor && r->does & INLAY_WRITE;
}

/* Is it written little by little, a unit at a time, but not by rows? */
static inline int inlay_rule_gradual(const inlay_step *s,
                                     const struct inlay_rule *r)
{
    return !(r->does & INLAY_BY_ROW) && s->units > 1;
}

/* What unit u wrote of operand i; `first` and `last` of the step's. 0: it did not hold. */
static inline int inlay_check_result(const inlay_model *m, void *const *base,
                                     int32_t k, int i, int32_t u, int first,
                                     int last)
{
    const inlay_step *s = m->step + k;
    const inlay_ref *f = s->ref + i;
    const struct inlay_rule *rule = m->rule[k] + i;
    const int gradual = inlay_rule_gradual(s, rule);
    const int how = gradual && !last ? INLAY_CLAIM : INLAY_SET;
    if (rule->does & INLAY_SCRATCH) {
        inlay_check_drop(m, base, f->base, 0, f->off, rule->row, 0);
        return 1;
    }
    if (gradual && rule->part)
        return 1; /* parts of a row that others make meanwhile: tagged with the last unit */
    if (gradual && !first && !inlay_check_rows(m, base, f, rule, u, INLAY_HELD))
        return 0;
    return inlay_check_rows(m, base, f, rule, u, how);
}

/* What unit u wrote; `first` and `last` of the step's. 0: it did not hold. */
static inline int inlay_check_wrote(const inlay_model *m, void *const *base,
                                    int32_t k, int32_t u, int first, int last)
{
    const inlay_step *s = m->step + k;
    const struct inlay_rule *rule = m->rule[k];
    const int n = m->rules[k];
    int i;
    for (i = 0; i < n; i++)
        if (inlay_rule_writes(rule + i) &&
            !inlay_check_result(m, base, k, i, u, first, last))
            return 0;
    for (i = 0; i < n && last; i++)
        if (rule[i].part && inlay_rule_gradual(s, rule + i) &&
            rule[i].does & INLAY_WRITE)
            inlay_check_rows(m, base, s->ref + i, rule + i, u, INLAY_SET);
    return 1;
}

/* Of the step's units the one that is made after `done` others. */
static inline int32_t inlay_check_unit(const inlay_step *s, int32_t done)
{
    return s->backward ? s->units - 1 - done : done;
}

/* Is there what unit u reads? */
static inline int inlay_check_reads(const inlay_model *m, void *const *base,
                                    int32_t k, int32_t u)
{
    const inlay_step *s = m->step + k;
    const struct inlay_rule *rule = m->rule[k];
    const int n = m->rules[k];
    int i;
    for (i = 0; i < n; i++) {
        const int32_t does = rule[i].does;
        if (!rule[i].tensor || !(does & INLAY_READ))
            continue;
        if (does & (INLAY_SCRATCH | INLAY_SUM))
            continue;
        if (!inlay_check_rows(m, base, s->ref + i, rule + i, u, INLAY_FIND))
            return 0;
    }
    return 1;
}

/* Units `made` to `end` of a step: is there what they read, and room for what they write? Nothing
 * else is open to the step then. */
static inline int inlay_check_may_run(const inlay_model *m, void *const *base,
                                      int32_t k, int32_t made, int32_t end)
{
    const inlay_step *s = m->step + k;
    int32_t i;
    for (i = made; i < end; i++)
        if (!inlay_check_reads(m, base, k, inlay_check_unit(s, i)))
            return 0;
    inlay_check_close(m, base);
    for (i = made; i < end; i++)
        if (!inlay_check_admit(m, base, s, m->rule[k], m->rules[k],
                               inlay_check_unit(s, i)))
            return 0;
    return 1;
}

/* The units that are made after `made` of a step, up to `end` in all, in one call. What kernels
 * return, or -INLAY_E_CHECK. */
static inline int inlay_check_units(const inlay_model *m, void *const *base,
                                    int32_t k, int32_t made, int32_t end)
{
    const inlay_step *s = m->step + k;
    int32_t i;
    int r = -INLAY_E_CHECK;
    if (inlay_check_may_run(m, base, k, made, end))
        r = s->backward ? s->run(base, s, s->units - end, s->units - made)
                        : s->run(base, s, made, end);
    inlay_check_open(m, base);
    if (r < 0)
        return r;
    for (i = made; i < end; i++)
        if (!inlay_check_wrote(m, base, k, inlay_check_unit(s, i), i == 0,
                               i == s->units - 1))
            return -INLAY_E_CHECK;
    return r;
}

/* All units of a step. */
static inline int inlay_check_step(const inlay_model *m, void *const *base,
                                   int32_t k)
{
    const inlay_step *s = m->step + k;
    int32_t i;
    int r = 0;
    for (i = 0; i < s->units; i++) {
        r = inlay_check_units(m, base, k, i, i + 1);
        if (r < 0)
            return r;
    }
    if (!r)
        inlay_check_after(m, base, k);
    return r;
}

#endif
