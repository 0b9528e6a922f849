/* SPDX-License-Identifier: Apache-2.0
 * The title of the page, its cards, and the bar of what RAM is for. */
#include "emit/html_parts.h"

#include <inttypes.h>

#include "base/size.h"
#include "ir/ram.h"

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
             html_number(html->arena, plan->lower_bound), "");
    put_card(text, "bytes: no schedule of these steps needs less",
             html_number(html->arena, plan->bound_schedules), "");
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
                              html_number(html->arena, r->capacity), r->name,
                              r->cost),
                 html_number(html->arena, r->size), "");
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
        html_number(html->arena, use.values),
        use.stack < 0
            ? "; the stack is not known"
            : arena_printf(html->arena, ", stack %s (%s)",
                           html_number(html->arena, use.stack), use.how));
    put_card(text, parts, html_number(html->arena, use.total), "");
}

Text html_summary(const Html *html)
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
             html_number(html->arena, plan->arena_size), "");
    if (plan->region.n)
        region_cards(html, &text);
    else
        bound_cards(html, &text);
    ram_cards(html, &text);
    put_card(&text, "bytes of weights (flash)",
             html_number(html->arena, (int64_t)p->weight_bytes), "");
    put_card(&text, "multiply-accumulates", html_number(html->arena, macs), "");
    put_card(&text, "steps", html_number(html->arena, (int64_t)p->step.n), "");
    text_put(&text, "</ul>\n");
    return text;
}

/* ---- what RAM is for ---- */

typedef struct Part {
    const char *what;
    int64_t bytes;
} Part;

static int64_t state_bytes(const Graph *graph)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < graph->state.n; i++)
        bytes += tensor_bytes(graph->input.at[graph->state.at[i].in]);
    return bytes;
}

/* Those of the caller that do not lie in the arena. */
static int64_t caller_bytes(Tensor *const *tensor, size_t n)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (tensor[i]->storage != STORE_ARENA)
            bytes += tensor_bytes(tensor[i]);
    return bytes;
}

static void put_part(Text *text, const Html *html, const Part *part, int i,
                     int64_t *at)
{
    text_print(text,
               "<rect class=\"c%d\" x=%" PRId64 " y=0 width=%" PRId64
               " height=1><title>%s: %s bytes</title></rect>\n",
               i, *at, part->bytes, part->what,
               html_number(html->arena, part->bytes));
    *at += part->bytes;
}

static Text ram_legend(const Html *html, const Part *part, int count,
                       const RamUse *use)
{
    Text text = text_new(html->arena);
    text_put(&text, "<p class=\"legend\">");
    for (int i = 0; i < count; i++)
        if (part[i].bytes)
            text_print(&text, "<span><i class=\"c%d\"></i>%s %s</span>", i,
                       part[i].what, html_number(html->arena, part[i].bytes));
    text_print(&text, "<span>in all %s bytes%s</span></p>\n",
               html_number(html->arena, use->total),
               use->stack < 0 ? ", without the stack, which is not known" : "");
    return text;
}

Text html_ram(const Html *html)
{
    const Graph *graph = html->program->graph;
    const RamUse use = program_ram(html->program);
    const int64_t inputs = caller_bytes(graph->input.at, graph->input.n);
    const int64_t kept = state_bytes(graph);
    const Part parts[] = {
        { kept ? "arena, from step to step" : "arena", use.arena - kept },
        { "arena, states from run to run", kept },
        { "inputs of the caller", inputs },
        { "results of the caller", use.values - inputs },
        { "stack", i64_max(0, use.stack) },
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    Text text = text_new(html->arena);
    int64_t at = 0;
    text_print(&text,
               "<svg id=\"ram\" viewBox=\"0 0 %" PRId64
               " 1\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-label=\"bytes of RAM by what they are for\">\n",
               i64_max(1, use.total));
    for (int i = 0; i < PARTS; i++)
        if (parts[i].bytes)
            put_part(&text, html, parts + i, i, &at);
    text_put(&text, "</svg>\n");
    const Text legend = ram_legend(html, parts, PARTS, &use);
    text_add(&text, legend.at, legend.n);
    return text;
}
