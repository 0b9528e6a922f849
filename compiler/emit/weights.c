/* SPDX-License-Identifier: Apache-2.0
 * The blob is streamed, a window at a time, into the file that holds it: NAME_weights.bin,
 * the object, or for C text a temporary file (recipes write their parts scattered).
 * Text and hash are second passes over what was written. */
#include "emit/weights.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "emit/elf.h"
#include "emit/seal.h"
#include "emit/text.h"
#include "emit/weights_text.h"
#include "inlay_weights.h"

enum {
    ALIGN = 16,
    LARGE = 4096,
    LARGE_ALIGN = 64,
    LARGEST_TEXT = 256 * 1024,
    CHUNK = 64 * 1024,
    SAMPLE = 512, /* bytes of constants that may be equal, read first */
    FARTHER =
        16, /* and so many times as many of those that look alike, again and again */
};
/* 2 GiB less 64 KiB for what lies beside them: no code model in use reaches further. */
#define LARGEST_LINKED UINT64_C(0x7fff0000)

const char *const weights_forms[] = {
    "auto", "c", "incbin", "bin", "obj", NULL
};

bool weights_linkable(const Program *program)
{
    return program->weight_bytes < LARGEST_LINKED;
}

WeightsForm weights_form_taken(const Program *program, WeightsForm asked)
{
    if (asked != WEIGHTS_AUTO)
        return asked;
    if (!weights_linkable(program))
        return WEIGHTS_BIN;
    return program->weight_bytes <= LARGEST_TEXT ? WEIGHTS_C : WEIGHTS_INCBIN;
}

/* --- layout --- */

/* A constant among those that may be equal. */
typedef struct Candidate {
    size_t slot, group; /* of those whose keys were equal so far */
    bool whole;         /* the key is that of all its payload */
    RecipeDigest *digest;
    char key[65];
} Candidate;

typedef struct Candidates {
    const Program *program;
    size_t n;
    Candidate *at;
    size_t *same; /* of each constant, the first that equals it */
} Candidates;

static int by_key(const void *a, const void *b)
{
    const Candidate *x = a;
    const Candidate *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    const int order = strcmp(x->key, y->key);
    if (order)
        return order;
    return x->slot < y->slot ? -1 : 1;
}

/* Candidates from i on with the key of candidate i. */
static size_t run_of(const Candidates *candidates, size_t i)
{
    size_t n = 1;
    while (i + n < candidates->n &&
           candidates->at[i].group == candidates->at[i + n].group &&
           !strcmp(candidates->at[i].key, candidates->at[i + n].key))
        n++;
    return n;
}

static Recipe *value_of(const Candidates *candidates, size_t i)
{
    return candidates->program->weight.at[candidates->at[i].slot].tensor->value;
}

/* Of a run all equal the first. */
static void unite(Candidates *candidates, size_t i, size_t n)
{
    for (size_t k = 0; k < n; k++)
        candidates->same[candidates->at[i + k].slot] = candidates->at[i].slot;
}

/* Runs of equal keys become groups; one alone is dropped, and those that were read as a whole are
 * equal. */
static void regroup(Candidates *candidates)
{
    size_t kept = 0;
    qsort(candidates->at, candidates->n, sizeof *candidates->at, by_key);
    for (size_t i = 0, n = 0; i < candidates->n; i += n) {
        n = run_of(candidates, i);
        if (candidates->at[i].whole)
            unite(candidates, i, n);
        if (n == 1 || candidates->at[i].whole)
            continue;
        const size_t group = kept;
        for (size_t k = 0; k < n; k++) {
            candidates->at[kept] = candidates->at[i + k];
            candidates->at[kept++].group = group;
        }
    }
    candidates->n = kept;
}

static void key_all(Candidates *candidates, RecipeKey level)
{
    for (size_t i = 0; i < candidates->n; i++)
        recipe_key(candidates->program->graph->store, value_of(candidates, i),
                   level, candidates->at[i].key);
}

/* Of those that are made of the same sources, one stays. */
static void unite_places(Candidates *candidates)
{
    size_t kept = 0;
    key_all(candidates, KEY_PLACE);
    qsort(candidates->at, candidates->n, sizeof *candidates->at, by_key);
    for (size_t i = 0, n = 0; i < candidates->n; i += n) {
        n = run_of(candidates, i);
        unite(candidates, i, n);
        candidates->at[kept] = candidates->at[i];
        candidates->at[kept++].key[0] = 0;
    }
    candidates->n = kept;
    regroup(candidates);
}

static void begin_digests(Candidates *candidates)
{
    uint64_t all = 0;
    for (size_t i = 0; i < candidates->n; i++) {
        candidates->at[i].digest =
            NEW_ARRAY(candidates->program->graph->arena, RecipeDigest, 1);
        recipe_digest_begin(candidates->at[i].digest);
        all += recipe_payload(value_of(candidates, i));
    }
    store_work(candidates->program->graph->store, "of constants compared", all);
}

/* Reads the candidates further and further while there are some that look alike, up to `most` bytes
 * of each. */
static void unite_values(Candidates *candidates, uint64_t most)
{
    begin_digests(candidates);
    for (uint64_t until = SAMPLE; candidates->n && until <= most;
         until *= FARTHER) {
        for (size_t i = 0; i < candidates->n; i++) {
            Candidate *one = candidates->at + i;
            one->whole = recipe_digest(candidates->program->graph->store,
                                       value_of(candidates, i), one->digest,
                                       until, one->key);
        }
        regroup(candidates);
    }
}

/* same[i]: the first constant whose values are those of constant i. False: more may be equal. */
static bool find_same(const Program *p, size_t *same, uint64_t most)
{
    Candidates candidates = { .program = p, .n = p->weight.n, .same = same };
    candidates.at = NEW_ARRAY(p->graph->arena, Candidate, candidates.n);
    for (size_t i = 0; i < candidates.n; i++)
        same[i] = candidates.at[i].slot = i;
    key_all(&candidates, KEY_FORM);
    regroup(&candidates);
    unite_places(&candidates);
    unite_values(&candidates, most);
    for (size_t i = 0; i < p->weight.n; i++)
        same[i] = same[same[i]];
    return !candidates.n;
}

void weights_layout(Program *program, uint64_t most)
{
    Arena *a = program->graph->arena;
    uint64_t at = 0;
    size_t *same = NEW_ARRAY(a, size_t, program->weight.n);
    const ArenaMark mark = arena_mark(a);
    program->weights_alike = !find_same(program, same, most);
    arena_release(a, mark);
    for (size_t i = 0; i < program->weight.n; i++) {
        WeightSlot *w = program->weight.at + i;
        w->bytes = (uint64_t)recipe_bytes(w->tensor->value);
        if (same[i] == i) {
            at = size_align(at, w->bytes < LARGE ? ALIGN : LARGE_ALIGN);
            w->offset = at;
            at = size_add(at, w->bytes);
        } else {
            w->offset = program->weight.at[same[i]].offset;
        }
        w->tensor->offset = (int64_t)w->offset;
    }
    program->weight_bytes =
        at ? size_add(size_align(at, ALIGN), INLAY_SEAL_SIZE) : 0;
}

/* --- the blob --- */

/* All constants, once each, from `at` of the file, with zeros up to the seal. */
static void write_values(const Program *program, File *file, uint64_t at)
{
    static const uint8_t zeros[ALIGN];
    uint64_t end = 0;
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *w = program->weight.at + i;
        if (w->offset < end)
            continue; /* stored with an equal one before it */
        recipe_write(program->graph->store, w->tensor->value, file,
                     at + w->offset);
        end = w->offset + w->bytes;
    }
    file_write(file, at + end, zeros,
               (size_t)(program->weight_bytes - INLAY_SEAL_SIZE - end));
}

static void write_blob(const Program *program, File *file, uint64_t at,
                       bool hash, char sha256[65])
{
    Sha256 h;
    sha256_begin(&h);
    if (program->weight_bytes) {
        store_work(program->graph->store, "of weights written",
                   program->weight_bytes);
        write_values(program, file, at);
        store_work(program->graph->store, "of weights sealed",
                   program->weight_bytes);
        seal_write(program, file, at, hash ? &h : NULL);
    }
    if (hash)
        sha256_end(&h, sha256);
}

/* --- all forms --- */

static void check_size(WeightsForm form, const Program *program)
{
    if (form == WEIGHTS_BIN || form == WEIGHTS_OBJ || weights_linkable(program))
        return;
    fail_at(STATUS_UNSUPPORTED, LOC_NONE, "use --weights=bin and map the file",
            "weights of %" PRIu64
            " bytes cannot be linked into a program as %s",
            program->weight_bytes, weights_forms[form]);
}

static File *create_blob(Output *output, Arena *arena, const char *name,
                         WeightsForm form)
{
    if (form == WEIGHTS_C)
        return file_temporary(arena);
    return output_create(output,
                         arena_printf(arena, "src/%s_weights.%s", name,
                                      form == WEIGHTS_OBJ ? "o" : "bin"));
}

WeightsForm weights_emit(Program *program, Output *output, const char *name,
                         WeightsForm form, bool hash, char sha256[65])
{
    Arena *a = program->graph->arena;
    const ElfMachine *machine = NULL;
    sha256[0] = 0;
    form = weights_form_taken(program, form);
    check_size(form, program);
    if (form == WEIGHTS_OBJ) {
        machine = elf_machine(program->family->machine);
        assert(machine);
        elf_check(machine, program->weight_bytes);
    }
    File *file = create_blob(output, a, name, form);
    const uint64_t at = form == WEIGHTS_OBJ ? elf_data_offset() : 0;
    write_blob(program, file, at, hash, sha256);
    if (form == WEIGHTS_C)
        weights_text(program, output, name, file);
    if (form == WEIGHTS_INCBIN)
        weights_incbin(program, output, name, file);
    if (form == WEIGHTS_OBJ)
        elf_finish(file, machine, arena_printf(a, "%s_weights_data", name),
                   program->weight_bytes);
    file_close(file);
    return form;
}
