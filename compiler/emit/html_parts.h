/* SPDX-License-Identifier: Apache-2.0
 * The parts of the page (html.h), a section of its template each, and what they share. */
#ifndef INLAY_EMIT_HTML_PARTS_H
#define INLAY_EMIT_HTML_PARTS_H

#include "emit/peak.h"
#include "emit/text.h"
#include "ir/program.h"

enum { MOST_NAME = 60, MOST_OPTIONS = 300, COLOURS = 10 };

typedef struct Html {
    Arena *arena;
    const Program *program;
    const char *name;
    VEC(const char *) op; /* operators in order of appearance: their colours */
    Peak peak;
} Html;

/* Model text: printable ASCII, nothing that HTML reads as its own, cut. */
void html_put_cut(Text *text, const char *s, int most);
void html_put(Text *text, const char *s);
/* 1,234,567 */
const char *html_number(Arena *arena, int64_t v);
/* The number of its colour; each operator that was not there before gets the next one. */
int html_colour(Html *html, const char *op);

/* The rules that all pages share. */
Text html_style(Arena *arena);

/* Title, cards, and what RAM is for. */
Text html_summary(const Html *html);
Text html_ram(const Html *html);
/* The arena over the steps, before its legend: it gives the operators their colours. */
Text html_map(Html *html);
Text html_legend(Html *html);
Text html_peak(const Html *html);
/* What other options save. */
Text html_advice(const Html *html);
/* Arena against work, drawn and as a table. */
Text html_curve(const Html *html);
Text html_streams(const Html *html);
Text html_steps(const Html *html);
/* Flash: the constants as areas, by node and type, and the largest as a table. */
Text html_flash(const Html *html);
Text html_values(const Html *html);

#endif
