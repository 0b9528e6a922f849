/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/html_parts.h"

#include <inttypes.h>
#include <string.h>

#include "emit/template.h"

/* Model text: printable ASCII, nothing that HTML reads as its own, cut. */
void html_put_cut(Text *text, const char *s, int most)
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

void html_put(Text *text, const char *s)
{
    html_put_cut(text, s, MOST_NAME);
}

/* 1,234,567 */
const char *html_number(Arena *arena, int64_t v)
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

int html_colour(Html *html, const char *op)
{
    for (size_t i = 0; i < html->op.n; i++)
        if (!strcmp(html->op.at[i], op))
            return (int)(i % COLOURS);
    VEC_PUSH(html->arena, &html->op, op);
    return (int)((html->op.n - 1) % COLOURS);
}

Text html_style(Arena *arena)
{
    const Section none = { NULL, { 0 } };
    const Filling filling = { .model = "m", .section = &none };
    return template_fill(arena, "report.css", &filling);
}
