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

static int64_t stride_of(const Loop *loop, bool y)
{
    return llabs(y ? loop->y : loop->x);
}

/* Cuts loops that go beyond `block` elements in steps smaller than it. */
static bool cut(Loops *loops, bool y, int64_t block)
{
    for (int i = 0; i < loops->n; i++) {
        Loop *loop = loops->at + i;
        const int64_t stride = stride_of(loop, y);
        if (!stride || stride >= block || stride * loop->n <= block)
            continue;
        const int64_t inner = block / stride;
        if (block % stride || loop->n % inner || loops->n == LOOPS)
            return false;
        for (int k = loops->n++; k > i; k--)
            loops->at[k] = loops->at[k - 1];
        loop->n /= inner;
        loop->y *= inner;
        loop->x *= inner;
        loop[1].n = inner;
    }
    return true;
}

static Place place_of(int64_t stride, const Image *m)
{
    if (llabs(stride) >= row_of(m))
        return (Place){
            .row = stride / row_of(m),
            .pixel = stride % row_of(m),
        };
    if (llabs(stride) >= m->channels)
        return (Place){
            .pixel = stride / m->channels,
            .channel = stride % m->channels,
        };
    return (Place){ .channel = stride };
}

typedef struct Range {
    int64_t low, high;
} Range;

static void widen(Range *range, int64_t more)
{
    if (more < 0)
        range->low += more;
    else
        range->high += more;
}

static bool lies_within(const Range *range, int64_t size)
{
    return range->low >= 0 && range->high < size;
}

/* Is each stride a number of rows, pixels or channels, and do none of those run over? */
static bool fits(const Loops *loops, bool y, int64_t start, const Image *m)
{
    Range pixel = { .low = start % row_of(m) / m->channels };
    Range channel = { .low = start % m->channels };
    pixel.high = pixel.low;
    channel.high = channel.low;
    for (int i = 0; i < loops->n; i++) {
        const Loop *loop = loops->at + i;
        const Place place = place_of(y ? loop->y : loop->x, m);
        if ((place.row && place.pixel) || (place.pixel && place.channel))
            return false;
        if (place.pixel)
            widen(&pixel, (loop->n - 1) * place.pixel);
        else
            widen(&channel, (loop->n - 1) * place.channel);
    }
    return lies_within(&pixel, m->width) && lies_within(&channel, m->channels);
}

static int by_result(const void *a, const void *b)
{
    const int64_t x = ((const Loop *)a)->y;
    const int64_t y = ((const Loop *)b)->y;
    return (x < y) - (x > y);
}

/* Loops sorted along the result; how many of them number its rows, all of them; 0: they do not. */
static int unit_loops(Loops *loops, const Image *y)
{
    int units = 0;
    int64_t rows = 1;
    qsort(loops->at, (size_t)loops->n, sizeof *loops->at, by_result);
    while (units < loops->n && loops->at[units].y >= row_of(y))
        units++;
    for (int i = units - 1; i >= 0; i--) {
        if (loops->at[i].y != rows * row_of(y))
            return 0;
        rows *= loops->at[i].n;
    }
    return rows == y->rows ? units : 0;
}

static bool joins(const Loops *loops, int i, const Image *y, const Image *x)
{
    const Loop *a = loops->at + i;
    const Loop *b = a + 1;
    const Place ay = place_of(a->y, y);
    const Place by = place_of(b->y, y);
    const Place ax = place_of(a->x, x);
    const Place bx = place_of(b->x, x);
    return a->y == b->y * b->n && a->x == b->x * b->n &&
           !ay.pixel == !by.pixel && !ax.pixel == !bx.pixel &&
           !ax.row == !bx.row;
}

/* Loop `from` goes to place `to`; those between move up. */
static void carry(Loops *loops, int from, int to)
{
    const Loop loop = loops->at[from];
    for (int k = from; k > to; k--)
        loops->at[k] = loops->at[k - 1];
    for (int k = from; k < to; k++)
        loops->at[k] = loops->at[k + 1];
    loops->at[to] = loop;
}

static void join_inner(Loops *loops, int units, const Image *y, const Image *x)
{
    for (int i = loops->n - 2; i >= units; i--) {
        if (!joins(loops, i, y, x))
            continue;
        loops->at[i + 1].n *= loops->at[i].n;
        carry(loops, i, loops->n - 1);
        loops->n--;
    }
}

/* Within a row: loops over rows of the source first, then as the kernel's inner two loops take
 * them. */
static void order_inner(Loops *loops, int units, const Image *y, const Image *x)
{
    int from = units;
    join_inner(loops, units, y, x);
    for (int i = units; i < loops->n; i++)
        if (place_of(loops->at[i].x, x).row)
            carry(loops, i, from++);
    while (loops->n - from < 2 && loops->n < LOOPS) {
        loops->at[loops->n++] = (Loop){ 1, 0, 0 };
        carry(loops, loops->n - 1, from);
    }
    const int last = loops->n - 1;
    for (int i = from; i < last - 1; i++)
        if (loops->at[last].x != 1 && loops->at[i].x == 1)
            carry(loops, i, last - 1);
}

/* Are more than half of the source's rows needed at a time? */
static bool holds_most(const Operand *operand, int32_t units)
{
    const Rows *rows = operand->rule.table;
    for (int32_t u = 0; u < units; u++)
        if (rows[u].hi - rows[u].lo > operand->rows / 2)
            return true;
    return false;
}

/* Which rows of the source a row of the result needs; false: each needs all, so rows are of no use.
 */
static bool tabulate(Operand *operand, const inlay_move_rows_params *params,
                     int32_t units, Rows *rows)
{
    int32_t low = 0;
    int32_t high = 0;
    for (int d = params->units; d < params->rank; d++) {
        const int32_t more = (params->n[d] - 1) * params->row[d];
        if (more < 0)
            low += more;
        else
            high += more;
    }
    for (int32_t u = 0; u < units; u++) {
        int32_t row = params->first;
        int32_t rest = u;
        for (int d = params->units - 1; d >= 0; d--) {
            row += rest % params->n[d] * params->row[d];
            rest /= params->n[d];
        }
        rows[u] = (Rows){ row + low, row + high + 1 };
    }
    operand_table(operand, units, rows);
    return operand->rule.kind == ROWS_TABLE;
}

static void see(Operand *operand, const Image *m)
{
    operand_rows(operand, i32_checked(m->rows), m->channels);
    operand->strided = true;
}

/* Does each pixel of the result come from the same pixel of the source, one after the other? */
static bool pixel_by_pixel(const inlay_move_rows_params *params)
{
    const int pixels = params->units;
    const int last = params->rank - 2;
    if (last != pixels + 1 || params->x_pixel || params->x_channel)
        return false;
    for (int i = 0; i < pixels; i++)
        if (params->x[i] != 0)
            return false;
    for (int i = pixels; i < params->rank; i++) {
        const bool counts = i == pixels;
        const bool y = params->y_pixels >> i & 1;
        const bool x = params->x_pixels >> i & 1;
        if (params->row[i] || x != counts || y != counts)
            return false;
    }
    return params->x[pixels] == 1 && params->y[pixels] == 1;
}

/* Only the order of the channels changes. */
static bool is_shuffle(const inlay_move_rows_params *params, const Image *y,
                       const Image *x, int bits)
{
    return bits >= 8 && bits <= 32 && y->channels <= UINT16_MAX &&
           pixel_by_pixel(params) && params->units == 1 &&
           params->row[0] == 1 && !params->first && y->rows == x->rows &&
           y->width == x->width && y->channels == x->channels;
}

/* Which channel of the source each channel of the result is, by the last two loops; NULL: some are
 * there twice. */
static int32_t *sources_of(Lower *lower, const inlay_move_rows_params *params,
                           int32_t channels)
{
    const int first = params->rank - 2;
    const int32_t *n = params->n + first;
    const int32_t *y = params->y + first;
    const int32_t *x = params->x + first;
    int32_t *from = NEW_ARRAY(lower->arena, int32_t, channels);
    bool *seen = NEW_ARRAY(lower->arena, bool, channels);
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
static Tensor *cycles_of(Lower *lower, const int32_t *from, int32_t channels,
                         int32_t *entries)
{
    uint16_t *table = NEW_ARRAY(lower->arena, uint16_t, 2 * channels);
    bool *done = NEW_ARRAY(lower->arena, bool, channels);
    int32_t n = 0;
    for (int32_t first = 0; first < channels; first++) {
        if (done[first])
            continue;
        const int32_t length = n++;
        for (int32_t c = first; !done[c]; c = from[c]) {
            done[c] = true;
            table[n++] = (uint16_t)c;
        }
        table[length] = (uint16_t)(n - length - 1);
    }
    *entries = n;
    const int64_t dim = n;
    return lower_constant(lower,
                          recipe_memory(lower->store, DT_U16, 1, &dim, table));
}

static Step *make_shuffle(Lower *lower, Tensor *out, Tensor *in,
                          const inlay_move_rows_params *params, const Image *y)
{
    const int32_t channels = (int32_t)y->channels;
    const int32_t *from = sources_of(lower, params, channels);
    inlay_shuffle_params q = { .pixels = (int32_t)y->width };
    if (!from)
        return NULL;
    Tensor *cycles = cycles_of(lower, from, channels, &q.entries);
    Step *step = lower_step(
        lower, arena_printf(lower->arena, "shuffle_%d", dtype_bits(out->dtype)),
        &q);
    see(step_out(step, out), y);
    Operand *operand = step_in(step, in);
    see(operand, y);
    operand->rule.kind = ROWS_SAME;
    operand->reuse = REUSE_PIXELS;
    operand->pixels = (PixelRule){
        .stride = 1,
        .extent = 1,
        .tile = 1,
    };
    step_in(step, cycles);
    step->units = (int32_t)y->rows;
    return step;
}

static Step *make_step(Lower *lower, Tensor *out, Tensor *in,
                       const inlay_move_rows_params *params, const Image *y,
                       const Image *x, bool few)
{
    Operand look = { .tensor = in };
    see(&look, x);
    if (!tabulate(&look, params, i32_checked(y->rows),
                  NEW_ARRAY(lower->arena, Rows, y->rows + 1)))
        return NULL;
    if (few && holds_most(&look, i32_checked(y->rows)))
        return NULL;
    Step *step = lower_step(
        lower,
        arena_printf(lower->arena, "move_rows_%d", dtype_bits(out->dtype)),
        params);
    see(step_out(step, out), y);
    Operand *operand = step_in(step, in);
    see(operand, x);
    operand->rule = look.rule;
    operand->reuse = REUSE_ROWS;
    if (pixel_by_pixel(params))
        operand->pixels = (PixelRule){
            .stride = 1,
            .extent = 1,
            .tile = 1,
        };
    step->units = (int32_t)y->rows;
    return step;
}

/* The loops of a move that covers all of the result, places of one element left out; false: it does
 * not, or they are too many. */
static bool loops_of(const Move *move, const Tensor *out, Loops *loops)
{
    int64_t count = 1;
    loops->n = 0;
    for (int i = 0; i < move->rank; i++) {
        if (move->n[i] == 1)
            continue;
        if (loops->n == LOOPS || move->y[i] < 1)
            return false;
        loops->at[loops->n++] = (Loop){ move->n[i], move->y[i], move->x[i] };
        count = i64_mul(count, move->n[i]);
    }
    return count == tensor_count(out);
}

/* Cut so that each loop numbers rows, pixels or channels of both images. */
static bool cut_for(Loops *loops, const Image *y, const Image *x, int64_t start)
{
    return cut(loops, true, row_of(y)) && cut(loops, false, row_of(x)) &&
           cut(loops, true, y->channels) && cut(loops, false, x->channels) &&
           fits(loops, true, 0, y) && fits(loops, false, start, x);
}

static inlay_move_rows_params rows_params(const Loops *loops, int units,
                                          int64_t start, const Image *y,
                                          const Image *x)
{
    inlay_move_rows_params params = {
        .rank = loops->n,
        .units = units,
        .first = i32_checked(start / row_of(x)),
        .x_pixel = i32_checked(start % row_of(x) / x->channels),
        .x_channel = i32_checked(start % x->channels),
    };
    for (int d = 0; d < loops->n; d++) {
        const Loop *loop = loops->at + d;
        const Place to = place_of(loop->y, y);
        const Place from = place_of(loop->x, x);
        params.n[d] = i32_checked(loop->n);
        params.y[d] = i32_checked(to.pixel ? to.pixel : to.channel);
        params.x[d] = i32_checked(from.pixel ? from.pixel : from.channel);
        params.row[d] = i32_checked(from.row);
        if (to.pixel)
            params.y_pixels |= 1 << d;
        if (from.pixel)
            params.x_pixels |= 1 << d;
    }
    return params;
}

static Step *try_images(Lower *lower, Tensor *out, Tensor *in, const Move *move,
                        const Image *y, const Image *x, bool few)
{
    const int bits = dtype_bits(out->dtype);
    Loops loops;
    if (move->y0 || move->x0 < 0 || y->rows < 2 || y->rows > UINT16_MAX)
        return NULL;
    if (row_of(y) * bits / 8 < LEAST_ROW)
        return NULL;
    if (!loops_of(move, out, &loops) || !cut_for(&loops, y, x, move->x0))
        return NULL;
    const int units = unit_loops(&loops, y);
    if (!units)
        return NULL;
    order_inner(&loops, units, y, x);
    if (loops.n - units < 2)
        return NULL;
    const inlay_move_rows_params params =
        rows_params(&loops, units, move->x0, y, x);
    Step *step = NULL;
    if (is_shuffle(&params, y, x, bits))
        step = make_shuffle(lower, out, in, &params, y);
    return step ? step : make_step(lower, out, in, &params, y, x, few);
}

static bool image_of(const Shape *shape, Image *m)
{
    if (shape->rank < 3)
        return false;
    *m = (Image){ shape_product(shape, 0, shape_row_axis(shape)),
                  shape_row_pixels(shape), shape->dim[shape->rank - 1] };
    return m->rows > 0;
}

/* The dims of t cut where they make so many rows. */
static bool image_of_rows(const Shape *shape, int64_t rows, Image *m)
{
    int64_t product = 1;
    for (int i = 0; i + 1 < shape->rank; i++) {
        product = i64_mul(product, shape->dim[i]);
        if (product != rows || rows < 2)
            continue;
        *m = (Image){ rows, shape->dim[i + 1],
                      shape_product(shape, i + 2, shape->rank) };
        return true;
    }
    return false;
}

/* As the step that made all of it sees it: not always as its dims say. */
static bool image_of_maker(const Lower *lower, const Tensor *root, Image *m)
{
    const Program *p = lower->program;
    for (size_t i = p->step.n, looked = 0; i-- > 0 && looked < LOOK_BACK;
         looked++)
        for (int k = 0; k < p->step.at[i]->n_out; k++) {
            const Operand *o = p->step.at[i]->operand + k;
            if (o->tensor != root)
                continue;
            const int64_t bytes = dtype_bits(root->dtype) / 8;
            if (o->rows < 2 || !bytes || !o->pixel ||
                o->row_bytes % (o->pixel * bytes) ||
                o->rows * o->row_bytes != tensor_bytes(root))
                return false;
            *m =
                (Image){ o->rows, o->row_bytes / (o->pixel * bytes), o->pixel };
            return true;
        }
    return false;
}

/* As its only reader sees it, where that is a change of dims. */
static const Shape *seen_as(const Tensor *tensor)
{
    if (tensor->uses != 1 || !tensor->use || !tensor->use->node->n_out)
        return NULL;
    const Node *reader = tensor->use->node;
    const Tensor *view = reader->out[0];
    if (!(reader->op->flags & OP_VIEW) || !shape_known(&view->shape))
        return NULL;
    return tensor_count(view) == tensor_count(tensor) ? &view->shape : NULL;
}

/* The images that the operand can be seen as, best first. */
static int images_of(Lower *lower, Tensor *in, Image *image)
{
    int64_t at;
    int count = 0;
    const Tensor *root = tensor_root(in, &at);
    const bool all = !at && tensor_bytes(root) == tensor_bytes(in) &&
                     root->dtype == in->dtype;
    if (all && image_of_maker(lower, root, image + count))
        count++;
    if (all && root != in && image_of(&root->shape, image + count))
        count++;
    if (image_of(&in->shape, image + count))
        count++;
    return count;
}

/* Those that the result can be seen as beside an operand of so many rows. */
static int results_of(const Tensor *out, int64_t rows, Image *image)
{
    const Shape *behind = seen_as(out);
    int count = 0;
    if (behind && image_of(behind, image + count))
        count++;
    if (image_of_rows(&out->shape, rows, image + count))
        count++;
    if (image_of(&out->shape, image + count))
        count++;
    return count;
}

static Step *by_rows(Lower *lower, Tensor *out, Tensor *in, const Move *move,
                     bool few)
{
    Image from[3], to[3];
    const int sources = images_of(lower, in, from);
    for (int i = 0; i < sources; i++) {
        const int results = results_of(out, from[i].rows, to);
        for (int k = 0; k < results; k++) {
            Step *step =
                try_images(lower, out, in, move, to + k, from + i, few);
            if (step)
                return step;
        }
    }
    return NULL;
}

Step *lower_move_rows(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    return by_rows(lower, out, in, move, true);
}

Step *lower_move_most(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    return by_rows(lower, out, in, move, false);
}

int32_t lower_rows_made(const Lower *lower, Tensor *in)
{
    int64_t at;
    Image made;
    const Tensor *root = tensor_root(in, &at);
    if (at || tensor_bytes(root) != tensor_bytes(in) ||
        root->dtype != in->dtype || !image_of_maker(lower, root, &made))
        return 0;
    return i32_checked(made.rows);
}

int32_t lower_rows_read(const Tensor *out)
{
    const Shape *seen = seen_as(out);
    if (!seen)
        seen = &out->shape;
    return i32_checked(shape_product(seen, 0, shape_row_axis(seen)));
}
