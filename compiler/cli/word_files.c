/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/word_files.h"

#include <string.h>

#include "emit/text.h"
#include "ir/words.h"

enum { MOST_LETTER = 0x10ffff, FIRST_HALF = 0xd800, END_HALVES = 0xe000 };

/* ---- cells ---- */

/* A quoted cell becomes what it says; returns what follows it. */
static char *unquote(char *at, char **cell)
{
    char *to = ++at;
    *cell = to;
    while (*at && (*at != '"' || at[1] == '"')) {
        at += *at == '"';
        *to++ = *at++;
    }
    at += *at == '"';
    *to = 0;
    return at;
}

/* Cells between commas, semicolons, tabs and ends of lines; "quoted" ones may hold those. */
FileValues words_read(const ValueFile *from)
{
    static const char ENDS[] = ",;\t\r\n";
    VEC(int64_t) code = { 0 };
    char *text = value_text(from->arena, from->file);
    for (char *at = text; *at;) {
        char *cell = at;
        if (*at == '"')
            at = unquote(at, &cell);
        at += strcspn(at, ENDS);
        const bool is_line = *at == '\r' || *at == '\n';
        const char end = *at;
        *at = 0;
        VEC_PUSH(from->arena, &code, words_code(from->store, cell));
        at += end != 0;
        at += is_line ? strspn(at, "\r\n") : 0;
    }
    const int64_t count = (int64_t)code.n;
    return (FileValues){
        .dtype = DT_STRING,
        .shape = shape_of(1, &count),
        .at = code.at,
    };
}

/* ---- letters ---- */

static uint32_t letter_at(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 |
           (uint32_t)byte[3] << 24;
}

static void put_letter(Text *text, uint32_t letter)
{
    const int more = (letter > 0x7f) + (letter > 0x7ff) + (letter > 0xffff);
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    char byte[4] = { (char)(first[more] | letter >> 6 * more) };
    for (int i = 1; i <= more; i++)
        byte[i] = (char)(0x80 | (letter >> 6 * (more - i) & 0x3f));
    text_add(text, byte, (size_t)more + 1);
}

int64_t word_of_letters(Arena *arena, Store *store, const char *path,
                        const char *at, int64_t most)
{
    Text text = text_new(arena);
    int64_t count = most;
    while (count && !letter_at(at + 4 * (count - 1)))
        count--;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t letter = letter_at(at + 4 * i);
        const bool half = letter >= FIRST_HALF && letter < END_HALVES;
        if (!letter || half || letter > MOST_LETTER)
            value_fail(path, "holds a text that is none");
        put_letter(&text, letter);
    }
    text_add(&text, "", 1);
    return words_code(store, text.at);
}

/* The letter that begins here, and what follows it; a byte that begins none is one itself. */
static const char *read_letter(const char *at, uint32_t *letter)
{
    static const unsigned char least[] = { 0xc0, 0xe0, 0xf0, 0xff };
    const unsigned char first = (unsigned char)*at;
    int more = 0;
    while (first >= least[more])
        more++;
    *letter = first & (more ? 0x3fu >> more : 0xffu);
    for (int i = 1; i <= more; i++) {
        const unsigned char byte = (unsigned char)at[i];
        if ((byte & 0xc0) != 0x80) {
            *letter = first;
            return at + 1;
        }
        *letter = *letter << 6 | (byte & 0x3f);
    }
    return at + more + 1;
}

Letters word_letters(Arena *arena, const Store *store, int64_t code)
{
    const char *word = words_text(arena, store, code);
    Letters letters = { NEW_ARRAY(arena, uint32_t, strlen(word) + 1), 0 };
    while (*word)
        word = read_letter(word, letters.at + letters.n++);
    return letters;
}
