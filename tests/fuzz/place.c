/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a CSV of `place` -> offsets, which the plain check judges. */
#include <string.h>

#include "place/csv.h"
#include "target.h"

enum { EFFORT = 500, MOST_ITEMS = 500 };

typedef struct Trial {
    Arena arena;
    const char *text;
    size_t size;
} Trial;

static void solve(void *context)
{
    static const PlaceOptions opt = { .effort = EFFORT, .moves = 20 };
    Trial *t = context;
    const PlaceCsv *csv =
        place_csv_read(&t->arena, "file.csv", t->text, t->size);
    const int n = (int)csv->item.n;
    if (n > MOST_ITEMS)
        return;
    PlaceOptions o = opt;
    o.hint = csv->hint.n ? csv->hint.at : NULL;
    const PlaceResult r = place(&t->arena, csv->item.at, n, NULL, 0, &o);
    if (!r.offset)
        return;
    if (!place_holds(csv->item.at, n, NULL, 0, r.offset, r.height) ||
        r.lower_bound > r.height)
        abort();
    Pieces rows = { .arena = &t->arena };
    place_csv_write(csv, r.offset, pieces_sink(&rows));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Trial t = { .arena = { .budget = 64 << 20 }, .size = size };
    uint8_t *copy = malloc(size); /* exactly: the text ends nowhere else */
    memcpy(copy, data, size);
    t.text = (const char *)copy;
    Diag d = { .out = nowhere() };
    protect(&d, solve, &t);
    arena_free(&t.arena);
    free(copy);
    judge(d.status);
    return 0;
}
