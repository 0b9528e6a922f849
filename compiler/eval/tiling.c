/* SPDX-License-Identifier: Apache-2.0
 * The whole result is halved along one axis after the other, each time along that which saves most,
 * the first of equals: rows of an image, square blocks of a product. */
#include "eval/tiling.h"

#include "base/size.h"

/* Bytes of an element where it is computed. */
static int64_t work_size(const Tensor *tensor)
{
    return i64_max(4, dtype_bits(tensor->dtype) / 8);
}

int64_t tiling_depth(const Chain *chain, int i, int a)
{
    const Link *link = chain->link + i;
    int64_t depth = 1;
    for (int k = 0; k < link->node->n_in; k++) {
        const int own = link->axis[k][chain->rank + a];
        if (own >= 0)
            depth = i64_max(depth, link->node->in[k]->shape.dim[own]);
    }
    return depth;
}

/* Elements of operand k that a piece needs. */
static int64_t operand_part(const Chain *chain, const Tiling *tiling, int i,
                            int k)
{
    const Link *link = chain->link + i;
    Shape part = link->node->in[k]->shape;
    for (int a = 0; a < chain->rank; a++)
        if (link->axis[k][a] >= 0)
            part.dim[link->axis[k][a]] = tiling->n[a];
    for (int a = 0; a < MAX_RANK; a++) {
        const int own = link->axis[k][chain->rank + a];
        if (own >= 0)
            part.dim[own] = tiling->through[i][a];
    }
    return shape_count(&part);
}

static int64_t piece_bytes(const Chain *chain, const Tiling *tiling)
{
    int64_t bytes = 0;
    for (int i = 0; i < chain->links; i++) {
        const Link *link = chain->link + i;
        const Shape result = shape_of(chain->rank, tiling->n);
        const int64_t size = work_size(link->node->out[0]);
        bytes = i64_add(bytes, i64_mul(shape_count(&result), size));
        for (int k = 0; k < link->node->n_in; k++) {
            if (!link->from[k] || link->link[k] >= 0)
                continue;
            const int64_t part = operand_part(chain, tiling, i, k);
            const int64_t own = work_size(link->node->in[k]);
            bytes = i64_add(bytes, i64_mul(part, own));
        }
    }
    return bytes;
}

static bool link_cuts(const Link *link, int axis)
{
    for (int k = 0; k < link->node->n_in; k++)
        if (link->axis[k][axis] == CUT_NEVER)
            return false;
    return true;
}

/* May pieces be smaller along that axis of the result? */
static bool may_cut(const Chain *chain, int axis)
{
    for (int i = 0; i < chain->links; i++)
        if (!link_cuts(chain->link + i, axis))
            return false;
    return true;
}

/* Sums of sums are sums only where numbers are not rounded to integers. */
static bool may_join(const Link *link)
{
    const DType type = link->node->out[0]->dtype;
    return link->node->op->join && T_ALL_FLOAT & DTYPE_BIT(type);
}

/* The axis whose half saves most. */
typedef struct Search {
    const Chain *chain;
    Tiling *tiling;
    int64_t bytes; /* of a piece as it is */
    int64_t *best;
    int64_t saved;
} Search;

/* Weighs what the half of *n saves; whole rows of an operand, which lie together, by a third
 * more. */
static void try_half(Search *search, int64_t *n, bool rows)
{
    const int64_t was = *n;
    if (was <= 1)
        return;
    *n = i64_ceil_div(was, 2);
    int64_t saved = search->bytes - piece_bytes(search->chain, search->tiling);
    *n = was;
    if (rows)
        saved += saved / 3;
    if (saved <= search->saved)
        return;
    search->saved = saved;
    search->best = n;
}

/* Is it the first axis of one of the operands? */
static bool is_first(const Link *link, int axis)
{
    for (int k = 0; k < link->node->n_in; k++)
        if (link->axis[k][axis] == 0)
            return true;
    return false;
}

static bool halve_best(Search *search)
{
    const Chain *chain = search->chain;
    Tiling *tiling = search->tiling;
    search->best = NULL;
    search->saved = 0;
    for (int a = 0; a < chain->rank; a++)
        if (may_cut(chain, a))
            try_half(search, tiling->n + a, is_first(chain->link, a));
    for (int i = 0; i < chain->links; i++)
        for (int a = 0; a < MAX_RANK && may_join(chain->link + i); a++) {
            const int axis = chain->rank + a;
            const bool rows = is_first(chain->link + i, axis);
            if (link_cuts(chain->link + i, axis))
                try_half(search, tiling->through[i] + a, rows);
        }
    if (!search->best)
        return false;
    *search->best = i64_ceil_div(*search->best, 2);
    search->bytes = piece_bytes(chain, tiling);
    return true;
}

/* Pieces that are computed, those of one result that are joined counted each. */
static int64_t count_pieces(const Chain *chain, const Tiling *tiling)
{
    int64_t pieces = 1;
    int64_t most = 1;
    for (int a = 0; a < chain->rank; a++)
        pieces = i64_mul(pieces, i64_ceil_div(chain->dim[a], tiling->n[a]));
    for (int i = 0; i < chain->links; i++) {
        int64_t own = 1;
        for (int a = 0; a < MAX_RANK; a++)
            own = i64_mul(own, i64_ceil_div(tiling_depth(chain, i, a),
                                            tiling->through[i][a]));
        most = i64_max(most, own);
    }
    return i64_mul(pieces, most);
}

bool tiling_find(const Chain *chain, Tiling *tiling)
{
    Search search = { .chain = chain, .tiling = tiling };
    *tiling = (Tiling){ .n = { 0 } };
    for (int a = 0; a < chain->rank; a++)
        tiling->n[a] = chain->dim[a];
    for (int i = 0; i < chain->links; i++)
        for (int a = 0; a < MAX_RANK; a++)
            tiling->through[i][a] = tiling_depth(chain, i, a);
    search.bytes = piece_bytes(chain, tiling);
    while (search.bytes > PIECE_BYTES)
        if (!halve_best(&search))
            return false;
    return count_pieces(chain, tiling) <= MOST_PIECES;
}
