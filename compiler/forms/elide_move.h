/* SPDX-License-Identifier: Apache-2.0
 * Operands that move: all that read or write a tensor get another home, a part of another tensor.
 * What elide.c and elide_join.c share. */
#ifndef INLAY_FORMS_ELIDE_MOVE_H
#define INLAY_FORMS_ELIDE_MOVE_H

#include "base/vec.h"
#include "ir/program.h"

/* How the operands of a tensor see it: all alike, or it stays as it is. */
typedef struct Sight {
    int32_t rows;
    int64_t row_bytes, pixel;
    int joins; /* operands of concatenations that read it */
    bool seen, differs, updated;
} Sight;

/* A copy to be made behind step `after` of those there were. */
typedef struct Late {
    Step *step;
    size_t after;
} Late;

/* A step that touches a tensor: its place in `step`, or, behind all of those, in `late`. */
typedef struct StepUse {
    int32_t step, next;
} StepUse;

typedef struct Elider {
    Arena *arena;
    const Program *program;
    Steps *out;
    const uint8_t *way;
    VEC(Step *) step; /* as they are now, by their old numbers; NULL: gone */
    VEC(Late) late;
    Sight *sight; /* by tensor id */
    VEC(StepUse) use;
    int32_t *first; /* use of a tensor, by id below `ids`; -1: none */
    int ids;
    int64_t work; /* operands that may still be moved */
    bool any;
} Elider;

/* Where the operands of a tensor go. */
typedef struct Home {
    Operand y;          /* an operand on all of the new home */
    int64_t offset;     /* bytes into it */
    int64_t part;       /* elements of a pixel; 0: all of them */
    bool block;         /* rows and pixels stay as they are */
    bool reads, writes; /* which operands move */
} Home;

/* The tensor whose bytes the operand's are, and where in it they begin. */
Tensor *operand_root(const Operand *operand, int64_t *at);
/* Old bytes of a state must be read, and new ones written, when the model's order says so. */
bool operand_is_state(const Operand *operand);
/* Is it one whose place in the arena is ours to choose? */
bool root_may_move(const Tensor *root);
/* An image of which all operands see all, in the same rows and pixels, and which ends with its
 * channels. */
bool elider_is_plain(const Elider *elider, const Operand *operand);

/* A step like s, with operands of its own. */
Step *elider_copy_step(Arena *arena, const Step *s);
/* A tensor like `like` whose bytes are those of another from `offset` on. */
Tensor *elider_view(Elider *elider, const Tensor *like, Tensor *of,
                    int64_t offset);

/* The steps that touch a tensor, each once, those that were there first; *n: how many. */
int32_t *elider_uses(const Elider *elider, const Tensor *x, int32_t *n);
/* A step by the number that a use has; NULL: it is gone. */
Step *elider_step(const Elider *elider, int32_t step);
/* The operand is one of the step of that number. */
void elider_note_use(Elider *elider, const Operand *operand, size_t step);

/* The operands of a tensor go to their new home. */
void elider_move(Elider *elider, const Tensor *x, const Home *home);
/* Adds a step behind step `after` of those there were. */
void elider_add_late(Elider *elider, Step *s, size_t after);

#endif
