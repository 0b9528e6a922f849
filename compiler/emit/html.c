/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/html.h"

#include <string.h>

#include "base/digest.h"
#include "emit/html_parts.h"
#include "emit/template.h"

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

/* The page is made twice: its head names the hash of the script, which the template holds. */
static Text fill_page(const Html *html, Section *sections)
{
    const Filling filling = { .model = html->name, .section = sections };
    sections[0] = (Section){ "head", head(html, "") };
    const Text page = template_fill(html->arena, "report.html", &filling);
    sections[0].text = head(html, script_hash(html->arena, page.at));
    return template_fill(html->arena, "report.html", &filling);
}

Text html_report(const Program *program, const char *name)
{
    Html html = {
        .arena = program->graph->arena,
        .program = program,
        .name = name,
        .peak = peak_find(program),
    };
    const Text map = html_map(&html);
    Section sections[] = {
        { "head", { 0 } },
        { "style", html_style(html.arena) },
        { "summary", html_summary(&html) },
        { "ram", html_ram(&html) },
        { "map", map },
        { "legend", html_legend(&html) },
        { "peak", html_peak(&html) },
        { "advice", html_advice(&html) },
        { "curve", html_curve(&html) },
        { "streams", html_streams(&html) },
        { "steps", html_steps(&html) },
        { "flash", html_flash(&html) },
        { "values", html_values(&html) },
        { "foot", foot(&html) },
        { NULL, { 0 } },
    };
    return fill_page(&html, sections);
}
