/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/arena_csv.h"

#include <inttypes.h>

Text arena_csv(const Program *program)
{
    Text text = text_new(program->graph->arena);
    text_put(&text, "id,lower,upper,size,offset\n");
    for (size_t i = 0; i < program->plan.block.n; i++) {
        const Block *b = program->plan.block.at + i;
        text_print(&text, "%zu,%d,%d,%" PRId64 ",%" PRId64 "\n", i, b->first,
                   b->end, b->bytes, b->offset);
    }
    return text;
}
