/* SPDX-License-Identifier: 0BSD
 * Three pixels of qtile_dsp.inc.h at a time, where a row leaves so many: two channels go through
 * their windows, then the next two, and the results of four are made together. The words of the
 * windows lie by threes. */
#ifndef INLAY_QTRIPLE_DSP_H
#define INLAY_QTRIPLE_DSP_H

enum { INLAY_QTRIPLE = 3 };

#if INLAY_QDSP_FLOAT && !defined __OPTIMIZE_SIZE__
#define INLAY_QTRIPLES INLAY_QUSES(INLAY_QUSE_THREES)

/* Two taps. s0, s1, s2: 256 times the upper channel and the lower one, a0, a1, a2: the lower one;
 * x, y, z: numbers of the pixels. */
#define INLAY_Q3X_LOAD "ldr %[u], [%[w]], #8\nldmia.w %[from]!, {r4-r6}\n"
#define INLAY_Q3X_S01 INLAY_QADD("s0", "u", "x") INLAY_QADD("s1", "u", "y")
#define INLAY_Q3X_A01 INLAY_QADD("a0", "u", "x") INLAY_QADD("a1", "u", "y")
#define INLAY_Q3X_S INLAY_Q3X_S01 INLAY_QADD("s2", "u", "z")
#define INLAY_Q3X_A INLAY_Q3X_A01 INLAY_QADD("a2", "u", "z")
#define INLAY_Q3X_LS INLAY_Q3X_LOAD INLAY_Q3X_S
#define INLAY_Q3X_STEP INLAY_Q3X_LS INLAY_QLOWER("u") INLAY_Q3X_A
#define INLAY_Q3X_FOUR INLAY_Q3X_STEP INLAY_Q3X_STEP
#define INLAY_Q3X_FOURS2 INLAY_Q3X_FOUR INLAY_Q3X_FOUR
#define INLAY_Q3X_FOURS INLAY_Q3X_FOURS2 INLAY_Q3X_FOURS2

enum {
    INLAY_Q3X_CODE = 72, /* bytes of code of a four */
    INLAY_Q3X_TURN = 8   /* fours of a turn */
};

/* Two channels. s8 to s18 are those of qtile_dsp.inc.h, but that s18 is the end of y; s19: bytes
 * from the weights of the next two channels to the end of these. s0: what the upper sums begin
 * with. */
#define INLAY_Q3X_AT "vmov %[u], %[from], s8, s9\n"
#define INLAY_Q3X_START "ldrd %[a0], %[s0], [%[u]], #8\nvmov s8, %[u]\n"
#define INLAY_Q3X_COPY "mov %[a1], %[a0]\nmov %[a2], %[a0]\nvmov s0, %[s0]\n"
#define INLAY_Q3X_COPY0 INLAY_Q3X_COPY "mov %[s0], %[a0]\n"
#define INLAY_Q3X_COPIES INLAY_Q3X_COPY0 "mov %[s1], %[a0]\nmov %[s2], %[a0]\n"
#define INLAY_Q3X_BEGIN INLAY_Q3X_AT INLAY_Q3X_START INLAY_Q3X_COPIES
#define INLAY_Q3X_ALL INLAY_Q3X_FOURS INLAY_Q3X_FOURS
#define INLAY_Q3X_DOTS INLAY_Q3X_BEGIN INLAY_QG_TURNS(INLAY_Q3X_ALL)
#define INLAY_Q3X_UP(s, a) "sub %[" s "], %[" s "], %[" a "]\n"
#define INLAY_Q3X_ON(s) "add %[" s "], %[u], %[" s "], asr #8\n"
#define INLAY_Q3X_HI(s, a) INLAY_Q3X_UP(s, a) INLAY_Q3X_ON(s)
#define INLAY_Q3X_HI01 INLAY_Q3X_HI("s0", "a0") INLAY_Q3X_HI("s1", "a1")
#define INLAY_Q3X_HIS INLAY_Q3X_HI01 INLAY_Q3X_HI("s2", "a2")
#define INLAY_Q3X_SUMS INLAY_Q3X_DOTS "vmov %[u], s0\n" INLAY_Q3X_HIS
#define INLAY_Q3X_KEEP(to, i) "vmov " to ", %[a" i "], %[s" i "]\n"
#define INLAY_Q3X_LOW0 INLAY_Q3X_KEEP("s20, s21", "0")
#define INLAY_Q3X_LOW1 INLAY_Q3X_KEEP("s24, s25", "1")
#define INLAY_Q3X_LOW2 INLAY_Q3X_KEEP("s28, s29", "2")
#define INLAY_Q3X_LOWS INLAY_Q3X_LOW0 INLAY_Q3X_LOW1 INLAY_Q3X_LOW2
#define INLAY_Q3X_HIGH0 INLAY_Q3X_KEEP("s22, s23", "0")
#define INLAY_Q3X_HIGH1 INLAY_Q3X_KEEP("s26, s27", "1")
#define INLAY_Q3X_HIGH2 INLAY_Q3X_KEEP("s30, s31", "2")
#define INLAY_Q3X_HIGHS INLAY_Q3X_HIGH0 INLAY_Q3X_HIGH1 INLAY_Q3X_HIGH2
#define INLAY_Q3X_BACK "vmov %[x], s19\nsub %[w], %[w], %[x]\n"
#define INLAY_Q3X_FIRST INLAY_Q3X_SUMS INLAY_Q3X_LOWS INLAY_Q3X_BACK
#define INLAY_Q3X_OTHER INLAY_Q3X_SUMS INLAY_Q3X_HIGHS "sub %[w], %[w], #4\n"
#define INLAY_Q3X_CHANNELS INLAY_Q3X_FIRST INLAY_Q3X_OTHER

/* Their sums times their scales, s0 to s3, rounded. */
#define INLAY_Q3X_SCALE "vmov %[u], %[x], s12, s13\nvldm %[u], {s0-s3}\n"
#define INLAY_Q3X_SCALES INLAY_Q3X_SCALE "add %[u], %[x]\nvmov s12, %[u]\n"
#define INLAY_Q3X_FLOAT(s) "vcvt.f32.s32 " s ", " s "\n"
#define INLAY_Q3X_MUL(s, by) "vmul.f32 " s ", " s ", " by "\n"
#define INLAY_Q3X_TIMES(s, by) INLAY_Q3X_FLOAT(s) INLAY_Q3X_MUL(s, by)
#define INLAY_Q3X_INT(s) "vcvtr.s32.f32 " s ", " s "\n"
#define INLAY_Q3X_NEAR(s, by) INLAY_Q3X_TIMES(s, by) INLAY_Q3X_INT(s)
#define INLAY_Q3X_R01(a, b) INLAY_Q3X_NEAR(a, "s0") INLAY_Q3X_NEAR(b, "s1")
#define INLAY_Q3X_R23(a, b) INLAY_Q3X_NEAR(a, "s2") INLAY_Q3X_NEAR(b, "s3")
#define INLAY_Q3X_R0 INLAY_Q3X_R01("s20", "s21") INLAY_Q3X_R23("s22", "s23")
#define INLAY_Q3X_R1 INLAY_Q3X_R01("s24", "s25") INLAY_Q3X_R23("s26", "s27")
#define INLAY_Q3X_R2 INLAY_Q3X_R01("s28", "s29") INLAY_Q3X_R23("s30", "s31")
#define INLAY_Q3X_ROUNDS INLAY_Q3X_R0 INLAY_Q3X_R1 INLAY_Q3X_R2

/* The bytes of a pixel. u: their zero point, x: flips, y: where they go, z: to the next pixel. */
#define INLAY_Q3X_TAKE0(p) "vmov %[a0], %[s0], " p "\n"
#define INLAY_Q3X_TAKE1(q) "vmov %[a1], %[s1], " q "\n"
#define INLAY_Q3X_TAKE(p, q) INLAY_Q3X_TAKE0(p) INLAY_Q3X_TAKE1(q)
#define INLAY_Q3X_ADD "cbz %[u], 3f\n" INLAY_QG_ADD_A "3:\n"
#define INLAY_Q3X_JOIN INLAY_QG_NEAR_A0 INLAY_QG_NEAR_A1 INLAY_QG_JOIN_A
#define INLAY_Q3X_WORD INLAY_Q3X_ADD INLAY_Q3X_JOIN
#define INLAY_Q3X_LAST "bfi %[a0], %[s1], #24, #8\neor %[a0], %[a0], %[x]\n"
#define INLAY_Q3X_STR(at) INLAY_Q3X_LAST "str %[a0], [%[y]" at "]\n"
#define INLAY_Q3X_PUT(at) INLAY_Q3X_WORD INLAY_Q3X_STR(at)
#define INLAY_Q3X_BYTES0 INLAY_Q3X_TAKE("s20, s21", "s22, s23")
#define INLAY_Q3X_BYTES1 INLAY_Q3X_TAKE("s24, s25", "s26, s27")
#define INLAY_Q3X_BYTES2 INLAY_Q3X_TAKE("s28, s29", "s30, s31")
#define INLAY_Q3X_PUT0 INLAY_Q3X_BYTES0 INLAY_Q3X_PUT("")
#define INLAY_Q3X_PUT1 INLAY_Q3X_BYTES1 INLAY_Q3X_PUT(", %[z]")
#define INLAY_Q3X_PUT2 INLAY_Q3X_BYTES2 INLAY_Q3X_PUT(", %[z], lsl #1")
#define INLAY_Q3X_PLACE "vmov %[u], %[x], s14, s15\nvmov %[y], %[z], s16, s17\n"
#define INLAY_Q3X_PUTS INLAY_Q3X_PUT0 INLAY_Q3X_PUT1 INLAY_Q3X_PUT2
#define INLAY_Q3X_NEXT "add %[y], #4\nvmov s16, %[y]\n"
#define INLAY_Q3X_UNTIL "vmov %[u], s18\ncmp %[y], %[u]\nbne 1b\n"
#define INLAY_Q3X_MADE INLAY_Q3X_ROUNDS INLAY_Q3X_PLACE INLAY_Q3X_PUTS
#define INLAY_Q3X_END INLAY_Q3X_MADE INLAY_Q3X_NEXT INLAY_Q3X_UNTIL
#define INLAY_Q3X_GROUP INLAY_Q3X_CHANNELS INLAY_Q3X_SCALES INLAY_Q3X_END
#define INLAY_Q3X_GROUPS "1:\n" INLAY_Q3X_GROUP

#define INLAY_Q3X_SINGLES "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27"
#define INLAY_Q3X_MORE "s28", "s29", "s30", "s31", "s0", "s1", "s2", "s3"
#define INLAY_Q3X_LOST INLAY_Q3X_SINGLES, INLAY_Q3X_MORE, "cc", "memory"
#define INLAY_Q3X_TEMPS INLAY_QTEMP2(a0, a1), INLAY_QTEMP2(a2, s0)
#define INLAY_Q3X_TEMPS2 INLAY_QTEMP2(s1, s2), INLAY_QTEMP(from)
#define INLAY_Q3X_NUMBERS INLAY_QTEMP2(x, y), INLAY_QTEMP(z), [u] "=&l"(u)
#define INLAY_Q3X_OUT INLAY_Q3X_TEMPS, INLAY_Q3X_TEMPS2, INLAY_Q3X_NUMBERS
#define INLAY_Q3X_SET INLAY_QG_SET, "t"(back)

INLAY_APART void inlay_qtriple_groups(const inlay_qgroups *groups,
                                      const inlay_qwords *words,
                                      const int8_t *w, ptrdiff_t taps)
{
    register const int32_t *start __asm__("s8") = groups->start;
    register const uint32_t *begin __asm__("s9") = words->from;
    register int32_t skip __asm__("s10") = words->skip;
    register const uint32_t *end __asm__("s11") = words->end;
    register const float *scale __asm__("s12") = groups->scale;
    register int32_t step __asm__("s13") = groups->step;
    register int32_t zero __asm__("s14") = groups->zero;
    register uint32_t flips __asm__("s15") = groups->flips;
    register uint8_t *to_y __asm__("s16") = groups->y;
    register ptrdiff_t next __asm__("s17") = groups->next;
    register uint8_t *last __asm__("s18") =
        groups->y + (groups->last - groups->start);
    register ptrdiff_t back __asm__("s19") = 4 * taps - 4;
    register uint32_t x __asm__("r4");
    register uint32_t y __asm__("r5");
    register uint32_t z __asm__("r6");
    const uint32_t *from;
    int32_t a0, a1, a2, s0, s1, s2, u;
    __asm__ volatile(INLAY_Q3X_GROUPS
                     : INLAY_Q3X_OUT, INLAY_QG_WALKED:INLAY_Q3X_SET
                     : INLAY_Q3X_LOST);
}

/* All channels, whole fours of them. */
static inline void inlay_qtriple_run(const inlay_qtile *t,
                                     const inlay_qplaces *to)
{
    const int32_t fours = (int32_t)(t->taps / 4);
    inlay_qgroups groups;
    inlay_qwords words;
    float one[4];
    inlay_qwritten();
    inlay_qgroups_set(t, to, t->channels, one, &groups);
    groups.next = (uint8_t *)to->y[1] - groups.y;
    words.from = t->wide;
    words.end = words.from + 2 * INLAY_QTRIPLE * fours;
    words.skip = (-fours & (INLAY_Q3X_TURN - 1)) * INLAY_Q3X_CODE;
    inlay_qtriple_groups(&groups, &words, t->weights, t->taps);
}
#else
#define INLAY_QTRIPLES 0
static inline void inlay_qtriple_run(const inlay_qtile *t,
                                     const inlay_qplaces *to)
{
    (void)t;
    (void)to;
}
#endif

#endif
