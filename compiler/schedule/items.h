/* SPDX-License-Identifier: Apache-2.0
 * What the planner places: one item a tensor that owns bytes of the arena, and
 * every operand that touches it, in the order of the steps. */
#ifndef INLAY_SCHEDULE_ITEMS_H
#define INLAY_SCHEDULE_ITEMS_H

#include "schedule/options.h"

typedef struct Touch {
    int32_t step, item;
    const Operand *operand;
    /* bytes into the item where the operand's row 0 begins, channels of a part not counted */
    int64_t at;
    /* bytes into a pixel where a part begins; 0: all of the pixel */
    int64_t lane;
    bool by_row; /* its rows are rows of the item, from row0 on */
    int32_t row0;
    /* written: complete only when all units of the step are done */
    bool all_units;
} Touch;

typedef struct Item {
    Tensor *root;
    int64_t size; /* bytes, rounded up to the plan's alignment */
    int64_t row_bytes;
    /* alive in steps [first, end); first -1: there before the first step, end > steps: after the
     * last */
    int32_t first, end;
    int32_t rows; /* as the step that makes it sees it */
    bool scratch;
    /* a result, or an input that must not be written: alive to the end */
    bool kept;
    /* lies in a caller's output buffer: takes no room, but is made and read like the others */
    bool outside;
    /* some operand does not see its rows, from the first on, or does not make all: it cannot be a
     * ring */
    bool whole;
    /* read and written by one step, or a state: stays where it is */
    bool fixed;
    /* alive over a loop: stays where it is as long as steps jump */
    bool looped;
    /* a step makes its result of this item element by element, and in a stream may make it in the
     * item's place: 1 + that step, 0: none does */
    int32_t lent;
    int32_t ring; /* rows that exist at a time; 0: all */
    /* where its rows lie in the pool of its stream; NULL: one after the other */
    const RowSlots *slots;
    bool over; /* then: some of them over rows that they are made of */
    /* 1 + the item at whose place it lies, or which stands for their pool; 0: it has its own */
    int32_t host;
    int64_t lead; /* then: bytes behind the host's begin */
    /* 1 + an item of the pool that begins within this one, in the stream that makes it; 0: none */
    int32_t tail;
} Item;

typedef struct Items {
    Arena *arena;
    const Program *program;
    int64_t align;
    bool preserve_input;
    int32_t threads; /* as asked for: options.h */
    int64_t split_work;
    /* streams may make results in the place of what they are made of */
    bool hosts;
    /* a result may be written over rows that are still read, behind their pixels */
    bool by_pixels;
    /* by tensor id: an input of the model that is there before the first step; a result */
    bool *is_input, *is_result;
    int *of;          /* by tensor id; -1: not in the arena */
    VEC(Item) item;   /* in order of birth */
    VEC(Touch) touch; /* in order of steps and operands */
    /* by item, of what a walk lists of them: room of stream_walk() */
    int32_t *listed;
    int32_t *touch_of; /* of step s: touch_of[s] .. touch_of[s + 1] - 1 */
    /* where steps jump nothing is streamed, and if they do, nothing is moved or dropped */
    StepRange jumped;
} Items;

/* Requires: every operand has a storage. */
Items items_find(Arena *arena, const Program *program, const PlanOptions *opt);
/* The item of a tensor, or NULL. */
Item *item_of(const Items *all, Tensor *tensor);

/* Is it jumped over or back to? */
bool items_jumped(const Items *all, int32_t step);
/* Will what the touch sees be seen once more when its step comes again? */
bool items_return(const Items *all, const Touch *touch);

static inline const Step *items_step(const Items *all, int32_t step)
{
    return all->program->step.at[step];
}

static inline Item *touch_item(const Items *all, const Touch *touch)
{
    return all->item.at + touch->item;
}

/* Its touches in the order of the operands. */
static inline const Touch *touch_begin(const Items *all, int32_t step)
{
    return all->touch.at + all->touch_of[step];
}
static inline const Touch *touch_end(const Items *all, int32_t step)
{
    return all->touch.at + all->touch_of[step + 1];
}

static inline int64_t items_round(const Items *all, int64_t bytes)
{
    return (bytes + all->align - 1) / all->align * all->align;
}

/* Rows of the item that the unit of the touch's step needs, or makes. */
Rows touch_rows(const Items *all, const Touch *touch, int32_t unit);

#endif
