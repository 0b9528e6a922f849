/* SPDX-License-Identifier: 0BSD
 * The next template is for float. The template undefines these at its end. */
#define INLAY_T float
#define INLAY_C(x) x##f
#define INLAY_F(name) name##f
#define INLAY_N(name) inlay_##name##_f32
