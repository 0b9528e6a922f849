/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/build_files.h"

#include <string.h>

#include "base/diag.h"
#include "emit/build_fill.h"
#include "emit/device.h"
#include "emit/former.h"
#include "emit/golden.h"
#include "emit/group.h"
#include "emit/interface.h"
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
    CMSIS_PACK,
    EXAMPLE,
    SELFTEST,
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
    [CMSIS_PACK] = "cmsis-pack",
    [EXAMPLE] = "example",
    [SELFTEST] = "selftest",
    [ALL] = "all",
    NULL,
};

#define BIT(kind) (1u << (kind))
/* Not the self-test, which is asked for by name. */
#define EVERY (BIT(SELFTEST) - 1u - BIT(SRC))
#define USUAL (BIT(CMAKE) | BIT(MESON) | BIT(EXAMPLE))
/* Their interface is that of one model. */
#define OF_ONE (BIT(ARDUINO) | BIT(RUST) | BIT(SELFTEST))

/* ---- the files ---- */

/* It is of no use without the test; without slots in flash. */
typedef enum Need { ALWAYS, WITH_TEST, WITH_SLOTS } Need;

/* A file of the folder: its template, its place, where `*` stands for the model's name, and the
 * kinds that need it. */
typedef struct BuildFile {
    const char *template;
    const char *place;
    unsigned kinds;
    Need when;
    FillFunction *fill;
    /* of several models: each has its own; the template for all, NULL: the same */
    bool each;
    const char *of_many;
} BuildFile;

static const BuildFile build_files[] = {
    { "CMakeLists.txt", "CMakeLists.txt",
      BIT(CMAKE) | BIT(ESP_IDF) | BIT(ZEPHYR), ALWAYS, fill_cmake, false,
      NULL },
    { "meson.build", "meson.build", BIT(MESON), ALWAYS, fill_meson, false,
      NULL },
    { "idf_component.yml", "idf_component.yml", BIT(ESP_IDF), ALWAYS,
      fill_plain, false, NULL },
    { "module.yml", "zephyr/module.yml", BIT(ZEPHYR), ALWAYS, fill_plain, false,
      NULL },
    { "Kconfig", "zephyr/Kconfig", BIT(ZEPHYR), ALWAYS, fill_plain, false,
      NULL },
    { "library.json", "library.json", BIT(PLATFORMIO), ALWAYS, fill_plain,
      false, NULL },
    { "library.properties", "library.properties", BIT(ARDUINO), ALWAYS,
      fill_plain, false, NULL },
    { "model.ino", "examples/*/*.ino", BIT(ARDUINO), WITH_TEST, fill_plain,
      false, NULL },
    { "Cargo.toml", "Cargo.toml", BIT(RUST), ALWAYS, fill_plain, false, NULL },
    { "build.rs", "build.rs", BIT(RUST), ALWAYS, fill_plain, false, NULL },
    { "lib.rs", "rust/lib.rs", BIT(RUST), ALWAYS, fill_rust, false, NULL },
    { "main.c", "examples/main.c", BIT(EXAMPLE), WITH_TEST, fill_example, false,
      "group_main.c" },
    { "model_golden.h", "src/*_golden.h",
      BIT(EXAMPLE) | BIT(ARDUINO) | BIT(SELFTEST), WITH_TEST, fill_golden, true,
      NULL },
    { "model_selftest.h", "src/*_selftest.h", BIT(SELFTEST), WITH_TEST,
      fill_selftest, false, NULL },
    { "model_device.h", "examples/device/*_device.h",
      BIT(EXAMPLE) | BIT(ESP_IDF) | BIT(ZEPHYR), WITH_SLOTS, fill_device, false,
      NULL },
    { "flash_file.h", "examples/device/flash_file.h", BIT(EXAMPLE), WITH_SLOTS,
      fill_plain, false, NULL },
    { "linux.c", "examples/device/linux.c", BIT(EXAMPLE), WITH_SLOTS,
      fill_linux, false, NULL },
    { "flash_area.h", "examples/device/flash_area.h", BIT(ZEPHYR), WITH_SLOTS,
      fill_plain, false, NULL },
    { "zephyr.c", "examples/device/zephyr/src/main.c", BIT(ZEPHYR), WITH_SLOTS,
      fill_plain, false, NULL },
    { "zephyr_CMakeLists.txt", "examples/device/zephyr/CMakeLists.txt",
      BIT(ZEPHYR), WITH_SLOTS, fill_plain, false, NULL },
    { "zephyr_prj.conf", "examples/device/zephyr/prj.conf", BIT(ZEPHYR),
      WITH_SLOTS, fill_plain, false, NULL },
    { "flash_partition.h", "examples/device/flash_partition.h", BIT(ESP_IDF),
      WITH_SLOTS, fill_plain, false, NULL },
    { "esp_idf.c", "examples/device/esp-idf/main/main.c", BIT(ESP_IDF),
      WITH_SLOTS, fill_plain, false, NULL },
    { "esp_idf_CMakeLists.txt", "examples/device/esp-idf/CMakeLists.txt",
      BIT(ESP_IDF), WITH_SLOTS, fill_plain, false, NULL },
    { "esp_idf_main_CMakeLists.txt",
      "examples/device/esp-idf/main/CMakeLists.txt", BIT(ESP_IDF), WITH_SLOTS,
      fill_plain, false, NULL },
    { "partitions.csv", "examples/device/esp-idf/partitions.csv", BIT(ESP_IDF),
      WITH_SLOTS, fill_partitions, false, NULL },
    { "sdkconfig.defaults", "examples/device/esp-idf/sdkconfig.defaults",
      BIT(ESP_IDF), WITH_SLOTS, fill_plain, false, NULL },
    { "model.pdsc", "Inlay.*.pdsc", BIT(CMSIS_PACK), ALWAYS, fill_pack, false,
      NULL },
    { "README.md", "README.md", EVERY, ALWAYS, fill_readme, false,
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

static void emit_file(const Content *content, const BuildFile *file,
                      const Filling *filling)
{
    Arena *arena = content->arena;
    Output *output = content->output;
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
    [CMSIS_PACK] = "MODEL_FOR_CMSIS_PACK",
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
        { "MODEL_BY_ROWS", emitter->pushed != NULL },
        { "MODEL_HAS_STATES", has_states(emitter) },
        { "MODEL_PRINTS_SUMS", golden->sum && !has_regions(emitter) },
        { "MODEL_HAS_WEIGHTS", has_weights(emitter) },
        { "MODEL_HAS_EXAMPLE", golden->result && kinds & BIT(EXAMPLE) },
        { "MODEL_HAS_DEVICE", device_fits(emitter) },
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

/* Is a file for such a case of any use? */
static bool is_wanted(const Golden *golden, Need when)
{
    if (when == WITH_SLOTS)
        return device_fits(golden->emitter);
    return when == ALWAYS || golden->result;
}

/* What the file is made of goes when it is written. */
static void emit_brief(const Content *content, const BuildFile *file,
                       const Filling *filling)
{
    const ArenaMark mark = arena_mark(content->arena);
    if (is_wanted(content->golden, file->when))
        emit_file(content, file, filling);
    arena_release(content->arena, mark);
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
    emitter.arena = &program->graph->store->scratch;
    const Content content = {
        .arena = emitter.arena,
        .output = output,
        .golden = &golden,
    };
    for (int i = 0; i < FILES; i++)
        if ((build_files[i].kinds & kinds) &&
            (build_files[i].each || !facts->group))
            emit_brief(&content, build_files + i, &filling);
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
        { "MODEL_PRINTS_SUMS", false },    { "MODEL_HAS_DEVICE", false },
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
    const Content content = {
        .arena = group->arena,
        .output = output,
        .group = group,
    };
    for (int i = 0; i < FILES; i++)
        if ((build_files[i].kinds & kinds) && !build_files[i].each &&
            (build_files[i].when == ALWAYS ||
             (build_files[i].when == WITH_TEST && any_test(group))))
            emit_file(&content, build_files + i, &filling);
}
