/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/html_diff.h"

#include <inttypes.h>

#include "base/size.h"
#include "emit/html_parts.h"
#include "emit/template.h"

enum { MOST_LINES = 300, WIDE = 1000 };

static Text head(Arena *arena)
{
    Text text = text_new(arena);
    text_put(&text, "<meta http-equiv=\"Content-Security-Policy\" "
                    "content=\"default-src 'none'; style-src "
                    "'unsafe-inline'\">\n<title>two memory plans</title>\n");
    return text;
}

static Text names(Arena *arena, const DiffSide side[2])
{
    Text text = text_new(arena);
    text_put(&text, "<h1>");
    html_put(&text, side[0].name);
    text_put(&text, " &rarr; ");
    html_put(&text, side[1].name);
    text_put(&text, "</h1>\n<p class=\"soft\">Two compiles by Inlay, the old "
                    "one and the new one.</p>\n");
    return text;
}

/* ---- figures ---- */

static void put_bar(Text *text, int64_t value, int64_t most, const char *kind)
{
    const double part = most ? (double)value / (double)most : 0;
    text_print(text, "<rect class=\"%s\" width=%.0f height=1 y=%d></rect>",
               kind, part * WIDE, *kind == 'n');
}

static void put_bars(Text *text, const Change *change)
{
    const int64_t most = i64_max(change->before, change->after);
    text_print(text,
               "<td class=\"bars\"><svg viewBox=\"0 0 %d 2\" "
               "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
               WIDE);
    put_bar(text, change->before, most, "old");
    put_bar(text, change->after, most, "new");
    text_put(text, "</svg>");
}

static void put_grown(Text *text, const Change *change)
{
    const int64_t grown = change->after - change->before;
    const char *kind = grown > 0 ? "n mark" : "n good";
    text_print(text, "<td class=\"%s\">%s%s", grown ? kind : "n",
               grown > 0 ? "+" : "", html_number(text->arena, grown));
    if (grown && change->before)
        text_print(text, " (%+.1f %%)",
                   100.0 * (double)grown / (double)change->before);
}

static void put_change(Text *text, const Change *change, bool bars)
{
    text_put(text, "<tr><td>");
    html_put(text, change->name);
    text_print(text, "<td class=\"n\">%s",
               html_number(text->arena, change->before));
    text_print(text, "<td class=\"n\">%s",
               html_number(text->arena, change->after));
    put_grown(text, change);
    if (bars)
        put_bars(text, change);
    text_put(text, "\n");
}

static void put_table(Text *text, const char *what, const ChangeList *list,
                      bool bars)
{
    text_print(text,
               "<div class=\"wide\"><table><thead><tr><th>%s<th class=\"n\">"
               "old<th class=\"n\">new<th class=\"n\">grown by%s</thead>\n"
               "<tbody>\n",
               what, bars ? "<th>old, new" : "");
    for (size_t i = 0; i < list->n && i < MOST_LINES; i++)
        put_change(text, list->at + i, bars);
    text_put(text, "</table></div>\n");
    if (list->n > MOST_LINES)
        text_print(text,
                   "<p>%zu more that grew less: <code>inlay diff --json"
                   "</code> has them.</p>\n",
                   list->n - MOST_LINES);
}

static Text totals(Arena *arena, const ChangeList *total)
{
    Text text = text_new(arena);
    put_table(&text, "in all", total, true);
    return text;
}

static Text tables(Arena *arena, const DiffPart *part, size_t parts)
{
    Text text = text_new(arena);
    for (size_t i = 0; i < parts; i++) {
        text_print(&text, "<section>\n<h2>%s</h2>\n", part[i].title);
        if (part[i].change.n)
            put_table(&text, "name", &part[i].change, false);
        else
            text_put(&text, "<p>No difference.</p>\n");
        text_put(&text, "</section>\n");
    }
    return text;
}

/* ---- bytes in use ---- */

static void put_curve(Text *text, const DiffSide *side, int64_t most,
                      const char *kind)
{
    const double step = side->live.n ? (double)WIDE / (double)side->live.n : 0;
    text_print(text, "<path class=\"%s\" d=\"M0 %" PRId64, kind, most);
    for (size_t i = 0; i < side->live.n; i++)
        text_print(text, "V%" PRId64 "H%.1f", most - side->live.at[i],
                   step * (double)(i + 1));
    text_print(text, "V%" PRId64 "\"/>\n", most);
}

static Text curves(Arena *arena, const DiffSide side[2])
{
    Text text = text_new(arena);
    int64_t most = 1;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < side[k].live.n; i++)
            most = i64_max(most, side[k].live.at[i]);
    text_print(&text,
               "<div class=\"plot\"><div class=\"axis\"><span>%s</span><span>0"
               "</span></div>\n<svg id=\"live\" viewBox=\"0 0 %d %" PRId64
               "\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-label=\"bytes in use from the first step to the last\">\n",
               html_number(arena, most), WIDE, most);
    put_curve(&text, side, most, "old");
    put_curve(&text, side + 1, most, "new");
    text_print(&text,
               "</svg>\n<div class=\"under\"><span>first step</span><span>last "
               "step (%zu, %zu)</span></div></div>\n",
               side[0].live.n, side[1].live.n);
    return text;
}

Text html_diff(Arena *arena, const DiffSide side[2], const ChangeList *total,
               const DiffPart *part, size_t parts)
{
    const Section sections[] = {
        { "head", head(arena) },
        { "style", html_style(arena) },
        { "names", names(arena, side) },
        { "totals", totals(arena, total) },
        { "curves", curves(arena, side) },
        { "tables", tables(arena, part, parts) },
        { NULL, { 0 } },
    };
    const Filling filling = { .model = "m", .section = sections };
    return template_fill(arena, "diff.html", &filling);
}
