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
#include "bounds/bounds.h"
#include "emit/blob.h"
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
    LEAST_SHARED = 64, /* bytes of a constant that two models share */
    SAMPLE = 512,      /* bytes of constants that may be equal, read first */
    FARTHER =
        16, /* and so many times as many of those that look alike, again and again */
};
/* 2 GiB less 64 KiB for what lies beside them: no code model in use reaches further. */
#define LARGEST_LINKED UINT64_C(0x7fff0000)

const char *const weights_forms[] = { "auto", "c",    "incbin", "bin",
                                      "obj",  "blob", "stream", NULL };

bool weights_form_blob(WeightsForm form)
{
    return form == WEIGHTS_BLOB || form == WEIGHTS_STREAM;
}

bool weights_linkable(const Program *program)
{
    return program->weight_bytes < LARGEST_LINKED;
}

static bool weights_are_linked(WeightsForm form)
{
    return form != WEIGHTS_BIN && !weights_form_blob(form);
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

/* Places of constants, in the blob or in the code. */
typedef struct Places {
    uint64_t end[2]; /* by Tensor.region */
} Places;

/* Bytes of the blob that it takes. */
static uint64_t bytes_of(const WeightSlot *slot)
{
    if (slot->coded)
        return slot->coded->bytes;
    return (uint64_t)recipe_bytes(slot->tensor->value);
}

/* May two constants of equal values share a place: are both coded, by equal codes, or neither? */
static bool lies_alike(const WeightSlot *a, const WeightSlot *b)
{
    if (!a->coded || !b->coded)
        return !a->coded && !b->coded;
    if (!a->coded->palette != !b->coded->palette)
        return false;
    return a->tensor->dtype == b->tensor->dtype &&
           a->coded->bytes == b->coded->bytes &&
           (!a->coded->palette ||
            palette_alike(a->coded->palette, b->coded->palette));
}

static void place_slot(Program *program, Places *places, const size_t *same,
                       size_t i)
{
    WeightSlot *slot = program->weight.at + i;
    const WeightSlot *first = program->weight.at + same[i];
    const int region = slot->tensor->region;
    const bool lent = region && !program->blob;
    slot->bytes = bytes_of(slot);
    slot->offset = first->offset;
    if (!lent && (same[i] == i || first->tensor->region != region ||
                  !lies_alike(slot, first))) {
        const uint64_t end = places->end[region];
        slot->offset =
            size_align(end, slot->bytes < LARGE ? ALIGN : LARGE_ALIGN);
        places->end[region] = size_add(slot->offset, slot->bytes);
    }
    slot->tensor->offset = (int64_t)slot->offset;
}

static void place_slots(Program *program, const size_t *same)
{
    Places places = { 0 };
    for (size_t i = 0; i < program->weight.n; i++)
        place_slot(program, &places, same, i);
    const uint64_t end = places.end[0];
    program->weight_bytes =
        end ? size_add(size_align(end, ALIGN), INLAY_SEAL_SIZE) : 0;
    program->code_bytes = size_align(places.end[1], ALIGN);
}

void weights_layout(Program *program, uint64_t most)
{
    Arena *a = program->graph->arena;
    size_t *same = NEW_ARRAY(a, size_t, program->weight.n);
    const ArenaMark mark = arena_mark(a);
    program->weights_alike = !find_same(program, same, most);
    arena_release(a, mark);
    place_slots(program, same);
}

/* --- constants of several models --- */

KnownWeights known_weights(Arena *arena)
{
    return (KnownWeights){ .arena = arena, .by_value = map_new(arena) };
}

/* Equal texts are equal types and values. */
static const char *value_key(Arena *arena, const Program *program,
                             const Tensor *tensor)
{
    Store *store = program->graph->store;
    char form[65];
    char values[65];
    RecipeDigest digest;
    recipe_key(store, tensor->value, KEY_FORM, form);
    recipe_digest_begin(&digest);
    recipe_digest(store, tensor->value, &digest, UINT64_MAX, values);
    return arena_printf(arena, "%s %s %s", dtype_name(tensor->dtype), form,
                        values);
}

/* Tensor.region for the weights of that model. */
static int region_of(Program *program, const char *model)
{
    for (size_t i = 0; i < program->lender.n; i++)
        if (!strcmp(program->lender.at[i], model))
            return (int)i + 1;
    VEC_PUSH(program->graph->arena, &program->lender, model);
    return (int)program->lender.n;
}

/* Constant i, the first of its value, is where a known one is. */
static void borrow(Program *program, KnownWeights *known, const size_t *same,
                   size_t i, const KnownWeight *lent)
{
    const int region = region_of(program, lent->model);
    for (size_t k = i; k < program->weight.n; k++)
        if (same[k] == i)
            program->weight.at[k].tensor->region = region;
    program->weight.at[i].offset = lent->offset;
    known->shared += lent->bytes;
}

/* Looks for all constants of some size; key[i] is that of the values of constant i, the first that
 * has them. */
static void borrow_known(Program *program, KnownWeights *known,
                         const size_t *same, const char **key)
{
    for (size_t i = 0; i < program->weight.n; i++) {
        Tensor *tensor = program->weight.at[i].tensor;
        const uint64_t bytes = (uint64_t)recipe_bytes(tensor->value);
        if (same[i] != i || bytes < LEAST_SHARED)
            continue;
        key[i] = value_key(known->arena, program, tensor);
        const KnownWeight *lent = map_get(&known->by_value, key[i]);
        if (lent && lent->bytes == bytes)
            borrow(program, known, same, i, lent);
    }
}

static void make_known(const Program *program, KnownWeights *known,
                       const char *model, const char *const *key)
{
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *slot = program->weight.at + i;
        if (!key[i] || slot->tensor->region)
            continue;
        KnownWeight *weight = NEW(known->arena, KnownWeight);
        weight->model = model;
        weight->offset = slot->offset;
        weight->bytes = slot->bytes;
        map_put(&known->by_value, key[i], weight);
    }
}

void weights_layout_known(Program *program, KnownWeights *known,
                          const char *model, WeightsForm asked)
{
    Arena *a = program->graph->arena;
    size_t *same = NEW_ARRAY(a, size_t, program->weight.n);
    const char **key = NEW_ARRAY(a, const char *, program->weight.n);
    (void)find_same(program, same, UINT64_MAX);
    if (weights_are_linked(asked))
        borrow_known(program, known, same, key);
    place_slots(program, same);
    if (weights_are_linked(weights_form_taken(program, asked)))
        make_known(program, known, model, key);
}

/* --- the blob --- */

static bool is_constant(const Operand *operand, Tensor **root)
{
    int64_t at;
    if (!operand->tensor)
        return false;
    *root = tensor_root(operand->tensor, &at);
    return (*root)->storage == STORE_WEIGHTS;
}

/* Is operand k read through the step's window? */
static bool is_fetched(const Step *step, int k)
{
    for (int i = 0; step->fetch && i < step->fetch->parts; i++)
        if (step->fetch->part[i].operand == k)
            return true;
    return false;
}

/* What the step's kernel believes stays in the code, and where weights are streamed, what it does
 * not read through its window. */
static void keep_believed(const Program *program, const Step *step)
{
    Arena *a = program->graph->arena;
    const ArenaMark mark = arena_mark(a);
    bool *any = NEW_ARRAY(a, bool, step->n_operand + 1);
    const bool streamed = program->stream.asked != 0;
    Tensor *root;
    bounds_any(program, step, any);
    for (int k = 0; k < step->n_operand; k++)
        if (is_constant(step->operand + k, &root) &&
            (!any[k] || (streamed && !is_fetched(step, k))))
            root->region = 1;
    arena_release(a, mark);
}

static void copy_coded(const Program *program, const Coded *coded, File *file,
                       uint64_t at)
{
    Arena *arena = program->graph->arena;
    const ArenaMark mark = arena_mark(arena);
    uint8_t *bytes = arena_buffer(arena, CHUNK);
    for (uint64_t done = 0; done < coded->bytes;) {
        const uint64_t left = coded->bytes - done;
        const size_t n = left < CHUNK ? (size_t)left : CHUNK;
        file_read(program->coded, coded->at + done, bytes, n);
        file_write(file, at + done, bytes, n);
        done += n;
    }
    arena_release(arena, mark);
}

/* All constants of a region, once each, from `at` of the file; returns where they end in it. */
static uint64_t write_region(const Program *program, int region, File *file,
                             uint64_t at)
{
    uint64_t end = 0;
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *w = program->weight.at + i;
        if (w->tensor->region != region || w->offset < end)
            continue; /* elsewhere, or stored with an equal one before it */
        if (w->coded)
            copy_coded(program, w->coded, file, at + w->offset);
        else
            recipe_write(program->graph->store, w->tensor->value, file,
                         at + w->offset);
        end = w->offset + w->bytes;
    }
    return end;
}

static void write_zeros(File *file, uint64_t at, uint64_t n)
{
    static const uint8_t zeros[ALIGN];
    assert(n <= ALIGN);
    file_write(file, at, zeros, (size_t)n);
}

/* The constants of the code, and their hash, which belongs to the layout of the blob. */
static void make_code(Program *program)
{
    Sha256 hash;
    sha256_begin(&hash);
    if (program->code_bytes) {
        program->code = file_temporary(program->graph->arena);
        const uint64_t end = write_region(program, 1, program->code, 0);
        write_zeros(program->code, end, program->code_bytes - end);
        sha256_add_file(&hash, program->code, 0, program->code_bytes);
    }
    sha256_end(&hash, program->code_sha256);
}

void weights_layout_blob(Program *program)
{
    size_t *same = NEW_ARRAY(program->graph->arena, size_t, program->weight.n);
    program->blob = true;
    for (size_t i = 0; i < program->step.n; i++)
        keep_believed(program, program->step.at[i]);
    (void)find_same(program, same, 0);
    place_slots(program, same);
    make_code(program);
}

void weights_write(const Program *program, File *file, uint64_t at, bool hash,
                   char sha256[65])
{
    const uint64_t values = program->weight_bytes - INLAY_SEAL_SIZE;
    Sha256 h;
    sha256_begin(&h);
    if (program->weight_bytes) {
        store_work(program->graph->store, "of weights written",
                   program->weight_bytes);
        const uint64_t end = write_region(program, 0, file, at);
        write_zeros(file, at + end, values - end);
        store_work(program->graph->store, "of weights sealed",
                   program->weight_bytes);
        seal_write(program, file, at, hash ? &h : NULL);
    }
    if (hash)
        sha256_end(&h, sha256);
}

void weights_write_blob(const Program *program, File *file, bool hash,
                        char sha256[65])
{
    weights_write(program, file, blob_begin(program->weight_bytes), hash,
                  sha256);
    blob_finish(program, file);
}

/* --- all forms --- */

static void check_size(WeightsForm form, const Program *program)
{
    if (form == WEIGHTS_BIN || form == WEIGHTS_OBJ || weights_form_blob(form) ||
        weights_linkable(program))
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
    if (weights_form_blob(form))
        return output_create(output, arena_printf(arena, "%s.blob", name));
    return output_create(output,
                         arena_printf(arena, "src/%s_weights.%s", name,
                                      form == WEIGHTS_OBJ ? "o" : "bin"));
}

/* The blob in its file, and what goes with its form. */
static void write_form(const Program *program, Output *output, const char *name,
                       WeightsForm form, File *file)
{
    Arena *a = program->graph->arena;
    if (form == WEIGHTS_C)
        weights_text(program, output, name, file);
    if (form == WEIGHTS_INCBIN)
        weights_incbin(program, output, name, file);
    if (form == WEIGHTS_OBJ)
        elf_finish(file, elf_machine(program->family->machine),
                   arena_printf(a, "%s_weights_data", name),
                   program->weight_bytes);
}

static void check_machine(const Program *program)
{
    const ElfMachine *machine = elf_machine(program->family->machine);
    assert(machine);
    elf_check(machine, program->weight_bytes);
}

WeightsForm weights_emit(Program *program, Output *output, const char *name,
                         WeightsForm form, bool hash, char sha256[65])
{
    sha256[0] = 0;
    form = weights_form_taken(program, form);
    check_size(form, program);
    if (form == WEIGHTS_OBJ)
        check_machine(program);
    if (program->code)
        weights_constants(program, output, name);
    if (weights_form_blob(form) && !program->weight_bytes)
        return form;
    File *file = create_blob(output, program->graph->arena, name, form);
    if (weights_form_blob(form))
        weights_write_blob(program, file, hash, sha256);
    else
        weights_write(program, file,
                      form == WEIGHTS_OBJ ? elf_data_offset() : 0, hash,
                      sha256);
    write_form(program, output, name, form, file);
    file_close(file);
    return form;
}
