/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/build_fill.h"

#include <inttypes.h>
#include <string.h>

#include "emit/device.h"
#include "emit/rust.h"
#include "emit/selftest.h"

static const Section no_sections[] = { { NULL, { 0 } } };

static Text fill_sections(const Content *content, const Filling *filling,
                          const char *file, const Section *sections)
{
    Filling own = *filling;
    own.section = sections;
    return template_fill(content->arena, file, &own);
}

Text fill_plain(const Content *content, const Filling *filling,
                const char *file)
{
    return fill_sections(content, filling, file, no_sections);
}

Text fill_golden(const Content *content, const Filling *filling,
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

Text fill_selftest(const Content *content, const Filling *filling,
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

Text fill_rust(const Content *content, const Filling *filling, const char *file)
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

Text fill_readme(const Content *content, const Filling *filling,
                 const char *file)
{
    const Section sections[] = {
        { "figures", figures_of(content) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

static bool has_ending(const char *name, const char *ending)
{
    const size_t length = strlen(name);
    const size_t last = strlen(ending);
    return length > last && !strcmp(name + length - last, ending);
}

/* Sources and headers: a description of a pack names each. */
static Text pack_files(const Content *content)
{
    Text text = text_new(content->arena);
    Written written;
    for (size_t i = 0; output_written(content->output, i, &written); i++) {
        const bool source = has_ending(written.name, ".c");
        if (strncmp(written.name, "src/", 4) ||
            (!source && !has_ending(written.name, ".h")))
            continue;
        text_print(&text, "        <file category=\"%s\" name=\"%s\"/>\n",
                   source ? "source" : "header", written.name);
    }
    return text;
}

Text fill_pack(const Content *content, const Filling *filling, const char *file)
{
    const Section sections[] = {
        { "files", pack_files(content) },
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

Text fill_cmake(const Content *content, const Filling *filling,
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

Text fill_meson(const Content *content, const Filling *filling,
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

Text fill_example(const Content *content, const Filling *filling,
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

Text fill_device(const Content *content, const Filling *filling,
                 const char *file)
{
    const Golden *golden = content->golden;
    const Emitter *emitter = golden->emitter;
    const Section sections[] = {
        { "about", { 0 } },
        { "buffers", device_buffers(emitter) },
        { "arenas", golden_arenas(golden) },
        { "regions", golden_regions(golden) },
        { "values", device_values(emitter) },
        { "length", device_length(emitter) },
        { "inputs", device_inputs(emitter) },
        { "compare", device_compare(emitter) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

Text fill_linux(const Content *content, const Filling *filling,
                const char *file)
{
    const Section sections[] = {
        { "ones", device_ones(content->golden->emitter) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}

Text fill_partitions(const Content *content, const Filling *filling,
                     const char *file)
{
    const Section sections[] = {
        { "partition", device_partition(content->golden->emitter) },
        { NULL, { 0 } },
    };
    return fill_sections(content, filling, file, sections);
}
