/* SPDX-License-Identifier: Apache-2.0
 * Tables of the page: advice, streams, steps, inputs and results. */
#include "emit/html_parts.h"

#include <inttypes.h>

#include "ir/ram.h"

/* ---- what other options save ---- */

static void put_alternative(const Html *html, Text *text,
                            const Alternative *found, const RamUse *use)
{
    const int64_t macs = program_macs(html->program);
    text_put(text, "<tr><td><code>");
    html_put_cut(text, found->options, MOST_OPTIONS);
    text_print(text, "</code><td class=\"n\">%s<td class=\"n\">-%s",
               html_number(html->arena, found->ram),
               html_number(html->arena, use->total - found->ram));
    text_print(text, "<td class=\"n\">%s<td class=\"n\">",
               html_number(html->arena, found->arena));
    if (macs)
        text_print(text, "%.3fx", (double)found->macs / (double)macs);
    text_put(text, "\n");
}

Text html_advice(const Html *html)
{
    Text text = text_new(html->arena);
    const Advice *advice = html->program->advice;
    if (!advice) {
        text_put(&text, "<p class=\"soft\"><code>--advice</code> tries what "
                        "would save RAM, and draws arena against work.</p>\n");
        return text;
    }
    const RamUse use = program_ram(html->program);
    text_print(&text,
               "<section>\n<h2>What other options save</h2>\n<p "
               "class=\"soft\">%d were tried, each by a plan of the model; %s "
               "of them.</p>\n",
               advice->tried,
               advice->found.n ? "these save a hundredth of the RAM or more"
                               : "no hundredth of the RAM is saved by any");
    if (advice->found.n)
        text_put(&text,
                 "<div class=\"wide\"><table "
                 "id=\"advice\"><thead><tr><th>option<th class=\"n\">RAM in "
                 "all<th class=\"n\">of it saved<th class=\"n\">arena<th "
                 "class=\"n\">MACs</thead>\n<tbody>\n");
    for (size_t i = 0; i < advice->found.n; i++)
        put_alternative(html, &text, advice->found.at + i, &use);
    text_put(&text,
             advice->found.n ? "</table></div>\n</section>\n" : "</section>\n");
    return text;
}

/* ---- tables ---- */

Text html_streams(const Html *html)
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

Text html_steps(const Html *html)
{
    const Program *p = html->program;
    Text text = text_new(html->arena);
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        text_print(&text, "<tr><td>%zu<td>", i);
        html_put(&text, s->node ? s->node->name : "");
        text_put(&text, "<td>");
        html_put(&text, step_name(s));
        text_print(&text, "<td>%s<td>%s<td>%s<td>%s", s->kernel->name,
                   s->n_out && s->operand[0].tensor
                       ? shape_text(html->arena, &s->operand[0].tensor->shape)
                       : "",
                   html_number(html->arena, s->macs),
                   html_number(html->arena, weights_of(s)));
        text_print(&text, "<td>%s\n",
                   html_number(html->arena, p->plan.live[i]));
    }
    return text;
}

static void put_values(const Html *html, Text *text, const char *kind,
                       Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(text, "<tr><td>%s %zu<td>", kind, i);
        html_put(text, v[i]->name);
        text_print(text, "<td>%s<td>%s<td class=\"n\">%s\n",
                   dtype_name(v[i]->dtype),
                   shape_text(html->arena, &v[i]->shape),
                   html_number(html->arena, tensor_bytes(v[i])));
    }
}

Text html_values(const Html *html)
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
