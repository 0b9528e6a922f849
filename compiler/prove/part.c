/* SPDX-License-Identifier: Apache-2.0
 * A part has no bytes of its own: whoever touches it touches some of the tensor that it belongs to.
 */
#include "prove/part.h"

#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"
#include "kernels/move_rows.h"

static bool joins_pixels(const Step *s)
{
    const inlay_concat_params *p = s->params;
    return p->size && s->operand[0].rows == s->units;
}

int concat_inputs(const Step *s)
{
    if (strcmp(s->kernel->name, "concat"))
        return 0;
    const inlay_concat_params *p = s->params;
    return joins_pixels(s) || (!p->size && p->pieces == 1 && s->units == 1) ? p->inputs : 0;
}

static int64_t element_bytes(const Operand *o)
{
    return dtype_bits(o->tensor->dtype) / 8;
}

int64_t concat_part(const Step *s, int k)
{
    return joins_pixels(s) ? s->operand[k].pixel : 0;
}

int64_t concat_lane(const Step *s, int k)
{
    int64_t lane = 0;
    for (int i = 1; i < k; i++) {
        const Operand *x = s->operand + i;
        lane = i64_add(lane, joins_pixels(s) ? i64_mul(x->pixel, element_bytes(x))
                                             : tensor_bytes(x->tensor));
    }
    return lane;
}

/* The tensor that the operand is all of; NULL: it is none. */
static Tensor *all_of(const Operand *o)
{
    int64_t at;
    if (!o->tensor || o->offset || o->part)
        return NULL;
    Tensor *root = tensor_root(o->tensor, &at);
    return !at && tensor_bytes(root) == tensor_bytes(o->tensor) ? root : NULL;
}

static const char *settle(Home *homes, const Operand *own, const Home *home)
{
    const Tensor *t = all_of(own);
    if (!t || t->slot >= 0 || t->storage != STORE_ARENA)
        return "is not done, and what it moves is no tensor that could lie elsewhere";
    if (homes[t->id].y)
        return "is not done, and what it moves is part of another tensor, too";
    homes[t->id] = *home;
    return NULL;
}

const char *part_settle(Home *homes, const Step *s, int k, bool copied)
{
    const Operand *x = s->operand + k, *y = s->operand;
    const bool block = !joins_pixels(s);
    if (!block && (x->rows != s->units || x->row_bytes * y->pixel != y->row_bytes * x->pixel))
        return "is not done, and its inputs are no images that could be written in place";
    return settle(homes, x,
                  &(Home){ .y = y,
                           .own = x,
                           .offset = i64_add(y->offset, concat_lane(s, k)),
                           .part = concat_part(s, k),
                           .block = block,
                           .copied = copied });
}

/* Does it take the same channels of all pixels of rows that follow one another? */
static bool takes_box(const Step *s)
{
    if (strncmp(s->kernel->name, "move_rows_", 10))
        return false;
    const inlay_move_rows_params *p = s->params;
    const Operand *y = s->operand, *x = s->operand + 1;
    bool box = p->units == 1 && p->row[0] == 1 && !p->x[0] && !p->x_pixel &&
               y->row_bytes * x->pixel == x->row_bytes * y->pixel;
    for (int d = 1; d < p->rank; d++)
        box = box && (p->n[d] == 1 || (!p->row[d] && p->x[d] == p->y[d] &&
                                       (p->x_pixels >> d & 1) == (p->y_pixels >> d & 1)));
    return box;
}

const char *part_settle_slice(Home *homes, const Step *s)
{
    if (!takes_box(s))
        return "is not done";
    const inlay_move_rows_params *p = s->params;
    const Operand *y = s->operand, *x = s->operand + 1;
    const int64_t offset =
        i64_add(i64_mul(p->first, x->row_bytes), i64_mul(p->x_channel, element_bytes(x)));
    return settle(homes, y,
                  &(Home){ .y = x,
                           .own = y,
                           .offset = i64_add(x->offset, offset),
                           .part = y->pixel == x->pixel ? 0 : y->pixel });
}

/* One tensor further. */
static const char *resolve_once(const Home *h, const Step *s, Operand *o, int64_t at)
{
    if (h->block) {
        o->offset = i64_add(i64_add(o->offset, at), h->offset);
        o->tensor = h->y->tensor;
        return NULL;
    }
    const bool strided = o->strided || (concat_inputs(s) && o->rows == s->units);
    if (!strided || at ||
        (!o->part && (o->offset || o->rows != h->own->rows || o->row_bytes != h->own->row_bytes ||
                      o->pixel != h->own->pixel)))
        return "is part of another tensor, which this step cannot follow";
    if (!o->part)
        o->part = h->part;
    /* bytes into a tensor of narrower pixels become bytes into this one */
    const int64_t narrow = h->own->row_bytes, rows = narrow ? o->offset / narrow : 0;
    o->offset =
        i64_add(i64_add(i64_mul(rows, h->y->row_bytes), o->offset - rows * narrow), h->offset);
    o->tensor = h->y->tensor;
    o->pixel = h->y->pixel;
    o->row_bytes = h->y->row_bytes;
    return NULL;
}

const char *part_resolve(const Home *homes, const Step *s, Operand *o, bool parted)
{
    for (;;) {
        int64_t at;
        const Home *h = homes + tensor_root(o->tensor, &at)->id;
        if (!h->y || (h->copied && (o->write || !parted || o->part)))
            return NULL;
        const char *why = resolve_once(h, s, o, at);
        if (why)
            return why;
    }
}
