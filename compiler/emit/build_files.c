/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/build_files.h"

#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "emit/former.h"
#include "emit/golden.h"
#include "emit/interface.h"
#include "emit/rust.h"
#include "emit/template.h"

enum BuildKind {
    SRC,
    CMAKE,
    MESON,
    ESP_IDF,
    ZEPHYR,
    PLATFORMIO,
    ARDUINO,
    RUST,
    EXAMPLE,
    ALL,
};

const char *const build_kinds[] = {
    [SRC] = "src",
    [CMAKE] = "cmake",
    [MESON] = "meson",
    [ESP_IDF] = "esp-idf",
    [ZEPHYR] = "zephyr",
    [PLATFORMIO] = "platformio",
    [ARDUINO] = "arduino",
    [RUST] = "rust",
    [EXAMPLE] = "example",
    [ALL] = "all",
    NULL,
};

#define BIT(kind) (1u << (kind))
#define EVERY (BIT(ALL) - 1u - BIT(SRC))
#define USUAL (BIT(CMAKE) | BIT(MESON) | BIT(EXAMPLE))

/* ---- their content ---- */

static const Section no_sections[] = { { NULL, { 0 } } };

static Text fill_plain(const Golden *golden, const Filling *filling,
                       const char *file)
{
    Filling own = *filling;
    own.section = no_sections;
    return template_fill(golden->emitter->arena, file, &own);
}

static Text fill_golden(const Golden *golden, const Filling *filling,
                        const char *file)
{
    const Section sections[] = {
        { "about", { 0 } },
        { "arenas", golden_arenas(golden) },
        { "buffers", golden_buffers(golden) },
        { "regions", golden_regions(golden) },
        { "inputs", golden_inputs(golden) },
        { "outputs", golden_outputs(golden) },
        { "compare", golden_compare(golden) },
        { NULL, { 0 } },
    };
    Filling own = *filling;
    own.section = sections;
    return template_fill(golden->emitter->arena, file, &own);
}

static Text fill_rust(const Golden *golden, const Filling *filling,
                      const char *file)
{
    const Emitter *emitter = golden->emitter;
    const Section sections[] = {
        { "sizes", rust_sizes(emitter) },
        { "arenas", rust_arenas(emitter) },
        { "align", rust_align(emitter) },
        { "inputs", rust_inputs(emitter) },
        { "outputs", rust_outputs(emitter) },
        { NULL, { 0 } },
    };
    Filling own = *filling;
    own.section = sections;
    return template_fill(emitter->arena, file, &own);
}

static Text figures(const Emitter *emitter)
{
    const Program *program = emitter->program;
    int64_t macs = 0;
    Text text = text_new(emitter->arena);
    for (size_t i = 0; i < program->step.n; i++)
        macs += program->step.at[i]->macs;
    text_print(&text,
               "%" PRId64 " bytes of arena (RAM), %" PRIu64
               " bytes of weights (constant), %" PRId64
               " multiplications and additions a run.\n",
               program->plan.arena_size, program->weight_bytes, macs);
    return text;
}

static Text fill_readme(const Golden *golden, const Filling *filling,
                        const char *file)
{
    const Section sections[] = {
        { "figures", figures(golden->emitter) },
        { NULL, { 0 } },
    };
    Filling own = *filling;
    own.section = sections;
    return template_fill(golden->emitter->arena, file, &own);
}

/* ---- the files ---- */

typedef Text FillFunction(const Golden *golden, const Filling *filling,
                          const char *file);

/* A file of the folder: its template, its place, where `*` stands for the model's name, and the
 * kinds that need it. */
typedef struct BuildFile {
    const char *template;
    const char *place;
    unsigned kinds;
    bool tests; /* it is of no use without the test */
    FillFunction *fill;
} BuildFile;

static const BuildFile build_files[] = {
    { "CMakeLists.txt", "CMakeLists.txt",
      BIT(CMAKE) | BIT(ESP_IDF) | BIT(ZEPHYR), false, fill_plain },
    { "meson.build", "meson.build", BIT(MESON), false, fill_plain },
    { "idf_component.yml", "idf_component.yml", BIT(ESP_IDF), false,
      fill_plain },
    { "module.yml", "zephyr/module.yml", BIT(ZEPHYR), false, fill_plain },
    { "Kconfig", "zephyr/Kconfig", BIT(ZEPHYR), false, fill_plain },
    { "library.json", "library.json", BIT(PLATFORMIO), false, fill_plain },
    { "library.properties", "library.properties", BIT(ARDUINO), false,
      fill_plain },
    { "model.ino", "examples/*/*.ino", BIT(ARDUINO), true, fill_plain },
    { "Cargo.toml", "Cargo.toml", BIT(RUST), false, fill_plain },
    { "build.rs", "build.rs", BIT(RUST), false, fill_plain },
    { "lib.rs", "rust/lib.rs", BIT(RUST), false, fill_rust },
    { "main.c", "examples/main.c", BIT(EXAMPLE), true, fill_plain },
    { "model_golden.h", "src/*_golden.h", BIT(EXAMPLE) | BIT(ARDUINO), true,
      fill_golden },
    { "README.md", "README.md", EVERY, false, fill_readme },
};

enum { FILES = sizeof build_files / sizeof *build_files };

static const char *place_of(Arena *arena, const BuildFile *file,
                            const char *name)
{
    Text text = text_new(arena);
    for (const char *at = file->place; *at; at++)
        if (*at == '*')
            text_put(&text, name);
        else
            text_add(&text, at, 1);
    return text.at;
}

bool build_files_name(Arena *arena, const char *file, const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (!strcmp(file, place_of(arena, build_files + i, name)))
            return true;
    return false;
}

/* ---- names ---- */

/* What build systems keep for targets of their own, and Rust for its crates. */
static const char *const reserved[] = {
    "all",        "alloc",         "benchmark",   "clean",     "core",
    "depend",     "dist",          "help",        "install",   "package",
    "proc_macro", "rebuild_cache", "reconfigure", "self",      "std",
    "strip",      "super",         "test",        "uninstall", "m",
};

static const char *target_name(const Emitter *emitter)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(emitter->name, reserved[i]))
            return arena_printf(emitter->arena, "model_%s", emitter->name);
    return emitter->name;
}

/* ---- the folder ---- */

static void emit_file(const Golden *golden, Output *output,
                      const BuildFile *file, const Filling *filling)
{
    const Emitter *emitter = golden->emitter;
    Arena *arena = emitter->arena;
    const char *place = place_of(arena, file, emitter->name);
    if (files_foreign(output, arena, emitter->name, place)) {
        warn_at(LOC_NONE,
                "%s was not written by Inlay, or changed since: it stays as "
                "it is",
                place);
        return;
    }
    const Text text = file->fill(golden, filling, file->template);
    output_text(output, place, text.at, text.n);
}

static unsigned kinds_asked(unsigned kinds)
{
    if (!kinds)
        return USUAL;
    return kinds & BIT(ALL) ? EVERY : kinds;
}

/* Of the templates, for each kind. */
static const char *const kind_conditions[] = {
    [CMAKE] = "MODEL_FOR_CMAKE",
    [MESON] = "MODEL_FOR_MESON",
    [ESP_IDF] = "MODEL_FOR_ESP_IDF",
    [ZEPHYR] = "MODEL_FOR_ZEPHYR",
    [PLATFORMIO] = "MODEL_FOR_PLATFORMIO",
    [ARDUINO] = "MODEL_FOR_ARDUINO",
    [RUST] = "MODEL_FOR_RUST",
};

enum { KINDS = sizeof kind_conditions / sizeof *kind_conditions };

/* Those, and one for each kind; ended by one without a name. */
static const Condition *with_kinds(Arena *arena, const Condition *all,
                                   size_t count, unsigned kinds)
{
    Condition *list = NEW_ARRAY(arena, Condition, count + KINDS + 1);
    memcpy(list, all, count * sizeof *all);
    for (int i = CMAKE; i < KINDS; i++)
        list[count + (size_t)i - CMAKE] =
            (Condition){ kind_conditions[i], kinds >> i & 1 };
    return list;
}

static const Condition *conditions_of(const Golden *golden, unsigned kinds)
{
    const Emitter *emitter = golden->emitter;
    const WeightsForm form = emitter->form;
    const bool linked = has_weights(emitter) && !weights_apart(emitter);
    const Condition all[] = {
        { "MODEL_HAS_WEIGHTS", has_weights(emitter) },
        { "MODEL_WEIGHTS_APART", weights_apart(emitter) },
        { "MODEL_WEIGHTS_BLOB", weights_blob(emitter) },
        { "MODEL_HAS_SLOTS", has_slots(emitter) },
        { "MODEL_WEIGHTS_SOURCE", linked && form != WEIGHTS_OBJ },
        { "MODEL_WEIGHTS_INCLUDED", linked && form == WEIGHTS_INCBIN },
        { "MODEL_WEIGHTS_OBJECT", weights_object(emitter) },
        { "MODEL_HAS_REGIONS", has_regions(emitter) },
        { "MODEL_BY_ROWS", program_pushed(emitter->program) != NULL },
        { "MODEL_HAS_STATES", has_states(emitter) },
        { "MODEL_HAS_EXAMPLE", golden->result && kinds & BIT(EXAMPLE) },
    };
    return with_kinds(emitter->arena, all, sizeof all / sizeof *all, kinds);
}

static const Word *words_of(const Emitter *emitter)
{
    const char *option =
        arena_printf(emitter->arena, "INLAY_%s", emitter->upper);
    const Word all[] = {
        { "model_name", emitter->name },
        { "model_target", target_name(emitter) },
        { "model_version", INLAY_VERSION },
        { "INLAY_MODEL", option },
        { "CONFIG_INLAY_MODEL",
          arena_printf(emitter->arena, "CONFIG_%s", option) },
        { NULL, NULL },
    };
    Word *list = NEW_ARRAY(emitter->arena, Word, sizeof all / sizeof *all);
    memcpy(list, all, sizeof all);
    return list;
}

void build_files_emit(Program *program, Output *output,
                      const SourceFacts *facts, unsigned asked)
{
    const unsigned kinds = kinds_asked(asked);
    const char *name = facts->name;
    Emitter emitter = emitter_new(program, name, facts->form);
    emitter.slots = facts->slots;
    Golden golden = { .emitter = &emitter };
    if (kinds & (BIT(EXAMPLE) | BIT(ARDUINO)))
        golden = golden_run(&emitter, program);
    const Filling filling = {
        .model = name,
        .word = words_of(&emitter),
        .condition = conditions_of(&golden, kinds),
    };
    for (int i = 0; i < FILES; i++)
        if ((build_files[i].kinds & kinds) &&
            (golden.result || !build_files[i].tests))
            emit_file(&golden, output, build_files + i, &filling);
}
