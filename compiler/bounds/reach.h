/* SPDX-License-Identifier: Apache-2.0
 * What the bounds functions of all families share. They count in elements of the operand's type, as
 * kernels.def has it (bytes where that is '.'); all sums and products saturate. */
#ifndef INLAY_BOUNDS_REACH_H
#define INLAY_BOUNDS_REACH_H

#include "base/size.h"
#include "ir/program.h"

/* What a step may touch of an operand: bytes [lo, hi) from its first, or of each of the rows [0,
 * rows). Nothing where lo == hi. */
typedef struct Reach {
    const char *name; /* what the kernel calls it; NULL: it is not touched */
    char type;        /* a letter of kernels.def */
    bool by_row;
    bool needed;
    bool any;      /* touch_any() */
    bool believed; /* its values were read: the other bounds follow from them */
    int64_t lo, hi;
    int64_t rows;
} Reach;

struct Bounds {
    const Program *program;
    const Step *step;
    const void *params;
    Reach *reach;
    Reach beyond;      /* of operands that the step does not have */
    const char *wrong; /* what the parameters cannot be; NULL: nothing */
};

/* Elements [lo, hi) from the first of an operand or a row. */
typedef struct Stretch {
    int64_t lo;
    int64_t hi;
} Stretch;

Stretch span_of(int64_t elements);
/* n times, `stride` elements apart; nothing where n is 0. */
Stretch span_times(Stretch stretch, int64_t n, int64_t stride);
/* The same by a loop that looks at its end only: at least once. */
Stretch span_loop(Stretch stretch, int64_t n, int64_t stride);
/* Loops of that kind, one in the other. */
Stretch span_nest(Stretch stretch, int loops, const int32_t *n,
                  const int32_t *stride);
Stretch span_move(Stretch stretch, int64_t elements);
Stretch span_both(Stretch a, Stretch b);

/* The product of `count` sizes; of sizes of at least 1 each. */
int64_t sizes_product(Bounds *bounds, int count, const int32_t *n);
int64_t sizes_walked(Bounds *bounds, int count, const int32_t *n);
int64_t wide_product(Bounds *bounds, int count, const int64_t *n);
/* The product of sizes that stand one by one. */
#define product_of(bounds, ...) \
    wide_product(bounds, sizeof(SIZES(__VA_ARGS__)) / sizeof(int64_t), \
                 SIZES(__VA_ARGS__))
#define SIZES(...) \
    (const int64_t[]) \
    { \
        __VA_ARGS__ \
    }

/* The parameters cannot be so. */
void bounds_refuse(Bounds *bounds, bool wrong, const char *why);
/* A size: not negative. */
int64_t bounds_size(Bounds *bounds, int64_t n);
/* A divisor, a stride: above zero. */
int64_t bounds_positive(Bounds *bounds, int64_t n);
/* A number of loops, which lie in arrays of 8: false where it is none. */
bool bounds_rank(Bounds *bounds, int64_t rank, int64_t least);
/* An index or a sum that the kernel computes in 32 bits. */
void bounds_narrow(Bounds *bounds, int64_t n);

/* Blocks of packed weights are filled up to fours of channels. */
int64_t up_to_four(int64_t channels);
/* One axis of a window: the places it begins at and its taps are reckoned in 32 bits. */
void bounds_axis(Bounds *bounds, int64_t out, int64_t stride, int64_t pad,
                 int64_t taps, int64_t dilation);
/* Axis d, h or w, and all three, of parameters whose fields are named as a convolution's. */
#define bounds_axis_of(bounds, params, a) \
    bounds_axis(bounds, (params)->o##a, (params)->s##a, (params)->p##a, \
                (params)->k##a, (params)->d##a)
#define bounds_axes(bounds, params) \
    do { \
        bounds_axis_of(bounds, params, d); \
        bounds_axis_of(bounds, params, h); \
        bounds_axis_of(bounds, params, w); \
    } while (0)

/* Operand k is touched, and called `name` in messages: elements [0, n) of it, or a span. */
void touch(Bounds *bounds, int k, const char *name, int64_t n);
void touch_span(Bounds *bounds, int k, const char *name, Stretch stretch);
/* As many elements as the product of sizes. */
#define touch_box(bounds, k, name, ...) \
    touch(bounds, k, name, product_of(bounds, __VA_ARGS__))
/* The span of each of `rows` rows; of a row for each of the step's units. */
void touch_each_row(Bounds *bounds, int k, const char *name, int64_t rows,
                    Stretch stretch);
void touch_units(Bounds *bounds, int k, const char *name, Stretch stretch);
/* Images of so many pixels a row and channels: a row for each of the step's units; and `rows` of
 * the input, operand 1. */
void touch_image(Bounds *bounds, int k, const char *name, int64_t pixels,
                 int64_t channels);
void touch_source(Bounds *bounds, int64_t rows, int64_t pixels,
                  int64_t channels);
/* Rows of x behind the step's rows of y, whose images have `high` of them and those of x `rows`. */
int64_t image_rows(Bounds *bounds, int64_t high, int64_t rows);
/* Its type where parameters say it, before it is touched. */
void touch_as(Bounds *bounds, int k, char type);
/* It may not be left out. */
void touch_needs(Bounds *bounds, int k);
/* Whatever operands [first, end) hold, the kernel ends, keeps to these bounds and computes what C
 * defines: weights, which may come from elsewhere. A constant of which this is not said is one that
 * the kernel believes: places, counts, numbers of steps between bytes. */
void touch_any(Bounds *bounds, int first, int end);
/* The same of those that are floats. */
void touch_any_floats(Bounds *bounds, int first, int end);
bool touch_given(const Bounds *bounds, int k);

/* Elements from pixel to pixel of operand k; and `pixels` of `channels` elements. */
int64_t pixel_of(const Bounds *bounds, int k);
Stretch span_pixels(const Bounds *bounds, int k, int64_t pixels,
                    int64_t channels);
/* The values of operand k where it is a constant, and how many; else NULL. */
const void *bounds_values(const Bounds *bounds, int k, int64_t *count);

int type_bits(char type);

#endif
