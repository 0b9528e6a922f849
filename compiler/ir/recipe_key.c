/* SPDX-License-Identifier: Apache-2.0
 * Keys of recipes: what is done to the sources, and what the sources hold.
 * Two initializers of equal bytes that are packed alike get one key, whatever their size, without
 * being packed. */
#include "base/digest.h"
#include "ir/recipe_form.h"

enum { SAMPLE_BYTES = 512, CHUNK = 64 * 1024 };

static void add_number(Sha256 *h, int64_t v)
{
    sha256_add(h, &v, sizeof v);
}

static void add_affine(Sha256 *h, const Affine *f, int rank)
{
    add_number(h, f->base);
    sha256_add(h, f->step, (size_t)rank * sizeof *f->step);
}

static void add_source(Sha256 *h, Store *s, Source *source, RecipeKey level)
{
    add_number(h, source->dtype);
    add_number(h, source->count);
    add_number(h, source->encoding);
    uint64_t bytes = (uint64_t)dtype_bytes(source->dtype, source->count);
    if (source->encoding == ENC_VARINT) {
        bytes = 0;
        for (int i = 0; i < source->spans; i++)
            bytes += source->span[i].length;
    }
    add_number(h, (int64_t)bytes);
    if (level == KEY_FORM)
        return;
    if (level == KEY_SAMPLE && bytes > SAMPLE_BYTES)
        bytes = SAMPLE_BYTES;
    const ArenaMark mark = arena_mark(s->arena);
    source_open(s, source);
    uint8_t *buffer = arena_buffer(s->arena, bytes < CHUNK ? (size_t)bytes : CHUNK);
    for (uint64_t at = 0; at < bytes;) {
        const size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;
        source_bytes(s, source, at, buffer, n);
        sha256_add(h, buffer, n);
        at += n;
    }
    source_close(source);
    arena_release(s->arena, mark);
}

static void add_change(Sha256 *h, const Change *c, int rank)
{
    add_number(h, c->kind);
    add_number(h, c->dtype);
    add_affine(h, &c->at, rank);
    add_number(h, c->changes);
}

static void add_part(Sha256 *h, Store *s, const Part *p, int rank, RecipeKey level)
{
    add_source(h, s, p->source, level);
    add_affine(h, &p->at, rank);
    add_number(h, p->guards);
    for (int i = 0; i < p->guards; i++) {
        add_affine(h, &p->guard[i].at, rank);
        add_number(h, p->guard[i].low);
        add_number(h, p->guard[i].high);
    }
    add_number(h, p->changes);
    for (int i = 0; i < p->changes; i++) {
        const Change *c = p->change + i;
        add_change(h, c, rank);
        for (int k = 0; k < c->changes; k++) {
            add_change(h, c->change + k, rank);
            if (c->change[k].source)
                add_source(h, s, c->change[k].source, level);
        }
        if (c->source)
            add_source(h, s, c->source, level);
    }
}

void recipe_key(Store *s, const Recipe *r, RecipeKey level, char key[65])
{
    Sha256 h;
    sha256_begin(&h);
    add_number(&h, recipe_bytes(r));
    add_number(&h, r->form ? r->form->parts : -1);
    if (!r->form)
        add_source(&h, s, r->source, level);
    if (r->form) {
        add_number(&h, r->form->rank);
        sha256_add(&h, r->form->dim, (size_t)r->form->rank * sizeof *r->form->dim);
        for (int p = 0; p < r->form->parts; p++)
            add_part(&h, s, r->form->part + p, r->form->rank, level);
    }
    sha256_end(&h, key);
}
