/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/tables_fetch.h"

#include <inttypes.h>

#include "inlay_coded.h"

const Step *table_own(Arena *arena, const Step *step)
{
    if (!step->fetch)
        return step;
    const Step piece = step_piece(arena, step, step->fetch->pieces == 1);
    return arena_copy(arena, &piece, sizeof piece);
}

static void put_parts(Text *text, const Step *step)
{
    const Fetch *fetch = step->fetch;
    text_print(text, "static const inlay_fetch fetch%d[] = {\n", step->index);
    for (int i = 0; i < fetch->parts; i++) {
        const FetchPart *part = fetch->part + i;
        text_print(text, "    { .operand = %d, ", part->operand);
        if (part->at)
            text_print(text, ".at = %" PRId64 "u, ", part->at);
        text_print(text, ".bytes = %" PRId64 "u, .last = %" PRId64 "u },\n",
                   part->bytes, part->last);
    }
    text_put(text, "};\n");
}

/* What differs from piece to piece. */
static void put_cut(Text *text, const Step *step, const char *end)
{
    text_print(text, "static const inlay_%s_params end%d = {\n%s\n};\n",
               step->kernel->params, step->index, end);
    text_print(text, "static const uint32_t advance%d[] = { ", step->index);
    for (int k = 0; k < step_operands(step); k++)
        text_print(text, "%s%" PRId64 "u", k ? ", " : "",
                   step->fetch->advance[k]);
    text_put(text, " };\n");
}

static void put_pieces(Text *text, const Step *step, int params)
{
    const Fetch *fetch = step->fetch;
    const bool cut = fetch->pieces > 1;
    text_print(text,
               "static const inlay_pieces pieces%d = {\n"
               "    .run = inlay_%s, .params = &params%d, .end = &%s%d,\n"
               "    .pieces = %d, .operands = %d,\n",
               step->index, step->kernel->name, params, cut ? "end" : "params",
               cut ? step->index : params, fetch->pieces, step_operands(step));
    if (fetch->parts)
        text_print(text, "    .fetch = fetch%d, .fetches = %d,\n", step->index,
                   fetch->parts);
    if (fetch->units)
        text_print(text, "    .units = %" PRId32 ",\n", fetch->units);
    if (fetch->half)
        text_print(text, "    .half = %" PRId64 "u,\n", fetch->half);
    if (cut)
        text_print(text, "    .advance = advance%d,\n", step->index);
    text_put(text, "};\n");
}

void table_fetch(Text *text, const Step *step, int params, const char *end)
{
    if (step->fetch->parts)
        put_parts(text, step);
    if (step->fetch->pieces > 1)
        put_cut(text, step, end);
    put_pieces(text, step, params);
}

/* The bits that the pieces of a part begin with, or how its blocks lie. */
static void put_begins(Text *text, const Step *step, int i)
{
    enum { BEGINS_OF_LINE = 12 };
    const Fetch *fetch = step->fetch;
    text_print(text, "static const uint32_t begin%d_%d[] = {", step->index, i);
    for (int32_t k = 0; k < fetch->part[i].begins; k++)
        text_print(text, "%s%" PRIu32 "u,", k % BEGINS_OF_LINE ? " " : "\n    ",
                   fetch->part[i].begin[k]);
    text_put(text, "\n};\n");
}

static void put_codes(Text *text, const Step *step)
{
    text_print(text, "static const inlay_coded coded%d[] = {\n", step->index);
    for (int i = 0; i < step->fetch->parts; i++) {
        const inlay_coded coded = fetch_coded(step, step->fetch->part + i);
        text_print(text,
                   "    { .at = %zuu, .values = %" PRIu32 "u, .bits = %" PRIu32
                   "u, .first = %" PRIu32 "u,\n"
                   "      .begin = begin%d_%d, .listed = %u, .width = %u, "
                   ".turned = %u, .low = %u },\n",
                   coded.at, coded.values, coded.bits, coded.first, step->index,
                   i, coded.listed, coded.width, coded.turned, coded.low);
    }
    text_put(text, "};\n");
}

void table_coded(Text *text, const Step *step)
{
    const Fetch *fetch = step->fetch;
    for (int i = 0; i < fetch->parts; i++)
        put_begins(text, step, i);
    if (fetch->parts)
        put_codes(text, step);
    text_print(text,
               "static const inlay_decoding decoding%d = { .pieces = "
               "&pieces%d",
               step->index, step->index);
    if (fetch->parts)
        text_print(text, ", .coded = coded%d, .code = %" PRId64 "u",
                   step->index, fetch->code);
    text_put(text, " };\n");
}

void table_fetch_row(Text *text, const Program *program, const Step *step)
{
    const bool coded = program->stream.coded;
    text_print(text, " */\n    { .run = inlay_%s, .params = &%s%d",
               coded ? "decoded" : "fetched", coded ? "decoding" : "pieces",
               step->index);
}
