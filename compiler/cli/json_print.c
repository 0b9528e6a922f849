/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_print.h"

#include "base/diag.h"

static int put(const char *text, size_t n, void *to)
{
    pieces_put(to, text, n);
    return 0;
}

void json_print(Pieces *to, const json_t *document)
{
    if (json_dump_callback(document, put, to, JSON_INDENT(2)))
        fail_memory(0, "the document does not fit");
    pieces_put(to, "\n", 1);
}
