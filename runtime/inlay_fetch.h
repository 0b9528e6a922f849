/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: weights that lie out of reach of pointers, behind a function of the caller.
 *
 * A step has a window in the arena. Before its kernel is called, its constants are read into it:
 * all of them, or, where they are larger, those of some channels of its result after the other. */
#ifndef INLAY_FETCH_H
#define INLAY_FETCH_H

#include "inlay.h"
#include "inlay_source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    INLAY_E_READ = 9 /* the source of the weights could not be read */
};

/* What stands for the weights among the base pointers. */
typedef struct inlay_stream {
    const inlay_source *source;
    size_t begin; /* byte of the blob at which the weights begin */
} inlay_stream;

/* A constant on its way into the window. */
typedef struct inlay_fetch {
    int32_t operand;
    size_t at;    /* byte of the window, or of each of its halves */
    size_t bytes; /* of each piece but the last */
    size_t last;
} inlay_fetch;

/* Operands of a step that fetches, at most, its window included: as many as most steps have. The
 * source of a model with more says how many. */
enum { INLAY_FETCH_USUAL = 13, INLAY_FETCH_MOST = 23 };
#ifndef INLAY_FETCH_OPERANDS
#define INLAY_FETCH_OPERANDS INLAY_FETCH_USUAL
#endif

/* The parameters of a step that fetches. */
typedef struct inlay_pieces {
    inlay_kernel *run;
    /* of `run`: for a piece of the result's channels, and for the last one */
    const void *params, *end;
    const inlay_fetch *fetch; /* the largest constant comes first */
    int32_t fetches;
    int32_t pieces;
    /* of `run`; 0: those of the step, piece by piece all of them */
    int32_t units;
    int32_t operands; /* of `run`; the one behind them is the window */
    /* bytes from the window's first half to the second; 0: it has no halves */
    size_t half;
    /* of each operand: bytes from piece to piece. NULL: there is one piece */
    const uint32_t *advance;
} inlay_pieces;

/* A run of a step that fetches. */
typedef struct inlay_fetching {
    const inlay_stream *stream;
    const inlay_pieces *pieces;
    void *const *base;
    const inlay_step *step;
    int waits; /* a constant has been started */
} inlay_fetching;

/* Where a piece's constant comes to lie: bytes into the window. */
static inline size_t inlay_fetch_at(const inlay_pieces *p, int32_t i,
                                    int32_t piece)
{
    return p->fetch[i].at + (piece & 1 ? p->half : 0);
}

/* Constant i of a piece. 0, or it failed. */
static inline int inlay_fetch_one(inlay_fetching *f, int32_t i, int32_t piece)
{
    const inlay_pieces *p = f->pieces;
    const inlay_source *from = f->stream->source;
    const inlay_fetch *one = p->fetch + i;
    const size_t n = piece == p->pieces - 1 ? one->last : one->bytes;
    unsigned char *window =
        (unsigned char *)inlay_at(f->base, f->step, p->operands);
    size_t offset = f->stream->begin + f->step->ref[one->operand].off;
    if (piece)
        offset += (size_t)piece * p->advance[one->operand];
    window += inlay_fetch_at(p, i, piece);
    if (i || !from->start)
        return from->read(from->context, offset, n, window);
    f->waits = 1;
    return from->start(from->context, offset, n, window);
}

/* The constants of a piece: the first of them, the largest, may be on its way afterwards. */
static inline int inlay_fetch_begin(inlay_fetching *f, int32_t piece)
{
    int32_t i;
    for (i = f->pieces->fetches - 1; i >= 0; i--)
        if (inlay_fetch_one(f, i, piece))
            return 1;
    return 0;
}

static inline int inlay_fetch_end(inlay_fetching *f)
{
    const inlay_source *from = f->stream->source;
    if (!f->waits)
        return 0;
    f->waits = 0;
    return from->wait(from->context);
}

/* The operands of a piece. */
static inline void inlay_fetch_refs(const inlay_fetching *f, int32_t piece,
                                    inlay_ref *ref)
{
    const inlay_pieces *p = f->pieces;
    const inlay_ref *window = f->step->ref + p->operands;
    int32_t i;
    for (i = 0; i < p->operands; i++) {
        ref[i] = f->step->ref[i];
        if (piece)
            ref[i].off += (size_t)piece * p->advance[i];
    }
    for (i = 0; i < p->fetches; i++) {
        ref[p->fetch[i].operand].base = window->base;
        ref[p->fetch[i].operand].off =
            window->off + inlay_fetch_at(p, i, piece);
    }
}

/* A piece whose constants are there, or units [r0, r1) of the only one. */
static inline int inlay_fetch_make(const inlay_fetching *f, int32_t piece,
                                   int32_t r0, int32_t r1)
{
    const inlay_pieces *p = f->pieces;
    inlay_ref ref[INLAY_FETCH_OPERANDS];
    inlay_step one = *f->step;
    inlay_fetch_refs(f, piece, ref);
    one.run = p->run;
    one.params = piece == p->pieces - 1 ? p->end : p->params;
    one.ref = ref;
    if (!p->units)
        return p->run(f->base, &one, r0, r1);
    one.units = p->units;
    return p->run(f->base, &one, 0, p->units);
}

/* The step, its constants read from the stream. While a piece is made, the next one is on its way
 * where the window has halves and the source can do so. */
static inline int inlay_fetch_run(const inlay_stream *stream, void *const *base,
                                  const inlay_step *s, int32_t r0, int32_t r1)
{
    inlay_fetching f;
    int32_t piece;
    int r = 0;
    f.stream = stream;
    f.pieces = (const inlay_pieces *)s->params;
    f.base = base;
    f.step = s;
    f.waits = 0;
    for (piece = 0; !r && piece < f.pieces->pieces; piece++) {
        const int more = f.pieces->half && piece + 1 < f.pieces->pieces;
        int failed = 0;
        if (!piece || !f.pieces->half)
            failed = inlay_fetch_begin(&f, piece);
        failed |= inlay_fetch_end(&f);
        if (!failed && more)
            failed = inlay_fetch_begin(&f, piece + 1);
        if (failed)
            r = -INLAY_E_READ;
        else
            r = inlay_fetch_make(&f, piece, r0, r1);
    }
    (void)inlay_fetch_end(&f);
    return r;
}

/* The kernel of a step that fetches. */
static inline int inlay_fetched(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    return inlay_fetch_run((const inlay_stream *)base[INLAY_WEIGHTS], base, s,
                           r0, r1);
}

#ifdef __cplusplus
}
#endif
#endif
