/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/dtype.h"

#include <stddef.h>

#include "base/size.h"

typedef struct DTypeRow {
    const char *name, *ctype;
    int bits;
} DTypeRow;

static const DTypeRow rows[DT_COUNT] = {
#define DTYPE(name, code, bits, ctype, numpy) [code] = { numpy, ctype, bits },
#include "ir/dtype.def"
#undef DTYPE
};

const char *dtype_name(DType t)
{
    return t > DT_NONE && t < DT_COUNT ? rows[t].name : "?";
}

const char *dtype_ctype(DType t)
{
    return t > DT_NONE && t < DT_COUNT ? rows[t].ctype : "void";
}

int dtype_bits(DType t)
{
    return t > DT_NONE && t < DT_COUNT ? rows[t].bits : 0;
}

int64_t dtype_bytes(DType t, int64_t count)
{
    const int bits = dtype_bits(t);
    return bits >= 8 ? i64_mul(count, bits / 8) : i64_ceil_div(i64_mul(count, bits), 8);
}

DType dtype_of_code(int64_t code)
{
    return code > DT_NONE && code < DT_COUNT && rows[code].name ? (DType)code : DT_NONE;
}

bool dtype_is_float(DType t)
{
    return t == DT_F32 || t == DT_F64 || dtype_is_small_float(t);
}

bool dtype_is_small_float(DType t)
{
    return t == DT_F16 || t == DT_BF16 || (t >= DT_F8E4M3FN && t <= DT_F8E5M2FNUZ) ||
           t == DT_F4E2M1 || t == DT_F8E8M0;
}

bool dtype_is_integer(DType t)
{
    return (t >= DT_U8 && t <= DT_I64) || t == DT_U32 || t == DT_U64 || t == DT_U4 || t == DT_I4 ||
           t == DT_U2 || t == DT_I2;
}
