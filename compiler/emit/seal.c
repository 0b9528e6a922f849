/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/seal.h"

#include <string.h>

#include "base/crc32.h"

enum { CHUNK = 256 * 1024 };

/* ---- the layout ---- */

static void add_number(Sha256 *h, int64_t v)
{
    sha256_add(h, &v, sizeof v);
}

static void add_text(Sha256 *h, const char *text)
{
    sha256_add(h, text, strlen(text) + 1);
}

/* A blob is made for code that is in the field: by the same compiler, for the same targets, with
 * the same constants in the code. */
static void add_code(Sha256 *h, const Program *program)
{
    add_text(h, INLAY_VERSION);
    add_text(h, program->family->name);
    add_text(h, program->code_sha256);
}

static void add_slot(Sha256 *h, const WeightSlot *w)
{
    const Tensor *t = w->tensor;
    add_number(h, (int64_t)w->offset);
    add_number(h, (int64_t)w->bytes);
    add_number(h, dtype_bits(t->dtype));
    add_text(h, dtype_name(t->dtype));
    add_number(h, t->shape.rank);
    for (int k = 0; k < t->shape.rank; k++)
        add_number(h, t->shape.dim[k]);
    if (!w->coded)
        return;
    add_number(h, w->coded->code.classes);
    add_number(h, w->coded->pair.listed);
    add_number(h, w->coded->pair.low);
    add_number(h, w->coded->pair.apart);
    add_number(h, (int64_t)w->coded->bits);
}

/* Does the operand lie in the blob, or in the code? */
static bool is_constant(const Program *program, const inlay_ref *ref)
{
    const bool in_code =
        program->code_bytes && ref->base + 1 == program_bases(program);
    return ref->base == INLAY_WEIGHTS || in_code;
}

/* Where the pieces of coded constants begin, or how their blocks lie, is in the code. */
static void add_fetch(Sha256 *h, const Fetch *fetch)
{
    for (int i = 0; fetch && i < fetch->parts; i++)
        for (int k = 0; k < fetch->part[i].begins; k++)
            add_number(h, fetch->part[i].begin[k]);
}

static void add_step(Sha256 *h, const Program *program, const Step *step)
{
    add_text(h, step->kernel->name);
    for (int i = 0; i < step->kernel->fields; i++) {
        const FieldRow *f = step->kernel->field + i;
        sha256_add(h, (const unsigned char *)step->params + f->offset,
                   f->size * (size_t)(f->count ? f->count : 1));
    }
    for (int k = 0; k < step->n_operand; k++) {
        const inlay_ref *r = &step->operand[k].ref;
        if (!is_constant(program, r) || !step->operand[k].tensor)
            continue;
        add_number(h, k);
        if (program->blob)
            add_number(h, r->base == INLAY_WEIGHTS);
        add_number(h, (int64_t)r->off);
        add_number(h, (int64_t)r->row);
        add_number(h, r->pix);
    }
    add_fetch(h, step->fetch);
}

uint64_t seal_layout(const Program *program)
{
    Sha256 h;
    char hex[65];
    uint64_t layout = 0;
    sha256_begin(&h);
    if (program->blob)
        add_code(&h, program);
    for (size_t i = 0; i < program->weight.n; i++)
        add_slot(&h, program->weight.at + i);
    for (size_t i = 0; i < program->step.n; i++)
        add_step(&h, program, program->step.at[i]);
    sha256_end(&h, hex);
    for (int i = 0; i < 16; i++)
        layout = layout << 4 |
                 (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    return layout;
}

/* ---- the seal ---- */

void seal_words(const Program *program, uint64_t words[3])
{
    words[0] = INLAY_SEAL_MAGIC;
    words[1] = seal_layout(program);
    words[2] = program->weight_bytes - INLAY_SEAL_SIZE;
}

typedef struct Sums {
    Crc32 crc;
    Sha256 *sha; /* NULL: not asked for */
} Sums;

static void add_bytes(Sums *sums, const void *bytes, size_t n)
{
    crc32_add(&sums->crc, bytes, n);
    if (sums->sha)
        sha256_add(sums->sha, bytes, n);
}

static void add_values(Sums *sums, const Program *program, File *file,
                       uint64_t at, uint64_t n)
{
    Arena *a = program->graph->arena;
    const ArenaMark mark = arena_mark(a);
    uint8_t *bytes = arena_buffer(a, CHUNK);
    while (n) {
        const size_t k = n < CHUNK ? (size_t)n : CHUNK;
        file_read(file, at, bytes, k);
        add_bytes(sums, bytes, k);
        store_worked(program->graph->store, k);
        at += k;
        n -= k;
    }
    arena_release(a, mark);
}

void seal_write(const Program *program, File *file, uint64_t at, Sha256 *h)
{
    Sums sums = { .sha = h };
    uint8_t seal[INLAY_SEAL_SIZE] = { 0 };
    const uint64_t values = program->weight_bytes - INLAY_SEAL_SIZE;
    uint64_t words[3];
    crc32_begin(&sums.crc);
    seal_words(program, words);
    memcpy(seal, words, sizeof words);
    add_values(&sums, program, file, at, values);
    add_bytes(&sums, seal, INLAY_SEAL_SIZE - INLAY_SEAL_CRC_SIZE);
    memcpy(seal + INLAY_SEAL_SIZE - INLAY_SEAL_CRC_SIZE, &sums.crc.value,
           INLAY_SEAL_CRC_SIZE);
    if (h)
        sha256_add(h, seal + INLAY_SEAL_SIZE - INLAY_SEAL_CRC_SIZE,
                   INLAY_SEAL_CRC_SIZE);
    file_write(file, at + values, seal, sizeof seal);
}
