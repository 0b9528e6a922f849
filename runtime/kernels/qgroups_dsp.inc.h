/* SPDX-License-Identifier: 0BSD
 * The part of qconv_dsp.inc.h for groups of whole fours of channels: the windows of two pixels are
 * widened together, tap by tap. */

/* The windows of two pixels of one row in a group of whole fours of channels: the first column of
 * the first pixel, columns and bytes to the second, and from tap to tap. */
typedef struct inlay_qgrouped {
    int32_t left, next, columns, bytes;
    ptrdiff_t at, next_at, step;
    int32_t dw;
    uint32_t mask, zero;
} inlay_qgrouped;

static inline inlay_qgrouped inlay_qgrouped_of(const inlay_qpairs *job,
                                               const inlay_qspot *spot,
                                               int32_t group)
{
    const inlay_qpacked_params *p = job->params;
    const ptrdiff_t pix = job->step->ref[1].pix;
    inlay_qgrouped of;
    of.left = spot->c * p->sw - p->pw;
    of.next = (spot[1].c - spot->c) * p->sw;
    of.columns = p->iw;
    of.bytes = p->ic;
    of.at = of.left * pix + group * p->ic;
    of.next_at = of.next * pix;
    of.step = p->dw * pix;
    of.dw = p->dw;
    of.mask = inlay_qmask(&job->tile);
    of.zero = (uint32_t)(job->tile.zero & 255) * UINT32_C(0x01010101);
    return of;
}

/* A tap of both, from a and b on: zero points where these are NULL. */
INLAY_INLINE uint32_t *inlay_qgrouped_tap(const inlay_qgrouped *of,
                                          const uint8_t *a, const uint8_t *b,
                                          uint32_t *to)
{
    int32_t i;
    for (i = 0; i < of->bytes; i += 4)
        to =
            inlay_qwiden_fours(a ? inlay_word(a + i) ^ of->mask : of->zero,
                               b ? inlay_word(b + i) ^ of->mask : of->zero, to);
    return to;
}

/* A row of both windows; x: its first column, NULL: there is no such row. */
INLAY_INLINE uint32_t *inlay_qgrouped_row(const inlay_qgrouped *of,
                                          const uint8_t *x, int32_t taps,
                                          uint32_t *to)
{
    const uint32_t columns = x ? (uint32_t)of->columns : 0;
    ptrdiff_t at = of->at;
    int32_t c = of->left;
    for (; taps > 0; taps--, c += of->dw, at += of->step) {
        const uint8_t *a = NULL;
        const uint8_t *b = NULL;
        if ((uint32_t)c < columns)
            a = x + at;
        if ((uint32_t)(c + of->next) < columns)
            b = x + at + of->next_at;
        to = inlay_qgrouped_tap(of, a, b, to);
    }
    return to;
}

INLAY_APART void inlay_qwiden_grouped(const inlay_qpairs *job,
                                      const inlay_qspot *spot, int32_t group)
{
    const inlay_qgrouped of = inlay_qgrouped_of(job, spot, group);
    const inlay_qpacked_params *p = job->params;
    const inlay_qrow *row = spot->row;
    const int32_t planes = inlay_qpacked_planes(p);
    uint32_t *to = job->tile.wide;
    int32_t d, h;
    for (d = 0; d < planes; d++)
        for (h = 0; h < p->kh; h++)
            to = inlay_qgrouped_row(
                &of,
                inlay_qimage_row(job->base, job->step, row->image,
                                 row->plane + d * p->dd, row->row + h * p->dh),
                p->kw, to);
}

/* Are there groups of whole fours of channels? */
static inline int inlay_qwiden_has_groups(const inlay_qpairs *job)
{
    const inlay_qpacked_params *p = job->params;
    return INLAY_QUSES(INLAY_QUSE_GROUPS) && p->groups > 1 && p->ic % 4 == 0;
}
