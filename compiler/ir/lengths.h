/* SPDX-License-Identifier: Apache-2.0
 * Lengths that each run is given, within bounds: --dim T=1..64.
 *
 * The model is lowered for every combination of lengths, so that nothing needs to be known of how
 * an operator follows a size. Combinations whose steps differ in numbers alone (sizes, strides,
 * places, units) share the steps and the plan of the greatest of them: they are a variant. Each of
 * its numbers that is not the same for all is a column of the code: a polynomial of the lengths, or
 * a table. A run for a combination is so, number for number, the run of a compile for it. */
#ifndef INLAY_IR_LENGTHS_H
#define INLAY_IR_LENGTHS_H

#include "ir/program.h"

enum { MOST_LENGTHS = 3, MOST_COMBINATIONS = 4096, MOST_VARIANTS = 16 };

typedef struct Length {
    const char *symbol; /* of the model */
    int32_t least, most;
} Length;

/* What a number is of. */
typedef enum NumberKind {
    NUMBER_UNITS,
    NUMBER_PARAM, /* element `part` of field `place` of the parameters */
    NUMBER_REF,   /* of operand `place`: RefPart `part` */
    NUMBER_DIM,   /* dimension `part` of result `place`; of no step */
} NumberKind;

typedef enum RefPart { REF_OFF, REF_ROW, REF_CAP, REF_PIX, REF_PARTS } RefPart;

typedef struct NumberPlace {
    NumberKind kind;
    int32_t step, place, part;
} NumberPlace;

/* Of an operand whose constant is another for each combination: that of member i. */
typedef struct OwnConstant {
    int32_t step, operand;
    VEC(Tensor *) tensor;
} OwnConstant;

/* A number that follows the lengths. */
typedef struct Column {
    const int64_t *table; /* of each combination; NULL: a polynomial */
    /* twice its terms: 1, each length, each product of two */
    const int64_t *term;
} Column;

typedef struct Following {
    NumberPlace at;
    int32_t column; /* of Lengths.column */
} Following;

typedef struct Variant {
    Program *program;    /* of its first member, planned */
    VEC(int32_t) member; /* combinations, the greatest first */
    /* of each member all numbers, in the order of numbers_each(); of a constant operand the offset
     * within the constant */
    VEC(const int64_t *) numbers;
    VEC(OwnConstant) own;
    VEC(Following)
    follows; /* in the order of the steps, dims of results last */
} Variant;

typedef struct Lengths {
    Arena *arena;
    int n;
    Length of[MOST_LENGTHS];
    VEC(Variant *) variant;    /* that of the greatest combination first */
    const uint8_t *variant_of; /* of each combination */
    VEC(Column) column;
    /* the steps and the constants of all variants: what the code has, and the kernels that it
     * needs */
    Program *all;
} Lengths;

/* How many combinations there are; the lengths of one; numbers rise with the first length, then
 * with the second. */
int64_t lengths_combinations(const Lengths *lengths);
void lengths_at(const Lengths *lengths, int32_t combination,
                int32_t value[MOST_LENGTHS]);
/* "T=7, S=3" */
const char *lengths_text(const Lengths *lengths, int32_t combination);
/* How many terms a polynomial has. */
int lengths_terms(const Lengths *lengths);

/* All numbers of a linked program, one after the other. */
typedef void NumberVisit(void *context, NumberPlace place, int64_t value);
void numbers_each(const Program *program, NumberVisit *visit, void *context);
const int64_t *numbers_listed(Arena *arena, const Program *program);

/* Once constants have their places: which numbers follow the lengths, and how. */
void lengths_settle(Lengths *lengths);
/* Does the size of result i depend on the lengths? */
bool lengths_of_result(const Lengths *lengths, size_t i);
/* The column of dimension k of result i in a variant; -1: it is the same for all of its members. */
int32_t lengths_dim(const Variant *variant, size_t i, int k);
/* Bytes that a run keeps on the stack: numbers, and a step's own parameters and operands. */
int64_t lengths_params(const Lengths *lengths);
int64_t lengths_refs(const Lengths *lengths);
int64_t lengths_stack(const Lengths *lengths);

#endif
