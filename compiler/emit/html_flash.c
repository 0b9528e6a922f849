/* SPDX-License-Identifier: Apache-2.0
 * Flash as areas: a box for each node, as large as what its constants take, with a tile for each of
 * them, coloured by its type. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emit/html_parts.h"
#include "emit/manifest.h"

enum {
    WIDE = 1000,
    HIGH = 380,       /* of the picture */
    MOST_TILES = 120, /* constants that are drawn; all others are one box */
    MOST_ROWS = 12,
    LETTER = 8, /* about as wide as one */
    LINE = 14
};

/* A constant, once for all that are equal to it. */
typedef struct Tile {
    const WeightSlot *slot;
    const ConstantUse *use; /* the first; of no step where none reads it */
    int others;             /* equal ones that lie there too */
    size_t uses;            /* operands of steps that read one of them */
    size_t box;
} Tile;

/* Tiles first .. first + n - 1 of one node. */
typedef struct Box {
    const char *name;
    uint64_t bytes;
    size_t first, n;
} Box;

typedef struct Area {
    double x, y, w, h;
} Area;

typedef struct Flash {
    const Html *html;
    VEC(Tile) tile;
    VEC(Box) box;
    uint64_t bytes, saved;
    size_t equal;
} Flash;

/* ---- what there is ---- */

static int by_place(const void *a, const void *b)
{
    const WeightSlot *left = *(const WeightSlot *const *)a;
    const WeightSlot *right = *(const WeightSlot *const *)b;
    if (left->tensor->region != right->tensor->region)
        return left->tensor->region - right->tensor->region;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* How many operands of steps read each tensor, by its number. */
static size_t *count_uses(const Program *program)
{
    const int ids = graph_root(program->graph)->next_id;
    size_t *uses = NEW_ARRAY(program->graph->arena, size_t, ids + 1);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        int64_t at;
        for (int k = 0; k < step->n_operand; k++)
            if (step->operand[k].tensor)
                uses[tensor_root(step->operand[k].tensor, &at)->id]++;
    }
    return uses;
}

/* Weights of other models in the same folder lie there. */
static bool is_own(const Program *program, const WeightSlot *slot)
{
    return slot->bytes && (!program->lender.n || !slot->tensor->region);
}

static bool lies_with(const Tile *tile, const WeightSlot *slot)
{
    return tile->slot->offset == slot->offset &&
           tile->slot->tensor->region == slot->tensor->region;
}

static void take_slot(Flash *flash, const WeightSlot *slot,
                      const ConstantUse *use, size_t uses)
{
    Tile *last = NULL;
    if (flash->tile.n)
        last = flash->tile.at + flash->tile.n - 1;
    if (last && lies_with(last, slot)) {
        last->others++;
        last->uses += uses;
        flash->equal++;
        flash->saved += slot->bytes;
        return;
    }
    const Tile tile = { .slot = slot, .use = use, .uses = uses };
    VEC_PUSH(flash->html->arena, &flash->tile, tile);
    flash->bytes += slot->bytes;
}

static void find_tiles(Flash *flash)
{
    const Program *program = flash->html->program;
    const size_t count = program->weight.n;
    const WeightSlot **sorted =
        NEW_ARRAY(flash->html->arena, const WeightSlot *, count + 1);
    const ConstantUse *use = constant_uses(program);
    const size_t *uses = count_uses(program);
    for (size_t i = 0; i < count; i++)
        sorted[i] = program->weight.at + i;
    qsort(sorted, count, sizeof *sorted, by_place);
    for (size_t i = 0; i < count; i++)
        if (is_own(program, sorted[i]))
            take_slot(flash, sorted[i], use + (sorted[i] - program->weight.at),
                      uses[sorted[i]->tensor->id]);
}

static int by_size(const void *a, const void *b)
{
    const Tile *left = a;
    const Tile *right = b;
    if (left->slot->bytes != right->slot->bytes)
        return left->slot->bytes > right->slot->bytes ? -1 : 1;
    return left->slot < right->slot ? -1 : left->slot > right->slot;
}

/* ---- boxes ---- */

static const char *node_name(const Tile *tile)
{
    const Step *step = tile->use->step;
    if (!step)
        return "no step";
    return step->node && *step->node->name ? step->node->name : step_name(step);
}

static bool same_node(const Tile *a, const Tile *b)
{
    const Step *left = a->use->step;
    const Step *right = b->use->step;
    if (!left || !right || !left->node)
        return left == right;
    return left->node == right->node;
}

/* What the kernel calls it, and its name in the model where it has one. */
static void put_array(const Flash *flash, Text *text, const Tile *tile)
{
    const char *name = tile->slot->tensor->name;
    if (tile->use->step)
        html_put(text, constant_role(flash->html->program, tile->use));
    if (*name && *name != '_') {
        text_put(text, " ");
        html_put(text, name);
    }
}

/* The box of an earlier tile of the same node, or a new one. */
static size_t box_for(Flash *flash, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_node(flash->tile.at + k, flash->tile.at + i))
            return flash->tile.at[k].box;
    VEC_PUSH(flash->html->arena, &flash->box,
             ((Box){ .name = node_name(flash->tile.at + i) }));
    return flash->box.n - 1;
}

static int by_box(const void *a, const void *b)
{
    const Tile *left = a;
    const Tile *right = b;
    if (left->box != right->box)
        return left->box < right->box ? -1 : 1;
    return by_size(a, b);
}

static int larger(const void *a, const void *b)
{
    const Box *left = a;
    const Box *right = b;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* The first MOST_TILES tiles in boxes of their nodes, those in order of size. */
static void make_boxes(Flash *flash)
{
    const size_t drawn =
        flash->tile.n < MOST_TILES ? flash->tile.n : MOST_TILES;
    for (size_t i = 0; i < drawn; i++)
        flash->tile.at[i].box = box_for(flash, i);
    qsort(flash->tile.at, drawn, sizeof(Tile), by_box);
    for (size_t i = 0; i < drawn; i++) {
        Box *box = flash->box.at + flash->tile.at[i].box;
        box->first = box->n ? box->first : i;
        box->n++;
        box->bytes += flash->tile.at[i].slot->bytes;
    }
    Box rest = { .name = "all others", .first = drawn };
    for (size_t i = drawn; i < flash->tile.n; i++)
        rest.bytes += flash->tile.at[i].slot->bytes;
    if (rest.bytes)
        VEC_PUSH(flash->html->arena, &flash->box, rest);
    qsort(flash->box.at, flash->box.n, sizeof(Box), larger);
}

/* ---- the picture ---- */

/* How far from a square is the worst of a row of areas that have `sum` in all? */
static double worst(double least, double most, double sum, double side)
{
    const double across = sum / side;
    const double thin = least / across / across;
    const double thick = most / across / across;
    return thick > 1 / thin ? thick : 1 / thin;
}

/* How many of the boxes from `first` on make the next row along `side`: as many as make it no less
 * square. */
static size_t row_end(const Flash *flash, size_t first, double side,
                      double scale, double *sum)
{
    const Box *box = flash->box.at;
    const double most = (double)box[first].bytes * scale;
    double ratio = worst(most, most, most, side);
    size_t end = first + 1;
    *sum = most;
    for (; end < flash->box.n; end++) {
        const double next = (double)box[end].bytes * scale;
        const double then = worst(next, most, *sum + next, side);
        if (then > ratio)
            break;
        ratio = then;
        *sum += next;
    }
    return end;
}

static void put_area(Text *text, const Area *area)
{
    text_print(text, "x=%.0f y=%.0f width=%.0f height=%.0f", area->x, area->y,
               area->w, area->h);
}

/* `part` of the whole, cut off along its longer side. */
static Area cut_off(Area *rest, double part)
{
    Area area = *rest;
    if (rest->w >= rest->h) {
        area.w = rest->w * part;
        rest->x += area.w;
        rest->w -= area.w;
    } else {
        area.h = rest->h * part;
        rest->y += area.h;
        rest->h -= area.h;
    }
    return area;
}

static void put_title(const Flash *flash, Text *text, const Box *box,
                      const Tile *tile)
{
    Arena *arena = flash->html->arena;
    text_put(text, "<title>");
    html_put(text, box->name);
    text_put(text, ", ");
    put_array(flash, text, tile);
    text_print(text, ": %s, %s bytes", dtype_name(tile->slot->tensor->dtype),
               html_number(arena, (int64_t)tile->slot->bytes));
    if (tile->others)
        text_print(text, "; %d more are equal to it and lie here too",
                   tile->others);
    else if (tile->uses > 1)
        text_print(text, "; %zu steps read it", tile->uses);
    text_put(text, "</title>");
}

static bool is_shared(const Tile *tile)
{
    return tile->others || tile->uses > 1;
}

static void put_tiles(const Flash *flash, Text *text, const Box *box, Area area)
{
    uint64_t left = box->bytes;
    for (size_t i = box->first; i < box->first + box->n; i++) {
        const Tile *tile = flash->tile.at + i;
        const double bytes = (double)tile->slot->bytes;
        const Area own = cut_off(&area, bytes / (double)left);
        left -= tile->slot->bytes;
        text_print(text, "<rect class=\"c%d%s\" ",
                   (int)tile->slot->tensor->dtype % COLOURS,
                   is_shared(tile) ? " twice" : "");
        put_area(text, &own);
        text_put(text, ">");
        put_title(flash, text, box, tile);
        text_put(text, "</rect>\n");
    }
}

static void put_label(Text *text, const Box *box, const Area *area)
{
    const int letters = (int)(area->w / LETTER) - 1;
    if (area->h < LINE + 4 || letters < 4)
        return;
    text_print(text, "<text x=%.0f y=%.0f>", area->x + 4, area->y + LINE);
    const size_t length = strlen(box->name);
    if (length > (size_t)letters) /* the end of a path says more */
        text_put(text, "&hellip;");
    html_put(text, length > (size_t)letters
                       ? box->name + length - (size_t)letters + 1
                       : box->name);
    text_put(text, "</text>\n");
}

static void put_box(const Flash *flash, Text *text, const Box *box,
                    const Area *area)
{
    if (box->n)
        put_tiles(flash, text, box, *area);
    text_put(text, "<rect class=\"node\" ");
    put_area(text, area);
    text_put(text, ">");
    if (!box->n)
        text_print(text, "<title>all others: %s bytes</title>",
                   html_number(flash->html->arena, (int64_t)box->bytes));
    text_put(text, "</rect>\n");
    put_label(text, box, area);
}

/* Boxes first .. end - 1, which fill the row, one below or beside the other. */
static void put_row(const Flash *flash, Text *text, size_t first, size_t end,
                    Area row, bool upright)
{
    uint64_t left = 0;
    for (size_t i = first; i < end; i++)
        left += flash->box.at[i].bytes;
    for (size_t i = first; i < end; i++) {
        const double part = (double)flash->box.at[i].bytes / (double)left;
        Area own = row;
        left -= flash->box.at[i].bytes;
        if (upright) {
            own.h = row.h * part;
            row.y += own.h;
            row.h -= own.h;
        } else {
            own.w = row.w * part;
            row.x += own.w;
            row.w -= own.w;
        }
        put_box(flash, text, flash->box.at + i, &own);
    }
}

/* Rows of boxes along the shorter side of what is left, each as square as it can be. */
static void put_boxes(const Flash *flash, Text *text)
{
    const double scale = (double)WIDE * HIGH / (double)flash->bytes;
    Area rest = { 0, 0, WIDE, HIGH };
    for (size_t i = 0, end; i < flash->box.n; i = end) {
        const bool upright = rest.w >= rest.h;
        const double side = upright ? rest.h : rest.w;
        double sum;
        end = row_end(flash, i, side, scale, &sum);
        const double all = rest.w * rest.h;
        const Area row = cut_off(&rest, sum < all ? sum / all : 1);
        put_row(flash, text, i, end, row, upright);
    }
}

/* ---- text ---- */

static void put_types(const Flash *flash, Text *text)
{
    uint64_t bytes[DT_COUNT] = { 0 };
    for (size_t i = 0; i < flash->tile.n; i++)
        bytes[flash->tile.at[i].slot->tensor->dtype] +=
            flash->tile.at[i].slot->bytes;
    text_put(text, "<p class=\"legend\">");
    for (int i = 0; i < DT_COUNT; i++)
        if (bytes[i])
            text_print(text, "<span><i class=\"c%d\"></i>%s %s</span>",
                       i % COLOURS, dtype_name((DType)i),
                       html_number(flash->html->arena, (int64_t)bytes[i]));
    text_put(text, "</p>\n");
}

static void put_sums(const Flash *flash, Text *text)
{
    const Program *program = flash->html->program;
    Arena *arena = flash->html->arena;
    const uint64_t between =
        program->weight_bytes + program->code_bytes - flash->bytes;
    text_print(text,
               "<p>%zu arrays, %s bytes; alignment between them and what ends "
               "them %s bytes.",
               flash->tile.n, html_number(arena, (int64_t)flash->bytes),
               html_number(arena, (int64_t)between));
    if (flash->equal)
        text_print(text,
                   " %zu more are equal to one of these and lie there once: "
                   "%s bytes that the file had twice.",
                   flash->equal, html_number(arena, (int64_t)flash->saved));
    text_put(text, "</p>\n");
}

static void put_largest(const Flash *flash, Text *text)
{
    text_put(text, "<p>The largest:</p>\n<div class=\"wide\"><table><thead>"
                   "<tr><th>array<th>node<th>type<th class=\"n\">bytes<th "
                   "class=\"n\">equal ones</thead>\n<tbody>\n");
    for (size_t i = 0; i < flash->tile.n && i < MOST_ROWS; i++) {
        const Tile *tile = flash->tile.at + i;
        text_put(text, "<tr><td>");
        put_array(flash, text, tile);
        text_put(text, "<td>");
        html_put(text, node_name(tile));
        text_print(text, "<td>%s<td class=\"n\">%s<td class=\"n\">%d\n",
                   dtype_name(tile->slot->tensor->dtype),
                   html_number(flash->html->arena, (int64_t)tile->slot->bytes),
                   tile->others);
    }
    text_put(text, "</table></div>\n");
}

Text html_flash(const Html *html)
{
    Flash flash = { .html = html };
    Text text = text_new(html->arena);
    find_tiles(&flash);
    if (!flash.tile.n) {
        text_put(&text, "<p>There are none.</p>\n");
        return text;
    }
    qsort(flash.tile.at, flash.tile.n, sizeof(Tile), by_size);
    put_sums(&flash, &text);
    put_types(&flash, &text);
    Text largest = text_new(html->arena);
    put_largest(&flash, &largest);
    make_boxes(&flash);
    text_print(&text,
               "<svg id=\"flash\" viewBox=\"0 0 %d %d\" role=\"img\" "
               "aria-label=\"flash by node\">\n",
               WIDE, HIGH);
    put_boxes(&flash, &text);
    text_put(&text, "</svg>\n");
    text_add(&text, largest.at, largest.n);
    return text;
}
