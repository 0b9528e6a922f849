/* SPDX-License-Identifier: 0BSD
 * The elementwise kernel of an activation of act.def, INLAY_ACTIVATION. */
#define INLAY_TYPED(name) inlay_typed(name)
#define INLAY_NUMBER(name) INLAY_TYPED(INLAY_JOIN(act_, name))
#define INLAY_NUMBERS(name) INLAY_JOIN(inlay_act_, INLAY_JOIN(name, _v))

#define INLAY_SCALAR(number) ((INLAY_T)(number))
#define INLAY_SPLAT(number) inlay_all((float)(number))
#define INLAY_ARGS(of) x, of(p->a), of(p->b)

#define INLAY_NAME INLAY_TYPED(INLAY_ACTIVATION)
#define INLAY_FORMULA INLAY_NUMBER(INLAY_ACTIVATION)(INLAY_ARGS(INLAY_SCALAR))
#define INLAY_VECTOR INLAY_NUMBERS(INLAY_ACTIVATION)(INLAY_ARGS(INLAY_SPLAT))
#include "unary.inc.h"

#undef INLAY_ACTIVATION
#undef INLAY_TYPED
#undef INLAY_NUMBER
#undef INLAY_NUMBERS
#undef INLAY_SCALAR
#undef INLAY_SPLAT
#undef INLAY_ARGS
