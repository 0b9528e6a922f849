/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place_cmd.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/io.h"
#include "plan/place_csv.h"

/* Who calls the solver by itself waits for a hard problem: seconds, where a compile gives it
 * tenths. */
static const uint64_t EFFORT = 600000;

typedef struct Command {
    Arena arena;
    const char *path;
    int64_t capacity;
    FILE *out;
} Command;

static void check(const Command *c, const PlaceResult *r)
{
    const Loc loc = { .file = c->path, .byte = -1, .node = -1 };
    if (!r->offset)
        fail_at(STATUS_MALFORMED, loc, "clear one of the offsets in the file",
                "given offsets exclude each other");
    if (c->capacity < 0 || r->height <= c->capacity)
        return;
    if (r->lower_bound > c->capacity)
        fail_at(STATUS_LIMIT, loc, NULL,
                "no placement fits %" PRId64 " bytes: at least %" PRId64 " are needed, %" PRId64
                " suffice",
                c->capacity, r->lower_bound, r->height);
    fail_at(STATUS_LIMIT, loc, NULL,
            "no placement in %" PRId64 " bytes was found; the best takes %" PRId64
            ", and none below %" PRId64 " exists",
            c->capacity, r->height, r->lower_bound);
}

static void run(void *context)
{
    Command *c = context;
    File *file = file_open(&c->arena, c->path, LOAD_EAGER);
    const PlaceCsv *csv =
        place_csv_read(&c->arena, c->path, (const char *)file->whole, (size_t)file->size);
    const PlaceOptions opt = {
        .capacity = c->capacity > 0 ? c->capacity : 0,
        .hint = csv->hint.n ? csv->hint.at : NULL,
        .effort = EFFORT,
    };
    const PlaceResult r = place(&c->arena, csv->item.at, (int)csv->item.n, NULL, 0, &opt);
    file_close(file);
    check(c, &r);
    place_csv_write(csv, r.offset, c->out);
    fprintf(diag_now->out ? diag_now->out : stderr,
            "height %" PRId64 ", lower bound %" PRId64 ", %s\n", r.height, r.lower_bound,
            r.optimal ? "optimal" : "open");
    if (fflush(c->out) || ferror(c->out))
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write the offsets");
}

int place_command(const char *csv_path, int64_t capacity, FILE *out)
{
    Command c = { .path = csv_path, .capacity = capacity, .out = out };
    Diag diag = { .out = stderr };
    const Status status = protect(&diag, run, &c);
    arena_free(&c.arena);
    return (int)status;
}
