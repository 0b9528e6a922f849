/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place_cmd.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/progress.h"
#include "place/csv.h"

/* Who calls the solver by itself waits for a hard problem: seconds, where a compile gives it
 * tenths. */
static const int64_t WORK_OF_TENTH = 60000;

static void check(const PlaceResult *result, const char *path, int64_t capacity)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    if (!result->offset)
        fail_at(STATUS_MALFORMED, loc, "clear one of the offsets in the file",
                "given offsets exclude each other");
    if (capacity < 0 || result->height <= capacity)
        return;
    if (result->lower_bound > capacity)
        fail_at(STATUS_LIMIT, loc, NULL,
                "no placement fits %" PRId64 " bytes: at least %" PRId64
                " are needed, %" PRId64 " suffice",
                capacity, result->lower_bound, result->height);
    fail_at(STATUS_LIMIT, loc, NULL,
            "no placement in %" PRId64
            " bytes was found; the best takes %" PRId64
            ", and none below %" PRId64 " exists",
            capacity, result->height, result->lower_bound);
}

void place_file(Arena *arena, const char *path, int64_t capacity,
                int64_t tenths, Sink out)
{
    File *file = file_open(arena, path, LOAD_EAGER);
    diag_work((Loc){ path, -1, -1, NULL, NULL });
    const PlaceCsv *csv = place_csv_read(arena, path, (const char *)file->whole,
                                         (size_t)file->size);
    const PlaceOptions opt = {
        .capacity = capacity > 0 ? capacity : 0,
        .hint = csv->hint.n ? csv->hint.at : NULL,
        .effort = (uint64_t)(WORK_OF_TENTH * tenths),
    };
    progress_doing("placing");
    const PlaceResult result =
        place(arena, csv->item.at, (int)csv->item.n, NULL, 0, &opt);
    progress_doing(NULL);
    file_close(file);
    check(&result, path, capacity);
    place_csv_write(csv, result.offset, out);
    fprintf(diag_now->out ? diag_now->out : stderr,
            "height %" PRId64 ", lower bound %" PRId64 ", %s\n", result.height,
            result.lower_bound, result.optimal ? "optimal" : "open");
}
