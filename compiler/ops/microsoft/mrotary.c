/* SPDX-License-Identifier: Apache-2.0
 * MRotaryEmbedding of com.microsoft as a composition: each token has three positions, in time and
 * down and across an image, and each column of the caches goes by one of them. */
#include "ops/attend.h"
#include "ops/expand.h"
#include "ops/families.h"

enum { STREAMS = 3 };

/* Which of the positions each column goes by. */
typedef struct Columns {
    const Node *node;
    int64_t count;
    int64_t *stream;
} Columns;

static void fill_chunks(Columns *columns, const int64_t *section)
{
    int64_t at = 0;
    for (int k = 0; k < STREAMS; k++)
        for (int64_t i = 0; i < section[k]; i++)
            columns->stream[at++] = k;
}

/* All go by time, but for every third one of the first columns. */
static void fill_interleaved(Columns *columns, const int64_t *section)
{
    for (int64_t i = 0; i < columns->count; i++)
        columns->stream[i] = 0;
    for (int k = 1; k < STREAMS; k++)
        for (int64_t i = k; i < STREAMS * section[k]; i += STREAMS)
            if (i < columns->count)
                columns->stream[i] = k;
}

static Columns columns_of(const Node *node, int64_t count)
{
    int64_t n = 0;
    int64_t sum = 0;
    const int64_t *section = node_ints(node, "mrope_section", &n);
    Columns columns = {
        .node = node,
        .count = count,
        .stream = NEW_ARRAY(node->graph->arena, int64_t, count),
    };
    for (int64_t i = 0; section && i < n; i++) {
        const bool fits = section[i] >= 0 && section[i] <= count - sum;
        sum = fits ? sum + section[i] : -1;
        if (!fits)
            break;
    }
    if (n != STREAMS || sum != count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its mrope_section does not add up to %lld",
                  (long long)count);
    if (node_int(node, "mrope_layout", 0))
        fill_interleaved(&columns, section);
    else
        fill_chunks(&columns, section);
    return columns;
}

/* The columns of the cache that go by one of the positions, at those: [B][S][n]. */
static Tensor *by_stream(const Columns *columns, Tensor *cache, int stream,
                         int64_t *order, int64_t *n)
{
    const Node *node = columns->node;
    const int64_t before = *n;
    for (int64_t i = 0; i < columns->count; i++)
        if (columns->stream[i] == stream)
            order[(*n)++] = i;
    if (*n == before)
        return NULL;
    Tensor *own = expand_i64s(node, *n - before, order + before);
    Tensor *part = expand_gather(node, cache, own, 1);
    Tensor *at = expand_number(node, stream, DT_I64);
    Tensor *place = expand_gather(node, node->in[1], at, 0);
    return expand_gather(node, part, place, 0);
}

/* The columns in the order that they were taken in, put back: `all` [B][S][count]. */
static Tensor *put_back(const Columns *columns, Tensor *all,
                        const int64_t *order)
{
    const Node *node = columns->node;
    const int64_t count = columns->count;
    int64_t *back = NEW_ARRAY(node->graph->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        back[order[i]] = i;
    Tensor *index = expand_i64s(node, count, back);
    return expand_gather(node, all, index, 2);
}

static void check_places(const Node *node, int64_t steps)
{
    const Shape *places = infer_shape(node, 1);
    const bool three = places->rank == 3 && places->dim[0] == STREAMS;
    if (!three || places->dim[2] != steps)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its positions are not three for each token");
}

/* Rows of the cache for every place of the sequence: [B][S][1][R]. */
static Tensor *angles(const Node *node, Tensor *cache, int64_t steps)
{
    const int64_t count = cache->shape.dim[1];
    int64_t *order = NEW_ARRAY(node->graph->arena, int64_t, count);
    int64_t n = 0;
    Tensor *all = NULL;
    check_places(node, steps);
    const Columns columns = columns_of(node, count);
    for (int k = 0; k < STREAMS; k++) {
        Tensor *part = by_stream(&columns, cache, k, order, &n);
        if (all && part)
            part = expand_concat(node, all, part, 2);
        all = part ? part : all;
    }
    all = put_back(&columns, all, order);
    return expand_unsqueeze(node, all, 2);
}

void expand_mrotary(Node *node)
{
    attend_turn(node, angles);
}
