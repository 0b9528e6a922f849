/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/runtime_files.h"

#include <string.h>

#include "base/map.h"
#include "emit/embedded.h"
#include "emit/tables.h"
#include "inlay_fetch.h"
#include "rules/packed.h"

typedef VEC(const char *) Names;

static const char FOLDER[] = "kernels/";

static const char *without_folder(const char *name)
{
    const size_t length = sizeof FOLDER - 1;
    return strncmp(name, FOLDER, length) ? name : name + length;
}

/* What a runtime file is called in the output, where all lie side by side: with a prefix that no
 * model's name has (emit/names.h). */
static const char *output_name(Arena *arena, const char *name)
{
    const char *leaf = without_folder(name);
    if (!strncmp(leaf, "inlay", 5))
        return leaf;
    return arena_printf(arena, "inlay_%s", leaf);
}

RuntimeUse runtime_use(Arena *arena)
{
    return (RuntimeUse){ .arena = arena, .tiles = { .arena = arena } };
}

/* A file, once; there are few. */
static void add_file(RuntimeUse *use, const char *file)
{
    for (size_t i = 0; i < use->file.n; i++)
        if (!strcmp(use->file.at[i], file))
            return;
    VEC_PUSH(use->arena, &use->file, file);
}

/* Values of the palettes that steps decode; 0: there are none. */
static int palettes_of(const Program *program)
{
    for (size_t i = 0; i < program->weight.n; i++) {
        const Coded *coded = program->weight.at[i].coded;
        if (coded && coded->palette)
            return coded->palette->values;
    }
    return 0;
}

static void add_files(RuntimeUse *use, const Emitter *emitter)
{
    const Program *program = emitter->program;
    const int operands = program_fetch_operands(program);
    use->operands = operands > use->operands ? operands : use->operands;
    use->palettes = palettes_of(program);
    add_file(use, "inlay.h");
    if (has_weights(emitter))
        add_file(use, "inlay_weights.h");
    if (weights_blob(emitter))
        add_file(use, "inlay_blob.h");
    if (has_updates(emitter))
        add_file(use, "inlay_update.h");
    if (weights_streamed(emitter) || program->stream.steps)
        add_file(use, "inlay_fetch.h");
    if (program->stream.coded && program->stream.steps) {
        if (use->palettes)
            add_file(use, "inlay_palette.h");
        add_file(use, "inlay_coded.h");
    }
    if (program_sliced(program))
        add_file(use, "inlay_slices.h");
    if (program->plan.threads)
        add_file(use, "inlay_threads.h");
    if (program->lengths)
        add_file(use, "inlay_lengths.h");
    for (size_t i = 0; i < program->step.n; i++)
        add_file(use, program->step.at[i]->kernel->file);
}

/* Numbers that follow the lengths of a run may become others. */
static int32_t packed_of(Arena *arena, const Program *program, const Step *step)
{
    const int32_t uses = packed_uses(arena, step);
    return uses && program->lengths ? packed_all : uses;
}

void runtime_add(RuntimeUse *use, const Emitter *emitter)
{
    const Program *program = emitter->program;
    add_files(use, emitter);
    use->tiles.width = program->family->float_width;
    use->tiles.store = program->graph->store;
    use->tiles.panels = use->tiles.panels || program->lengths;
    /* Of lines of any length all tiles have fast code. */
    for (size_t i = 0; !program->lengths && i < program->step.n; i++)
        tiles_of_step(program->step.at[i], &use->tiles);
    for (size_t i = 0; i < program->step.n; i++)
        use->packed |= packed_of(use->arena, program, program->step.at[i]);
    use->math = use->math || table_needs_math(emitter);
    use->slots = use->slots || has_slots(emitter);
    use->sums = use->sums || emitter->selftest;
    use->dealt = use->dealt || table_has_slots(emitter);
}

enum { USES_OF_LINE = 6 };

/* #define INLAY_TILE_ROWS(use) use(16, 24) use(32, 12) */
static void put_lines(Text *text, const TileUse *use, TileWalk walk,
                      const char *name)
{
    int n = 0;
    for (size_t i = 0; i < use->line.n; i++) {
        const TileLine *line = use->line.at + i;
        if (line->walk != walk)
            continue;
        if (!n)
            text_print(text, "#define INLAY_TILE_%s(use)", name);
        text_put(text, n++ % USES_OF_LINE ? " " : " \\\n    ");
        text_print(text, "use(%d, %d)", line->channels, line->pixels);
    }
    if (n)
        text_put(text, "\n");
}

/* Names of bits, and what stands before each. */
typedef struct Bits {
    const char *macro, *prefix;
    const char *const *name; /* ended by NULL */
} Bits;

enum { BITS_OF_LINE = 3 };

/* #define INLAY_TILE_ENDS (INLAY_END_LOW | INLAY_END_ADD) */
static void put_bits(Text *text, const Bits *of, int32_t bits)
{
    const char *separator = "";
    int n = 0;
    text_print(text, "#define %s ", of->macro);
    text_put(text, bits ? "(" : "0\n");
    for (int i = 0; of->name[i]; i++) {
        if (!(bits >> i & 1))
            continue;
        text_print(text, "%s%s%s", separator, of->prefix, of->name[i]);
        separator = ++n % BITS_OF_LINE ? " | " : " | \\\n    ";
    }
    text_put(text, bits ? ")\n" : "");
}

static void put_ends(Text *text, int ends)
{
    static const char *const name[] = { "LOW", "HIGH", "ADD", "PART", NULL };
    const Bits of = { "INLAY_TILE_ENDS", "INLAY_END_", name };
    put_bits(text, &of, ends);
}

/* Which tiles the steps make, for kernels/tile_f32.h. */
static void put_tiles(Text *text, const TileUse *use)
{
    static const char *const name[TILE_WALKS] = { "ROWS", "STEPS", "LINES" };
    if (!use->line.n)
        return;
    text_put(text, "/* The products of the steps: use(channels, pixels). Only "
                   "their tiles have fast code. */\n");
    put_ends(text, use->ends);
    if (use->width == 4)
        text_put(text, "#define INLAY_TILE_WIDTH 4\n");
    if (use->width == 4 && use->narrow && !use->panels)
        text_put(text, "#define INLAY_TILE_PANELS 0\n");
    if (use->width == 4 && use->narrow)
        text_print(text, "#define INLAY_TILE_IM2COL %d\n", use->copied);
    for (TileWalk walk = TILE_ROWS; walk < TILE_WALKS; walk++)
        put_lines(text, use, walk, name[walk]);
    text_put(text, "\n");
}

static void put_packed(Text *text, int32_t uses)
{
    const Bits of = { "INLAY_QPACKED_USE", "INLAY_QUSE_", packed_names };
    if (!uses || uses == packed_all)
        return;
    text_put(text, "/* What the products of bytes have. There is code for it, "
                   "and for nothing else. */\n");
    put_bits(text, &of, uses);
    text_put(text, "\n");
}

Text runtime_includes(const RuntimeUse *use)
{
    Text text = text_new(use->arena);
    if (use->math)
        text_put(&text, "#include <math.h>\n\n");
    put_tiles(&text, &use->tiles);
    put_packed(&text, use->packed);
    if (use->operands > INLAY_FETCH_USUAL)
        text_print(&text,
                   "/* Operands of a step with a window. */\n"
                   "#define INLAY_FETCH_OPERANDS %d\n\n",
                   use->operands);
    if (use->palettes)
        text_print(&text,
                   "/* Values of the palettes of weights. */\n"
                   "#define INLAY_PALETTES %d\n\n",
                   use->palettes);
    if (use->dealt)
        text_put(&text, "/* Rings of a stream share a pool, in which rows have "
                        "slots. */\n#define INLAY_ROW_SLOTS\n\n");
    for (size_t i = 0; i < use->file.n; i++)
        text_print(&text, "#include \"%s\"\n",
                   output_name(use->arena, use->file.at[i]));
    return text;
}

static const EmbeddedFile *find_file(const char *name)
{
    const char *leaf = without_folder(name);
    for (const EmbeddedFile *file = runtime_files; file->name; file++)
        if (!strcmp(file->name, leaf))
            return file;
    return NULL;
}

/* What stands before the name of another file; the second, of one included for each type. */
static const char INCLUDE[] = "#include \"";
static const char FAMILY[] = "#define INLAY_FAMILY \"";

/* The next name of another file in the text, NULL: none. */
static const char *next_name(const char *text)
{
    const char *plain = strstr(text, INCLUDE);
    const char *family = strstr(text, FAMILY);
    if (family && (!plain || family < plain))
        return family + sizeof FAMILY - 1;
    return plain ? plain + sizeof INCLUDE - 1 : NULL;
}

/* The file with the names of the output in its #includes; `found` gets those of the runtime. */
static Text renamed(Arena *arena, const EmbeddedFile *file, Names *found)
{
    Text text = text_new(arena);
    const char *from = file->text;
    const char *at = next_name(from);
    for (; at; at = next_name(from)) {
        const char *name = arena_text(arena, at, strcspn(at, "\""));
        text_add(&text, from, (size_t)(at - from));
        text_put(&text, output_name(arena, name));
        VEC_PUSH(arena, found, name);
        from = at + strlen(name);
    }
    text_put(&text, from);
    return text;
}

void runtime_copy(const RuntimeUse *use, Output *output)
{
    Arena *arena = use->arena;
    Map seen = map_new(arena);
    Names todo = { 0 };
    for (size_t i = 0; i < use->file.n; i++)
        VEC_PUSH(arena, &todo, use->file.at[i]);
    if (use->slots) {
        VEC_PUSH(arena, &todo, "inlay_slots.c");
        VEC_PUSH(arena, &todo, "inlay_signed.c");
        VEC_PUSH(arena, &todo, "inlay_delta.c");
    }
    if (use->sums)
        VEC_PUSH(arena, &todo, "inlay_sums.h");
    while (todo.n) {
        const EmbeddedFile *file = find_file(todo.at[--todo.n]);
        if (!file || map_put(&seen, file->name, arena))
            continue;
        const Text text = renamed(arena, file, &todo);
        const char *name = output_name(arena, file->name);
        output_text(output, arena_printf(arena, "src/%s", name), text.at,
                    text.n);
    }
}
