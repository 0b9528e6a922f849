/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/template.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "emit/embedded.h"

static const EmbeddedFile *find_template(const char *file)
{
    for (const EmbeddedFile *f = template_files; f->name; f++)
        if (!strcmp(f->name, file))
            return f;
    assert(0 && "unknown template");
    return NULL;
}

static bool identifier_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* One line, with model_ and MODEL_ (and the header's own name) replaced. */
static void put_line(Text *out, const char *line, size_t n, const char *model)
{
    for (size_t i = 0; i < n; i++) {
        const char *word = line + i;
        const bool inside = i > 0 && identifier_char(word[-1]);
        const bool long_enough = !inside && n - i >= 6;
        const bool prefix = long_enough && !strncmp(word, "model_", 6);
        const bool lower = prefix || (long_enough && !strncmp(word, "model.", 6));
        const bool upper = long_enough && !strncmp(word, "MODEL_", 6);
        if (!lower && !upper) {
            text_add(out, word, 1);
            continue;
        }
        for (const char *m = model; *m; m++) {
            const char c = upper ? (char)toupper((unsigned char)*m) : *m;
            text_add(out, &c, 1);
        }
        i += 4;
    }
    text_put(out, "\n");
}

static const Section *find_section(const Section *section, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(section[i].name) == length && !memcmp(section[i].name, name, length))
            return section + i;
    assert(0 && "a section of the template is missing");
    return NULL;
}

Text template_fill(Arena *arena, const char *file, const char *model, const Section *section, int n)
{
    const EmbeddedFile *f = find_template(file);
    Text out = text_new(arena);
    int used = 0;
    for (const char *line = f->text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert(end);
        if (strncmp(line, "//@ ", 4)) {
            put_line(&out, line, (size_t)(end - line), model);
        } else {
            const Section *s = find_section(section, n, line + 4, (size_t)(end - line - 4));
            if (s->text.n)
                text_add(&out, s->text.at, s->text.n);
            used++;
        }
    }
    assert(used == n);
    return out;
}
