/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/html.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "base/size.h"
#include "emit/peak.h"
#include "emit/template.h"

enum { MOST_NAME = 60, MOST_ADVICE = 200, COLOURS = 10, MOST_WEIGHTS = 12 };

typedef struct Html {
    Arena *arena;
    const Program *program;
    const char *name;
    VEC(const char *) op; /* operators in order of appearance: their colours */
    Peak peak;
} Html;

/* Model text: printable ASCII, nothing that HTML reads as its own, cut. */
static void put_cut(Text *t, const char *s, int most)
{
    int n = 0;
    for (; *s && n < most; s++, n++) {
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"' || *s == '\'')
            text_print(t, "&#%d;", *s);
        else
            text_add(t, *s >= ' ' && *s < 127 ? s : "?", 1);
    }
    if (*s)
        text_put(t, "&hellip;");
}

static void put_escaped(Text *t, const char *s)
{
    put_cut(t, s, MOST_NAME);
}

/* 1,234,567 */
static const char *grouped(Arena *a, int64_t v)
{
    char plain[24], out[32];
    const int n = snprintf(plain, sizeof plain, "%" PRId64, v);
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0 && plain[i - 1] != '-')
            out[k++] = ',';
        out[k++] = plain[i];
    }
    return arena_text(a, out, (size_t)k);
}

static int colour_of(Html *h, const char *op)
{
    for (size_t i = 0; i < h->op.n; i++)
        if (!strcmp(h->op.at[i], op))
            return (int)(i % COLOURS);
    VEC_PUSH(h->arena, &h->op, op);
    return (int)((h->op.n - 1) % COLOURS);
}

/* ---- totals ---- */

static void put_card(Text *t, const char *what, const char *figure, const char *mark)
{
    text_print(t, "<li><b%s%s%s>%s</b> %s\n", *mark ? " class=\"" : "", mark, *mark ? "\"" : "",
               figure, what);
}

static void bound_cards(const Html *h, Text *t)
{
    const Plan *plan = &h->program->plan;
    const int64_t gap = plan->arena_size - plan->lower_bound;
    put_card(t, "bytes: no plan of these steps needs less", grouped(h->arena, plan->lower_bound),
             "");
    if (plan->optimal)
        put_card(t, "the plan, proved", "optimal", "good");
    else
        put_card(
            t, "above the bound",
            arena_printf(h->arena, "%.2f %%",
                         plan->lower_bound ? 100.0 * (double)gap / (double)plan->lower_bound : 0.0),
            "mark");
}

static void region_cards(const Html *h, Text *t)
{
    const Plan *plan = &h->program->plan;
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        put_card(t,
                 arena_printf(h->arena,
                              "bytes of %s in %s, which cost %" PRId64 " each to read or write",
                              grouped(h->arena, r->capacity), r->name, r->cost),
                 grouped(h->arena, r->size), "");
    }
    const double above =
        plan->region_least
            ? 100.0 * (double)(plan->region_cost - plan->region_least) / (double)plan->region_least
            : 0.0;
    if (plan->region_cost == plan->region_least)
        put_card(t, "the traffic's cost, proved", "optimal", "good");
    else
        put_card(t, "at most is the traffic's cost above the least",
                 arena_printf(h->arena, "%.2f %%", above), "mark");
}

static Text summary(const Html *h)
{
    const Program *p = h->program;
    const Plan *plan = &p->plan;
    Text t = text_new(h->arena);
    int64_t macs = 0;
    for (size_t i = 0; i < p->step.n; i++)
        macs = i64_add(macs, p->step.at[i]->macs);
    text_print(&t,
               "<h1>%s</h1>\n<p class=\"soft\">Memory plan by Inlay " INLAY_VERSION
               ", opset %" PRId64 "</p>\n<ul class=\"cards\">\n",
               h->name, graph_opset(p->graph, ""));
    put_card(&t, "bytes of arena (RAM)", grouped(h->arena, plan->arena_size), "");
    if (plan->region.n)
        region_cards(h, &t);
    else
        bound_cards(h, &t);
    put_card(&t, "bytes of weights (flash)", grouped(h->arena, (int64_t)p->weight_bytes), "");
    put_card(&t, "multiply-accumulates", grouped(h->arena, macs), "");
    put_card(&t, "steps", grouped(h->arena, (int64_t)p->step.n), "");
    text_put(&t, "</ul>\n");
    return t;
}

/* ---- the map ---- */

static void put_block_name(Text *t, const Program *p, const Block *b)
{
    put_escaped(t, block_name(p, b));
    if (b->ring)
        text_print(t, " (ring of %d rows)", b->ring);
}

/* Its first byte, in its region where there are several. */
static const char *place_of(const Html *h, const Block *b)
{
    const Plan *plan = &h->program->plan;
    const int region = b->tensor ? b->tensor->region : 0;
    const char *at = grouped(h->arena, b->offset - program_region_start(h->program, region));
    return plan->region.n ? arena_printf(h->arena, "%s %s", plan->region.at[region].name, at) : at;
}

static void put_block(Html *h, Text *t, const Block *b)
{
    const Step *by = block_maker(h->program, b), *maker = by ? by : h->program->step.at[b->first];
    text_print(t,
               "<rect class=\"c%d%s%s\" x=\"%d\" y=\"%" PRId64 "\" width=\"%d\" height=\"%" PRId64
               "\"><title>",
               colour_of(h, step_name(maker)), b->ring ? " ring" : "", b->scratch ? " scratch" : "",
               b->first, h->program->plan.arena_size - b->offset - b->bytes, b->end - b->first,
               b->bytes);
    put_block_name(t, h->program, b);
    text_print(t, "\n%s bytes at %s, steps %d to %d</title></rect>\n", grouped(h->arena, b->bytes),
               place_of(h, b), b->first, b->end - 1);
}

static void put_live(const Html *h, Text *t)
{
    const Program *p = h->program;
    int64_t most = 1;
    for (size_t i = 0; i < p->step.n; i++)
        most = i64_max(most, p->plan.live[i]);
    text_print(t,
               "<div class=\"axis\"><span>%s</span><span>alive</span></div>\n<svg id=\"live\" "
               "viewBox=\"0 0 %zu %" PRId64 "\" preserveAspectRatio=\"none\" aria-label=\"bytes "
               "alive at each step\"><path d=\"M0 %" PRId64,
               grouped(h->arena, most), p->step.n, most, most);
    for (size_t i = 0; i < p->step.n; i++)
        text_print(t, "V%" PRId64 "H%zu", most - p->plan.live[i], i + 1);
    text_print(t, "V%" PRId64 "Z\"/></svg>\n", most);
}

static Text map(Html *h)
{
    const Program *p = h->program;
    const Plan *plan = &p->plan;
    const size_t steps = p->step.n;
    Text t = text_new(h->arena);
    text_print(&t, "<div class=\"axis\"><span>%s</span><span>0</span></div>\n",
               grouped(h->arena, plan->arena_size));
    text_print(
        &t,
        "<svg id=\"map\" viewBox=\"0 0 %zu %" PRId64
        "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"arena offsets over steps\">\n",
        steps, i64_max(1, plan->arena_size));
    for (size_t i = 0; i < plan->block.n; i++)
        put_block(h, &t, plan->block.at + i);
    text_print(
        &t, "<line x1=\"0\" y1=\"0\" x2=\"%zu\" y2=\"0\"><title>the arena's end</title></line>\n",
        steps);
    for (int i = 1; i < (int)plan->region.n; i++) {
        const int64_t y = plan->arena_size - program_region_start(p, i);
        text_print(&t,
                   "<line x1=\"0\" y1=\"%" PRId64 "\" x2=\"%zu\" y2=\"%" PRId64
                   "\"><title>%s begins</title></line>\n",
                   y, steps, y, plan->region.at[i].name);
    }
    if (!plan->region.n)
        text_print(&t,
                   "<line class=\"bound\" x1=\"0\" y1=\"%" PRId64 "\" x2=\"%zu\" y2=\"%" PRId64
                   "\"><title>lower bound</title></line>\n",
                   plan->arena_size - plan->lower_bound, steps,
                   plan->arena_size - plan->lower_bound);
    text_print(&t,
               "<rect id=\"here\" x=\"%d\" y=\"0\" width=\"1\" height=\"%" PRId64 "\"/></svg>\n",
               h->peak.first, plan->arena_size);
    put_live(h, &t);
    text_print(&t,
               "<div class=\"under\"><span>step 0</span><span>step %zu</span></div>\n<div></div>\n",
               steps ? steps - 1 : 0);
    text_print(&t,
               "<input id=\"cursor\" type=\"range\" min=\"0\" max=\"%zu\" value=\"%d\" "
               "aria-label=\"step\">\n",
               steps ? steps - 1 : 0, h->peak.first);
    return t;
}

static Text legend(Html *h)
{
    Text t = text_new(h->arena);
    const Plan *plan = &h->program->plan;
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(&t, "%s%s%s", i ? ", " : "<p>From the bottom: ", plan->region.at[i].name,
                   i + 1 < plan->region.n ? "" : ".</p>\n");
    text_put(&t, "<p class=\"legend\">made by ");
    for (size_t i = 0; i < h->op.n; i++) {
        text_print(&t, "<span><i class=\"c%zu\"></i>", i % COLOURS);
        put_escaped(&t, h->op.at[i]);
        text_put(&t, "</span>");
    }
    text_put(&t, "</p>\n");
    return t;
}

/* ---- the peak ---- */

static Text peak(const Html *h)
{
    const Peak *peak = &h->peak;
    Text t = text_new(h->arena);
    text_print(&t, "<p>Most bytes are in use at step%s %d", peak->end - peak->first > 1 ? "s" : "",
               peak->first);
    if (peak->end - peak->first > 1)
        text_print(&t, " to %d, which run row by row", peak->end - 1);
    text_print(&t, ": %s.</p>\n", grouped(h->arena, peak->bytes));
    if (peak->advice.n)
        text_put(&t, "<p>What would shrink it:</p>\n<ul>\n");
    for (size_t i = 0; i < peak->advice.n; i++) {
        text_put(&t, "<li>");
        put_cut(&t, peak->advice.at[i], MOST_ADVICE);
        text_put(&t, "\n");
    }
    if (peak->advice.n)
        text_put(&t, "</ul>\n");
    text_print(&t,
               "<p>Alive at step <b id=\"step\">%d</b>:</p>\n<div "
               "class=\"wide\"><table><thead><tr><th>tensor<th class=\"n\">bytes<th "
               "class=\"n\">offset<th class=\"n\">steps</thead>\n<tbody id=\"alive\">\n",
               peak->first);
    for (size_t i = 0; i < peak->block.n; i++) {
        const Block *b = peak->block.at[i].block;
        text_put(&t, "<tr><td>");
        put_block_name(&t, h->program, b);
        text_print(&t, "<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%d to %d\n",
                   grouped(h->arena, b->bytes), place_of(h, b), b->first, b->end - 1);
    }
    text_put(&t, "</table></div>\n");
    return t;
}

/* ---- tables ---- */

static Text curve(const Html *h)
{
    Text t = text_new(h->arena);
    const Plan *plan = &h->program->plan;
    if (!plan->curve.n)
        return t;
    text_put(
        &t, "<section>\n<h2>Arena against work</h2>\n<div class=\"wide\"><table><thead><tr><th><th "
            "class=\"n\">bytes of arena<th class=\"n\">MACs"
            "<th class=\"n\">steps<th class=\"n\">of them row by row<th "
            "class=\"n\">strips</thead>\n<tbody>\n");
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        text_print(&t,
                   "<tr%s><td>%s<td class=\"n\">%s<td class=\"n\">%.3fx<td class=\"n\">%d<td "
                   "class=\"n\">%d<td class=\"n\">%d\n",
                   c->chosen ? " class=\"taken\"" : "", c->chosen ? "taken" : "",
                   grouped(h->arena, c->arena), curve_factor(plan, c), c->steps, c->streamed,
                   c->strips);
    }
    text_put(&t, "</table></div>\n</section>\n");
    return t;
}

static Text streams(const Html *h)
{
    Text t = text_new(h->arena);
    const Plan *plan = &h->program->plan;
    bool any = false;
    for (size_t i = 0; i < plan->segment.n; i++) {
        const Segment *s = plan->segment.at + i;
        if (!s->list)
            continue;
        text_put(&t, any ? "" : "<section>\n<h2>Steps that run together, row by row</h2>\n<ul>\n");
        any = true;
        text_print(&t, "<li>steps %d to %d: %d calls, then %d times %d, then %d%s\n", s->first,
                   s->first + s->count - 1, s->prologue, s->repeats, s->period, s->epilogue,
                   h->program->step.at[s->first]->backward ? "; from the last row to the first"
                                                           : "");
    }
    if (any)
        text_put(&t, "</ul>\n</section>\n");
    return t;
}

static int64_t weights_of(const Step *s)
{
    int64_t bytes = 0, at;
    for (int k = 0; k < s->n_operand; k++)
        if (s->operand[k].tensor &&
            tensor_root(s->operand[k].tensor, &at)->storage == STORE_WEIGHTS)
            bytes += tensor_bytes(s->operand[k].tensor);
    return bytes;
}

static Text steps(const Html *h)
{
    const Program *p = h->program;
    Text t = text_new(h->arena);
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        text_print(&t, "<tr><td>%zu<td>", i);
        put_escaped(&t, s->node ? s->node->name : "");
        text_put(&t, "<td>");
        put_escaped(&t, step_name(s));
        text_print(&t, "<td>%s<td>%s<td>%s<td>%s", s->kernel->name,
                   s->n_out && s->operand[0].tensor
                       ? shape_text(h->arena, &s->operand[0].tensor->shape)
                       : "",
                   grouped(h->arena, s->macs), grouped(h->arena, weights_of(s)));
        text_print(&t, "<td>%s\n", grouped(h->arena, p->plan.live[i]));
    }
    return t;
}

static Text weights(const Html *h)
{
    const Program *p = h->program;
    Text t = text_new(h->arena);
    uint64_t sum = 0, most = UINT64_MAX;
    for (size_t i = 0; i < p->weight.n; i++)
        sum += p->weight.at[i].bytes;
    text_print(
        &t,
        "<p>%zu arrays, %s bytes; alignment between them %s bytes. The largest:</p>\n<div "
        "class=\"wide\"><table><thead><tr><th>weight<th class=\"n\">bytes</thead>\n<tbody>\n",
        p->weight.n, grouped(h->arena, (int64_t)sum),
        grouped(h->arena, (int64_t)(p->weight_bytes - sum)));
    size_t shown = 0;
    while (shown < MOST_WEIGHTS && shown < p->weight.n) {
        uint64_t next = 0;
        for (size_t i = 0; i < p->weight.n; i++)
            if (p->weight.at[i].bytes < most && p->weight.at[i].bytes > next)
                next = p->weight.at[i].bytes;
        if (!next)
            break;
        for (size_t i = 0; i < p->weight.n && shown < MOST_WEIGHTS; i++) {
            if (p->weight.at[i].bytes != next)
                continue;
            text_put(&t, "<tr><td>");
            put_escaped(&t, p->weight.at[i].tensor->name);
            text_print(&t, "<td class=\"n\">%s\n", grouped(h->arena, (int64_t)next));
            shown++;
        }
        most = next;
    }
    text_put(&t, "</table></div>\n");
    return t;
}

static void put_values(const Html *h, Text *t, const char *kind, Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(t, "<tr><td>%s %zu<td>", kind, i);
        put_escaped(t, v[i]->name);
        text_print(t, "<td>%s<td>%s<td class=\"n\">%s\n", dtype_name(v[i]->dtype),
                   shape_text(h->arena, &v[i]->shape), grouped(h->arena, tensor_bytes(v[i])));
    }
}

static Text values(const Html *h)
{
    Text t = text_new(h->arena);
    text_put(&t, "<div class=\"wide\"><table><thead><tr><th><th>name<th>type<th>shape<th "
                 "class=\"n\">bytes</thead>\n<tbody>\n");
    put_values(h, &t, "input", h->program->graph->input.at, h->program->graph->input.n);
    put_values(h, &t, "output", h->program->graph->output.at, graph_results(h->program->graph));
    text_put(&t, "</table></div>\n");
    return t;
}

/* ---- the file ---- */

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Base64 of the SHA-256 of the script: a browser then runs this script and no other. */
static const char *script_hash(Arena *a, const char *html)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *begin = strstr(html, "<script>") + strlen("<script>"),
               *end = strstr(begin, "</script>");
    char hex[65], *out = arena_alloc(a, 45);
    uint8_t byte[33] = { 0 };
    Sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, begin, (size_t)(end - begin));
    sha256_end(&sha, hex);
    for (int i = 0; i < 32; i++)
        byte[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    for (int i = 0; i < 11; i++) {
        const unsigned v =
            (unsigned)byte[3 * i] << 16 | (unsigned)byte[3 * i + 1] << 8 | byte[3 * i + 2];
        for (int k = 0; k < 4; k++)
            out[4 * i + k] = digit[v >> (18 - 6 * k) & 63];
    }
    memcpy(out + 43, "=", 2);
    return out;
}

static Text head(const Html *h, const char *hash)
{
    Text t = text_new(h->arena);
    text_print(
        &t,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'sha256-%s'\">\n<title>%s: memory plan</title>\n",
        hash, h->name);
    return t;
}

Text html_report(const Program *p, const char *name)
{
    Html h = { .arena = p->graph->arena, .program = p, .name = name, .peak = peak_find(p) };
    Section s[] = {
        { "head", head(&h, "") },   { "summary", summary(&h) },    { "map", map(&h) },
        { "legend", legend(&h) },   { "peak", peak(&h) },          { "curve", curve(&h) },
        { "streams", streams(&h) }, { "steps", steps(&h) },        { "weights", weights(&h) },
        { "values", values(&h) },   { "foot", text_new(h.arena) },
    };
    enum { SECTIONS = sizeof s / sizeof *s };
    text_put(&s[SECTIONS - 1].text, "<p>This file asks no server for anything. The same figures "
                                    "for programs: the .json beside it.</p>\n");
    s[0].text =
        head(&h, script_hash(h.arena, template_fill(h.arena, "report.html", name, s, SECTIONS).at));
    return template_fill(h.arena, "report.html", name, s, SECTIONS);
}
