/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/size.h"
#include "emit/peak.h"
#include "emit/template.h"
#include "ir/ram.h"

enum { MOST_NAME = 60, MOST_ADVICE = 200, COLOURS = 10, MOST_WEIGHTS = 12 };

typedef struct Html {
    Arena *arena;
    const Program *program;
    const char *name;
    VEC(const char *) op; /* operators in order of appearance: their colours */
    Peak peak;
} Html;

/* Model text: printable ASCII, nothing that HTML reads as its own, cut. */
static void put_cut(Text *text, const char *s, int most)
{
    int n = 0;
    for (; *s && n < most; s++, n++) {
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"' || *s == '\'')
            text_print(text, "&#%d;", *s);
        else
            text_add(text, *s >= ' ' && *s < 127 ? s : "?", 1);
    }
    if (*s)
        text_put(text, "&hellip;");
}

static void put_escaped(Text *text, const char *s)
{
    put_cut(text, s, MOST_NAME);
}

/* 1,234,567 */
static const char *grouped(Arena *arena, int64_t v)
{
    char plain[24], out[32];
    const int n = snprintf(plain, sizeof plain, "%" PRId64, v);
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0 && plain[i - 1] != '-')
            out[k++] = ',';
        out[k++] = plain[i];
    }
    return arena_text(arena, out, (size_t)k);
}

static int colour_of(Html *html, const char *op)
{
    for (size_t i = 0; i < html->op.n; i++)
        if (!strcmp(html->op.at[i], op))
            return (int)(i % COLOURS);
    VEC_PUSH(html->arena, &html->op, op);
    return (int)((html->op.n - 1) % COLOURS);
}

/* ---- totals ---- */

static void put_card(Text *text, const char *what, const char *figure,
                     const char *mark)
{
    text_print(text, "<li><b%s%s%s>%s</b> %s\n", *mark ? " class=\"" : "", mark,
               *mark ? "\"" : "", figure, what);
}

static void bound_cards(const Html *html, Text *text)
{
    const Plan *plan = &html->program->plan;
    const double above = plan_above(plan->arena_size, plan->bound_schedules);
    const double placed = plan_above(plan->arena_size, plan->lower_bound);
    put_card(text, "bytes: no placement of this schedule needs less",
             grouped(html->arena, plan->lower_bound), "");
    put_card(text, "bytes: no schedule of these steps needs less",
             grouped(html->arena, plan->bound_schedules), "");
    if (plan->arena_size == plan->bound_schedules)
        put_card(text, "the plan, proved", "optimal", "good");
    else
        put_card(text, "at most is the arena above any schedule",
                 arena_printf(html->arena, "%.1f %%", above), "mark");
    if (!plan->optimal)
        put_card(text, "above the bound of placements",
                 arena_printf(html->arena, "%.2f %%", placed), "mark");
}

static void region_cards(const Html *html, Text *text)
{
    const Plan *plan = &html->program->plan;
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        put_card(text,
                 arena_printf(html->arena,
                              "bytes of %s in %s, which cost %" PRId64
                              " each to read or write",
                              grouped(html->arena, r->capacity), r->name,
                              r->cost),
                 grouped(html->arena, r->size), "");
    }
    const double above =
        plan->region_least
            ? 100.0 * (double)(plan->region_cost - plan->region_least) /
                  (double)plan->region_least
            : 0.0;
    if (plan->region_cost == plan->region_least)
        put_card(text, "the traffic's cost, proved", "optimal", "good");
    else
        put_card(text, "at most is the traffic's cost above the least",
                 arena_printf(html->arena, "%.2f %%", above), "mark");
}

static void ram_cards(const Html *html, Text *text)
{
    const RamUse use = program_ram(html->program);
    const char *parts = arena_printf(
        html->arena, "bytes of RAM in all: arena, inputs and results %s%s",
        grouped(html->arena, use.values),
        use.stack < 0 ? "; the stack is not known"
                      : arena_printf(html->arena, ", stack %s (%s)",
                                     grouped(html->arena, use.stack), use.how));
    put_card(text, parts, grouped(html->arena, use.total), "");
}

static Text summary(const Html *html)
{
    const Program *p = html->program;
    const Plan *plan = &p->plan;
    Text text = text_new(html->arena);
    const int64_t macs = program_macs(p);
    text_print(
        &text,
        "<h1>%s</h1>\n<p class=\"soft\">Memory plan by Inlay " INLAY_VERSION
        ", opset %" PRId64 "</p>\n<ul class=\"cards\">\n",
        html->name, graph_opset(p->graph, ""));
    put_card(&text, "bytes of arena (RAM)",
             grouped(html->arena, plan->arena_size), "");
    if (plan->region.n)
        region_cards(html, &text);
    else
        bound_cards(html, &text);
    ram_cards(html, &text);
    put_card(&text, "bytes of weights (flash)",
             grouped(html->arena, (int64_t)p->weight_bytes), "");
    put_card(&text, "multiply-accumulates", grouped(html->arena, macs), "");
    put_card(&text, "steps", grouped(html->arena, (int64_t)p->step.n), "");
    text_put(&text, "</ul>\n");
    return text;
}

/* ---- the map ---- */

static void put_block_name(Text *text, const Program *program,
                           const Block *block)
{
    put_escaped(text, block_name(program, block));
    if (block->pool)
        text_put(text, " (a pool with rows of others)");
    if (block->ring)
        text_print(text, " (ring of %d rows)", block->ring);
}

/* Its first byte, in its region where there are several. */
static const char *place_of(const Html *html, const Block *block)
{
    const Plan *plan = &html->program->plan;
    const int region = block->tensor ? block->tensor->region : 0;
    const char *at =
        grouped(html->arena,
                block->offset - program_region_start(html->program, region));
    return plan->region.n ? arena_printf(html->arena, "%s %s",
                                         plan->region.at[region].name, at)
                          : at;
}

/* Is it called after the step at which it begins, whose line the table has? */
static bool is_of_line(const Html *html, const Block *block)
{
    const Step *step = html->program->step.at[block->first];
    const char *name =
        arena_printf(html->arena, "step %d, %s %s", step->index,
                     step_name(step), step->node ? step->node->name : "");
    return !block->pool && !block->ring &&
           !strcmp(name, block_name(html->program, block));
}

/* What the script cannot tell from the rectangle and the table: names, and places in regions. */
static void put_title(const Html *html, Text *text, const Block *block)
{
    const bool regions = html->program->plan.region.n;
    if (!regions && is_of_line(html, block))
        return;
    text_put(text, "<title>");
    put_block_name(text, html->program, block);
    if (regions)
        text_print(text, "\n%s bytes at %s, steps %d to %d",
                   grouped(html->arena, block->bytes), place_of(html, block),
                   block->first, block->end - 1);
    text_put(text, "</title>");
}

static void put_block(Html *html, Text *text, const Block *block)
{
    const Step *by = block_maker(html->program, block);
    const Step *maker = by ? by : html->program->step.at[block->first];
    text_print(text,
               "<rect class=\"c%d%s%s\" x=%d y=%" PRId64
               " width=%d height=%" PRId64 ">",
               colour_of(html, step_name(maker)), block->ring ? " ring" : "",
               block->scratch ? " scratch" : "", block->first,
               html->program->plan.arena_size - block->offset - block->bytes,
               block->end - block->first, block->bytes);
    put_title(html, text, block);
    text_put(text, "</rect>\n");
}

static void put_live(const Html *html, Text *text)
{
    const Program *p = html->program;
    int64_t most = 1;
    for (size_t i = 0; i < p->step.n; i++)
        most = i64_max(most, p->plan.live[i]);
    text_print(
        text,
        "<div class=\"axis\"><span>%s</span><span>alive</span></div>\n<svg "
        "id=\"live\" "
        "viewBox=\"0 0 %zu %" PRId64
        "\" preserveAspectRatio=\"none\" aria-label=\"bytes "
        "alive at each step\"><path d=\"M0 %" PRId64,
        grouped(html->arena, most), p->step.n, most, most);
    for (size_t i = 0; i < p->step.n; i++)
        text_print(text, "V%" PRId64 "H%zu", most - p->plan.live[i], i + 1);
    text_print(text, "V%" PRId64 "Z\"/></svg>\n", most);
}

/* A line across the map, so many bytes below its upper edge. */
static void put_line(Text *text, const Html *html, const char *attributes,
                     int64_t below, const char *title)
{
    text_print(text,
               "<line%s x1=\"0\" y1=\"%" PRId64 "\" x2=\"%zu\" y2=\"%" PRId64
               "\"><title>%s</title></line>\n",
               attributes, below, html->program->step.n, below, title);
}

static void put_lines(Text *text, const Html *html)
{
    const Plan *plan = &html->program->plan;
    put_line(text, html, "", 0, "the arena's end");
    for (int i = 1; i < (int)plan->region.n; i++) {
        const int64_t start = program_region_start(html->program, i);
        const char *name = plan->region.at[i].name;
        put_line(text, html, "", plan->arena_size - start,
                 arena_printf(html->arena, "%s begins", name));
    }
    if (!plan->region.n)
        put_line(text, html, " class=\"bound\"",
                 plan->arena_size - plan->lower_bound, "lower bound");
}

/* The slider that chooses a step, and what is under the map. */
static void put_cursor(Text *text, const Html *html)
{
    const size_t steps = html->program->step.n;
    const size_t last = steps ? steps - 1 : 0;
    text_print(text,
               "<div class=\"under\"><span>step 0</span><span>step "
               "%zu</span></div>\n<div></div>\n",
               last);
    text_print(text,
               "<input id=\"cursor\" type=\"range\" min=\"0\" max=\"%zu\" "
               "value=\"%d\" aria-label=\"step\">\n",
               last, html->peak.first);
}

static Text map(Html *html)
{
    const Plan *plan = &html->program->plan;
    Text text = text_new(html->arena);
    text_print(&text,
               "<div class=\"axis\"><span>%s</span><span>0</span></div>\n",
               grouped(html->arena, plan->arena_size));
    text_print(&text,
               "<svg id=\"map\" viewBox=\"0 0 %zu %" PRId64
               "\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-label=\"arena offsets over steps\">\n",
               html->program->step.n, i64_max(1, plan->arena_size));
    for (size_t i = 0; i < plan->block.n; i++)
        put_block(html, &text, plan->block.at + i);
    put_lines(&text, html);
    text_print(&text,
               "<rect id=\"here\" x=\"%d\" y=\"0\" width=\"1\" "
               "height=\"%" PRId64 "\"/></svg>\n",
               html->peak.first, plan->arena_size);
    put_live(html, &text);
    put_cursor(&text, html);
    return text;
}

static Text legend(Html *html)
{
    Text text = text_new(html->arena);
    const Plan *plan = &html->program->plan;
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(&text, "%s%s%s",
                   i ? ", " : "<p>From the bottom: ", plan->region.at[i].name,
                   i + 1 < plan->region.n ? "" : ".</p>\n");
    text_put(&text, "<p class=\"legend\">made by ");
    for (size_t i = 0; i < html->op.n; i++) {
        text_print(&text, "<span><i class=\"c%zu\"></i>", i % COLOURS);
        put_escaped(&text, html->op.at[i]);
        text_put(&text, "</span>");
    }
    text_put(&text, "</p>\n");
    return text;
}

/* ---- the peak ---- */

static void put_advice(Text *text, const Peak *peak)
{
    if (!peak->advice.n)
        return;
    text_put(text, "<p>What would make it smaller:</p>\n<ul>\n");
    for (size_t i = 0; i < peak->advice.n; i++) {
        text_put(text, "<li>");
        put_cut(text, peak->advice.at[i], MOST_ADVICE);
        text_put(text, "\n");
    }
    text_put(text, "</ul>\n");
}

static void put_alive(Text *text, const Html *html)
{
    const Peak *peak = &html->peak;
    text_print(text,
               "<p>Alive at step <b id=\"step\">%d</b>:</p>\n<div "
               "class=\"wide\"><table><thead><tr><th>tensor<th "
               "class=\"n\">bytes<th class=\"n\">offset<th "
               "class=\"n\">steps</thead>\n<tbody id=\"alive\">\n",
               peak->first);
    for (size_t i = 0; i < peak->block.n; i++) {
        const Block *block = peak->block.at[i].block;
        text_put(text, "<tr><td>");
        put_block_name(text, html->program, block);
        text_print(text,
                   "<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%d "
                   "to %d\n",
                   grouped(html->arena, block->bytes), place_of(html, block),
                   block->first, block->end - 1);
    }
    text_put(text, "</table></div>\n");
}

static Text peak(const Html *html)
{
    const Peak *peak = &html->peak;
    const int32_t last = peak->end - 1;
    const bool several = last > peak->first;
    Text text = text_new(html->arena);
    text_print(&text, "<p>Most bytes are in use at step%s %d",
               several ? "s" : "", peak->first);
    if (several)
        text_print(&text, " to %d, which run row by row", last);
    text_print(&text, ": %s.</p>\n", grouped(html->arena, peak->bytes));
    put_advice(&text, peak);
    put_alive(&text, html);
    return text;
}

/* ---- tables ---- */

static Text curve(const Html *html)
{
    Text text = text_new(html->arena);
    const Plan *plan = &html->program->plan;
    if (!plan->curve.n)
        return text;
    text_put(&text,
             "<section>\n<h2>Arena against work</h2>\n<div "
             "class=\"wide\"><table><thead><tr><th><th "
             "class=\"n\">bytes of arena<th class=\"n\">MACs"
             "<th class=\"n\">steps<th class=\"n\">of them row by row<th "
             "class=\"n\">strips</thead>\n<tbody>\n");
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        text_print(&text,
                   "<tr%s><td>%s<td class=\"n\">%s<td class=\"n\">%.3fx<td "
                   "class=\"n\">%d<td "
                   "class=\"n\">%d<td class=\"n\">%d\n",
                   c->chosen ? " class=\"taken\"" : "",
                   c->chosen ? "taken" : "", grouped(html->arena, c->arena),
                   curve_factor(plan, c), c->steps, c->streamed, c->strips);
    }
    text_put(&text, "</table></div>\n</section>\n");
    return text;
}

static Text streams(const Html *html)
{
    Text text = text_new(html->arena);
    const Plan *plan = &html->program->plan;
    bool any = false;
    for (size_t i = 0; i < plan->segment.n; i++) {
        const Segment *s = plan->segment.at + i;
        if (!s->list)
            continue;
        text_put(&text, any ? ""
                            : "<section>\n<h2>Steps that run together, row by "
                              "row</h2>\n<ul>\n");
        any = true;
        text_print(
            &text,
            "<li>steps %d to %d: %d calls, then %d times %d, then %d%s\n",
            s->first, s->first + s->count - 1, s->prologue, s->repeats,
            s->period, s->epilogue,
            html->program->step.at[s->first]->backward
                ? "; from the last row to the first"
                : "");
    }
    if (any)
        text_put(&text, "</ul>\n</section>\n");
    return text;
}

static int64_t weights_of(const Step *step)
{
    int64_t bytes = 0;
    int64_t at;
    for (int k = 0; k < step->n_operand; k++)
        if (step->operand[k].tensor &&
            tensor_root(step->operand[k].tensor, &at)->storage == STORE_WEIGHTS)
            bytes += tensor_bytes(step->operand[k].tensor);
    return bytes;
}

static Text steps(const Html *html)
{
    const Program *p = html->program;
    Text text = text_new(html->arena);
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        text_print(&text, "<tr><td>%zu<td>", i);
        put_escaped(&text, s->node ? s->node->name : "");
        text_put(&text, "<td>");
        put_escaped(&text, step_name(s));
        text_print(&text, "<td>%s<td>%s<td>%s<td>%s", s->kernel->name,
                   s->n_out && s->operand[0].tensor
                       ? shape_text(html->arena, &s->operand[0].tensor->shape)
                       : "",
                   grouped(html->arena, s->macs),
                   grouped(html->arena, weights_of(s)));
        text_print(&text, "<td>%s\n", grouped(html->arena, p->plan.live[i]));
    }
    return text;
}

static int by_size(const void *a, const void *b)
{
    const WeightSlot *left = *(const WeightSlot *const *)a;
    const WeightSlot *right = *(const WeightSlot *const *)b;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left < right ? -1 : 1;
}

/* All weights, the largest first; those of one size in the order in which they lie. */
static const WeightSlot **largest_first(const Html *html)
{
    const Program *program = html->program;
    const size_t count = program->weight.n;
    const WeightSlot **sorted =
        NEW_ARRAY(html->arena, const WeightSlot *, count + 1);
    for (size_t i = 0; i < count; i++)
        sorted[i] = program->weight.at + i;
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted;
}

static Text weights(const Html *html)
{
    const Program *program = html->program;
    const size_t count = program->weight.n;
    const WeightSlot **sorted = largest_first(html);
    Text text = text_new(html->arena);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (!program->lender.n || !sorted[i]->tensor->region)
            sum += sorted[i]->bytes;
    const uint64_t between = program->weight_bytes + program->code_bytes - sum;
    text_print(&text,
               "<p>%zu arrays, %s bytes; alignment between them %s bytes. The "
               "largest:</p>\n<div "
               "class=\"wide\"><table><thead><tr><th>weight<th "
               "class=\"n\">bytes</thead>\n<tbody>\n",
               count, grouped(html->arena, (int64_t)sum),
               grouped(html->arena, (int64_t)between));
    for (size_t i = 0; i < count && i < MOST_WEIGHTS; i++) {
        if (!sorted[i]->bytes)
            break;
        text_put(&text, "<tr><td>");
        put_escaped(&text, sorted[i]->tensor->name);
        text_print(&text, "<td class=\"n\">%s\n",
                   grouped(html->arena, (int64_t)sorted[i]->bytes));
    }
    text_put(&text, "</table></div>\n");
    return text;
}

static void put_values(const Html *html, Text *text, const char *kind,
                       Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(text, "<tr><td>%s %zu<td>", kind, i);
        put_escaped(text, v[i]->name);
        text_print(text, "<td>%s<td>%s<td class=\"n\">%s\n",
                   dtype_name(v[i]->dtype),
                   shape_text(html->arena, &v[i]->shape),
                   grouped(html->arena, tensor_bytes(v[i])));
    }
}

static Text values(const Html *html)
{
    Text text = text_new(html->arena);
    text_put(
        &text,
        "<div "
        "class=\"wide\"><table><thead><tr><th><th>name<th>type<th>shape<th "
        "class=\"n\">bytes</thead>\n<tbody>\n");
    put_values(html, &text, "input", html->program->graph->input.at,
               html->program->graph->input.n);
    put_values(html, &text, "output", html->program->graph->output.at,
               graph_results(html->program->graph));
    text_put(&text, "</table></div>\n");
    return text;
}

/* ---- the file ---- */

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Base64 of the SHA-256 of the script: a browser then runs this script and no other. */
/* 33 bytes, of which the last is 0, as 44 digits. */
static void put_base64(char *out, const uint8_t *byte)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 11; i++, byte += 3) {
        const unsigned high = (unsigned)byte[0] << 16;
        const unsigned group = high | (unsigned)byte[1] << 8 | byte[2];
        for (int k = 0; k < 4; k++)
            *out++ = digit[group >> (18 - 6 * k) & 63];
    }
}

static const char *script_hash(Arena *arena, const char *html)
{
    const char *begin = strstr(html, "<script>") + strlen("<script>");
    const char *end = strstr(begin, "</script>");
    char hex[65];
    char *out = arena_alloc(arena, 45);
    uint8_t byte[33] = { 0 };
    Sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, begin, (size_t)(end - begin));
    sha256_end(&sha, hex);
    for (int i = 0; i < 32; i++) {
        const int high = hex_digit(hex[2 * i]);
        const int low = hex_digit(hex[2 * i + 1]);
        byte[i] = (uint8_t)(high << 4 | low);
    }
    put_base64(out, byte);
    memcpy(out + 43, "=", 2);
    return out;
}

static Text head(const Html *html, const char *hash)
{
    Text text = text_new(html->arena);
    text_print(&text,
               "<meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; style-src "
               "'unsafe-inline'; script-src 'sha256-%s'\">\n<title>%s: memory "
               "plan</title>\n",
               hash, html->name);
    return text;
}

static Text foot(const Html *html)
{
    Text text = text_new(html->arena);
    text_put(&text,
             "<p>This file asks no server for anything. The same figures "
             "for programs: the .json beside it.</p>\n");
    return text;
}

Text html_report(const Program *program, const char *name)
{
    Html html = {
        .arena = program->graph->arena,
        .program = program,
        .name = name,
        .peak = peak_find(program),
    };
    Section sections[] = {
        { "head", head(&html, "") },   { "summary", summary(&html) },
        { "map", map(&html) },         { "legend", legend(&html) },
        { "peak", peak(&html) },       { "curve", curve(&html) },
        { "streams", streams(&html) }, { "steps", steps(&html) },
        { "weights", weights(&html) }, { "values", values(&html) },
        { "foot", foot(&html) },       { NULL, { 0 } },
    };
    const Filling filling = { .model = name, .section = sections };
    /* The head names the hash of the script, which the template holds. */
    const Text page = template_fill(html.arena, "report.html", &filling);
    sections[0].text = head(&html, script_hash(html.arena, page.at));
    return template_fill(html.arena, "report.html", &filling);
}
