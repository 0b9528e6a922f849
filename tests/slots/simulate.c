/* SPDX-License-Identifier: Apache-2.0
 * Devices that take new weights while the power goes: at each operation of the flash, in three
 * ways, and again at each operation of what follows; then at random, three to eight times. After
 * each reset the weights in use must be the old or the new ones, whole, and steady.
 *
 *     simulate [STRIDE [RUNS [SEED [DELTAS]]]]: every STRIDE-th cut, RUNS random lives a geometry;
 *     every cut where there are few, which find what is left of a log when its erasing was cut off;
 *     DELTAS 1: three in four downloads are deltas, from the weights that are there */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobs.h"
#include "flash.h"
#include "inlay_blob.h"
#include "trailers.h"

enum { BAD = 3 }; /* a version that is whole, but never confirmed */

/* ---- a device ---- */

typedef struct Life {
    const Geometry *geometry;
    const Blobs *blobs;
    Flash flash;
    inlay_slots slots;
    int confirmed; /* the version that must be there */
    int offered;   /* its commit has begun: it may come */
    int given;     /* it was on trial */
    int confirming;
    int next; /* to be installed */
    uint64_t seed;
    char trail[400]; /* what happened, for the reader of a failure */
} Life;

static void tell(Life *life, const char *what, int number)
{
    const size_t at = strlen(life->trail);
    if (at + 40 < sizeof life->trail)
        snprintf(life->trail + at, sizeof life->trail - at, " %s%d", what,
                 number);
}

static _Noreturn void bad(const Life *life, const char *what)
{
    const Geometry *g = life->geometry;
    fail("%s; units %u, sectors %u, erased %02x, weights %u: confirmed %d, "
         "offered %d, next %d, active %d, trial %d, trail%s",
         what, g->prog_unit, g->erase_unit, g->erased_value, g->weights,
         life->confirmed, life->offered, life->next, life->slots.active,
         life->slots.trial, life->trail);
}

/* The version whose blob is at the beginning of the slot, all of it and steady. */
static int version_in(const Life *life, int slot)
{
    const uint32_t at = life->slots.at[slot];
    if (flash_torn(&life->flash, at, life->blobs->size))
        bad(life, "unsteady weights are in use");
    for (int i = 1; i <= VERSIONS; i++)
        if (!memcmp(life->flash.now + at, life->blobs->bytes[i],
                    life->blobs->size))
            return i;
    bad(life, "mixed weights are in use");
}

static int version_in_use(const Life *life)
{
    const int slot = life->slots.active;
    return slot == INLAY_SLOTS_NONE ? 0 : version_in(life, slot);
}

static void check_trial(Life *life, int version)
{
    if (version != life->offered)
        bad(life, "weights are on trial that nobody offered");
    if (life->given == version)
        bad(life, "weights are on trial once more");
    life->given = version;
}

static void check_kept(Life *life, int version)
{
    const bool came = version == life->confirming && version;
    if (version != life->confirmed && !came)
        bad(life, "other weights are in use");
    if (came)
        life->confirmed = version;
    if (life->given && life->given == life->offered)
        life->offered = 0; /* it is decided: it was taken or refused */
    if (life->given == BAD && life->next == BAD)
        life->next++;
    life->given = 0;
    life->confirming = 0;
    if (life->next <= life->confirmed)
        life->next = life->confirmed + 1;
}

static void boot(Life *life)
{
    flash_reset(&life->flash);
    if (inlay_slots_open(&life->slots))
        bad(life, "open fails");
    const char *fault = trailers_fault(&life->flash, &life->slots, life->blobs);
    if (fault)
        bad(life, fault);
    const int version = version_in_use(life);
    tell(life, life->slots.trial ? "try" : "use", version);
    if (life->slots.trial)
        check_trial(life, version);
    else
        check_kept(life, version);
}

/* In pieces of any size; a power cut may come at each operation. */
static bool send(Life *life, const uint8_t *blob, uint32_t from)
{
    for (uint32_t at = from; at < life->blobs->size;) {
        const uint32_t left = life->blobs->size - at;
        uint32_t n = life->geometry->piece;
        n += (uint32_t)(random_next(&life->seed) % 3) * 17;
        n = n < left ? n : left;
        if (inlay_slots_write(&life->slots, blob + at, n))
            return false;
        if (life->offered != life->next)
            life->offered = 0; /* what was offered before is erased */
        at += n;
    }
    return true;
}

/* Piece by piece what is needed next, or all of the file from byte 0 on. */
static bool send_delta(Life *life, inlay_delta *way, const Delta *delta)
{
    const bool seeks = random_next(&life->seed) % 2;
    for (uint32_t at = 0; way->next < delta->size;) {
        uint32_t n =
            1 + (uint32_t)random_next(&life->seed) % life->geometry->piece;
        at = seeks ? way->next : at;
        n = n < delta->size - at ? n : delta->size - at;
        if (inlay_delta_write(way, at, delta->bytes + at, n))
            return false;
        if (life->offered != life->next &&
            life->slots.written >= INLAY_SLOTS_UNIT)
            life->offered = 0; /* what was offered before is erased */
        at += n;
    }
    return true;
}

/* What changed since the weights in use. */
static void install_delta(Life *life)
{
    const int base = version_in_use(life);
    const Delta *delta = &life->blobs->delta[base][life->next];
    inlay_delta way = {
        .slots = &life->slots,
        .own = life->blobs->bytes[0],
        .resume = random_next(&life->seed) % 4 != 0,
    };
    tell(life, "delta", base);
    if (inlay_delta_begin(&way) || !send_delta(life, &way, delta)) {
        tell(life, "unsent", life->next);
        return;
    }
    life->offered = life->next;
    life->given = 0;
    tell(life, "commit", inlay_delta_commit(&way));
}

static void install(Life *life)
{
    if (life->geometry->deltas && random_next(&life->seed) % 4) {
        install_delta(life);
        return;
    }
    uint32_t from = 0;
    const bool on = random_next(&life->seed) % 4 != 0;
    const int error = on ? inlay_slots_resume(&life->slots, &from)
                         : inlay_slots_begin(&life->slots);
    tell(life, "from", (int)from);
    if (error || !send(life, life->blobs->bytes[life->next], from)) {
        tell(life, "unsent", life->next);
        return;
    }
    life->offered = life->next;
    life->given = 0;
    tell(life, "commit", inlay_slots_commit(&life->slots));
}

static void judge(Life *life)
{
    const int version = version_in_use(life);
    if (version == BAD)
        return;
    life->confirming = version;
    if (inlay_slots_confirm(&life->slots))
        return;
    life->confirmed = version;
    life->offered = 0;
    life->given = 0;
    life->confirming = 0;
    tell(life, "keep", version);
}

/* Until all versions were there. */
static void go_on(Life *life)
{
    for (int i = 0; i < 60; i++) {
        boot(life);
        if (life->slots.trial)
            judge(life);
        if (life->slots.trial)
            continue;
        if (life->next <= life->confirmed)
            life->next = life->confirmed + 1;
        if (life->next > VERSIONS)
            return;
        install(life);
    }
    bad(life, "it comes to no end");
}

/* false: the power went. */
static bool powered(Life *life, long cut_at, Cut cut)
{
    jmp_buf power;
    life->flash.cut_at = cut_at;
    life->flash.cut = cut;
    life->flash.power = &power;
    if (setjmp(power)) {
        tell(life, "CUT", (int)life->flash.operations);
        return false;
    }
    go_on(life);
    return true;
}

/* ---- lives ---- */

static void life_make(Life *life, const Geometry *geometry, const Blobs *blobs)
{
    const uint32_t sector = geometry->erase_unit;
    const uint32_t needed = blobs->size + INLAY_SLOTS_LOG;
    const uint32_t size = (needed + sector - 1) / sector * sector;
    *life = (Life){ .geometry = geometry, .blobs = blobs, .next = 1 };
    life->seed = 1;
    flash_make(&life->flash, 2 * size, geometry->prog_unit, sector,
               geometry->erased_value);
    life->slots = (inlay_slots){
        .at = { 0, size },
        .size = size,
        .weights = geometry->weights,
        .layout = blobs->layout,
    };
    life->slots.flash = &life->flash.calls;
}

static void life_copy(Life *to, const Life *from)
{
    Flash flash = to->flash;
    flash_copy(&flash, &from->flash);
    *to = *from;
    to->flash = flash;
    to->flash.calls.context = &to->flash;
    to->slots.flash = &to->flash.calls;
}

typedef struct Lives {
    Life fresh, first, second;
    long runs;
} Lives;

/* Each second cut after a first one. */
static void cut_again(Lives *lives, long stride)
{
    const long from = lives->first.flash.operations;
    life_copy(&lives->second, &lives->first);
    powered(&lives->second, -1, CUT_BEFORE);
    const long end = lives->second.flash.operations;
    lives->runs++;
    for (long i = from + lives->runs % stride; i < end; i += stride)
        for (Cut cut = CUT_BEFORE; cut < CUTS; cut++) {
            life_copy(&lives->second, &lives->first);
            lives->second.flash.seed += (uint64_t)(i * CUTS + cut) * 2;
            if (!powered(&lives->second, i, cut))
                powered(&lives->second, -1, cut);
            lives->runs++;
        }
}

static void every_cut(Lives *lives, long stride)
{
    life_copy(&lives->first, &lives->fresh);
    powered(&lives->first, -1, CUT_BEFORE);
    const long end = lives->first.flash.operations;
    for (long i = 0; i < end; i += stride)
        for (Cut cut = CUT_BEFORE; cut < CUTS; cut++) {
            life_copy(&lives->first, &lives->fresh);
            lives->first.flash.seed += (uint64_t)(i * CUTS + cut) * 2;
            if (!powered(&lives->first, i, cut))
                cut_again(lives, stride);
        }
}

/* Three to eight cuts, near to one another or far. */
static void random_life(Lives *lives, uint64_t seed)
{
    Life *life = &lives->first;
    life_copy(life, &lives->fresh);
    life->seed = seed * 2 + 1;
    life->flash.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    const int cuts = 3 + (int)(random_next(&life->seed) % 6);
    for (int i = 0; i < cuts; i++) {
        const long reach = random_next(&life->seed) % 2 ? 6 : 60;
        const long after = (long)(random_next(&life->seed) % (uint64_t)reach);
        const Cut cut = (Cut)(random_next(&life->seed) % CUTS);
        if (powered(life, life->flash.operations + after, cut))
            break;
    }
    powered(life, -1, CUT_BEFORE);
    lives->runs++;
}

static void try_geometry(const Geometry *geometry, long stride, long runs,
                         uint64_t seed)
{
    Blobs blobs;
    Lives lives = { .runs = 0 };
    blobs_make(&blobs, geometry);
    life_make(&lives.fresh, geometry, &blobs);
    life_make(&lives.first, geometry, &blobs);
    life_make(&lives.second, geometry, &blobs);
    every_cut(&lives, stride);
    for (long i = 0; i < runs; i++)
        random_life(&lives, seed + (uint64_t)i);
    printf("# units %u, sectors %u, erased %02x, weights %u: %ld lives\n",
           geometry->prog_unit, geometry->erase_unit, geometry->erased_value,
           geometry->weights, lives.runs);
    fflush(stdout);
    blobs_free(&blobs);
    flash_free(&lives.fresh.flash);
    flash_free(&lives.first.flash);
    flash_free(&lives.second.flash);
}

static long stride_for(const Geometry *geometry, long stride)
{
    if (geometry->erase_unit < 4096 && geometry->weights < INLAY_BLOB_BLOCK)
        return 1;
    return geometry->erase_unit > 4096 ? 3 * stride : stride;
}

int main(int argc, char **argv)
{
    static const uint32_t sectors[] = { 256, 4096, 131072 };
    const long stride = argc > 1 ? atol(argv[1]) : 1;
    const long runs = argc > 2 ? atol(argv[2]) : 0;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    const int deltas = argc > 4 ? atoi(argv[4]) : 0;
    for (uint32_t unit = 1; unit <= 32; unit *= 2)
        for (int i = 0; i < 6; i++) {
            const uint32_t sector = sectors[i / 2];
            const bool small = unit % 3 == 1; /* 1, 4, 16 */
            const Geometry geometry = {
                .prog_unit = unit,
                .erase_unit = sector,
                .erased_value = i % 2 ? 0xff : 0,
                .weights = small ? 100 : 2 * INLAY_BLOB_BLOCK + 700,
                .piece = small ? 50 : 1500,
                .deltas = deltas,
            };
            try_geometry(&geometry, stride_for(&geometry, stride), runs, seed);
        }
    printf("ok - no bad boot\n1..1\n");
    return 0;
}
