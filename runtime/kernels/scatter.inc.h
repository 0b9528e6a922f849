/* SPDX-License-Identifier: 0BSD
 * Updates of one element type. Included by scatter.h. */

/* y = y op u, n elements, op a constant; sums and products of integers wrap around. */
INLAY_INLINE void inlay_typed(combine_by)(INLAY_T *y, const INLAY_T *u,
                                          int32_t n, int op)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        if (op == INLAY_SCATTER_ADD)
            y[i] = (INLAY_T)((INLAY_WIDE)y[i] + (INLAY_WIDE)u[i]);
        if (op == INLAY_SCATTER_MUL)
            y[i] = (INLAY_T)((INLAY_WIDE)y[i] * (INLAY_WIDE)u[i]);
        if (op == INLAY_SCATTER_MAX)
            y[i] = u[i] > y[i] ? u[i] : y[i];
        if (op == INLAY_SCATTER_MIN)
            y[i] = u[i] < y[i] ? u[i] : y[i];
    }
}

static inline void inlay_typed(combine)(void *to, const void *from, int32_t n,
                                        int32_t op)
{
    INLAY_T *y = (INLAY_T *)to;
    const INLAY_T *u = (const INLAY_T *)from;
    switch (op) {
    case INLAY_SCATTER_ADD:
        inlay_typed(combine_by)(y, u, n, INLAY_SCATTER_ADD);
        break;
    case INLAY_SCATTER_MUL:
        inlay_typed(combine_by)(y, u, n, INLAY_SCATTER_MUL);
        break;
    case INLAY_SCATTER_MAX:
        inlay_typed(combine_by)(y, u, n, INLAY_SCATTER_MAX);
        break;
    case INLAY_SCATTER_MIN:
        inlay_typed(combine_by)(y, u, n, INLAY_SCATTER_MIN);
        break;
    default:
        memcpy(y, u, (size_t)n * sizeof *y);
        break;
    }
}

static inline int inlay_typed(scatter_elements)(void *const *base,
                                                const inlay_step *s, int32_t r0,
                                                int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_scatter_elements(base, s, sizeof(INLAY_T),
                                  inlay_typed(combine));
}

static inline int inlay_typed(scatter_nd)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_scatter_nd(base, s, sizeof(INLAY_T), inlay_typed(combine));
}
