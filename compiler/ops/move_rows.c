/* SPDX-License-Identifier: Apache-2.0
 * Moves that can go row by row: which loops number the rows of the result, which lie within a row,
 * and which rows of the source a row needs. A tensor may be seen as several images (a shuffle of
 * channels has rank 5, the image around it rank 4), so the views before and behind it are tried,
 * too. */
#include "ops/nest.h"

#include <stdlib.h>

#include "base/size.h"
#include "kernels/move_rows.h"
#include "kernels/shuffle.h"

enum {
    LOOPS = 12,
    LEAST_ROW = 64, /* bytes; below, a call per row costs too much */
    LOOK_BACK = 64, /* steps gone through for the one that made a tensor */
};

/* rows rows of `width` pixels of `channels` elements. */
typedef struct Image {
    int64_t rows, width, channels;
} Image;

typedef struct Loop {
    int64_t n, y, x; /* strides in elements of the whole tensors */
} Loop;

typedef struct Loops {
    Loop at[LOOPS];
    int n;
} Loops;

/* A stride, or a place, as rows, pixels and channels. */
typedef struct Place {
    int64_t row, pixel, channel;
} Place;

static int64_t row_of(const Image *m)
{
    return m->width * m->channels;
}

static int64_t stride_of(const Loop *l, bool y)
{
    return llabs(y ? l->y : l->x);
}

/* Cuts loops that go beyond `block` elements in steps smaller than it. */
static bool cut(Loops *t, bool y, int64_t block)
{
    for (int i = 0; i < t->n; i++) {
        const int64_t stride = stride_of(t->at + i, y);
        if (!stride || stride >= block || stride * t->at[i].n <= block)
            continue;
        const int64_t inner = block / stride;
        if (block % stride || t->at[i].n % inner || t->n == LOOPS)
            return false;
        for (int k = t->n++; k > i; k--)
            t->at[k] = t->at[k - 1];
        t->at[i] = (Loop){ t->at[i].n / inner, t->at[i].y * inner, t->at[i].x * inner };
        t->at[i + 1].n = inner;
    }
    return true;
}

static Place place_of(int64_t stride, const Image *m)
{
    if (llabs(stride) >= row_of(m))
        return (Place){ .row = stride / row_of(m), .pixel = stride % row_of(m) };
    if (llabs(stride) >= m->channels)
        return (Place){ .pixel = stride / m->channels, .channel = stride % m->channels };
    return (Place){ .channel = stride };
}

/* Is each stride a number of rows, pixels or channels, and do none of those run over? */
static bool fits(const Loops *t, bool y, int64_t start, const Image *m)
{
    int64_t pixel = start % row_of(m) / m->channels, channel = start % m->channels,
            pixel_low = pixel, channel_low = channel;
    for (int i = 0; i < t->n; i++) {
        const Place p = place_of(y ? t->at[i].y : t->at[i].x, m);
        if ((p.row && p.pixel) || (p.pixel && p.channel))
            return false;
        const int64_t more = (t->at[i].n - 1) * (p.pixel ? p.pixel : p.channel);
        *(p.pixel ? (more < 0 ? &pixel_low : &pixel) : (more < 0 ? &channel_low : &channel)) +=
            more;
    }
    return pixel < m->width && channel < m->channels && pixel_low >= 0 && channel_low >= 0;
}

static int by_result(const void *a, const void *b)
{
    const int64_t x = ((const Loop *)a)->y, y = ((const Loop *)b)->y;
    return (x < y) - (x > y);
}

/* Loops sorted along the result; how many of them number its rows, all of them; 0: they do not. */
static int unit_loops(Loops *t, const Image *y)
{
    int units = 0;
    int64_t rows = 1;
    qsort(t->at, (size_t)t->n, sizeof *t->at, by_result);
    while (units < t->n && t->at[units].y >= row_of(y))
        units++;
    for (int i = units - 1; i >= 0; i--) {
        if (t->at[i].y != rows * row_of(y))
            return 0;
        rows *= t->at[i].n;
    }
    return rows == y->rows ? units : 0;
}

static bool joins(const Loops *t, int i, const Image *y, const Image *x)
{
    const Loop *a = t->at + i, *b = a + 1;
    const Place ay = place_of(a->y, y), by = place_of(b->y, y), ax = place_of(a->x, x),
                bx = place_of(b->x, x);
    return a->y == b->y * b->n && a->x == b->x * b->n && !ay.pixel == !by.pixel &&
           !ax.pixel == !bx.pixel && !ax.row == !bx.row;
}

/* Within a row: loops over rows of the source first, then as the kernel's inner two loops want
 * them. */
static void order_inner(Loops *t, int units, const Image *y, const Image *x)
{
    for (int i = t->n - 2; i >= units; i--) {
        if (!joins(t, i, y, x))
            continue;
        t->at[i + 1].n *= t->at[i].n;
        for (int k = i; k + 1 < t->n; k++)
            t->at[k] = t->at[k + 1];
        t->n--;
    }
    int from = units;
    for (int i = units; i < t->n; i++) {
        if (!place_of(t->at[i].x, x).row)
            continue;
        const Loop l = t->at[i];
        for (int k = i; k > from; k--)
            t->at[k] = t->at[k - 1];
        t->at[from++] = l;
    }
    while (t->n - from < 2 && t->n < LOOPS) {
        for (int k = t->n++; k > from; k--)
            t->at[k] = t->at[k - 1];
        t->at[from] = (Loop){ 1, 0, 0 };
    }
    for (int i = from; i < t->n - 2; i++) {
        if (t->at[t->n - 1].x == 1 || t->at[i].x != 1)
            continue;
        const Loop l = t->at[i];
        for (int k = i; k < t->n - 2; k++)
            t->at[k] = t->at[k + 1];
        t->at[t->n - 2] = l;
    }
}

/* Which rows of the source a row of the result needs; false: each needs all, so rows are of no use.
 */
static bool tabulate(Operand *o, const inlay_move_rows_params *p, int32_t units, Rows *rows)
{
    int32_t low = 0, high = 0;
    for (int d = p->units; d < p->rank; d++) {
        const int32_t more = (p->n[d] - 1) * p->row[d];
        if (more < 0)
            low += more;
        else
            high += more;
    }
    for (int32_t u = 0; u < units; u++) {
        int32_t row = p->first, rest = u;
        for (int d = p->units - 1; d >= 0; d--) {
            row += rest % p->n[d] * p->row[d];
            rest /= p->n[d];
        }
        rows[u] = (Rows){ row + low, row + high + 1 };
    }
    operand_table(o, units, rows);
    return o->rule.kind == ROWS_TABLE;
}

static void see(Operand *o, const Image *m)
{
    operand_rows(o, i32_checked(m->rows), m->channels);
    o->strided = true;
}

/* Does each pixel of the result come from the same pixel of the source, one after the other? */
static bool pixel_by_pixel(const inlay_move_rows_params *p)
{
    const int d = p->units, last = p->rank - 2;
    if (last != d + 1 || p->x_pixel || p->x_channel)
        return false;
    for (int i = 0; i < p->rank; i++) {
        const bool y = p->y_pixels >> i & 1, x = p->x_pixels >> i & 1;
        if (i < d   ? p->x[i] != 0
            : i > d ? p->row[i] || x || y
                    : p->row[i] || !x || !y || p->x[i] != 1 || p->y[i] != 1)
            return false;
    }
    return true;
}

/* Only the order of the channels changes. */
static bool is_shuffle(const inlay_move_rows_params *p, const Image *y, const Image *x, int bits)
{
    return bits >= 8 && bits <= 32 && y->channels <= UINT16_MAX && pixel_by_pixel(p) &&
           p->units == 1 && p->row[0] == 1 && !p->first && y->rows == x->rows &&
           y->width == x->width && y->channels == x->channels;
}

/* Which channel of the source each channel of the result is, by the last two loops; NULL: some are
 * there twice. */
static int32_t *sources_of(Lower *l, const inlay_move_rows_params *p, int32_t channels)
{
    const int32_t *n = p->n + p->rank - 2, *y = p->y + p->rank - 2, *x = p->x + p->rank - 2;
    int32_t *from = NEW_ARRAY(l->arena, int32_t, channels);
    bool *seen = NEW_ARRAY(l->arena, bool, channels);
    for (int32_t i = 0; i < n[0]; i++)
        for (int32_t k = 0; k < n[1]; k++) {
            const int32_t c = i * x[0] + k * x[1];
            if (seen[c])
                return NULL;
            seen[c] = true;
            from[i * y[0] + k * y[1]] = c;
        }
    return from;
}

/* The table of kernels/shuffle.h. */
static Tensor *cycles_of(Lower *l, const int32_t *from, int32_t channels, int32_t *entries)
{
    uint16_t *table = NEW_ARRAY(l->arena, uint16_t, 2 * channels);
    bool *done = NEW_ARRAY(l->arena, bool, channels);
    int32_t n = 0;
    for (int32_t first = 0; first < channels; first++) {
        if (done[first])
            continue;
        const int32_t length = n++;
        for (int32_t c = first; !done[c]; c = from[c])
            done[c] = true, table[n++] = (uint16_t)c;
        table[length] = (uint16_t)(n - length - 1);
    }
    *entries = n;
    const int64_t dim = n;
    return lower_constant(l, recipe_memory(l->graph->store, DT_U16, 1, &dim, table));
}

static Step *make_shuffle(Lower *l, Node *n, Tensor *out, Tensor *in,
                          const inlay_move_rows_params *p, const Image *y)
{
    const int32_t channels = (int32_t)y->channels, *from = sources_of(l, p, channels);
    inlay_shuffle_params q = { .pixels = (int32_t)y->width };
    if (!from)
        return NULL;
    Tensor *cycles = cycles_of(l, from, channels, &q.entries);
    Step *s = lower_step(l, n, arena_printf(l->arena, "shuffle_%d", dtype_bits(out->dtype)), &q);
    see(step_out(s, out), y);
    Operand *o = step_in(s, in);
    see(o, y);
    o->rule.kind = ROWS_SAME;
    o->reuse = REUSE_PIXELS;
    o->pixels = (PixelRule){ .stride = 1, .extent = 1, .tile = 1 };
    step_in(s, cycles);
    s->units = (int32_t)y->rows;
    return s;
}

static Step *make_step(Lower *l, Node *n, Tensor *out, Tensor *in, const inlay_move_rows_params *p,
                       const Image *y, const Image *x)
{
    Operand look = { .tensor = in };
    see(&look, x);
    if (!tabulate(&look, p, i32_checked(y->rows), NEW_ARRAY(l->arena, Rows, y->rows + 1)))
        return NULL;
    Step *s = lower_step(l, n, arena_printf(l->arena, "move_rows_%d", dtype_bits(out->dtype)), p);
    see(step_out(s, out), y);
    Operand *o = step_in(s, in);
    see(o, x);
    o->rule = look.rule;
    o->reuse = REUSE_ROWS;
    if (pixel_by_pixel(p))
        o->pixels = (PixelRule){ .stride = 1, .extent = 1, .tile = 1 };
    s->units = (int32_t)y->rows;
    return s;
}

static Step *try_images(Lower *l, Node *n, Tensor *out, Tensor *in, const Move *m, const Image *y,
                        const Image *x)
{
    Loops t = { .n = 0 };
    int64_t count = 1;
    if (m->y0 || m->x0 < 0 || y->rows < 2 || y->rows > UINT16_MAX ||
        row_of(y) * dtype_bits(out->dtype) / 8 < LEAST_ROW)
        return NULL;
    for (int i = 0; i < m->rank; i++) {
        if (m->n[i] == 1)
            continue;
        if (t.n == LOOPS || m->y[i] < 1)
            return NULL;
        t.at[t.n++] = (Loop){ m->n[i], m->y[i], m->x[i] };
        count = i64_mul(count, m->n[i]);
    }
    if (count != tensor_count(out))
        return NULL;
    if (!cut(&t, true, row_of(y)) || !cut(&t, false, row_of(x)) || !cut(&t, true, y->channels) ||
        !cut(&t, false, x->channels))
        return NULL;
    if (!fits(&t, true, 0, y) || !fits(&t, false, m->x0, x))
        return NULL;
    const int units = unit_loops(&t, y);
    if (!units)
        return NULL;
    order_inner(&t, units, y, x);
    if (t.n - units < 2)
        return NULL;
    inlay_move_rows_params p = { .rank = t.n,
                                 .units = units,
                                 .first = i32_checked(m->x0 / row_of(x)),
                                 .x_pixel = i32_checked(m->x0 % row_of(x) / x->channels),
                                 .x_channel = i32_checked(m->x0 % x->channels) };
    for (int d = 0; d < t.n; d++) {
        const Place a = place_of(t.at[d].y, y), b = place_of(t.at[d].x, x);
        p.n[d] = i32_checked(t.at[d].n);
        p.y[d] = i32_checked(a.pixel ? a.pixel : a.channel);
        p.x[d] = i32_checked(b.pixel ? b.pixel : b.channel);
        p.row[d] = i32_checked(b.row);
        if (a.pixel)
            p.y_pixels |= 1 << d;
        if (b.pixel)
            p.x_pixels |= 1 << d;
    }
    Step *s =
        is_shuffle(&p, y, x, dtype_bits(out->dtype)) ? make_shuffle(l, n, out, in, &p, y) : NULL;
    return s ? s : make_step(l, n, out, in, &p, y, x);
}

static bool image_of(const Shape *s, Image *m)
{
    if (s->rank < 3)
        return false;
    *m =
        (Image){ shape_product(s, 0, shape_row_axis(s)), shape_row_pixels(s), s->dim[s->rank - 1] };
    return m->rows > 0;
}

/* The dims of t cut where they make so many rows. */
static bool image_of_rows(const Shape *s, int64_t rows, Image *m)
{
    int64_t product = 1;
    for (int i = 0; i + 1 < s->rank; i++) {
        product = i64_mul(product, s->dim[i]);
        if (product != rows || rows < 2)
            continue;
        *m = (Image){ rows, s->dim[i + 1], shape_product(s, i + 2, s->rank) };
        return true;
    }
    return false;
}

/* As the step that made all of it sees it: not always as its dims say. */
static bool image_of_maker(const Lower *l, const Tensor *root, Image *m)
{
    const Program *p = l->program;
    for (size_t i = p->step.n, looked = 0; i-- > 0 && looked < LOOK_BACK; looked++)
        for (int k = 0; k < p->step.at[i]->n_out; k++) {
            const Operand *o = p->step.at[i]->operand + k;
            if (o->tensor != root)
                continue;
            const int64_t bytes = dtype_bits(root->dtype) / 8;
            if (o->rows < 2 || !bytes || !o->pixel || o->row_bytes % (o->pixel * bytes) ||
                o->rows * o->row_bytes != tensor_bytes(root))
                return false;
            *m = (Image){ o->rows, o->row_bytes / (o->pixel * bytes), o->pixel };
            return true;
        }
    return false;
}

/* As its only reader sees it, where that is a change of dims. */
static const Shape *seen_as(const Tensor *t)
{
    if (t->uses != 1 || !t->use || !t->use->node->n_out)
        return NULL;
    const Node *n = t->use->node;
    const bool view = node_is(n, "Reshape") || node_is(n, "Flatten") || node_is(n, "Squeeze") ||
                      node_is(n, "Unsqueeze");
    return view && shape_known(&n->out[0]->shape) && tensor_count(n->out[0]) == tensor_count(t)
               ? &n->out[0]->shape
               : NULL;
}

Step *lower_move_rows(Lower *l, Node *n, Tensor *out, Tensor *in, const Move *m)
{
    int64_t at;
    const Tensor *root = tensor_root(in, &at);
    const bool all = !at && tensor_bytes(root) == tensor_bytes(in) && root->dtype == in->dtype,
               viewed = all && root != in;
    Image x[3], y[3];
    int xs = 0, ys;
    if (all && image_of_maker(l, root, x + xs))
        xs++;
    if (viewed && image_of(&root->shape, x + xs))
        xs++;
    if (image_of(&in->shape, x + xs))
        xs++;
    for (int i = 0; i < xs; i++) {
        const Shape *behind = seen_as(out);
        ys = 0;
        if (behind && image_of(behind, y + ys))
            ys++;
        if (image_of_rows(&out->shape, x[i].rows, y + ys))
            ys++;
        if (image_of(&out->shape, y + ys))
            ys++;
        for (int k = 0; k < ys; k++) {
            Step *s = try_images(l, n, out, in, m, y + k, x + i);
            if (s)
                return s;
        }
    }
    return NULL;
}
