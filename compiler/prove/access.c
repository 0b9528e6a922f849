/* SPDX-License-Identifier: Apache-2.0
 * The bytes behind a row of an operand, and what may be done to them. */
#include "prove/replay.h"

#include "base/size.h"

/* Caller's buffers lie far behind the arena, each by itself. */
static const int64_t BETWEEN_BASES = (int64_t)1 << 44;

bool object_at(Check *c, const Operand *o, const Piece *p, const char *why)
{
    if (!c->found.why)
        c->found =
            (Objection){ why, c->step, o, p ? p->own_row : 0, p ? p->begin % BETWEEN_BASES : 0 };
    return false;
}

bool object(Check *c, const Operand *o, const char *why)
{
    return object_at(c, o, NULL, why);
}

int64_t element_bits(const Operand *o)
{
    return dtype_bits(o->tensor->dtype);
}

const Tensor *owner_of(const Operand *o, int64_t *at)
{
    const Tensor *t = o->tensor;
    *at = o->offset;
    for (; t->view_of; t = t->view_of)
        *at += t->view_offset;
    return t;
}

bool watched(const Operand *o)
{
    if (!o->tensor)
        return false;
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    return t->storage == STORE_ARENA || t->storage == STORE_OUTPUT;
}

static int64_t base_address(const Operand *o)
{
    return (o->ref.base - INLAY_ARENA) * BETWEEN_BASES;
}

int64_t home_of(const Check *c, const Tensor *root)
{
    return (program_base(c->program, root) - INLAY_ARENA) * BETWEEN_BASES + root->offset;
}

Piece piece_of(const Operand *o, int32_t row)
{
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    const int64_t lane = o->part ? at % operand_pitch(o) : 0;
    const int64_t bytes = i64_min(o->row_bytes, tensor_bytes(t) - (at - lane));
    Piece p = { .tag = t->id,
                .lane = lane,
                .lane_end = o->part ? lane + o->part * element_bits(o) / 8 : 0 };
    p.begin = base_address(o) + (int64_t)o->ref.off - lane +
              (int64_t)(row % o->ref.cap) * (int64_t)o->ref.row;
    p.end = p.begin + bytes;
    p.delta = at - lane + row * o->row_bytes - p.begin;
    p.own_row = row;
    p.row = o->row_bytes ? (int32_t)((at - lane) / o->row_bytes) + row : 0;
    return p;
}

bool inside(const Check *c, const Piece *p)
{
    const int64_t region = p->begin / BETWEEN_BASES;
    if (p->begin < 0)
        return false;
    if (region < program_regions(c->program))
        return p->end - region * BETWEEN_BASES <= program_region_size(c->program, (int)region);
    const int64_t at =
        p->begin % BETWEEN_BASES; /* whole tensors: byte k of the buffer is byte k of the tensor */
    return p->begin + p->delta == at;
}

bool read_piece(Check *c, const Operand *o, const Piece *p)
{
    const Lanes *l = c->lanes + p->tag;
    if (!inside(c, p))
        return object_at(c, o, p, "leaves the arena");
    if (!shadow_owns(&c->shadow, p->begin, p->end, p->delta, p->tag))
        return object_at(c, o, p, "is read where its bytes are not, or no more");
    if (!l->pixel)
        return true;
    const int64_t rows = i64_max(1, (p->end - p->begin) / l->row_bytes),
                  first = (p->begin + p->delta) / l->row_bytes;
    for (int64_t r = first; r < first + rows && r < l->rows; r++)
        if (!lane_has(l, (int32_t)r, p->lane, p->lane_end ? p->lane_end : l->pixel))
            return object_at(c, o, p, "is read before all its parts are made");
    return true;
}

bool write_piece(Check *c, const Operand *o, const Piece *p, int32_t flag)
{
    Lanes *l = c->lanes + p->tag;
    if (!inside(c, p))
        return object_at(c, o, p, "leaves the arena");
    if (p->lane_end && shadow_owns(&c->shadow, p->begin, p->end, p->delta, p->tag)) {
        lane_add(l, p->row, p->lane, p->lane_end);
        return true;
    }
    shadow_write(&c->shadow, p->begin, p->end, p->delta, p->tag | flag);
    if (!l->pixel)
        return true;
    const int64_t first = (p->begin + p->delta) / l->row_bytes,
                  rows = i64_max(1, (p->end - p->begin) / l->row_bytes);
    for (int64_t r = first; r < first + rows && r < l->rows; r++) {
        lane_clear(l, (int32_t)r);
        lane_add(l, (int32_t)r, p->lane, p->lane_end ? p->lane_end : l->pixel);
    }
    return true;
}

bool by_row(const Step *s, const Operand *o)
{
    return o->rows == s->units && !s->accumulates;
}

static Range clip(int64_t lo, int64_t hi, int32_t rows)
{
    return (Range){ (int32_t)(lo < 0 ? 0 : lo), (int32_t)(hi > rows ? rows : hi) };
}

Range rows_of(const Step *s, const Operand *o, int32_t u)
{
    if (o->write)
        return by_row(s, o) ? (Range){ u, u + 1 } : (Range){ 0, o->rows };
    switch (o->rule.kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return o->rows == s->units ? (Range){ u, u + 1 } : (Range){ 0, o->rows };
    case ROWS_WINDOW:
        return clip((int64_t)u * o->rule.stride - o->rule.pad,
                    (int64_t)u * o->rule.stride - o->rule.pad + o->rule.extent, o->rows);
    case ROWS_TABLE:
        return clip(o->rule.table[u].lo, o->rule.table[u].hi, o->rows);
    default:
        return (Range){ 0, o->rows };
    }
}

bool in_place(const Step *s, const Operand *out, const Operand *in)
{
    if (!reuse_in_place(in->reuse) || in->ref.off != out->ref.off || out->part || in->part)
        return false;
    if (element_bits(out) == element_bits(in))
        return in->ref.cap == out->ref.cap;
    return element_bits(out) < element_bits(in) && !s->backward && in->ref.cap == in->rows &&
           out->ref.cap == out->rows;
}

static bool meet(const Piece *a, const Piece *b)
{
    if (a->begin >= b->end || b->begin >= a->end)
        return false;
    if (a->tag == b->tag && a->delta == b->delta && a->lane_end && b->lane_end)
        return a->lane < b->lane_end && b->lane < a->lane_end;
    return true;
}

/* No byte that unit u writes through operand w may be one of another operand's rows [lo, hi). */
static bool apart(Check *c, const Step *s, const Operand *w, Range wr, const Operand *o, Range r)
{
    for (int32_t i = wr.lo; i < wr.hi; i++)
        for (int32_t k = r.lo; k < r.hi; k++) {
            const Piece a = piece_of(w, i), b = piece_of(o, k);
            if (!meet(&a, &b))
                continue;
            if (o->write && !o->scratch && !w->scratch && a.tag == b.tag)
                continue;
            if (o->read && w->read && a.tag == b.tag)
                continue;
            return object_at(c, o, &b, "is overwritten by the step that needs it");
        }
    (void)s;
    return true;
}

bool check_apart(Check *c, const Step *s, int32_t u, bool whole, bool pixels)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *w = s->operand + k;
        if (!w->write || !watched(w))
            continue;
        for (int i = 0; i < s->n_operand; i++) {
            const Operand *o = s->operand + i;
            if (i == k || !watched(o) || in_place(s, w, o) || (o->write && i < k) ||
                (pixels && k == 0 && o->pixels.tile))
                continue;
            const bool all =
                whole && (w->scratch || o->scratch || (o->reuse == REUSE_NONE && !o->write));
            if (whole && !all)
                continue;
            const Range wr = all ? (Range){ 0, w->ref.cap } : rows_of(s, w, u),
                        r = all ? (Range){ 0, o->ref.cap } : rows_of(s, o, u);
            if (!apart(c, s, w, wr, o, r))
                return false;
        }
    }
    return true;
}
