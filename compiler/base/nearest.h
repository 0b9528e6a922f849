/* SPDX-License-Identifier: Apache-2.0
 * Of the names that exist, the one that was probably meant. */
#ifndef INLAY_BASE_NEAREST_H
#define INLAY_BASE_NEAREST_H

/* The one of `names` (ended by NULL) that few changed letters separate from `text`; NULL: none. */
const char *nearest(const char *text, const char *const *names);

#endif
