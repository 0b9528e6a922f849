/* SPDX-License-Identifier: 0BSD
 * Template of tile_f32.h for one way to walk a window, INLAY_WALK: a function for each size of a
 * group of channels, and inlay_..._run(), which takes them in turn. INLAY_R(name): its names. */

#if INLAY_VL == 1

INLAY_APART void INLAY_R(4)(const inlay_tile *t, const inlay_tiles *call,
                            const inlay_group *g)
{
    const inlay_shape shape = inlay_shape_of(4, t->width, 0);
    inlay_tiles1(t, call, g, INLAY_WALK, shape);
}

/* A group of n channels. */
static inline void INLAY_R(sized)(const inlay_tile *t, const inlay_tiles *call,
                                  const inlay_group *g, int32_t n)
{
    (void)n;
    INLAY_R(4)(t, call, g);
}

/* Width of the block that a channel lies in. */
static inline int32_t INLAY_R(width)(const inlay_tile *t, int32_t channel)
{
    const int32_t inside = channel % t->width;
    const int32_t left = (t->channels - (channel - inside) + 3) / 4 * 4;
    if (left >= t->width)
        return t->width;
    return inside < left / 8 * 8 ? 8 : 4;
}

/* The group of four channels that begins at `channel`. */
static inline void INLAY_R(group)(inlay_tile *t, const inlay_tiles *call,
                                  inlay_group *g, int32_t channel, int32_t n)
{
    const int32_t main = t->width;
    const int32_t width = INLAY_R(width)(t, channel);
    int32_t first = channel;
    (void)n;
    if (width == main || width == 8)
        first -= channel % main;
    g->weights = t->weights + (t->skip + first) * t->taps + call->tap * width +
                 (channel - first);
    t->width = width;
    INLAY_R(4)(t, call, g);
    t->width = main;
}

#else

INLAY_APART void INLAY_R(4)(const inlay_tile *t, const inlay_tiles *call,
                            const inlay_group *g)
{
    const inlay_shape shape = inlay_shape_of(1, 4, 0);
    inlay_tiles4(t, call, g, INLAY_WALK, shape);
}

INLAY_APART void INLAY_R(8)(const inlay_tile *t, const inlay_tiles *call,
                            const inlay_group *g)
{
#if INLAY_VL == 4
    const inlay_shape shape = inlay_shape_of(2, 8, 0);
    inlay_tiles4(t, call, g, INLAY_WALK, shape);
#else
    const inlay_shape shape = inlay_shape_of(1, 8, 0);
    inlay_tiles8(t, call, g, INLAY_WALK, shape);
#endif
}

INLAY_APART void INLAY_R(16)(const inlay_tile *t, const inlay_tiles *call,
                             const inlay_group *g)
{
    const inlay_shape shape = inlay_shape_of(16 / INLAY_VL, 16, 0);
    INLAY_V(tiles)(t, call, g, INLAY_WALK, shape);
}

#if INLAY_VL == 16

INLAY_APART void INLAY_R(32)(const inlay_tile *t, const inlay_tiles *call,
                             const inlay_group *g)
{
    const inlay_shape shape = inlay_shape_of(2, 16, t->taps * 16);
    inlay_tiles16(t, call, g, INLAY_WALK, shape);
}

INLAY_APART void INLAY_R(64)(const inlay_tile *t, const inlay_tiles *call,
                             const inlay_group *g)
{
    const inlay_shape shape = inlay_shape_of(4, 16, t->taps * 16);
    inlay_tiles16(t, call, g, INLAY_WALK, shape);
}

#endif

/* A group of n channels. */
static inline void INLAY_R(sized)(const inlay_tile *t, const inlay_tiles *call,
                                  const inlay_group *g, int32_t n)
{
    switch (n) {
#if INLAY_VL == 16
    case 64:
        INLAY_R(64)(t, call, g);
        break;
    case 32:
        INLAY_R(32)(t, call, g);
        break;
#endif
    case 16:
        INLAY_R(16)(t, call, g);
        break;
    case 8:
        INLAY_R(8)(t, call, g);
        break;
    default:
        INLAY_R(4)(t, call, g);
        break;
    }
}

/* The group of n channels that begins at `channel`. */
static inline void INLAY_R(group)(const inlay_tile *t, const inlay_tiles *call,
                                  inlay_group *g, int32_t channel, int32_t n)
{
    const ptrdiff_t width = n > 16 ? 16 : n;
    g->weights = t->weights + (t->skip + channel) * t->taps + call->tap * width;
    INLAY_R(sized)(t, call, g, n);
}

#endif

/* Channels [t->begin, t->end) of some tiles, group by group. */
static inline void INLAY_R(run)(inlay_tile *t, const inlay_tiles *call)
{
    int32_t channel, n;
    for (channel = t->begin; channel < t->end; channel += n) {
        const int32_t left = t->channels - channel;
        inlay_group g;
        n = inlay_tile_group(t, channel);
        g.bias = t->bias + channel;
        g.y = call->y + channel;
        g.q = call->q ? call->q + channel : NULL;
        g.part = left < n ? left : 0;
        g.panel = NULL;
        g.sum = NULL;
        INLAY_R(group)(t, call, &g, channel, n);
    }
}

#undef INLAY_WALK
#undef INLAY_R
