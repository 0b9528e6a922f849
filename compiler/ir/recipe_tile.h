/* SPDX-License-Identifier: Apache-2.0
 * Tiles: boxes of a result's index space, shaped so that reads and writes are both long. */
#ifndef INLAY_IR_RECIPE_TILE_H
#define INLAY_IR_RECIPE_TILE_H

#include "ir/recipe_form.h"

typedef struct Box {
    int64_t at[FACTORS], n[FACTORS];
} Box;

/* How a box of a part is read into a buffer of working elements: `outer` factors by
 * separate reads of `span` elements each, the other factors inside one read. */
typedef struct ReadPlan {
    int64_t span;               /* elements of one read */
    int64_t pitch;              /* from one read to the next in the buffer */
    int64_t need;               /* elements of buffer */
    int64_t first;              /* lowest address */
    int64_t origin;             /* buffer index of the box's first element */
    int64_t step[FACTORS];      /* of the box's factors in the buffer, signed */
    int outer, factor[FACTORS]; /* fastest first */
} ReadPlan;

/* `size` is the whole tile, `box` the box or what guards left of it: what is merged into
 * one read is decided on the tile, so a cut box never needs more than the tile. */
ReadPlan read_plan(const Part *part, int rank, const int64_t *size,
                   const Box *box);
/* The operand of a change as a part of its own, and the elements of buffer that it takes for a tile
 * (0: it is not read). */
Part operand_part(const Change *change);
int64_t operand_need(const Change *change, int rank, const Box *t);
int64_t box_count(const Box *box, int rank);
/* The next index by the first `factors` factors of the box, the last of them fastest; false: it was
 * the last. */
static inline bool box_next(const Box *box, int factors, int64_t *index)
{
    for (int k = factors; k-- > 0;) {
        if (++index[k] < box->at[k] + box->n[k])
            return true;
        index[k] = box->at[k];
    }
    return false;
}
/* Elements of `size` bytes from a buffer that was read by the plan to `out`, in the box's order. */
void box_permute(int rank, const Box *box, const ReadPlan *plan, size_t size,
                 const uint8_t *in, uint8_t *out);

/* Cuts the box by the guards on one factor; false: nothing is left. *whole: no guard needs a look
 * at each run. */
bool box_cut(const Part *part, int rank, Box *box, bool *whole);

/* The size of a tile whose buffers take at most `room` bytes each, and in `order` the
 * factors in which to go from tile to tile: as the main source lies. */
Box tile_shape(const Form *form, DType out, int64_t room, int *order);

#endif
