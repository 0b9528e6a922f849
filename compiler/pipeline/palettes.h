/* SPDX-License-Identifier: Apache-2.0
 * --palette: which weights get palettes. */
#ifndef INLAY_PIPELINE_PALETTES_H
#define INLAY_PIPELINE_PALETTES_H

#include "pipeline/state.h"

/* What lowering is asked for. Weights that would not be decoded, as no window has room for them,
 * stay as they are: the model is lowered beside this compile to find them. */
PaletteAsk palettes_ask(Compile *compile);

#endif
