/* SPDX-License-Identifier: Apache-2.0
 * The bytes behind a row of an operand, and what may be done to them. */
#include "prove/replay.h"

#include <assert.h>

#include "base/size.h"

/* Caller's buffers lie far behind the arena, each by itself. */
static const int64_t BETWEEN_BASES = (int64_t)1 << 44;

bool object_at(Check *check, const Operand *operand, const Piece *piece,
               const char *why)
{
    assert(!check->found.why); /* an objection ends the replay */
    check->found = (Objection){ why, check->step, operand, 0, 0 };
    if (piece) {
        check->found.row = piece->own_row;
        check->found.byte = piece->begin % BETWEEN_BASES;
    }
    return false;
}

bool object(Check *check, const Operand *operand, const char *why)
{
    return object_at(check, operand, NULL, why);
}

int64_t element_bits(const Operand *operand)
{
    return dtype_bits(operand->tensor->dtype);
}

const Tensor *owner_of(const Operand *operand, int64_t *at)
{
    const Tensor *t = operand->tensor;
    *at = operand->offset;
    for (; t->view_of; t = t->view_of)
        *at += t->view_offset;
    return t;
}

const Tensor *version_of(const Operand *operand, int64_t *at)
{
    const Tensor *t = operand->tensor;
    *at = operand->offset;
    for (; t->view_of && !t->state; t = t->view_of)
        *at += t->view_offset;
    return t;
}

bool watched(const Operand *operand)
{
    if (!operand->tensor)
        return false;
    int64_t at;
    const Tensor *t = owner_of(operand, &at);
    return t->storage == STORE_ARENA || t->storage == STORE_OUTPUT;
}

static int64_t base_address(const Operand *operand)
{
    return (operand->ref.base - INLAY_ARENA) * BETWEEN_BASES;
}

int64_t home_of(const Check *check, const Tensor *root)
{
    return (program_base(check->program, root) - INLAY_ARENA) * BETWEEN_BASES +
           root->offset;
}

static bool is_dealt(const Operand *operand)
{
    return operand->ref.slot != NULL;
}

/* Bytes from where the tensor lies to its row. */
static int64_t row_place(const inlay_ref *ref, int32_t row)
{
    if (ref->slot)
        return ref->slot[row] * (int64_t)ref->unit;
    return row % ref->cap * (int64_t)ref->row;
}

Piece piece_of(const Operand *operand, int32_t row)
{
    int64_t at;
    const Tensor *tensor = version_of(operand, &at);
    const inlay_ref *ref = &operand->ref;
    const int64_t lane = operand->part ? at % operand_pitch(operand) : 0;
    const int64_t first = at - lane; /* of the tensor's bytes, in row 0 */
    const int64_t row_bytes = operand->row_bytes;
    const int64_t own = i64_min(row_bytes, tensor_bytes(tensor) - first);
    const int64_t bytes = own + operand->copied;
    Piece piece = { .tag = tensor->id, .lane = lane, .own_row = row };
    if (operand->part)
        piece.lane_end = lane + operand->part * element_bits(operand) / 8;
    piece.begin = base_address(operand) + (int64_t)ref->off - lane;
    piece.begin += row_place(ref, row);
    piece.end = piece.begin + bytes;
    piece.delta = first + row * row_bytes - piece.begin;
    if (row_bytes)
        piece.row = (int32_t)(first / row_bytes) + row;
    return piece;
}

bool inside(const Check *check, const Piece *piece)
{
    const Program *program = check->program;
    const int64_t region = piece->begin / BETWEEN_BASES;
    const int64_t end = piece->end - region * BETWEEN_BASES;
    if (piece->begin < 0)
        return false;
    if (region < program_regions(program))
        return end <= program_region_size(program, (int)region);
    /* whole tensors: byte k of the buffer is byte k of the tensor */
    return piece->begin + piece->delta == piece->begin % BETWEEN_BASES;
}

/* Rows of a tensor made in parts that a piece holds; none of another tensor. */
static Range lane_rows(const Lanes *lanes, const Piece *piece)
{
    if (!lanes->pixel)
        return (Range){ 0, 0 };
    const int64_t bytes = piece->end - piece->begin;
    const int64_t rows = i64_max(1, bytes / lanes->row_bytes);
    const int64_t first = (piece->begin + piece->delta) / lanes->row_bytes;
    const int64_t end = i64_min(first + rows, lanes->rows);
    return (Range){ (int32_t)first, (int32_t)end };
}

/* Where the piece ends in each of its pixels. */
static int64_t lane_end(const Lanes *lanes, const Piece *piece)
{
    return piece->lane_end ? piece->lane_end : lanes->pixel;
}

const char *why_unreadable(const Check *check, const Piece *piece)
{
    if (!inside(check, piece))
        return "leaves the arena";
    if (!shadow_owns(&check->shadow, piece->begin, piece->end, piece->delta,
                     piece->tag))
        return "is read where its bytes are not, or no more";
    const Lanes *lanes = check->lanes + piece->tag;
    const Range rows = lane_rows(lanes, piece);
    const int64_t end = lane_end(lanes, piece);
    for (int32_t row = rows.lo; row < rows.hi; row++)
        if (!lane_has(lanes, row, piece->lane, end))
            return "is read before all its parts are made";
    return NULL;
}

bool read_piece(Check *check, const Operand *operand, const Piece *piece)
{
    const char *why = why_unreadable(check, piece);
    if (why)
        return object_at(check, operand, piece, why);
    return true;
}

bool rows_joined(const Check *check, const Operand *operand, Range range,
                 Piece *piece)
{
    const int32_t cap = operand->ref.cap;
    assert((int64_t)operand->ref.row == operand->row_bytes);
    if (range.hi - range.lo < 2 || operand->part || is_dealt(operand) ||
        range.lo / cap != (range.hi - 1) / cap)
        return false;
    *piece = piece_of(operand, range.lo);
    piece->end = piece_of(operand, range.hi - 1).end;
    const Lanes *lanes = check->lanes + piece->tag;
    return !lanes->pixel || lanes->row_bytes == operand->row_bytes;
}

/* All at once where that can be: each unit of a transposition reads all rows. Else one by one, for
 * the objection says which. */
bool read_rows(Check *check, const Operand *operand, Range range)
{
    Piece all;
    if (rows_joined(check, operand, range, &all) &&
        !why_unreadable(check, &all))
        return true;
    for (int32_t i = range.lo; i < range.hi; i++) {
        const Piece piece = piece_of(operand, i);
        if (!read_piece(check, operand, &piece))
            return false;
    }
    return true;
}

bool claimed(const Check *check, const Operand *operand)
{
    Piece all;
    return rows_joined(check, operand, (Range){ 0, operand->rows }, &all) &&
           shadow_owns(&check->shadow, all.begin, all.end, all.delta,
                       all.tag | INCOMPLETE);
}

bool write_piece(Check *check, const Operand *operand, const Piece *piece,
                 int32_t flag)
{
    Lanes *lanes = check->lanes + piece->tag;
    if (!inside(check, piece))
        return object_at(check, operand, piece, "leaves the arena");
    if (piece->lane_end && shadow_owns(&check->shadow, piece->begin, piece->end,
                                       piece->delta, piece->tag)) {
        lane_add(lanes, piece->row, piece->lane, piece->lane_end);
        return true;
    }
    shadow_write(&check->shadow, piece->begin, piece->end, piece->delta,
                 piece->tag | flag);
    const Range rows = lane_rows(lanes, piece);
    const int64_t end = lane_end(lanes, piece);
    for (int32_t row = rows.lo; row < rows.hi; row++) {
        lane_clear(lanes, row);
        lane_add(lanes, row, piece->lane, end);
    }
    return true;
}

bool by_row(const Step *step, const Operand *operand)
{
    return operand->rows == step->units && !step->accumulates;
}

static Range clip(int64_t lo, int64_t hi, int32_t rows)
{
    return (Range){ (int32_t)(lo < 0 ? 0 : lo),
                    (int32_t)(hi > rows ? rows : hi) };
}

Range rows_of(const Step *step, const Operand *operand, int32_t u)
{
    const RowRule *rule = &operand->rule;
    const int64_t first = (int64_t)u * rule->stride - rule->pad;
    const Range one = { u, u + 1 };
    const Range all = { 0, operand->rows };
    if (operand->write)
        return by_row(step, operand) ? one : all;
    switch (rule->kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return operand->rows == step->units ? one : all;
    case ROWS_WINDOW:
        return clip(first, first + rule->extent, operand->rows);
    case ROWS_TABLE:
        return clip(rule->table[u].lo, rule->table[u].hi, operand->rows);
    default:
        return all;
    }
}

bool in_place(const Step *step, const Operand *out, const Operand *in)
{
    if (!reuse_in_place(in->reuse) || in->ref.off != out->ref.off ||
        out->part || in->part || is_dealt(in) || is_dealt(out))
        return false;
    if (element_bits(out) == element_bits(in))
        return in->ref.cap == out->ref.cap;
    return element_bits(out) < element_bits(in) && !step->backward &&
           in->ref.cap == in->rows && out->ref.cap == out->rows;
}

/* Rows of the same elements in the same slot. */
static bool slots_in_place(const Step *step, const Operand *out,
                           const Operand *in, int32_t u)
{
    if (!is_dealt(out) || !is_dealt(in) || !by_row(step, out) ||
        in->rule.kind != ROWS_SAME || in->rows != step->units)
        return false;
    return piece_of(out, u).begin == piece_of(in, u).begin &&
           in->row_bytes == out->row_bytes && in->pixel == out->pixel &&
           element_bits(in) == element_bits(out) && !in->offset && !out->offset;
}

bool unit_in_place(const Check *check, const Operand *out, const Operand *in,
                   int32_t u)
{
    const Step *step = check->step;
    if (in_place(step, out, in))
        return true;
    return check->alone && reuse_in_place(in->reuse) && !in->part &&
           !out->part && slots_in_place(step, out, in, u);
}

static bool meet(const Piece *a, const Piece *b)
{
    if (a->begin >= b->end || b->begin >= a->end)
        return false;
    if (a->tag == b->tag && a->delta == b->delta && a->lane_end && b->lane_end)
        return a->lane < b->lane_end && b->lane < a->lane_end;
    return true;
}

Range rows_near(const Operand *operand, Range range, const Piece *piece)
{
    const int32_t cap = operand->ref.cap;
    const int64_t pitch = (int64_t)operand->ref.row;
    if (range.lo >= range.hi || !pitch || is_dealt(operand) ||
        range.lo / cap != (range.hi - 1) / cap)
        return range;
    const Piece first = piece_of(operand, range.lo);
    const int64_t bytes = first.end - first.begin;
    const int64_t from = piece->begin - bytes - first.begin;
    const int64_t to = piece->end - first.begin;
    const int64_t lo = range.lo + i64_floor_div(from, pitch);
    const int64_t hi = range.lo + i64_floor_div(to, pitch) + 1;
    return (Range){
        (int32_t)i64_min(i64_max(lo, range.lo), range.hi),
        (int32_t)i64_max(i64_min(hi, range.hi), range.lo),
    };
}

/* May the same bytes be touched through both? */
static bool may_meet(const Operand *w, const Operand *operand)
{
    if (operand->write && !operand->scratch && !w->scratch)
        return true;
    return operand->read && w->read;
}

/* Bytes that are written as `piece` of operand w. */
static bool piece_apart(Check *check, const Operand *w, const Piece *piece,
                        const Operand *operand, Range range)
{
    const Range rows = rows_near(operand, range, piece);
    for (int32_t k = rows.lo; k < rows.hi; k++) {
        const Piece other = piece_of(operand, k);
        const bool one = piece->tag == other.tag && may_meet(w, operand);
        if (!one && meet(piece, &other))
            return object_at(check, operand, &other,
                             "is overwritten by the step that needs it");
    }
    return true;
}

/* Seen as one piece, do the rows `written` of operand w lie where no row of another operand does? A
 * kernel may write all of them in each of its units. */
static bool joined_apart(const Check *check, const Operand *w, Range written,
                         const Operand *operand, Range range)
{
    Piece all;
    if (!rows_joined(check, w, written, &all))
        return false;
    const Range rows = rows_near(operand, range, &all);
    for (int32_t k = rows.lo; k < rows.hi; k++) {
        const Piece other = piece_of(operand, k);
        if (all.begin < other.end && other.begin < all.end)
            return false;
    }
    return true;
}

/* No byte of rows `written` of operand w may be one of another operand's rows. */
static bool apart(Check *check, const Operand *w, Range written,
                  const Operand *operand, Range range)
{
    if (joined_apart(check, w, written, operand, range))
        return true;
    for (int32_t i = written.lo; i < written.hi; i++) {
        const Piece piece = piece_of(w, i);
        if (!piece_apart(check, w, &piece, operand, range))
            return false;
    }
    return true;
}

/* Are operand w, which is written, and another compared? */
static bool compared(const Check *check, const Step *step, int k, int i,
                     int32_t u, bool pixels)
{
    const Operand *w = step->operand + k;
    const Operand *operand = step->operand + i;
    if (i == k || !watched(operand) || unit_in_place(check, w, operand, u))
        return false;
    return !(operand->write && i < k) &&
           !(pixels && k == 0 && operand->pixels.tile);
}

/* Do both need all of their rows, whatever the unit? */
static bool whole_apart(const Operand *w, const Operand *operand)
{
    return w->scratch || operand->scratch ||
           (operand->reuse == REUSE_NONE && !operand->write);
}

/* Of a call the first unit whose rows of an operand may not be overwritten yet when unit u writes:
 * a kernel that does not say that it goes row by row reads all rows of a call to its end, and so
 * does any kernel where rows have slots. */
static int32_t first_reader(const Check *check, const Operand *w,
                            const Operand *operand, int32_t u)
{
    if (operand->write)
        return u;
    if (is_dealt(w) || is_dealt(operand))
        return check->first;
    if (operand->reuse != REUSE_NONE)
        return u;
    return check->first;
}

/* No byte that unit u writes as operand w may be one that it, or a unit before it, reads. */
static bool unit_apart(Check *check, const Step *step, const Operand *w,
                       const Operand *operand, int32_t u)
{
    const Range written = rows_of(step, w, u);
    int32_t reader = first_reader(check, w, operand, u);
    const int32_t next = reader < u ? 1 : -1;
    for (; reader != u + next; reader += next)
        if (!apart(check, w, written, operand, rows_of(step, operand, reader)))
            return false;
    return true;
}

bool check_apart(Check *check, const Step *step, int32_t u, bool whole,
                 bool pixels)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *w = step->operand + k;
        if (!w->write || !watched(w))
            continue;
        for (int i = 0; i < step->n_operand; i++) {
            const Operand *o = step->operand + i;
            if (!compared(check, step, k, i, u, pixels) ||
                (whole && !whole_apart(w, o)))
                continue;
            const Range all = { 0, w->ref.cap };
            const Range range = { 0, o->ref.cap };
            if (whole && !apart(check, w, all, o, range))
                return false;
            if (!whole && !unit_apart(check, step, w, o, u))
                return false;
        }
    }
    return true;
}
