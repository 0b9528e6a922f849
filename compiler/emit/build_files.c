/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/build_files.h"

#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "emit/former.h"
#include "emit/golden.h"
#include "emit/group.h"
#include "emit/interface.h"
#include "emit/rust.h"
#include "emit/selftest.h"
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
    SELFTEST,
    ALL,
};

const char *const build_kinds[] = {
    [SRC] = "src",           [CMAKE] = "cmake",   [MESON] = "meson",
    [ESP_IDF] = "esp-idf",   [ZEPHYR] = "zephyr", [PLATFORMIO] = "platformio",
    [ARDUINO] = "arduino",   [RUST] = "rust",     [EXAMPLE] = "example",
    [SELFTEST] = "selftest", [ALL] = "all",       NULL,
};

#define BIT(kind) (1u << (kind))
/* Not the self-test, which is asked for by name. */
#define EVERY (BIT(SELFTEST) - 1u - BIT(SRC))
#define USUAL (BIT(CMAKE) | BIT(MESON) | BIT(EXAMPLE))
/* Their interface is that of one model. */
#define OF_ONE (BIT(ARDUINO) | BIT(RUST) | BIT(SELFTEST))

/* ---- their content ---- */

/* What the files are of: a model with its test, or several models. */
typedef struct Content {
    Arena *arena;
    const Golden *golden; /* NULL: of several */
    const Group *group;   /* NULL: of one */
} Content;

static const Section no_sections[] = { { NULL, { 0 } } };

static Text fill_sections(const Content *content, const Filling *filling,
                          const char *file, const Section *sections)
{
    Filling own = *filling;
    own.section = sections;
    return template_fill(content->arena, file, &own);
}

static Text fill_plain(const Content *content, const Filling *filling,
                       const char *file)
{
    return fill_sections(content, filling, file, no_sections);
}

static Text fill_golden(const Content *content, const Filling *filling,
                        const char *file)
{
    const Golden *golden = content->golden;
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
    return fill_sections(content, filling, file, sections);
}

static Text fill_selftest(const Content *content, const Filling *filling,
                          const char *file)
{
    const Golden *golden = content->golden;
    const Section sections[] = {
        { "about", { 0 } },
        { "sums", selftest_sums(golden) },
        { "summed", selftest_summed(golden) },
        { "steps", selftest_steps(golden) },
        { "buffers", golden_buffers(golden) },
        { "inputs", golden_inputs(golden) },
        { "outputs", golden_outputs(golden) },
        { "compare", golden_compare(golden) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

static Text fill_rust(const Content *content, const Filling *filling,
                      const char *file)
{
    const Emitter *emitter = content->golden->emitter;
    const Section sections[] = {
        { "sizes", rust_sizes(emitter) },
        { "arenas", rust_arenas(emitter) },
        { "align", rust_align(emitter) },
        { "inputs", rust_inputs(emitter) },
        { "outputs", rust_outputs(emitter) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

static Text figures(Arena *arena, int64_t size, uint64_t weights, int64_t macs)
{
    Text text = text_new(arena);
    text_print(&text,
               "%" PRId64 " bytes of arena (RAM), %" PRIu64
               " bytes of weights (constant), %" PRId64
               " multiplications and additions a run.\n",
               size, weights, macs);
    return text;
}

static Text figures_of(const Content *content)
{
    if (content->group)
        return figures(content->arena, content->group->arena_size,
                       group_weights(content->group),
                       group_macs(content->group));
    const Program *program = content->golden->emitter->program;
    return figures(content->arena, program->plan.arena_size,
                   program->weight_bytes, program_macs(program));
}

static Text fill_readme(const Content *content, const Filling *filling,
                        const char *file)
{
    const Section sections[] = {
        { "figures", figures_of(content) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

/* A line for each of several models: before its name, behind it. Nothing of one alone. */
static Text each_line(const Content *content, bool fits(const GroupModel *),
                      const char *before, const char *behind)
{
    Text text = text_new(content->arena);
    for (size_t i = 0; content->group && i < content->group->model.n; i++)
        if (fits(content->group->model.at + i))
            text_print(&text, "%s%s%s\n", before,
                       content->group->model.at[i].name, behind);
    return text;
}

static bool is_any(const GroupModel *model)
{
    return model->name != NULL;
}

static bool has_test(const GroupModel *model)
{
    return model->has_test;
}

static bool is_linked(const GroupModel *model)
{
    return model->weight_bytes && model->form != WEIGHTS_BIN &&
           !weights_form_blob(model->form);
}

static bool has_text(const GroupModel *model)
{
    return is_linked(model) && model->form != WEIGHTS_OBJ;
}

static bool is_included(const GroupModel *model)
{
    return model->weight_bytes && model->form == WEIGHTS_INCBIN;
}

static bool is_object(const GroupModel *model)
{
    return is_linked(model) && model->form == WEIGHTS_OBJ;
}

static Text cmake_included(const Content *content)
{
    Text text = text_new(content->arena);
    for (size_t i = 0; content->group && i < content->group->model.n; i++) {
        const GroupModel *model = content->group->model.at + i;
        if (is_included(model))
            text_print(&text,
                       "set_source_files_properties(${%s_folder}/src/"
                       "%s_weights.c PROPERTIES\n    OBJECT_DEPENDS "
                       "${%s_folder}/src/%s_weights.bin)\n",
                       content->group->name, model->name, content->group->name,
                       model->name);
    }
    return text;
}

static Text fill_cmake(const Content *content, const Filling *filling,
                       const char *file)
{
    const char *folder =
        arena_printf(content->arena, "    ${%s_folder}/src/", filling->model);
    const Section sections[] = {
        { "sources", each_line(content, has_text, folder, "_weights.c") },
        { "objects", each_line(content, is_object, folder, "_weights.o") },
        { "included", cmake_included(content) },
        { "headers", each_line(content, is_any, "install(FILES src/",
                               ".h DESTINATION include)") },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

static Text fill_meson(const Content *content, const Filling *filling,
                       const char *file)
{
    const Section sections[] = {
        { "sources", each_line(content, has_text, "  'src/", "_weights.c',") },
        { "objects",
          each_line(content, is_object, "    'src/", "_weights.o',") },
        { "headers",
          each_line(content, is_any, "  install_headers('src/", ".h')") },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

static Text fill_example(const Content *content, const Filling *filling,
                         const char *file)
{
    if (!content->group)
        return fill_plain(content, filling, file);
    const Section sections[] = {
        { "headers",
          each_line(content, has_test, "#include \"", "_golden.h\"") },
        { "tests", each_line(content, has_test, "    TEST(", ");") },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

/* ---- the files ---- */

typedef Text FillFunction(const Content *content, const Filling *filling,
                          const char *file);

/* A file of the folder: its template, its place, where `*` stands for the model's name, and the
 * kinds that need it. */
typedef struct BuildFile {
    const char *template;
    const char *place;
    unsigned kinds;
    bool tests; /* it is of no use without the test */
    FillFunction *fill;
    /* of several models: each has its own; the template for all, NULL: the same */
    bool each;
    const char *of_many;
} BuildFile;

static const BuildFile build_files[] = {
    { "CMakeLists.txt", "CMakeLists.txt",
      BIT(CMAKE) | BIT(ESP_IDF) | BIT(ZEPHYR), false, fill_cmake, false, NULL },
    { "meson.build", "meson.build", BIT(MESON), false, fill_meson, false,
      NULL },
    { "idf_component.yml", "idf_component.yml", BIT(ESP_IDF), false, fill_plain,
      false, NULL },
    { "module.yml", "zephyr/module.yml", BIT(ZEPHYR), false, fill_plain, false,
      NULL },
    { "Kconfig", "zephyr/Kconfig", BIT(ZEPHYR), false, fill_plain, false,
      NULL },
    { "library.json", "library.json", BIT(PLATFORMIO), false, fill_plain, false,
      NULL },
    { "library.properties", "library.properties", BIT(ARDUINO), false,
      fill_plain, false, NULL },
    { "model.ino", "examples/*/*.ino", BIT(ARDUINO), true, fill_plain, false,
      NULL },
    { "Cargo.toml", "Cargo.toml", BIT(RUST), false, fill_plain, false, NULL },
    { "build.rs", "build.rs", BIT(RUST), false, fill_plain, false, NULL },
    { "lib.rs", "rust/lib.rs", BIT(RUST), false, fill_rust, false, NULL },
    { "main.c", "examples/main.c", BIT(EXAMPLE), true, fill_example, false,
      "group_main.c" },
    { "model_golden.h", "src/*_golden.h",
      BIT(EXAMPLE) | BIT(ARDUINO) | BIT(SELFTEST), true, fill_golden, true,
      NULL },
    { "model_selftest.h", "src/*_selftest.h", BIT(SELFTEST), true,
      fill_selftest, false, NULL },
    { "README.md", "README.md", EVERY, false, fill_readme, false,
      "group_README.md" },
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

static const char *target_name(Arena *arena, const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(name, reserved[i]))
            return arena_printf(arena, "model_%s", name);
    return name;
}

/* ---- the folder ---- */

/* Is it neither of an earlier compile of that name nor of one of the models alone? */
static bool is_foreign(const Content *content, Output *output, const char *name,
                       const char *place)
{
    const Group *group = content->group;
    bool foreign = files_foreign(output, content->arena, name, place);
    for (size_t i = 0; foreign && group && i < group->model.n; i++)
        foreign = files_foreign(output, content->arena, group->model.at[i].name,
                                place);
    return foreign;
}

static void emit_file(const Content *content, Output *output,
                      const BuildFile *file, const Filling *filling)
{
    Arena *arena = content->arena;
    const char *place = place_of(arena, file, filling->model);
    const bool of_many = content->group && file->of_many;
    if (is_foreign(content, output, filling->model, place)) {
        warn_at(LOC_NONE,
                "%s was not written by Inlay, or changed since: it stays as "
                "it is",
                place);
        return;
    }
    const Text text =
        file->fill(content, filling, of_many ? file->of_many : file->template);
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
        { "MODEL_WEIGHTS_STREAM", weights_streamed(emitter) },
        { "MODEL_HAS_SLOTS", has_slots(emitter) },
        { "MODEL_WEIGHTS_SOURCE", linked && form != WEIGHTS_OBJ },
        { "MODEL_WEIGHTS_INCLUDED", linked && form == WEIGHTS_INCBIN },
        { "MODEL_WEIGHTS_OBJECT", weights_object(emitter) },
        { "MODEL_HAS_REGIONS", has_regions(emitter) },
        { "MODEL_BY_ROWS", program_pushed(emitter->program) != NULL },
        { "MODEL_HAS_STATES", has_states(emitter) },
        { "MODEL_PRINTS_SUMS", golden->sum && !has_regions(emitter) },
        { "MODEL_HAS_WEIGHTS", has_weights(emitter) },
        { "MODEL_HAS_EXAMPLE", golden->result && kinds & BIT(EXAMPLE) },
        { "MODEL_GROUPED", false },
    };
    return with_kinds(emitter->arena, all, sizeof all / sizeof *all, kinds);
}

/* `memory`: what a parameter `arena` points to. */
static const Word *words_of(Arena *arena, const char *name, const char *memory)
{
    const char *option =
        arena_printf(arena, "INLAY_%s", text_upper(arena, name));
    const Word all[] = {
        { "model_name", name },
        { "model_memory", memory },
        { "model_target", target_name(arena, name) },
        { "model_version", INLAY_VERSION },
        { "INLAY_MODEL", option },
        { "CONFIG_INLAY_MODEL", arena_printf(arena, "CONFIG_%s", option) },
        { NULL, NULL },
    };
    Word *list = NEW_ARRAY(arena, Word, sizeof all / sizeof *all);
    memcpy(list, all, sizeof all);
    return list;
}

/* The run that tests are made of, if any of these kinds has one. */
static Golden golden_for(const Emitter *emitter, Program *program,
                         unsigned kinds)
{
    if (kinds & BIT(SELFTEST))
        return golden_run_summed(emitter, program);
    if (kinds & (BIT(EXAMPLE) | BIT(ARDUINO)))
        return golden_run(emitter, program);
    return (Golden){ .emitter = emitter };
}

void build_files_emit(Program *program, Output *output,
                      const SourceFacts *facts, unsigned asked)
{
    const unsigned kinds = kinds_asked(asked);
    const char *name = facts->name;
    Emitter emitter = emitter_new(program, name, facts->form);
    emitter.slots = facts->slots;
    const Golden golden = golden_for(&emitter, program, kinds);
    program->sum = golden.sum;
    const Filling filling = {
        .model = name,
        .word = words_of(emitter.arena, name, interface_memory(&emitter)),
        .condition = conditions_of(&golden, kinds),
    };
    const Content content = { .arena = emitter.arena, .golden = &golden };
    for (int i = 0; i < FILES; i++)
        if ((build_files[i].kinds & kinds) &&
            (golden.result || !build_files[i].tests) &&
            (build_files[i].each || !facts->group))
            emit_file(&content, output, build_files + i, &filling);
    if (facts->group)
        group_last(facts->group)->has_test = golden.result;
}

/* ---- of several models ---- */

bool build_files_selftest(unsigned kinds)
{
    return kinds & BIT(SELFTEST);
}

bool build_files_for_many(int kind)
{
    return !(OF_ONE >> kind & 1);
}

static bool any_test(const Group *group)
{
    for (size_t i = 0; i < group->model.n; i++)
        if (group->model.at[i].has_test)
            return true;
    return false;
}

static const Condition *conditions_of_many(const Group *group, unsigned kinds)
{
    const bool tests = any_test(group) && kinds & BIT(EXAMPLE);
    const Condition all[] = {
        { "MODEL_WEIGHTS_SOURCE", false }, { "MODEL_WEIGHTS_INCLUDED", false },
        { "MODEL_WEIGHTS_OBJECT", false }, { "MODEL_HAS_SLOTS", false },
        { "MODEL_HAS_EXAMPLE", tests },    { "MODEL_GROUPED", true },
        { "MODEL_PRINTS_SUMS", false },
    };
    return with_kinds(group->arena, all, sizeof all / sizeof *all, kinds);
}

void build_files_group(const Group *group, Output *output, unsigned asked)
{
    const unsigned kinds = kinds_asked(asked) & ~OF_ONE;
    const Filling filling = {
        .model = group->name,
        .word = words_of(group->arena, group->name, "void"),
        .condition = conditions_of_many(group, kinds),
    };
    const Content content = { .arena = group->arena, .group = group };
    for (int i = 0; i < FILES; i++)
        if ((build_files[i].kinds & kinds) && !build_files[i].each &&
            (any_test(group) || !build_files[i].tests))
            emit_file(&content, output, build_files + i, &filling);
}
