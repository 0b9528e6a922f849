/* SPDX-License-Identifier: Apache-2.0
 * The list of files in a manifest: written, and read back from that of an earlier compile. */
#ifndef INLAY_EMIT_FORMER_H
#define INLAY_EMIT_FORMER_H

#include "base/io.h"
#include "emit/manifest.h"

/* The files of the output so far that are called after the model, NULL: all of them:
 * {"src/kws.h": {"bytes": 1, "sum": "..."}, ...}. */
json_t *files_list(Output *output, const char *model);
/* Does the folder hold that file, though no earlier compile of the same name wrote it as it is? */
bool files_foreign(Output *output, Arena *arena, const char *name,
                   const char *file);
/* What DIR/NAME.json of an earlier compile lists is to go, if it is not written again. Headers of
 * the runtime stay where manifests lie beside it that it does not list. Files that are called
 * neither after it nor after a model whose manifest it lists go if `is_other` knows them. */
typedef bool FileName(Arena *arena, const char *file, const char *name);
void files_forget(Output *output, Arena *arena, const char *name,
                  FileName *is_other);

#endif
