/* SPDX-License-Identifier: Apache-2.0
 * Arena against work: each plan as a point, the one that was taken marked, and the same as a table.
 */
#include <inttypes.h>
#include <math.h>

#include "emit/html_parts.h"

/* The drawing's own units, and its margins for what stands beside the points. */
enum { WIDE = 900, HIGH = 300, LEFT = 90, RIGHT = 20, TOP = 16, BOTTOM = 36 };

/* Logarithms of bytes go up, work goes to the right. */
typedef struct Axes {
    double least_bytes, most_bytes; /* logarithms */
    double most_work;               /* over that of each step once */
} Axes;

static Axes axes_of(const Plan *plan)
{
    Axes axes = { .least_bytes = HUGE_VAL, .most_work = 1.05 };
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *point = plan->curve.at + i;
        const double bytes = log2((double)point->arena + 1);
        axes.least_bytes = fmin(axes.least_bytes, bytes);
        axes.most_bytes = fmax(axes.most_bytes, bytes);
        axes.most_work = fmax(axes.most_work, curve_factor(plan, point));
    }
    if (axes.most_bytes - axes.least_bytes < 0.1)
        axes.most_bytes = axes.least_bytes + 0.1;
    return axes;
}

static double across(const Axes *axes, double work)
{
    const double share = (work - 1) / (axes->most_work - 1);
    return LEFT + share * (WIDE - LEFT - RIGHT);
}

static double down(const Axes *axes, double bytes)
{
    const double span = axes->most_bytes - axes->least_bytes;
    const double share = (axes->most_bytes - log2(bytes + 1)) / span;
    return TOP + share * (HIGH - TOP - BOTTOM);
}

/* A line for each power of two of bytes, its figure in front of it. */
static void put_grid(const Html *html, Text *text, const Axes *axes)
{
    const int first = (int)ceil(axes->least_bytes);
    for (int power = first; power <= (int)axes->most_bytes; power++) {
        const int64_t bytes = INT64_C(1) << power;
        const double y = down(axes, (double)bytes);
        text_print(text,
                   "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" "
                   "y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                   LEFT, y, WIDE - RIGHT, LEFT - 8, y + 4,
                   html_number(html->arena, bytes));
    }
    for (int quarter = 0; quarter <= 4; quarter++) {
        const double work = 1 + (axes->most_work - 1) * quarter / 4;
        const double x = across(axes, work);
        text_print(text,
                   "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" "
                   "y=\"%d\" text-anchor=\"middle\">%.2fx</text>\n",
                   x, TOP, HIGH - BOTTOM, x, HIGH - BOTTOM + 18, work);
    }
}

/* From one plan on, more work helps only where the next one is reached. */
static void put_path(Text *text, const Plan *plan, const Axes *axes)
{
    text_put(text, "<path class=\"way\" d=\"");
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *point = plan->curve.at + i;
        const double x = across(axes, curve_factor(plan, point));
        const double y = down(axes, (double)point->arena);
        if (i)
            text_print(text, "H%.1fV%.1f", x, y);
        else
            text_print(text, "M%.1f %.1f", x, y);
    }
    text_put(text, "\"/>\n");
}

static void put_points(const Html *html, Text *text, const Axes *axes)
{
    const Plan *plan = &html->program->plan;
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *point = plan->curve.at + i;
        const double factor = curve_factor(plan, point);
        text_print(text,
                   "<circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s "
                   "bytes, %.3fx MACs%s</title></circle>\n",
                   point->chosen ? " class=\"taken\"" : "",
                   across(axes, factor), down(axes, (double)point->arena),
                   point->chosen ? 7 : 4,
                   html_number(html->arena, point->arena), factor,
                   point->chosen ? ", taken" : "");
    }
}

static void draw(const Html *html, Text *text)
{
    const Axes axes = axes_of(&html->program->plan);
    text_print(text,
               "<svg id=\"curve\" viewBox=\"0 0 %d %d\" role=\"img\" "
               "aria-label=\"bytes of arena, upwards, against the work of a "
               "run, to the right\">\n",
               WIDE, HIGH);
    put_grid(html, text, &axes);
    put_path(text, &html->program->plan, &axes);
    put_points(html, text, &axes);
    text_put(text, "</svg>\n");
}

static void put_row(const Html *html, Text *text, const CurvePoint *point)
{
    const Plan *plan = &html->program->plan;
    text_put(text,
             point->chosen ? "<tr class=\"taken\"><td>taken" : "<tr><td>");
    text_print(text,
               "<td class=\"n\">%s<td class=\"n\">%.3fx<td class=\"n\">%d<td "
               "class=\"n\">%d<td class=\"n\">%d\n",
               html_number(html->arena, point->arena),
               curve_factor(plan, point), point->steps, point->streamed,
               point->strips);
}

Text html_curve(const Html *html)
{
    Text text = text_new(html->arena);
    const Plan *plan = &html->program->plan;
    if (!plan->curve.n)
        return text;
    text_put(&text,
             "<section>\n<h2>Arena against work</h2>\n<p class=\"soft\">Each "
             "point is a plan, as <code>--arena-limit</code> takes it: bytes "
             "of arena upwards, multiplications over those of each step once "
             "to the right. The large one was taken.</p>\n");
    draw(html, &text);
    text_put(&text,
             "<div class=\"wide\"><table><thead><tr><th><th class=\"n\">bytes "
             "of arena<th class=\"n\">MACs<th class=\"n\">steps<th "
             "class=\"n\">of them row by row<th "
             "class=\"n\">strips</thead>\n<tbody>\n");
    for (size_t i = 0; i < plan->curve.n; i++)
        put_row(html, &text, plan->curve.at + i);
    text_put(&text, "</table></div>\n</section>\n");
    return text;
}
