/* SPDX-License-Identifier: Apache-2.0
 * Weights of a random product of bytes (qpacked_net.h) as numbers of 4 or 2 bits, and the panels
 * that they become bytes in. */
#ifndef TEST_QNARROW_NET_H
#define TEST_QNARROW_NET_H

#include "kernels/qnarrow.h"
#include "qpacked_net.h"

/* What a net is with such weights; bits 0: it has none. */
typedef struct FewBits {
    inlay_qnarrow_params p;
    Buffer words, panel;
} FewBits;

/* Weights that a net packs. */
static inline size_t count_of(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    if (!n->depthwise)
        return (size_t)(n->padded * inlay_qpacked_taps(p));
    if (p->deep)
        return (size_t)(n->channels * inlay_qdeep_high(p) * p->kw);
    return (size_t)(n->channels * taps_of(p));
}

/* Filled up to whole words. */
static inline size_t elements_of(const Net *n)
{
    const size_t all = INLAY_QNARROW_ELEMENTS;
    return (count_of(n) + all - 1) / all * all;
}

/* The weights anew, as few bits hold them. */
static inline void narrow_weights(Net *n, const inlay_qnarrow_params *p)
{
    for (size_t i = 0; i < n->w.n; i++) {
        const int weight = (int)rnd(1u << p->bits) - p->middle;
        n->w.at[i] = (uint8_t)(n->w_signed ? weight : weight ^ 128);
    }
    free(n->packed);
    pack(n);
}

/* Weight i of those packed: of halves 256 b + a the bytes a and b. */
static inline int packed_weight(const Net *n, size_t i)
{
    const int8_t weight = i < count_of(n) ? n->packed[i] : 0;
    if (!n->p.wide || i % 2 == 0)
        return weight;
    return (int8_t)(weight + (n->packed[i - 1] < 0));
}

static inline void narrow_pack(const Net *n, FewBits *narrow)
{
    const int bits = narrow->p.bits;
    const size_t each = (size_t)(32 / bits);
    narrow->words = buffer_of(elements_of(n) * (size_t)bits / 8);
    memset(narrow->words.at, 0, narrow->words.n);
    for (size_t i = 0; i < elements_of(n); i++) {
        const int number = packed_weight(n, i) + narrow->p.middle;
        const size_t byte = i / each * 4 + i % 4;
        assert_true(number >= 0 && number < 1 << bits);
        narrow->words.at[byte] |=
            (uint8_t)(number << (int)(i % each / 4) * bits);
    }
}

/* Channels of a panel: whole blocks, or all of a group, or all. */
static inline int32_t random_panel(const Net *n)
{
    const int32_t blocks = 1 + (int32_t)rnd(3);
    if (n->depthwise || rnd(3) == 0)
        return 0;
    return rnd(4) ? blocks * n->p.width : inlay_up4(n->p.oc);
}

static inline size_t panel_bytes(const Net *n, int32_t panel)
{
    const int32_t all = inlay_up4(n->p.oc);
    if (!panel)
        return elements_of(n);
    return (size_t)((panel < all ? panel : all) * inlay_qpacked_taps(&n->p));
}

/* The net with weights of so many bits. */
static inline void make_narrow(Net *n, FewBits *narrow, int bits)
{
    memset(narrow, 0, sizeof *narrow);
    narrow->p.bits = bits;
    narrow->p.middle = (int32_t)rnd(1u << bits);
    narrow->p.panel = random_panel(n);
    narrow_weights(n, &narrow->p);
    narrow_pack(n, narrow);
    narrow->panel = buffer_of(panel_bytes(n, narrow->p.panel));
}

static inline void free_narrow(FewBits *narrow)
{
    if (!narrow->p.bits)
        return;
    buffer_free(&narrow->words);
    buffer_free(&narrow->panel);
}

#endif
