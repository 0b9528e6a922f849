/* SPDX-License-Identifier: Apache-2.0
 * Which recipes are equal: by construction, or by keys of what is done to the sources and of what
 * these hold. Two initializers of equal bytes that are packed alike get one key, whatever their
 * size, without being packed. */
#include <string.h>

#include "base/digest.h"
#include "ir/recipe_form.h"

enum { CHUNK = 64 * 1024, KNOWN = 4 };

/* --- by construction --- */

static bool same_affine(const Affine *affine, const Affine *b, int rank)
{
    return affine->base == b->base &&
           !memcmp(affine->step, b->step, (size_t)rank * sizeof *affine->step);
}

static bool same_change(const Change *a, const Change *b, int rank)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->changes != b->changes)
        return false;
    if (!a->source || !b->source)
        return a->source == b->source;
    return source_same(a->source, b->source) &&
           same_affine(&a->at, &b->at, rank);
}

static bool same_part(const Part *a, const Part *b, int rank)
{
    if (a->guards != b->guards || a->changes != b->changes)
        return false;
    if (!source_same(a->source, b->source) ||
        !same_affine(&a->at, &b->at, rank))
        return false;
    for (int i = 0; i < a->guards; i++) {
        const Guard *x = a->guard + i;
        const Guard *y = b->guard + i;
        if (x->low != y->low || x->high != y->high ||
            !same_affine(&x->at, &y->at, rank))
            return false;
    }
    for (int i = 0; i < a->changes; i++) {
        const Change *x = a->change + i;
        const Change *y = b->change + i;
        if (!same_change(x, y, rank))
            return false;
        for (int k = 0; k < x->changes; k++)
            if (!same_change(x->change + k, y->change + k, rank))
                return false;
    }
    return true;
}

static bool same_form(const Form *x, const Form *y)
{
    if (x->rank != y->rank || x->parts != y->parts ||
        memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim))
        return false;
    for (int p = 0; p < x->parts; p++)
        if (!same_part(x->part + p, y->part + p, x->rank))
            return false;
    return true;
}

static bool same_join(const Join *a, const Join *b)
{
    if (a->pieces != b->pieces)
        return false;
    for (int i = 0; i < a->pieces; i++) {
        const Piece *x = a->piece + i;
        const Piece *y = b->piece + i;
        if (x->outer != y->outer || x->offset != y->offset ||
            x->row != y->row || !same_form(x->form, y->form))
            return false;
    }
    return true;
}

bool recipe_same(const Recipe *a, const Recipe *b)
{
    if (a == b)
        return true;
    if (a->dtype != b->dtype || recipe_count(a) != recipe_count(b))
        return false;
    if (!a->form != !b->form || !a->join != !b->join)
        return false;
    if (a->join)
        return same_join(a->join, b->join);
    return a->form ? same_form(a->form, b->form)
                   : source_same(a->source, b->source);
}

/* --- sources, one after the other --- */

/* The sources of a recipe in a fixed order; of the last few each is met once. */
typedef struct Walk {
    void (*visit)(struct Walk *walk, Source *source);
    Source *known[KNOWN]; /* the last, in turn */
    int met;              /* different ones so far */
    Store *store;
    Sha256 *hash;
    uint64_t at;   /* in all payloads in a row: where this one begins */
    uint64_t from; /* what of them is hashed */
    uint64_t until;
} Walk;

static void visit(Walk *walk, Source *source)
{
    const int first = walk->met < KNOWN ? 0 : walk->met - KNOWN;
    for (int i = first; i < walk->met; i++)
        if (walk->known[i % KNOWN] == source)
            return;
    walk->known[walk->met++ % KNOWN] = source;
    walk->visit(walk, source);
}

static void walk_change(Walk *walk, const Change *change)
{
    for (int k = 0; k < change->changes; k++) {
        const Change *own = change->change + k;
        if (own->source)
            visit(walk, own->source);
    }
    if (change->source)
        visit(walk, change->source);
}

static void walk_form(Walk *walk, const Form *form)
{
    for (int p = 0; p < form->parts; p++) {
        const Part *part = form->part + p;
        visit(walk, part->source);
        for (int i = 0; i < part->changes; i++)
            walk_change(walk, part->change + i);
    }
}

static void walk_recipe(Walk *walk, const Recipe *recipe)
{
    const Join *join = recipe->join;
    if (recipe->form)
        walk_form(walk, recipe->form);
    for (int i = 0; join && i < join->pieces; i++)
        walk_form(walk, join->piece[i].form);
    if (recipe_plain(recipe))
        visit(walk, recipe->source);
}

static uint64_t payload_bytes(const Source *source)
{
    uint64_t bytes = 0;
    if (source->encoding != ENC_VARINT)
        return (uint64_t)dtype_bytes(source->dtype, source->count);
    for (int i = 0; i < source->spans; i++)
        bytes += source->span[i].length;
    return bytes;
}

/* --- keys --- */

static void add_number(Sha256 *h, int64_t v)
{
    sha256_add(h, &v, sizeof v);
}

static void add_affine(Sha256 *h, const Affine *f, int rank)
{
    add_number(h, f->base);
    sha256_add(h, f->step, (size_t)rank * sizeof *f->step);
}

static void add_change(Sha256 *h, const Change *change, int rank)
{
    add_number(h, change->kind);
    add_number(h, change->dtype);
    add_affine(h, &change->at, rank);
    add_number(h, change->changes);
    add_number(h, change->source != NULL);
}

static void add_part(Sha256 *h, const Part *p, int rank)
{
    add_affine(h, &p->at, rank);
    add_number(h, p->guards);
    for (int i = 0; i < p->guards; i++) {
        add_affine(h, &p->guard[i].at, rank);
        add_number(h, p->guard[i].low);
        add_number(h, p->guard[i].high);
    }
    add_number(h, p->changes);
    for (int i = 0; i < p->changes; i++) {
        add_change(h, p->change + i, rank);
        for (int k = 0; k < p->change[i].changes; k++)
            add_change(h, p->change[i].change + k, rank);
    }
}

static void add_form(Sha256 *h, const Form *form)
{
    add_number(h, form->rank);
    sha256_add(h, form->dim, (size_t)form->rank * sizeof *form->dim);
    add_number(h, form->parts);
    for (int p = 0; p < form->parts; p++)
        add_part(h, form->part + p, form->rank);
}

static void add_join(Sha256 *h, const Join *join)
{
    for (int i = 0; i < join->pieces; i++) {
        const Piece *piece = join->piece + i;
        add_number(h, join->pieces);
        add_number(h, piece->outer);
        add_number(h, piece->offset);
        add_number(h, piece->row);
        add_form(h, piece->form);
    }
}

/* What kind of source it is, and behind which others it comes. */
static void add_kind(Walk *walk, Source *source)
{
    add_number(walk->hash, walk->met);
    add_number(walk->hash, source->dtype);
    add_number(walk->hash, source->count);
    add_number(walk->hash, source->encoding);
    add_number(walk->hash, (int64_t)payload_bytes(source));
}

static void add_place(Walk *walk, Source *source)
{
    const void *const lies[2] = { source->file,
                                  source->file ? NULL : source->memory };
    add_kind(walk, source);
    sha256_add(walk->hash, lies, sizeof lies);
    for (int i = 0; source->file && i < source->spans; i++) {
        add_number(walk->hash, (int64_t)source->span[i].offset);
        add_number(walk->hash, (int64_t)source->span[i].length);
    }
}

static void add_payload(Walk *walk, Source *source);

static void add_origin(Walk *walk, Source *source)
{
    const File *file = source->file;
    add_kind(walk, source);
    if (!file || file == walk->store->spill || source->later) {
        walk->at = 0;
        add_payload(walk, source);
        return;
    }
    sha256_add(walk->hash, file->path, strlen(file->path) + 1);
    for (int i = 0; i < source->spans; i++) {
        add_number(walk->hash, (int64_t)source->span[i].offset);
        add_number(walk->hash, (int64_t)source->span[i].length);
    }
}

void recipe_key(Store *s, const Recipe *recipe, RecipeKey level, char key[65])
{
    static void (*const visits[])(Walk *, Source *) = {
        [KEY_FORM] = add_kind,
        [KEY_PLACE] = add_place,
        [KEY_ORIGIN] = add_origin,
    };
    Sha256 h;
    Walk walk = {
        .visit = visits[level], .store = s, .hash = &h, .until = UINT64_MAX
    };
    sha256_begin(&h);
    add_number(&h, recipe_bytes(recipe));
    add_number(&h, (recipe->form ? 1 : 0) + (recipe->join ? 2 : 0));
    if (recipe->form)
        add_form(&h, recipe->form);
    if (recipe->join)
        add_join(&h, recipe->join);
    walk_recipe(&walk, recipe);
    sha256_end(&h, key);
}

/* --- payloads --- */

static void add_payload(Walk *walk, Source *source)
{
    Store *s = walk->store;
    const uint64_t bytes = payload_bytes(source);
    const uint64_t begin = walk->at;
    const uint64_t end = begin + bytes;
    uint64_t at = walk->from > begin ? walk->from : begin;
    const uint64_t until = walk->until < end ? walk->until : end;
    walk->at = end;
    if (at >= until)
        return;
    const ArenaMark mark = arena_mark(s->arena);
    source_open(s, source);
    uint8_t *buffer = arena_buffer(
        s->arena, until - at < CHUNK ? (size_t)(until - at) : CHUNK);
    while (at < until) {
        const size_t n = until - at < CHUNK ? (size_t)(until - at) : CHUNK;
        source_bytes(s, source, at - begin, buffer, n);
        sha256_add(walk->hash, buffer, n);
        store_worked(s, n);
        at += n;
    }
    source_close(source);
    arena_release(s->arena, mark);
}

void recipe_digest_begin(RecipeDigest *digest)
{
    digest->done = 0;
    sha256_begin(&digest->hash);
}

bool recipe_digest(Store *s, const Recipe *recipe, RecipeDigest *digest,
                   uint64_t until, char key[65])
{
    Walk walk = { .visit = add_payload,
                  .store = s,
                  .hash = &digest->hash,
                  .from = digest->done,
                  .until = until };
    walk_recipe(&walk, recipe);
    digest->done = until < walk.at ? until : walk.at;
    Sha256 so_far = digest->hash;
    sha256_end(&so_far, key);
    return digest->done == walk.at;
}

static void add_length(Walk *walk, Source *source)
{
    walk->at += payload_bytes(source);
}

uint64_t recipe_payload(const Recipe *recipe)
{
    Walk walk = { .visit = add_length };
    walk_recipe(&walk, recipe);
    return walk.at;
}
