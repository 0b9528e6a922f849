/* SPDX-License-Identifier: Apache-2.0
 * Names that a model cannot have. A model called X is X.h in a folder that compilers search before
 * their own, and makes X_run, X_OK and the like: none may be a header of the system, a file of the
 * runtime (inlay.h, inlay_*.h) or one of its identifiers (inlay_*, INLAY_*). */
#ifndef INLAY_EMIT_NAMES_H
#define INLAY_EMIT_NAMES_H

enum { NAME_LONGEST = 40 };

/* Why `name` cannot be a model's, as the end of a sentence ("it ..."); NULL: it can. */
const char *name_fault(const char *name);

#endif
