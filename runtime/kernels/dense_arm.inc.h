/* SPDX-License-Identifier: 0BSD
 * The products of dense_f32.h on Arm cores that have floats, but no vectors of them: four inputs go
 * at a time, and one instruction loads all their weights. The registers have their names: s0 to s3
 * are the sums, s4 to s7 inputs, s8 to s23 their weights. The order is that of the C. */

/* Adds the products of four inputs `fours` times, at least once. */
INLAY_INLINE void inlay_dense_fours(float *sum, const float *x, const float *w,
                                    int32_t fours)
{
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "1:\nvldmia %[x]!, {s4-s7}\nvldmia %[w]!, {s8-s23}\n"
                     "vfma.f32 s0, s8, s4\nvfma.f32 s1, s9, s4\n"
                     "vfma.f32 s2, s10, s4\nvfma.f32 s3, s11, s4\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "vfma.f32 s0, s16, s6\nvfma.f32 s1, s17, s6\n"
                     "vfma.f32 s2, s18, s6\nvfma.f32 s3, s19, s6\n"
                     "vfma.f32 s0, s20, s7\nvfma.f32 s1, s21, s7\n"
                     "vfma.f32 s2, s22, s7\nvfma.f32 s3, s23, s7\n"
                     "subs %[n], #1\nbne 1b\n"
                     "vstmia %[sum], {s0-s3}\n"
                     : [x] "+r"(x), [w] "+r"(w), [n] "+r"(fours)
                     : [sum] "r"(sum)
                     : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6",
                       "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
                       "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22",
                       "s23");
}
