/* SPDX-License-Identifier: Apache-2.0
 * Constants of few values a channel as palettes and indices (runtime/inlay_palette.h), block by
 * block. */
#ifndef INLAY_FORMS_CODED_PALETTE_H
#define INLAY_FORMS_CODED_PALETTE_H

#include "ir/program.h"

/* Have all channels of a constant no more values than that? */
bool palette_fits(const Program *program, const Palette *palette,
                  const Coded *coded);
/* Writes its blocks, coded->bytes of them. */
void palette_put(const Program *program, const Coded *coded, File *file,
                 uint64_t at);

#endif
