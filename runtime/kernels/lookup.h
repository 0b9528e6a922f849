/* SPDX-License-Identifier: 0BSD
 * LabelEncoder: y = values[the place of x among the keys], values[keys] where it is none of them.
 * Keys are sorted; NaN, if it is a key, is the last. Operands: y, x, keys, values [keys + 1]. */
#ifndef INLAY_LOOKUP_H
#define INLAY_LOOKUP_H

#include <string.h>

#include "inlay.h"

#define INLAY_lookup_FIELDS(F, N) \
    F(int32_t, n) /* elements of x */ \
    F(int32_t, keys) \
    F(int32_t, size) /* bytes of a value */
INLAY_PARAMS(lookup);

#define INLAY_LOOKUP(name, T) \
    static inline int32_t inlay_find_##name(const T *key, int32_t keys, T x) \
    { \
        int32_t low = 0, high = keys; \
        if (x != x) \
            return keys && key[keys - 1] != key[keys - 1] ? keys - 1 : keys; \
        while (low < high) { \
            const int32_t mid = low + (high - low) / 2; \
            if (key[mid] < x) \
                low = mid + 1; \
            else \
                high = mid; \
        } \
        return low < keys && key[low] <= x && key[low] >= x ? low : keys; \
    } \
    static inline int inlay_lookup_##name(void *const *base, const inlay_step *s, int32_t r0, \
                                          int32_t r1) \
    { \
        const inlay_lookup_params *p = (const inlay_lookup_params *)s->params; \
        unsigned char *y = (unsigned char *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 1), *key = (const T *)inlay_at(base, s, 2); \
        const unsigned char *value = (const unsigned char *)inlay_at(base, s, 3); \
        int32_t i; \
        (void)r0, (void)r1; \
        for (i = 0; i < p->n; i++, y += p->size) \
            memcpy(y, value + (size_t)inlay_find_##name(key, p->keys, x[i]) * (size_t)p->size, \
                   (size_t)p->size); \
        return 0; \
    }
INLAY_LOOKUP(i64, int64_t)
INLAY_LOOKUP(f64, double)

#endif
