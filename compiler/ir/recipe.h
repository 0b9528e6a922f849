/* SPDX-License-Identifier: Apache-2.0
 * Constants as recipes: where the bytes lie and what to do while they are copied.
 *
 * A recipe is an index space dims[] stored row-major, and a list of parts; in
 * each part the address of the source element is an affine function of the
 * index. Transpose, Reshape, Slice, Concat, Pad, Expand, Cast, per-channel scale
 * and packing into kernel blocks all stay in that form, so a constant of any
 * size costs a few hundred bytes here. What leaves the form is spilled to a
 * temporary file by the function that meets it and starts anew from there:
 * callers never see a failure. Elements in no part are zero.
 *
 * Recipes are immutable once made; all memory is the store's arena. */
#ifndef INLAY_IR_RECIPE_H
#define INLAY_IR_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/io.h"
#include "base/vec.h"
#include "ir/dtype.h"

enum { MAX_RANK = 8 };

/* A long task with payloads, for those who wait. */
typedef struct Work {
    const char *doing;  /* "of weights written" */
    uint64_t done, all; /* bytes */
} Work;

typedef struct Words Words; /* ir/words.h */

/* Owner of everything constant: open files, the spill file, the window. */
typedef struct Store {
    Arena *arena;
    /* for what does not outlive one operation: mark, use, release */
    Arena scratch;
    LoadMode mode;
    size_t window; /* bytes of working memory for streaming */
    File *spill;   /* made on first use */
    uint64_t spill_size;
    Words *words;            /* made on first use */
    VEC(const char *) input; /* paths of the files that were opened */
    uint64_t input_bytes;    /* of those files in all */
    double folded;           /* elements that constants are computed through */
    int64_t folded_bytes;    /* of those that are in memory, with operands */
    uint64_t bytes_read, bytes_written, bytes_spilled;
    Work work;
} Store;

/* A long task begins, of at most `all` bytes; some of them are done. */
void store_work(Store *store, const char *doing, uint64_t all);
void store_worked(Store *store, uint64_t bytes);
/* Adds n bytes of a file from `at` on to a hash. */
void store_hash(Store *store, Sha256 *h, File *file, uint64_t at, uint64_t n);

typedef enum Encoding {
    ENC_FIXED, /* little-endian elements (raw_data, float_data, double_data, external files) */
    ENC_VARINT, /* varints: int32_data, int64_data, uint64_data */
} Encoding;

/* A run of payload bytes in a file. Repeated scalars may come in several runs. */
typedef struct Span {
    uint64_t offset, length;
} Span;

/* Constants that wait for each other, at most: each that is read may read the one before it. */
enum { LATER_DEPTH = 8 };

/* What is computed when it is first read, into its place in the spill file: recipe_later(). */
typedef struct Later {
    void (*make)(Store *store, struct Later *later); /* writes all of it */
    Span place;
    bool made;
    int depth; /* how many wait for each other at most, itself included */
} Later;

/* Where the elements of one TensorProto lie. Either in a file (spans) or in memory. */
typedef struct Source {
    DType dtype;
    int64_t count; /* elements */
    Encoding encoding;
    File *file; /* NULL: memory */
    const Span *span;
    int spans;
    const void *memory; /* elements as ENC_FIXED */
    void *reader;       /* private to recipe_read.c (varint checkpoints) */
    Later *later;       /* NULL: they are there */
} Source;

typedef struct Recipe Recipe;

/* Facts. */
int recipe_rank(const Recipe *recipe);
const int64_t *recipe_dims(const Recipe *recipe);
int64_t recipe_count(const Recipe *recipe);
DType recipe_dtype(const Recipe *recipe);
int64_t recipe_bytes(const Recipe *recipe);
/* The one source whose elements it is, all and in order; NULL: it is made of others. */
const Source *recipe_plain(const Recipe *recipe);

/* Makers. Dims are copied, sources with their spans. A window of 0 is one of 3 MiB. */
Recipe *recipe_source(Store *store, const Source *source, int rank,
                      const int64_t *dims);
/* Values in memory, copied into the arena; little-endian, packed where the type is. */
Recipe *recipe_memory(Store *store, DType type, int rank, const int64_t *dims,
                      const void *values);
/* One value everywhere (step 0): ConstantOfShape, Expand of a scalar. */
Recipe *recipe_fill(Store *store, DType type, int rank, const int64_t *dims,
                    const void *value);

/* A constant that later->make() writes to later->place when it is first read; later
 * is borrowed, its place is set here. */
Recipe *recipe_later(Store *store, Later *later, DType type, int rank,
                     const int64_t *dims);
/* What a plain recipe waits for; NULL: nothing. */
Later *recipe_awaits(const Recipe *recipe);
/* Computes now what else would be computed when the recipe is read, if more than `most` wait for
 * each other; returns how many do then. */
int recipe_settle(Store *store, const Recipe *recipe, int most);
/* The same values as a recipe of which slices take no spill: itself, or spilled. */
const Recipe *recipe_cuttable(Store *store, const Recipe *recipe);
/* So many bytes of the spill file, made on first use: where they begin. */
uint64_t spill_room(Store *store, uint64_t bytes);

/* A sparse tensor made dense: a list of values, of 8 bits or more each, and int64 indices, flat [n]
 * or [n][rank], in ascending order. *wrong: NULL, or why it cannot be. */
typedef struct SparseParts {
    const Recipe *values, *indices;
    int rank;
    const int64_t *dims;
} SparseParts;
Recipe *recipe_sparse(Store *store, const SparseParts *parts,
                      const char **wrong);

/* Rewritings. */
Recipe *recipe_transpose(Store *store, const Recipe *recipe, const int *perm);
Recipe *recipe_reshape(Store *store, const Recipe *recipe, int rank,
                       const int64_t *dims);
/* Elements start, start + step, ... (count of them) of an axis; step may be negative. */
Recipe *recipe_slice(Store *store, const Recipe *recipe, int axis,
                     int64_t start, int64_t step, int64_t count);
/* Elements from, from + 1, ... (count of them) of an axis. */
Recipe *recipe_part(Store *store, const Recipe *recipe, int axis, int64_t from,
                    int64_t count);
Recipe *recipe_pad(Store *s, const Recipe *r, int axis, int64_t before,
                   int64_t after); /* zeros */
/* An axis filled up to `size` with zeros behind. */
Recipe *recipe_fill_up(Store *store, const Recipe *recipe, int axis,
                       int64_t size);
/* As a matrix of so many rows; and a matrix with rows and columns exchanged. */
Recipe *recipe_matrix(Store *store, const Recipe *recipe, int64_t rows);
Recipe *recipe_turn(Store *store, const Recipe *matrix);
Recipe *recipe_concat(Store *store, int n, Recipe *const *r, int axis);
/* Broadcasts to dims by the rules of ONNX. */
Recipe *recipe_expand(Store *store, const Recipe *recipe, int rank,
                      const int64_t *dims);
/* [outer][count][inner] -> [outer][size][inner]: each number of axis 1 so many times in a row, the
 * last one fewer times. */
Recipe *recipe_repeat(Store *store, const Recipe *recipe, int64_t times,
                      int64_t size);
/* Conversion with ONNX Cast's rules (rounding to nearest even, saturation for float8). */
Recipe *recipe_cast(Store *store, const Recipe *recipe, DType type);
/* recipe * v and recipe + v; v is broadcast to the dims of recipe by the rules of ONNX and
 * streamed beside it: it may be of any size. float32 recipes only. */
Recipe *recipe_mul(Store *store, const Recipe *recipe, const Recipe *v);
Recipe *recipe_add(Store *store, const Recipe *recipe, const Recipe *v);
/* Operands for them: one number, and n numbers along an axis of a recipe of that rank. */
Recipe *recipe_number(Store *store, float x);
Recipe *recipe_along(Store *store, int rank, int axis, int64_t n,
                     const float *vec);
/* The same bytes as elements of type: weights of few bits that are stored as bytes. */
Recipe *recipe_bits(Store *store, const Recipe *recipe, DType type, int rank,
                    const int64_t *dims);

/* A float32 recipe taken apart: (values - zero) * scale, where values are of a narrower type. */
typedef struct Narrow {
    Recipe *values;
    Recipe *scale; /* float32 or narrower, of the dims of values; NULL: 1 */
    Recipe *zero;  /* of their type and dims; NULL: `middle` for all */
    float middle;
    bool
        folded; /* the scale is a product of several: the last bits may differ */
    DType rounded; /* what follows is a rounding to that type; DT_NONE: none */
} Narrow;
/* false: it is not of that form. */
bool recipe_narrow(Store *store, const Recipe *recipe, Narrow *narrow);
/* A scale or zero point of such a recipe, whose elements along an axis come *times in a row, the
 * last one fewer times perhaps: each of them once. */
Recipe *recipe_once(Store *store, const Recipe *recipe, int axis,
                    int64_t *times);

/* All values, as ENC_FIXED elements in row-major order, into a new array of the arena `a`.
 * For small constants; `bytes` must be expected by the caller (recipe_bytes). */
void *recipe_values(Store *store, Arena *arena, const Recipe *recipe);
/* Streams the result to `out` at `at` through the window; writes may be scattered. */
void recipe_write(Store *store, const Recipe *recipe, File *out, uint64_t at);
/* Are two recipes certainly equal by construction (same sources, same addresses)? For storing
 * duplicates once. */
bool recipe_same(const Recipe *a, const Recipe *b);

/* Keys by which equal recipes are found without comparing each with each, and without reading: of
 * recipes with equal KEY_FORM the same is done to sources of the same sizes, with equal KEY_PLACE
 * to the same sources. KEY_ORIGIN is KEY_PLACE for recipes of different compiles of the same files:
 * what lies in no file of the user's is read. */
typedef enum RecipeKey { KEY_FORM, KEY_PLACE, KEY_ORIGIN } RecipeKey;
void recipe_key(Store *store, const Recipe *recipe, RecipeKey level,
                char key[65]);

/* A hash of what the sources hold that goes on where it stopped: equal KEY_FORM and equal keys of
 * all bytes are equal values. */
typedef struct RecipeDigest {
    Sha256 hash;
    uint64_t done; /* bytes of the payloads */
} RecipeDigest;
void recipe_digest_begin(RecipeDigest *digest);
/* The key of the payloads up to byte `until`; true: that was all. */
bool recipe_digest(Store *store, const Recipe *recipe, RecipeDigest *digest,
                   uint64_t until, char key[65]);
/* Bytes of all payloads. */
uint64_t recipe_payload(const Recipe *recipe);

#endif
