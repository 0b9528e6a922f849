/* SPDX-License-Identifier: 0BSD
 * Sums of the tile of qtile.h on RISC-V: three pixels by four channels, for which there are
 * registers enough, but compilers read too far ahead. Included by qtile_plain.inc.h. */
#ifndef INLAY_QTILE_RISCV_H
#define INLAY_QTILE_RISCV_H

#if INLAY_QL > 1 || !defined __riscv_mul || defined __riscv_32e
#define INLAY_QRISCV 0
#elif defined __OPTIMIZE__ && !defined __clang__
#define INLAY_QRISCV 1
#else
#define INLAY_QRISCV 0
#endif

#if INLAY_QRISCV
/* Fours of numbers of three pixels, `xs` bytes apart, the first one's up to `end`. */
typedef struct inlay_qriscv {
    ptrdiff_t xs;
    const uint8_t *end;
    ptrdiff_t step; /* bytes of weights from a four to the next */
} inlay_qriscv;

/* x, a3, a4: the pixels, a5, a6, a7: numbers of them, t0: a weight, t1, t2, t3: products, t4: the
 * step, t5: the end. */
#if __riscv_xlen == 32
#define INLAY_QR_LOAD "lw"
#define INLAY_QR_SUM "add"
#define INLAY_QR_SIZE "4"
#define INLAY_QR_SIZE2 "8"
#else
#define INLAY_QR_LOAD "ld"
#define INLAY_QR_SUM "addw"
#define INLAY_QR_SIZE "8"
#define INLAY_QR_SIZE2 "16"
#endif

/* A weight of a channel, at byte `at` of the four, times a number of each pixel. */
#define INLAY_QR_W(at) "lb t0, " at "(%[w])\n"
#define INLAY_QR_MULS12 "mul t1, a5, t0\nmul t2, a6, t0\n"
#define INLAY_QR_MULS INLAY_QR_MULS12 "mul t3, a7, t0\n"
#define INLAY_QR_ADD(s, t) INLAY_QR_SUM " %[" s "], %[" s "], " t "\n"
#define INLAY_QR_ADD1(i) INLAY_QR_ADD("s" i, "t1")
#define INLAY_QR_ADD2(i) INLAY_QR_ADD("t" i, "t2")
#define INLAY_QR_ADD3(i) INLAY_QR_ADD("u" i, "t3")
#define INLAY_QR_ADDS(i) INLAY_QR_ADD1(i) INLAY_QR_ADD2(i) INLAY_QR_ADD3(i)
#define INLAY_QR_C(at, i) INLAY_QR_W(at) INLAY_QR_MULS INLAY_QR_ADDS(i)
#define INLAY_QR_C01(c, d) INLAY_QR_C(c, "0") INLAY_QR_C(d, "1")
#define INLAY_QR_C23(c, d) INLAY_QR_C(c, "2") INLAY_QR_C(d, "3")

/* A tap: the number of each pixel, read by `l`, and the weights of four channels. */
#define INLAY_QR_X1(l, k) l " a5, " k "(%[x])\n"
#define INLAY_QR_X2(l, k) l " a6, " k "(a3)\n"
#define INLAY_QR_X3(l, k) l " a7, " k "(a4)\n"
#define INLAY_QR_X(l, k) INLAY_QR_X1(l, k) INLAY_QR_X2(l, k) INLAY_QR_X3(l, k)
#define INLAY_QR_W0 INLAY_QR_C01("0", "4") INLAY_QR_C23("8", "12")
#define INLAY_QR_W1 INLAY_QR_C01("1", "5") INLAY_QR_C23("9", "13")
#define INLAY_QR_W2 INLAY_QR_C01("2", "6") INLAY_QR_C23("10", "14")
#define INLAY_QR_W3 INLAY_QR_C01("3", "7") INLAY_QR_C23("11", "15")
#define INLAY_QR_T0(l) INLAY_QR_X(l, "0") INLAY_QR_W0
#define INLAY_QR_T1(l) INLAY_QR_X(l, "1") INLAY_QR_W1
#define INLAY_QR_T2(l) INLAY_QR_X(l, "2") INLAY_QR_W2
#define INLAY_QR_T3(l) INLAY_QR_X(l, "3") INLAY_QR_W3

/* Four taps, again up to the end. */
#define INLAY_QR_T01(l) INLAY_QR_T0(l) INLAY_QR_T1(l)
#define INLAY_QR_FOUR(l) INLAY_QR_T01(l) INLAY_QR_T2(l) INLAY_QR_T3(l)
#define INLAY_QR_NEXT "addi %[x], %[x], 4\naddi a3, a3, 4\naddi a4, a4, 4\n"
#define INLAY_QR_UNTIL "add %[w], %[w], t4\nbne %[x], t5, 1b\n"
#define INLAY_QR_TAKE(to, at) INLAY_QR_LOAD " " to ", " at "(%[of])\n"
#define INLAY_QR_XS "add a3, %[x], a4\nadd a4, a3, a4\n"
#define INLAY_QR_PLACES INLAY_QR_TAKE("a4", "0") INLAY_QR_XS
#define INLAY_QR_END INLAY_QR_TAKE("t5", INLAY_QR_SIZE)
#define INLAY_QR_STEP INLAY_QR_TAKE("t4", INLAY_QR_SIZE2)
#define INLAY_QR_BEGIN INLAY_QR_PLACES INLAY_QR_END INLAY_QR_STEP
#define INLAY_QR_LOOP(l) "1:\n" INLAY_QR_FOUR(l) INLAY_QR_NEXT INLAY_QR_UNTIL
#define INLAY_QR_FOURS(l) INLAY_QR_BEGIN INLAY_QR_LOOP(l)

/* The sums of each pixel, and the registers that are lost. */
#define INLAY_QR_IO(name, i) [name] "+r"(sum[i])
#define INLAY_QR_S01 INLAY_QR_IO(s0, 0), INLAY_QR_IO(s1, 1)
#define INLAY_QR_S23 INLAY_QR_IO(s2, 2), INLAY_QR_IO(s3, 3)
#define INLAY_QR_T01S INLAY_QR_IO(t0, 4), INLAY_QR_IO(t1, 5)
#define INLAY_QR_T23S INLAY_QR_IO(t2, 6), INLAY_QR_IO(t3, 7)
#define INLAY_QR_U01 INLAY_QR_IO(u0, 8), INLAY_QR_IO(u1, 9)
#define INLAY_QR_U23 INLAY_QR_IO(u2, 10), INLAY_QR_IO(u3, 11)
#define INLAY_QR_S INLAY_QR_S01, INLAY_QR_S23
#define INLAY_QR_T INLAY_QR_T01S, INLAY_QR_T23S
#define INLAY_QR_U INLAY_QR_U01, INLAY_QR_U23
#define INLAY_QR_XREGS "a3", "a4", "a5", "a6", "a7"
#define INLAY_QR_TREGS "t0", "t1", "t2", "t3", "t4", "t5"
#define INLAY_QR_LOST INLAY_QR_XREGS, INLAY_QR_TREGS

/* Numbers with their sign, and without. */
INLAY_INLINE void inlay_qriscv_signed(const uint8_t *x, const inlay_qriscv *of,
                                      const int8_t *w, int32_t *sum)
{
    __asm__ volatile(INLAY_QR_FOURS("lb")
                     : INLAY_QR_S, INLAY_QR_T,
                       INLAY_QR_U, [x] "+r"(x), [w] "+r"(w)
                     : [of] "r"(of)
                     : INLAY_QR_LOST, "memory");
}
INLAY_INLINE void inlay_qriscv_unsigned(const uint8_t *x,
                                        const inlay_qriscv *of, const int8_t *w,
                                        int32_t *sum)
{
    __asm__ volatile(INLAY_QR_FOURS("lbu")
                     : INLAY_QR_S, INLAY_QR_T,
                       INLAY_QR_U, [x] "+r"(x), [w] "+r"(w)
                     : [of] "r"(of)
                     : INLAY_QR_LOST, "memory");
}
#endif

#endif
