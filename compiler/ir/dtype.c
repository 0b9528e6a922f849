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

const char *dtype_name(DType type)
{
    return type > DT_NONE && type < DT_COUNT ? rows[type].name : "?";
}

const char *dtype_ctype(DType type)
{
    return type > DT_NONE && type < DT_COUNT ? rows[type].ctype : "void";
}

int dtype_bits(DType type)
{
    return type > DT_NONE && type < DT_COUNT ? rows[type].bits : 0;
}

int dtype_element(DType type)
{
    const int bits = dtype_bits(type);
    const bool is_pair = type == DT_C64 || type == DT_C128;
    const int bytes = bits < 8 ? 1 : bits / 8;
    return is_pair ? bytes / 2 : bytes;
}

int64_t dtype_bytes(DType type, int64_t count)
{
    const int bits = dtype_bits(type);
    return bits >= 8 ? i64_mul(count, bits / 8)
                     : i64_ceil_div(i64_mul(count, bits), 8);
}

DType dtype_of_code(int64_t code)
{
    return code > DT_NONE && code < DT_COUNT && rows[code].name ? (DType)code
                                                                : DT_NONE;
}

bool dtype_is_float(DType type)
{
    return type == DT_F32 || type == DT_F64 || dtype_is_small_float(type);
}

bool dtype_is_small_float(DType type)
{
    return type == DT_F16 || type == DT_BF16 ||
           (type >= DT_F8E4M3FN && type <= DT_F8E5M2FNUZ) ||
           type == DT_F4E2M1 || type == DT_F8E8M0;
}

bool dtype_is_integer(DType type)
{
    return (type >= DT_U8 && type <= DT_I64) || type == DT_U32 ||
           type == DT_U64 || type == DT_U4 || type == DT_I4 || type == DT_U2 ||
           type == DT_I2;
}
