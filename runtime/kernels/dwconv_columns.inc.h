/* SPDX-License-Identifier: 0BSD
 * Columns of a window of dwconv_fpu.inc.h and dwconv_helium.inc.h: which taps of which pixels of a
 * tile a column of x adds to. INLAY_DW_LOAD loads the four channels at x; INLAY_P<n>W<k> adds their
 * products with the weights of tap k to the sums of pixel n. */

#define INLAY_DW_GO(pointer, by) "add %[" pointer "], %[" by "]\n"
#define INLAY_DW_X INLAY_DW_GO("x", "tap") INLAY_DW_LOAD

/* The rows of the window: none, or each with what follows. */
#define INLAY_DW_SOME "cmp %[at], %[end]\nbeq 6f\n5:\n"
#define INLAY_DW_X_AT "ldr %[x], [%[at]], #4\nadd %[x], %[first]\n"
#define INLAY_DW_LINE INLAY_DW_SOME INLAY_DW_X_AT
#define INLAY_DW_MORE "cmp %[at], %[end]\nbne 5b\n"
#define INLAY_DW_AGAIN INLAY_DW_GO("w", "wrow") INLAY_DW_MORE

/* The columns at the ends of a tile, which lie outside of x where a bit is set. */
#define INLAY_DW_UNLESS(bit) "tst %[skip], #" bit "\nbne 1f\n"
#define INLAY_DW_FIRST INLAY_DW_UNLESS("1") INLAY_DW_LOAD INLAY_P0W0 "1:\n"
#define INLAY_DW_LAST INLAY_DW_UNLESS("2") INLAY_DW_X INLAY_P3W2 "1:\n"

/* The columns in between, at stride 1 and at stride 2. */
#define INLAY_DW_A INLAY_DW_X INLAY_P0W1 INLAY_P1W0
#define INLAY_DW_B INLAY_DW_X INLAY_P0W2 INLAY_P1W1 INLAY_P2W0
#define INLAY_DW_C INLAY_DW_X INLAY_P1W2 INLAY_P2W1 INLAY_P3W0
#define INLAY_DW_D INLAY_DW_X INLAY_P2W2 INLAY_P3W1
#define INLAY_DW_STRIDE1 INLAY_DW_A INLAY_DW_B INLAY_DW_C INLAY_DW_D
#define INLAY_DW_E INLAY_DW_X INLAY_P0W1
#define INLAY_DW_F INLAY_DW_X INLAY_P0W2 INLAY_P1W0
#define INLAY_DW_G INLAY_DW_X INLAY_P1W1
#define INLAY_DW_H INLAY_DW_X INLAY_P1W2 INLAY_P2W0
#define INLAY_DW_I INLAY_DW_X INLAY_P2W1
#define INLAY_DW_J INLAY_DW_X INLAY_P2W2 INLAY_P3W0
#define INLAY_DW_K INLAY_DW_X INLAY_P3W1
#define INLAY_DW_UPPER INLAY_DW_E INLAY_DW_F INLAY_DW_G INLAY_DW_H
#define INLAY_DW_STRIDE2 INLAY_DW_UPPER INLAY_DW_I INLAY_DW_J INLAY_DW_K
