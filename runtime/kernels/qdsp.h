/* SPDX-License-Identifier: 0BSD
 * Words of four bytes on Arm cores with the DSP instructions: taken apart into words of two
 * numbers, and put together. */
#ifndef INLAY_QDSP_H
#define INLAY_QDSP_H

#include "kernels/qvec.h"

/* Helium cores have them as well. */
#if INLAY_QDSP
#define INLAY_QHALVES 1
#elif INLAY_QMVE && defined __ARM_FEATURE_DSP
#define INLAY_QHALVES 1
#else
#define INLAY_QHALVES 0
#endif

#if INLAY_QHALVES

INLAY_INLINE uint32_t inlay_word(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The numbers 0 and 2 of a four with signs, and the numbers 1 and 3. */
INLAY_INLINE uint32_t inlay_even(uint32_t v)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1" : "=r"(r) : "r"(v));
    return r;
}
INLAY_INLINE uint32_t inlay_odd(uint32_t v)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(v));
    return r;
}

/* Operands that are read and written, and that are written early. */
#define INLAY_QIO(name) [name] "+r"(name)
#define INLAY_QTEMP(name) [name] "=&r"(name)
#define INLAY_QIO2(name, other) INLAY_QIO(name), INLAY_QIO(other)
#define INLAY_QTEMP2(name, other) INLAY_QTEMP(name), INLAY_QTEMP(other)

/* Two products added to a sum; words of two pixels; a turn unless they end. */
#define INLAY_QADD(s, w, x) "smlad %[" s "], %[" w "], %[" x "], %[" s "]\n"
#define INLAY_QX "ldrd %[x], %[y], [%[from]], #8\n"
#define INLAY_QAGAIN "ldr %[u], %[end]\ncmp %[from], %[u]\nbne 1b\n"

/* Four bytes, of which each may be flipped. */
INLAY_INLINE void inlay_dsp_store(const int32_t *byte, uint32_t flips,
                                  uint8_t *y)
{
    uint32_t four = (uint32_t)byte[0];
    __asm__("bfi %0, %1, #8, #8\n\t"
            "bfi %0, %2, #16, #8\n\t"
            "bfi %0, %3, #24, #8"
            : "+&r"(four)
            : "r"(byte[1]), "r"(byte[2]), "r"(byte[3]));
    four ^= flips;
    memcpy(y, &four, sizeof four);
}

#if INLAY_QDSP_FLOAT
/* The nearest integer, ties to even. */
INLAY_INLINE int32_t inlay_qrint(float v)
{
    int32_t bits;
    __asm__("vcvtr.s32.f32 %0, %0" : "+t"(v));
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
#endif

#endif

#endif
