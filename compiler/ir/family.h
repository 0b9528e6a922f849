/* SPDX-License-Identifier: Apache-2.0
 * Families of cores: how weights are packed for --target; the tables are family.def.
 *
 * Packed bytes of a product: blocks of `byte_width` output channels, then one of the rest, filled
 * up to a multiple of 4; in a block, for each `byte_depth` inputs in turn, those of channel 0, of
 * channel 1, ... A depth of 4 runs through each row of a window, one of 16 through all of it
 * (runtime/kernels/qconv_mve.inc.h). Any C compiler's code reads what is packed for any family: a
 * layout is only fast where it was meant for, unless the row says what it `needs`. */
#ifndef INLAY_IR_FAMILY_H
#define INLAY_IR_FAMILY_H

#include <stdbool.h>

/* What the bytes of an input are taken as: the other sign is folded into biases. */
typedef enum ByteSign {
    BYTES_AS_THEY_ARE,
    BYTES_UNSIGNED,
    BYTES_SIGNED,
} ByteSign;

typedef struct Family {
    const char *name;
    const char *machine; /* of an object file, emit/elf.c; NULL: this host's */
    int float_width;     /* output channels in a block of float weights */
    bool float_vectors;  /* floats are computed several at a time */
    int byte_width;      /* the same of 8-bit weights */
    int byte_depth;      /* their inputs that lie side by side */
    /* most columns whose numbers a depthwise convolution of bytes takes apart in scratch, even;
     * 0: it does not */
    int byte_columns;
    ByteSign bytes;
    /* two channels in 16 bits, where weights allow it: runtime/kernels/qtile_dsp.inc.h */
    bool byte_halves;
    /* of weights of 8 bits for numbers of 16: runtime/kernels/qconv_short.h */
    bool crossed;
    /* a condition of the C preprocessor without which the kernels cannot read it, and what to say
     * then; NULL: none */
    const char *needs, *without;
} Family;

/* What --target takes, ended by NULL. */
extern const char *const target_names[];
/* The family of a target; of NULL: this host's. NULL: there is no such target. */
const Family *family_of_target(const char *target);
/* A target of that family. */
const char *family_target(const Family *family);
/* By its own name; NULL: there is none. */
const Family *family_named(const char *name);

#endif
