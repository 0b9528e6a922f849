/* SPDX-License-Identifier: Apache-2.0
 * What a small file may make of itself at most. No model that fits a device comes near; a file that
 * goes beyond ends with status 69. SECURITY.md names them. */
#ifndef INLAY_BASE_LIMITS_H
#define INLAY_BASE_LIMITS_H

#include <stdint.h>

enum {
    /* Nodes that functions, unrolled loops and bodies of SequenceMap expand to, and so many more
     * for each node of the file. */
    LIMIT_EXPANDED = 16384,
    LIMIT_EXPANDED_OF_NODE = 4,
    EXPANDED_BODY = 4, /* a body counts as so many */
    /* Inputs of a node, or outputs. */
    LIMIT_OPERANDS = 10240,
    /* Inputs of a model, or results, beside one for each node of its graph. */
    LIMIT_INTERFACE = 10240,
    /* Nodes with bodies (If, Loop, Scan) that are left once constants are known. */
    LIMIT_BODIES = 256,
    /* Windows of a CSV of items in which one of them is dead. */
    LIMIT_GAPS = 16384,
    /* Words of a command line, with those of files. */
    LIMIT_LINE = 32768,
    /* Items of all lists that a model's sequences are; each operator makes a list of its own. */
    LIMIT_LISTED = 1 << 20,
    /* Pieces of other constants that one is put together of. */
    LIMIT_PIECES = 8192,
    /* Elements that constants are computed through, in all, and so many more for each byte of the
     * model's files; where it would be more, a node stays and runs on the device. Of products so
     * many count as one. */
    LIMIT_FOLDED = 1 << 26,
    LIMIT_FOLDED_OF_BYTE = 128,
    FOLDED_PRODUCTS = 8,
    /* Bytes of constants that a model's code needs, and so many more for each byte of its files. */
    LIMIT_WEIGHTS = 1 << 27,
    LIMIT_WEIGHTS_OF_BYTE = 64,
    /* Different strings of a model. */
    LIMIT_WORDS = 1 << 20,
    /* Rows that all steps make together: the proof of a plan follows each of them. */
    LIMIT_ROWS = 1 << 24,
    /* Rows of a result for which it is known one by one what they need: the manifest lists them. Of
     * one with more, each needs all rows. */
    LIMIT_RULES = 1 << 17,
    /* Points of a Fourier transform, whose table is held in memory. */
    LIMIT_TRANSFORM = 1 << 19,
    /* Bytes of a constant whose values say where a kernel reads: each of them is looked at. */
    LIMIT_TABLE = 1 << 26,
};

/* Bytes of the arena, and of a tensor in it. */
static const int64_t LIMIT_ARENA = (int64_t)1 << 32;

#endif
