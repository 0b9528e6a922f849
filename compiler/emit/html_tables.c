/* SPDX-License-Identifier: Apache-2.0
 * Tables of the page: arena against work, streams, steps, inputs and results. */
#include "emit/html_parts.h"

#include <inttypes.h>

/* ---- tables ---- */

Text html_curve(const Html *html)
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
                   c->chosen ? "taken" : "", html_number(html->arena, c->arena),
                   curve_factor(plan, c), c->steps, c->streamed, c->strips);
    }
    text_put(&text, "</table></div>\n</section>\n");
    return text;
}

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
