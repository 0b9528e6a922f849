/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the replay share: who wrote each byte, which channels of a row hold values, and
 * the bytes behind a row of an operand. */
#ifndef INLAY_PROVE_REPLAY_H
#define INLAY_PROVE_REPLAY_H

#include "prove/objection.h"
#include "prove/shadow.h"

enum { TAG_STATE = -1, TAG_PLACE = -2, INCOMPLETE = 1 << 30 };

/* Which channels (or columns, the row then being one pixel) of the rows of a tensor made of parts
 * hold values. */
typedef struct Lanes {
    int64_t row_bytes, pixel; /* 0: no operand is a part */
    int32_t rows;
    VEC(int64_t) cut; /* bytes in a pixel where parts begin or end */
    bool *
        has; /* [row][cut]: the bytes from this cut to that which follows in the pixel */
} Lanes;

typedef struct Check {
    Arena *arena;
    const Program *program;
    Shadow shadow;
    Lanes *lanes;     /* by tensor id */
    int32_t *made;    /* units of each step */
    int32_t first;    /* unit of the call that is under way */
    bool alone;       /* it has no other */
    const Step *step; /* under way */
    Objection found;  /* the first */
} Check;

/* Bytes of a row of an operand: where they are, and which of its tensor they are. */
typedef struct Piece {
    int64_t begin; /* with the other parts of the row */
    int64_t end;
    int64_t delta;    /* to the byte of the tensor */
    int64_t lane;     /* byte of a pixel */
    int64_t lane_end; /* 0: all of the pixel */
    int32_t tag;      /* id of the tensor */
    int32_t row;      /* of the owner */
    int32_t own_row;  /* of the operand */
} Piece;

typedef struct Range {
    int32_t lo, hi;
} Range;

/* Keeps the objection, of which there is one: it ends the replay. Always false. */
bool object(Check *check, const Operand *operand, const char *why);
bool object_at(Check *check, const Operand *operand, const Piece *piece,
               const char *why);

/* lanes.c */
void find_lanes(Check *check);
/* Bytes of a row's pixels hold values no more, hold values from now on; do they? */
void lane_clear(Lanes *lanes, int32_t row);
void lane_add(Lanes *lanes, int32_t row, int64_t begin, int64_t end);
bool lane_has(const Lanes *lanes, int32_t row, int64_t begin, int64_t end);

/* access.c */
/* Of one of its tensor's elements. */
int64_t element_bits(const Operand *operand);
/* The tensor that owns the operand's bytes, and where in it they begin. */
const Tensor *owner_of(const Operand *operand, int64_t *at);
/* The same, but a state of the next run is a tensor by itself. */
const Tensor *version_of(const Operand *operand, int64_t *at);
/* The address of a root tensor's first byte. */
int64_t home_of(const Check *check, const Tensor *root);
/* Does the operand lie in memory that changes? */
bool watched(const Operand *operand);
/* The bytes of one of its rows. */
Piece piece_of(const Operand *operand, int32_t row);
/* Those of an operand's rows that may meet a piece: others begin too far from it. Rows of a ring
 * that goes round are all of them. */
Range rows_near(const Operand *operand, Range range, const Piece *piece);
/* The rows as one piece, if they lie one behind another and are rows of their tensor too where that
 * is made in parts. */
bool rows_joined(const Check *check, const Operand *operand, Range range,
                 Piece *piece);
/* Does it lie within the arena, or within the caller's buffer? */
bool inside(const Check *check, const Piece *piece);
/* What prevents reading the piece, or NULL. */
const char *why_unreadable(const Check *check, const Piece *piece);
/* All of it, or of each of these rows, must hold what the tensor's step made. */
bool read_piece(Check *check, const Operand *operand, const Piece *piece);
bool read_rows(Check *check, const Operand *operand, Range range);
/* Do all rows lie as one piece, which their step has begun to write and nobody else since? */
bool claimed(const Check *check, const Operand *operand);
/* It is the operand's from now on; flag: INCOMPLETE or 0. */
bool write_piece(Check *check, const Operand *operand, const Piece *piece,
                 int32_t flag);
/* Is a result's row u made by unit u? */
bool by_row(const Step *step, const Operand *operand);
/* The rows of an operand that unit u needs, or makes. */
Range rows_of(const Step *step, const Operand *operand, int32_t u);
/* The same elements, each read before it is written: at the same address, or in a narrower type
 * from the same first address on. */
bool in_place(const Step *step, const Operand *out, const Operand *in);
/* The same for what unit u of the call under way makes: rows that have slots may lie so in some
 * units only, which must be calls by themselves, since kernels may go through several rows in any
 * order. */
bool unit_in_place(const Check *check, const Operand *out, const Operand *in,
                   int32_t u);
/* Nothing that the unit (whole: the step) writes is needed by another operand; pixels:
 * check_pixels() looks at those that go pixel by pixel. */
bool check_apart(Check *check, const Step *step, int32_t u, bool whole,
                 bool pixels);

/* threads.c */
/* Nothing that one share of the step's units writes is touched by another share. */
bool check_split(Check *check, const Step *step);

/* pixels.c */
/* Is the unit's row of the result written where rows are that it reads pixel by pixel? */
bool goes_by_pixels(const Check *check, const Step *step, int32_t u);
/* Its pixels are written in turn. A window is read as late as it may be: when the largest tile that
 * begins with its pixel has been written. */
bool check_pixels(Check *check, const Step *step, int32_t u);
bool whole_pixels(const Operand *operand);
/* A row of the result is written while dying[k] rows of operand k, which goes pixel by pixel, are
 * read for the last time: bytes by which it needs less than all of both. */
int64_t pixels_saved(const Step *step, bool backward, const int32_t *dying);

/* rewrites.c: the order of those who touch the same bytes of a tensor. */
bool check_rewrites(Check *check);

/* check.c: entry e of a periodic list. */
uint8_t segment_entry(const Segment *segment, int32_t e);

/* whole.c: all units of a step that runs as a whole, where none of them can harm another. False:
 * they may, or something is wrong; nothing is done. */
bool check_at_once(Check *check, const Step *step);

/* unit.c: a unit's reads, then its writes. */
bool check_unit(Check *check, const Step *step, int32_t u);

#endif
