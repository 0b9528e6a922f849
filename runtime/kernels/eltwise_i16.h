/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on int16_t: the template eltwise_int.inc.h. */
#ifndef INLAY_ELTWISE_I16_H
#define INLAY_ELTWISE_I16_H

#include "nd.h"

#define INLAY_T int16_t
#define INLAY_U uint32_t
#define INLAY_BITS 16
#define INLAY_SIGNED 1
#define INLAY_K(name) name##_i16
#include "eltwise_int.inc.h"
#undef INLAY_T
#undef INLAY_U
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef INLAY_K

#endif
