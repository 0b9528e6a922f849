/* SPDX-License-Identifier: Apache-2.0
 * The arena over the steps: blocks, the bytes in use below, the legend; and what fills the peak. */
#include "emit/html_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

/* ---- the map ---- */

static void put_block_name(Text *text, const Program *program,
                           const Block *block)
{
    html_put(text, block_name(program, block));
    if (block->pool)
        text_put(text, " (a pool with rows of others)");
    if (block->ring)
        text_print(text, " (ring of %d rows)", block->ring);
}

/* Its first byte, in its region where there are several. */
static const char *html_place(const Html *html, const Block *block)
{
    const Plan *plan = &html->program->plan;
    const int region = block->tensor ? block->tensor->region : 0;
    const char *at = html_number(
        html->arena,
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
    if (!regions && is_of_line(html, block)) {
        text_put(text, " />\n");
        return;
    }
    text_put(text, "><title>");
    put_block_name(text, html->program, block);
    if (regions)
        text_print(text, "\n%s bytes at %s, steps %d to %d",
                   html_number(html->arena, block->bytes),
                   html_place(html, block), block->first, block->end - 1);
    text_put(text, "</title></rect>\n");
}

static bool reads(const Step *step, const Tensor *tensor)
{
    int64_t at;
    for (int k = step->n_out; k < step->n_operand; k++)
        if (step->operand[k].tensor &&
            tensor_root(step->operand[k].tensor, &at) == tensor)
            return true;
    return false;
}

/* What the script cannot tell either: which step makes it, where that is not the first one of the
 * block (-1: none does), and which read it, where that is not the last one alone. */
static void put_links(const Html *html, Text *text, const Block *block,
                      const Step *by)
{
    const Program *program = html->program;
    Text list = text_new(html->arena);
    int readers = 0;
    if (!by)
        text_put(text, " data-w=-1");
    else if (by != program->step.at[block->first])
        text_print(text, " data-w=%d", by->index);
    for (int32_t i = block->first; block->tensor && i < block->end; i++)
        if (reads(program->step.at[i], block->tensor))
            text_print(&list, "%s%d", readers++ ? "," : "", i);
    const bool last =
        readers == 1 && reads(program->step.at[block->end - 1], block->tensor);
    if (!last)
        text_print(text, " data-r=%s", readers ? list.at : "\"\"");
}

static const char *class_of(Html *html, const Block *block, const Step *maker)
{
    const int colour = html_colour(html, step_name(maker));
    if (!block->ring && !block->scratch)
        return arena_printf(html->arena, "c%d", colour);
    return arena_printf(html->arena, "\"c%d%s%s\"", colour,
                        block->ring ? " ring" : "",
                        block->scratch ? " scratch" : "");
}

static void put_block(Html *html, Text *text, const Block *block)
{
    const Step *by = block_maker(html->program, block);
    const Step *maker = by ? by : html->program->step.at[block->first];
    text_print(text,
               "<rect class=%s x=%d y=%" PRId64 " width=%d height=%" PRId64,
               class_of(html, block, maker), block->first,
               html->program->plan.arena_size - block->offset - block->bytes,
               block->end - block->first, block->bytes);
    put_links(html, text, block, by);
    put_title(html, text, block);
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
        html_number(html->arena, most), p->step.n, most, most);
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

Text html_map(Html *html)
{
    const Plan *plan = &html->program->plan;
    Text text = text_new(html->arena);
    text_print(&text,
               "<div class=\"axis\"><span>%s</span><span>0</span></div>\n",
               html_number(html->arena, plan->arena_size));
    text_print(&text,
               "<svg id=\"map\" viewBox=\"0 0 %zu %" PRId64
               "\" preserveAspectRatio=\"none\" role=\"img\" "
               "tabindex=\"0\" aria-label=\"arena offsets over steps\">\n",
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

Text html_legend(Html *html)
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
        html_put(&text, html->op.at[i]);
        text_put(&text, "</span>");
    }
    text_put(&text, "</p>\n");
    return text;
}

/* ---- the peak ---- */

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
                   html_number(html->arena, block->bytes),
                   html_place(html, block), block->first, block->end - 1);
    }
    text_put(text, "</table></div>\n");
}

Text html_peak(const Html *html)
{
    const Peak *peak = &html->peak;
    const int32_t last = peak->end - 1;
    const bool several = last > peak->first;
    Text text = text_new(html->arena);
    text_print(&text, "<p>Most bytes are in use at step%s %d",
               several ? "s" : "", peak->first);
    if (several)
        text_print(&text, " to %d, which run row by row", last);
    text_print(&text, ": %s.</p>\n", html_number(html->arena, peak->bytes));
    put_alive(&text, html);
    return text;
}
