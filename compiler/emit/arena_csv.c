/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/arena_csv.h"

#include <inttypes.h>

Text arena_csv(const Program *p)
{
    Text t = text_new(p->graph->arena);
    text_put(&t, "id,lower,upper,size,offset\n");
    for (size_t i = 0; i < p->plan.block.n; i++) {
        const Block *b = p->plan.block.at + i;
        text_print(&t, "%zu,%d,%d,%" PRId64 ",%" PRId64 "\n", i, b->first, b->end, b->bytes,
                   b->offset);
    }
    return t;
}
