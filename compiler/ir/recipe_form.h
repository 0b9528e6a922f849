/* SPDX-License-Identifier: Apache-2.0
 * The normal form behind recipe.h, private to recipe*.c.
 *
 * An index space of factors, stored row-major; a logical axis is a run of
 * factors (none where its size is one), so that a reshape may split and join.
 * All that is said about an element is an affine function of its index: the
 * address in the source, the guards that say which part it comes from, and the
 * operand of a scale or bias. Every rewriting is one substitution of the index
 * in all these functions (Reindex). What a Concat brings together although its
 * inputs have other factors stays apart: a list of forms, each with its place. */
#ifndef INLAY_IR_RECIPE_FORM_H
#define INLAY_IR_RECIPE_FORM_H

#include "ir/recipe.h"

enum {
    FACTORS = 12, /* of a form */
    GUARDS = 6,
    CHANGES = 8,             /* of a part */
    SMALL_BYTES = 64 * 1024, /* spilled to memory, not to the file */
    DEFAULT_WINDOW = 3 * 1024 * 1024,
};

typedef struct Affine {
    int64_t base, step[FACTORS];
} Affine;

/* The part holds element i only if low <= at(i) < high. */
typedef struct Guard {
    Affine at;
    int64_t low, high;
} Guard;

typedef enum ChangeKind { CHANGE_CAST, CHANGE_MUL, CHANGE_ADD } ChangeKind;

/* What happens to a value, in order: x becomes (dtype)x, x * v or x + v, where v is element at(i)
 * of another source after changes of its own. Those are casts, and numbers that lie in memory. */
typedef struct Change {
    ChangeKind kind;
    DType dtype; /* of the value afterwards */
    Affine at;
    Source *source; /* NULL: a cast */
    int changes;
    const struct Change *change;
} Change;

typedef struct Part {
    Source *source;
    Affine at;
    int guards, changes;
    Guard *guard;
    Change *change;
} Part;

typedef struct Form {
    int rank; /* factors */
    int64_t dim[FACTORS];
    int8_t axis[FACTORS]; /* ascending */
    bool holes;           /* some elements may lie in no part */
    int parts;
    Part *part;
} Form;

/* A form whose elements are runs of a larger one's: its first `outer` factors step by `row`
 * elements of the whole, the others lie together. */
typedef struct Piece {
    const Form *form;
    int outer;
    int64_t offset, row;
} Piece;

typedef struct Join {
    int pieces;
    Piece piece[];
} Join;

struct Recipe {
    Source *source;   /* of a plain recipe: all of it, in order; else NULL */
    const Form *form; /* NULL: plain, or joined */
    const Join *join; /* of pieces that cover it all; NULL: it is not */
    uint8_t dtype, rank;
    int64_t dim[];
};

/* Index i of the old factors as a function of the new: i[from[j]] += mul[j] * new[j], i[k] +=
 * start[k]. */
typedef struct Reindex {
    int rank, old_rank;
    int from[FACTORS]; /* -1: the factor is new, nothing depends on it */
    int64_t mul[FACTORS], dim[FACTORS], start[FACTORS];
    int8_t axis[FACTORS];
} Reindex;

/* A copy to rewrite, each part with room for one more guard and change; of the scratch arena. What
 * is joined is spilled. */
Form *form_copy(Store *store, const Recipe *recipe);
/* A copy that stays. */
Form *form_keep(Store *store, const Form *form);
Reindex reindex_same(const Form *form);
void reindex_insert(Reindex *x, int at, int from, int64_t mul, int64_t dim,
                    int axis);
void reindex_remove(Reindex *x, int at);
void affine_reindex(Affine *f, const Reindex *x);
void form_reindex(Form *form, const Reindex *x);
/* Splits factor k into outer and inner (size `inner`, a divisor); false: no factor left. */
bool form_split(Form *form, int k, int64_t inner);
/* Joins neighbours where all functions step through both as one, within axes or across them. */
void form_join(Form *form, bool across);
/* The only factor of an axis, made where the axis has none; -1: it has several, or there is no
 * room. */
int form_axis(Form *form, int axis);
/* Joins, drops factors of one, guards that always hold and parts that never do; fails with 65 on
 * overflow. */
void form_settle(Form *form);
/* The form is copied. */
Recipe *form_recipe(Store *store, const Form *form, DType type, int rank,
                    const int64_t *dims);
/* Of the pieces, which are not copied. */
Recipe *recipe_joined(Store *store, const Join *join, DType type, int rank,
                      const int64_t *dims);
/* Without elements. */
Recipe *recipe_empty(Store *store, DType type, int rank, const int64_t *dims);
/* 0 where one is; too many fail with 65. */
int64_t dims_product(int rank, const int64_t *dims);
/* Ends a rewriting: its form was made in the scratch arena after `mark`. */
Recipe *form_result(Store *store, ArenaMark mark, Form *form, DType type,
                    int rank, const int64_t *dims);
int64_t form_count(const Form *form);
/* Has a part as many guards as it may have? */
bool form_guards_full(const Form *form);
/* Are the operands of all changes of a part the same along factor k? */
bool changes_stand_still(const Part *part, int k);
/* Reads each number once along factor k, the only one of its axis, where it comes *times in a row,
 * the last one fewer times (recipe_repeat.c); false: it does not. */
bool form_read_once(Form *form, int k, int64_t *times);
/* Hides all but low <= index < high of factor k. */
void form_add_guard(Part *part, int k, int64_t low, int64_t high);
/* Least and greatest value over the index space. */
void affine_range(const Affine *f, int rank, const int64_t *dim, int64_t *low,
                  int64_t *high);

/* The values of an operand where they lie, if they are float32 in memory; NULL: they are read. */
const float *change_memory(const Change *change);

/* The result, one working element after the other, to `at` of a file, or to memory (recipe_run.c).
 */
void recipe_run(Store *store, const Recipe *recipe, File *file, uint64_t at,
                uint8_t *memory);
/* What one of the buffers may take. */
size_t recipe_room(const Store *store);
/* So many more bytes of results are in their file. */
void recipe_wrote(Store *store, uint64_t bytes);

/* The values, stored anew: a plain recipe. */
Recipe *recipe_spill(Store *store, const Recipe *recipe);

/* --- reading a source (recipe_read.c) --- */

/* Bytes of one element in the working buffers: a sub-byte element takes one. */
size_t dtype_work(DType type);
/* Computes what is computed when it is read (recipe_later.c). */
void source_make(Store *store, const Source *source);
/* Working state of a source, in the store's arena until source_close(). */
void source_open(Store *store, Source *source);
void source_close(Source *source);
/* Elements first .. first + n - 1 as working elements. */
void source_read(Store *store, Source *source, int64_t first, int64_t n,
                 void *to);
/* Bytes `at` .. at + n - 1 of the spans as they are. */
void source_bytes(Store *store, Source *source, uint64_t at, void *to,
                  size_t n);
bool source_same(const Source *a, const Source *b);
/* Packs n working elements of a sub-byte type, the first in the lowest bits; unpacks n from element
 * `first`. */
void bits_pack(DType type, uint8_t *to, const uint8_t *from, int64_t n);
void bits_unpack(DType type, uint8_t *to, const uint8_t *from, int64_t first,
                 int64_t n);

#endif
