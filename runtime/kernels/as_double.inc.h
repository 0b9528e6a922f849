/* SPDX-License-Identifier: 0BSD
 * The next template is for double. The template undefines these at its end. */
#define INLAY_T double
#define INLAY_C(x) x
#define INLAY_F(name) name
#define INLAY_N(name) inlay_##name##_f64
