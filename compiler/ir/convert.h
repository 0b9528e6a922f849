/* SPDX-License-Identifier: Apache-2.0
 * Conversion of runs of elements between all types, with the rules of ONNX's Cast.
 *
 * Elements are working elements: one byte each where the type is smaller. To a
 * float: rounded once, to nearest, ties to even; 8-bit and 4-bit floats saturate;
 * float8e8m0 takes the power of two above. To an integer: towards zero, then the
 * low bits; to bool: not zero. What does not fit the widest integer is the least one. */
#ifndef INLAY_IR_CONVERT_H
#define INLAY_IR_CONVERT_H

#include "ir/dtype.h"

enum { CONVERT_RUN = 512 }; /* most elements of one call */

/* Strings and complex types cannot be converted; equal types are copied. */
bool convert_possible(DType from, DType to);
void convert_run(DType from, const void *in, DType to, void *out, int n);
/* One value of a small float type (16 bits and below). */
float small_to_float(DType type, uint32_t code);
uint32_t small_from_float(DType type, float x);

#endif
