/* SPDX-License-Identifier: 0BSD
 * Tiles of qtile.h in vectors: up to INLAY_QTILE_P pixels by up to four vectors of channels. Where
 * a vector holds a block of 16 channels each vector is a block of its own, else all lie in one. The
 * last vector may have fewer lanes: it is loaded by a mask. Included by qtile.h. */
enum { INLAY_QVECTORS = 4 };

/* Where the weights of a four of x lie. */
typedef struct inlay_qwalk {
    const int8_t *w;    /* of all vectors but the last */
    const int8_t *last; /* of that */
    int32_t step;       /* bytes from four to four of w */
    int32_t last_step;
    ptrdiff_t vector; /* bytes from vector to vector */
    inlay_qmask part; /* lanes of the last */
} inlay_qwalk;

INLAY_INLINE inlay_qwalk inlay_qwalk_of(const inlay_qtile *tile,
                                        const inlay_qgroup *group, int vectors)
{
    inlay_qwalk walk;
#if INLAY_QL == 16
    walk.step = 4 * INLAY_QL;
    walk.vector = INLAY_QL * tile->taps;
    walk.last = group->last;
#else
    walk.step = group->step;
    walk.vector = 4 * INLAY_QL;
    (void)tile;
    walk.last = group->w + (vectors - 1) * walk.vector;
#endif
    walk.w = group->w;
    walk.last_step = group->step;
    walk.part = inlay_qmask_of(group->lanes - (vectors - 1) * INLAY_QL);
    return walk;
}

/* The sums of a tile, and where weights have zero points those of x's numbers. */
typedef struct inlay_qsums {
    inlay_qi of[INLAY_QPIXELS][INLAY_QVECTORS];
    inlay_qi x[INLAY_QPIXELS];
} inlay_qsums;

/* What x is multiplied with for its own sums: ones for the first n bytes of four. */
INLAY_INLINE inlay_qw inlay_qones(int32_t n)
{
    const uint32_t ones = UINT32_C(0x01010101) >> 8 * (4 - n);
    return inlay_qw_of(inlay_qall((int32_t)ones));
}

/* The next weights of each vector. */
INLAY_INLINE void inlay_qwalk_load(inlay_qwalk *walk, int vectors, inlay_qw *w)
{
    const inlay_qmask all = inlay_qmask_of(INLAY_QL);
    int v;
    INLAY_UNROLL
    for (v = 0; v < vectors - 1; v++)
        w[v] = inlay_qw_of(inlay_qload(walk->w + v * walk->vector, all));
    w[vectors - 1] = inlay_qw_of(inlay_qload(walk->last, walk->part));
    walk->w += walk->step;
    walk->last += walk->last_step;
}

/* A pointer that stays as it is. Compilers make one of their own for each pixel, for which there
 * are too few registers. */
#ifdef __GNUC__
#define INLAY_QHELD(pointer) __asm__("" : "+r"(pointer))
#else
#define INLAY_QHELD(pointer) ((void)0)
#endif

/* Where pixel p is read, by the pointers to the first and to the fourth one. */
INLAY_INLINE const uint8_t *
inlay_qpixel(const uint8_t *x, const uint8_t *fourth, ptrdiff_t xs, int p)
{
    return p < 3 ? x + p * xs : fourth + (p - 3) * xs;
}

/* Adds n fours of x, flipped, to all sums; only `last` bytes of the last four exist. */
INLAY_INLINE void inlay_qvector_flips(inlay_qwalk *walk, inlay_qi flip,
                                      const uint8_t *x, ptrdiff_t xs, int32_t n,
                                      int32_t last, int pixels, int vectors,
                                      int zeros, inlay_qsums *sums)
{
    const inlay_qw one[2] = { inlay_qones(4), inlay_qones(last) };
    const uint8_t *fourth = x + 3 * xs;
    int32_t i;
    int p, v;
    for (i = 0; i < n; i++, x += 4, fourth += 4) {
        inlay_qw w[INLAY_QVECTORS];
        INLAY_QHELD(x);
        INLAY_QHELD(fourth);
        inlay_qwalk_load(walk, vectors, w);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const inlay_qx four =
                inlay_qx_of(inlay_four(inlay_qpixel(x, fourth, xs, p)), flip);
            INLAY_UNROLL
            for (v = 0; v < vectors; v++)
                sums->of[p][v] = inlay_dot4(sums->of[p][v], four, w[v]);
            if (zeros)
                sums->x[p] = inlay_dot4(sums->x[p], four, one[i + 1 == n]);
        }
    }
}

/* Bytes that are multiplied as they are need no flip. */
INLAY_INLINE void inlay_qvector_fours(const inlay_qtile *tile,
                                      inlay_qwalk *walk, const uint8_t *x,
                                      ptrdiff_t xs, int32_t n, int32_t last,
                                      int pixels, int vectors, int zeros,
                                      inlay_qsums *sums)
{
    if (tile->flip == INLAY_QMINUS && !zeros)
        inlay_qvector_flips(walk, inlay_qflip_of(INLAY_QMINUS), x, xs, n, last,
                            pixels, vectors, 0, sums);
    else
        inlay_qvector_flips(walk, inlay_qflip_of(tile->flip), x, xs, n, last,
                            pixels, vectors, zeros, sums);
}

/* Adds a row of the window. Its last bytes are fewer than four: others of x are read with them and
 * meet weights of 0; where there are none they are copied first. */
INLAY_INLINE void inlay_qvector_row(const inlay_qtile *tile,
                                    const inlay_qcall *call, inlay_qwalk *walk,
                                    const uint8_t *x, int pixels, int vectors,
                                    int zeros, inlay_qsums *sums)
{
    const int32_t rest = tile->run % 4;
    const int32_t tail = call->room < 3 ? rest : 0;
    uint8_t few[INLAY_QPIXELS][4] = { { 0 } };
    ptrdiff_t xs = tile->xs;
    int32_t n = (tile->run + (tail ? 0 : 3)) / 4;
    int32_t part, p, i;
    for (part = 0; part < 2; part++) {
        const int32_t last = rest && (part || !tail) ? rest : 4;
        inlay_qvector_fours(tile, walk, x, xs, n, last, pixels, vectors, zeros,
                            sums);
        if (!tail)
            return;
        x += 4 * n;
        for (p = 0; part == 0 && p < pixels; p++)
            for (i = 0; i < tail; i++)
                few[p][i] = x[p * xs + i];
        x = few[0];
        xs = 4;
        n = 1;
    }
}

#ifdef __SSE2__
/* What the results of bytes of a tile are made with. */
INLAY_INLINE inlay_qclip inlay_qvector_clip(const inlay_qresult *result)
{
    return inlay_qclip_of(result->zero, result->lo, result->hi);
}

/* n floats, and any. */
INLAY_INLINE inlay_qf inlay_qvector_floats(const float *p, int32_t n)
{
    const inlay_qi bits = inlay_qload(p, inlay_qmask_of(n));
    inlay_qf v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Results of bytes, a vector at a time. */
INLAY_INLINE void inlay_qvector_bytes(const inlay_qclip *clip, inlay_qi sum,
                                      inlay_qf scale, int32_t n, uint8_t *y)
{
    const inlay_qf v = INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(sum), scale);
    inlay_qstore_bytes(y, n, inlay_qclipped(clip, v));
}
#endif

#if INLAY_QL == 16
/* Results of any kind: lanes from `from` on of the group at one pixel. */
static inline void inlay_qvector_any(const inlay_qtile *tile,
                                     const inlay_qcall *call,
                                     const inlay_qgroup *group, int32_t pixel,
                                     int32_t from, __m512i sum)
{
    const inlay_qresult *result = &tile->result;
    const int32_t channel = group->channel + from;
    const __mmask16 mask = inlay_qmask_of(group->n - from);
    void *y = inlay_qplace(result, call->y, pixel * tile->ys + channel);
    if (result->kind == INLAY_QOUT_I32) {
        _mm512_mask_storeu_epi32(y, mask, sum);
    } else if (result->kind == INLAY_QOUT_F32) {
        __m512 v = _mm512_cvtepi32_ps(sum);
        v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, group->scale + from));
        if (result->add)
            v = _mm512_add_ps(
                v, _mm512_maskz_loadu_ps(mask, result->add + channel));
        _mm512_mask_storeu_ps(y, mask, v);
    } else {
        const inlay_qclip clip = inlay_qvector_clip(result);
        const int32_t n = group->n - from;
        inlay_qvector_bytes(&clip, sum,
                            inlay_qvector_floats(group->scale + from, n), n,
                            (uint8_t *)y);
    }
}
#endif

/* Sums in memory, [pixels][lanes], become results. */
INLAY_APART void inlay_qvector_spilt(const inlay_qtile *tile,
                                     const inlay_qcall *call,
                                     const inlay_qgroup *group, int32_t *sum,
                                     int32_t lanes)
{
    int32_t p, from;
#if INLAY_QL == 16
    for (p = 0; p < call->pixels; p++, sum += lanes)
        for (from = 0; from < group->n; from += INLAY_QL)
            inlay_qvector_any(tile, call, group, p, from,
                              _mm512_loadu_si512(sum + from));
#else
    for (p = 0; p < call->pixels; p++, sum += lanes) {
        for (from = 0; from + 16 <= group->n; from += 16)
            inlay_qgroup_end(tile, call, group, p, from, 16, sum + from);
        if (from < group->n)
            inlay_qgroup_end(tile, call, group, p, from, group->n - from,
                             sum + from);
    }
#endif
}

/* What the tiles of a call have in common: with what their sums begin, and how they end. */
typedef struct inlay_qlanes {
    inlay_qi start[INLAY_QVECTORS];
#ifdef __SSE2__
    inlay_qf scale[INLAY_QVECTORS];
    inlay_qpack pack;
    int bytes; /* 1: results are bytes */
    int suits; /* 1: and all scales below 1 */
#endif
} inlay_qlanes;

/* What all groups have in common. */
INLAY_INLINE void inlay_qlanes_set(const inlay_qtile *tile, inlay_qlanes *lanes)
{
#ifdef __SSE2__
    const inlay_qresult *result = &tile->result;
    lanes->bytes =
        result->kind == INLAY_QOUT_U8 || result->kind == INLAY_QOUT_I8;
    lanes->pack = inlay_qpack_of(result->zero, result->lo, result->hi,
                                 result->kind == INLAY_QOUT_I8);
#else
    (void)tile;
    (void)lanes;
#endif
}

INLAY_INLINE void inlay_qlanes_take(const inlay_qgroup *group, int vectors,
                                    inlay_qlanes *lanes)
{
    int v;
#ifdef __SSE2__
    lanes->suits = lanes->bytes;
#endif
    INLAY_UNROLL
    for (v = 0; v < vectors; v++) {
        const int32_t left = group->lanes - v * INLAY_QL;
        lanes->start[v] =
            inlay_qload(group->start + v * INLAY_QL, inlay_qmask_of(left));
#ifdef __SSE2__
        lanes->scale[v] = inlay_qzero_floats();
        if (lanes->bytes)
            lanes->scale[v] =
                inlay_qvector_floats(group->scale + v * INLAY_QL, left);
        lanes->suits &= inlay_qpack_suits(lanes->scale[v]);
#endif
    }
}

#ifdef __SSE2__
/* The sums of a tile become bytes, four vectors at a time. full: the last vector has all lanes. */
INLAY_INLINE void inlay_qvector_bytes_of(const inlay_qtile *tile,
                                         const inlay_qcall *call,
                                         const inlay_qgroup *group, int pixels,
                                         int vectors, int full,
                                         const inlay_qlanes *lanes,
                                         const inlay_qsums *sums)
{
    const ptrdiff_t ys = tile->ys;
    const int32_t last = group->n - (vectors - 1) * INLAY_QL;
    const int count = pixels * vectors;
    uint8_t *y = (uint8_t *)call->y + group->channel;
    int i, k;
    INLAY_UNROLL
    for (i = 0; i < count; i += 4) {
        inlay_qfour four;
        INLAY_UNROLL
        for (k = 0; k < 4; k++) {
            const int at = i + k < count ? i + k : count - 1;
            const int v = at % vectors;
            four.n[k] = full || v < vectors - 1 ? INLAY_QL : last;
            four.y[k] = y + at / vectors * ys + v * INLAY_QL;
            four.v[k] =
                inlay_qrounded(sums->of[at / vectors][v], lanes->scale[v]);
        }
        inlay_qfour_store(&lanes->pack, &four, i + 4 < count ? 4 : count - i);
    }
}

INLAY_INLINE void
inlay_qvector_all_bytes(const inlay_qtile *tile, const inlay_qcall *call,
                        const inlay_qgroup *group, int pixels, int vectors,
                        const inlay_qlanes *lanes, const inlay_qsums *sums)
{
    if (group->n == vectors * INLAY_QL)
        inlay_qvector_bytes_of(tile, call, group, pixels, vectors, 1, lanes,
                               sums);
    else
        inlay_qvector_bytes_of(tile, call, group, pixels, vectors, 0, lanes,
                               sums);
}
#endif

/* The sums of a tile become results. */
INLAY_INLINE void inlay_qvector_end(const inlay_qtile *tile,
                                    const inlay_qcall *call,
                                    const inlay_qgroup *group, int pixels,
                                    int vectors, const inlay_qlanes *lanes,
                                    const inlay_qsums *sums)
{
    int32_t lane[INLAY_QPIXELS * INLAY_QVECTORS * INLAY_QL];
    int p, v;
#ifdef __SSE2__
    if (lanes->suits) {
        inlay_qvector_all_bytes(tile, call, group, pixels, vectors, lanes,
                                sums);
        return;
    }
#else
    (void)lanes;
#endif
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        INLAY_UNROLL
    for (v = 0; v < vectors; v++)
        inlay_qspill(lane + (p * vectors + v) * INLAY_QL, sums->of[p][v]);
    inlay_qvector_spilt(tile, call, group, lane, vectors * INLAY_QL);
}

/* Takes the zero points of the weights off. */
INLAY_INLINE void inlay_qvector_zeros(const inlay_qtile *tile,
                                      const inlay_qgroup *group, int pixels,
                                      int vectors, inlay_qsums *sums)
{
    inlay_qi zero[INLAY_QVECTORS];
    int p, v;
    INLAY_UNROLL
    for (v = 0; v < vectors; v++) {
        const inlay_qmask mask = inlay_qmask_of(group->lanes - v * INLAY_QL);
        zero[v] = inlay_qall(tile->zw_all);
        if (tile->zw)
            zero[v] =
                inlay_qload(tile->zw + group->channel + v * INLAY_QL, mask);
    }
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        INLAY_UNROLL
    for (v = 0; v < vectors; v++)
        sums->of[p][v] = inlay_qless(sums->of[p][v], zero[v], sums->x[p]);
}

INLAY_INLINE void inlay_qvector_tile(const inlay_qtile *tile,
                                     const inlay_qcall *call,
                                     const inlay_qgroup *group,
                                     const inlay_qlanes *lanes, int pixels,
                                     int vectors, int zeros)
{
    inlay_qwalk walk = inlay_qwalk_of(tile, group, vectors);
    inlay_qsums sums;
    int32_t d, h;
    int p, v;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        sums.x[p] = inlay_qzero_sums();
        INLAY_UNROLL
        for (v = 0; v < vectors; v++)
            sums.of[p][v] = lanes->start[v];
    }
    for (d = 0; d < tile->nkd; d++)
        for (h = 0; h < tile->nkh; h++)
            inlay_qvector_row(tile, call, &walk,
                              inlay_qwindow(tile, d, h) + call->at, pixels,
                              vectors, zeros, &sums);
    if (zeros)
        inlay_qvector_zeros(tile, group, pixels, vectors, &sums);
    inlay_qvector_end(tile, call, group, pixels, vectors, lanes, &sums);
}

INLAY_INLINE void inlay_qvector_pixels(const inlay_qtile *tile,
                                       const inlay_qcall *call,
                                       const inlay_qgroup *group,
                                       const inlay_qlanes *lanes, int vectors)
{
    switch (call->pixels) {
#if INLAY_QTILE_P == 7
    case 7:
        inlay_qvector_tile(tile, call, group, lanes, 7, vectors, 0);
        return;
    case 6:
        inlay_qvector_tile(tile, call, group, lanes, 6, vectors, 0);
        return;
#endif
#if INLAY_QTILE_P >= 5
    case 5:
        inlay_qvector_tile(tile, call, group, lanes, 5, vectors, 0);
        return;
#endif
#if INLAY_QTILE_P >= 4
    case 4:
        inlay_qvector_tile(tile, call, group, lanes, 4, vectors, 0);
        return;
    case 3:
        inlay_qvector_tile(tile, call, group, lanes, 3, vectors, 0);
        return;
#endif
    case 2:
        inlay_qvector_tile(tile, call, group, lanes, 2, vectors, 0);
        return;
    default:
        inlay_qvector_tile(tile, call, group, lanes, 1, vectors, 0);
        return;
    }
}

/* Goes on to the next n pixels of a call, of which `left` are to be made. */
INLAY_INLINE void inlay_qvector_next(const inlay_qtile *tile,
                                     const inlay_qcall *call, inlay_qcall *part,
                                     int32_t n, int32_t left)
{
    const int32_t done = call->pixels - left;
    part->pixels = n;
    part->at = call->at + done * tile->xs;
    part->room = call->room + (left - n) * tile->xs;
    part->y = inlay_qplace(&tile->result, call->y, done * tile->ys);
}

/* All pixels of a call, in tiles as equal as can be. */
INLAY_INLINE void inlay_qvector_tiles(const inlay_qtile *tile,
                                      const inlay_qcall *call,
                                      const inlay_qgroup *group, int vectors)
{
    const int32_t all = call->pixels;
    const int32_t tiles = (all + INLAY_QTILE_P - 1) / INLAY_QTILE_P;
    const int32_t each = all / tiles;
    int32_t more = all - each * tiles; /* tiles of one pixel more */
    int32_t left = all;
    inlay_qcall part = *call;
    inlay_qlanes lanes;
    inlay_qlanes_set(tile, &lanes);
    inlay_qlanes_take(group, vectors, &lanes);
    for (; left > 0; left -= part.pixels, more--) {
        inlay_qvector_next(tile, call, &part, each + (more > 0), left);
        inlay_qvector_pixels(tile, &part, group, &lanes, vectors);
    }
}

/* Weights with zero points, less often: all pixels of a tile, or one by one. */
INLAY_INLINE void inlay_qvector_zeros_tiles(const inlay_qtile *tile,
                                            const inlay_qcall *call,
                                            const inlay_qgroup *group,
                                            int vectors)
{
    int32_t left = call->pixels;
    inlay_qcall part = *call;
    inlay_qlanes lanes;
    inlay_qlanes_set(tile, &lanes);
    inlay_qlanes_take(group, vectors, &lanes);
    for (; left > 0; left -= part.pixels) {
        const int whole = left >= INLAY_QTILE_P;
        inlay_qvector_next(tile, call, &part, whole ? INLAY_QTILE_P : 1, left);
        if (whole)
            inlay_qvector_tile(tile, &part, group, &lanes, INLAY_QTILE_P,
                               vectors, 1);
        else
            inlay_qvector_tile(tile, &part, group, &lanes, 1, vectors, 1);
    }
}

/* A function for each number of vectors. */
INLAY_APART void inlay_qvector1(const inlay_qtile *tile,
                                const inlay_qcall *call,
                                const inlay_qgroup *group)
{
    inlay_qvector_tiles(tile, call, group, 1);
}
INLAY_APART void inlay_qvector2(const inlay_qtile *tile,
                                const inlay_qcall *call,
                                const inlay_qgroup *group)
{
    inlay_qvector_tiles(tile, call, group, 2);
}
#if INLAY_QL != 8
INLAY_APART void inlay_qvector3(const inlay_qtile *tile,
                                const inlay_qcall *call,
                                const inlay_qgroup *group)
{
    inlay_qvector_tiles(tile, call, group, 3);
}
#endif
#if INLAY_QL == 4
INLAY_APART void inlay_qvector4(const inlay_qtile *tile,
                                const inlay_qcall *call,
                                const inlay_qgroup *group)
{
    inlay_qvector_tiles(tile, call, group, 4);
}
#endif

/* The same for weights with zero points. */
INLAY_APART void inlay_qvector_off(const inlay_qtile *tile,
                                   const inlay_qcall *call,
                                   const inlay_qgroup *group)
{
    switch ((group->lanes + INLAY_QL - 1) / INLAY_QL) {
#if INLAY_QL == 4
    case 4:
        inlay_qvector_zeros_tiles(tile, call, group, 4);
        return;
    case 3:
        inlay_qvector_zeros_tiles(tile, call, group, 3);
        return;
#endif
    case 2:
        inlay_qvector_zeros_tiles(tile, call, group, 2);
        return;
    default:
        inlay_qvector_zeros_tiles(tile, call, group, 1);
        return;
    }
}

static inline void inlay_qvector(const inlay_qtile *tile,
                                 const inlay_qcall *call,
                                 const inlay_qgroup *group)
{
    if (inlay_qhas_zeros(tile)) {
        inlay_qvector_off(tile, call, group);
        return;
    }
    switch ((group->lanes + INLAY_QL - 1) / INLAY_QL) {
#if INLAY_QL == 4
    case 4:
        inlay_qvector4(tile, call, group);
        return;
#endif
#if INLAY_QL != 8
    case 3:
        inlay_qvector3(tile, call, group);
        return;
#endif
    case 2:
        inlay_qvector2(tile, call, group);
        return;
    default:
        inlay_qvector1(tile, call, group);
        return;
    }
}
