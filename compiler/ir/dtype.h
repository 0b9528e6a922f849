/* SPDX-License-Identifier: Apache-2.0
 * Element types of tensors; the table is dtype.def. */
#ifndef INLAY_IR_DTYPE_H
#define INLAY_IR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum DType {
    DT_NONE,
#define DTYPE(name, code, bits, ctype, numpy) DT_##name = code,
#include "ir/dtype.def"
#undef DTYPE
    DT_COUNT
} DType;

/* A set of element types: bit DTYPE_BIT(t) of a word. */
#define DTYPE_BIT(t) (UINT32_C(1) << (t))
typedef uint32_t DTypeSet;

const char *dtype_name(DType t); /* NumPy's; "?" where t is none */
const char *dtype_ctype(DType type);
int dtype_bits(DType t); /* 0: none */
/* Bytes of what C has for it: complex numbers are two, packed ones share a byte. */
int dtype_element(DType type);
/* Bytes of `count` elements; sub-byte types are packed, the last byte part-filled. */
int64_t dtype_bytes(DType type, int64_t count);
/* The type with ONNX's code, DT_NONE where there is none. */
DType dtype_of_code(int64_t code);
bool dtype_is_float(DType t);   /* any floating type, 4 to 64 bits */
bool dtype_is_integer(DType t); /* any integer type, 2 to 64 bits; not bool */
bool dtype_is_small_float(
    DType t); /* floating, below 32 bits: computes in float32 */

#endif
