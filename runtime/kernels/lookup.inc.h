/* SPDX-License-Identifier: 0BSD
 * LabelEncoder for keys of one type. Included by lookup.h. */

/* The place of x among the keys, `keys`: it is none of them. */
static inline int32_t inlay_typed(find_key)(const INLAY_T *key, int32_t keys,
                                            INLAY_T x)
{
    int32_t low = 0;
    int32_t high = keys;
#ifndef INLAY_BITS
    if (x != x && keys) { /* NaN: the last, if at all */
        const INLAY_T last = key[keys - 1];
        return last != last ? keys - 1 : keys;
    }
#endif
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (key[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low < keys && key[low] <= x && key[low] >= x ? low : keys;
}

static inline int inlay_typed(lookup)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_lookup_params *p = (const inlay_lookup_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *key = (const INLAY_T *)inlay_at(base, s, 2);
    const unsigned char *value = (const unsigned char *)inlay_at(base, s, 3);
    const size_t size = (size_t)p->size;
    int32_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        const int32_t k = inlay_typed(find_key)(key, p->keys, x[i]);
        memcpy(y, value + (size_t)k * size, size);
        y += size;
    }
    return 0;
}
