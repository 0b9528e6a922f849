/* SPDX-License-Identifier: Apache-2.0
 * weights pack: a blob of another model's weights for code that is in the field. The model is
 * compiled as the code was, by the options in its manifest; where the layout is the same, the blob
 * fits. Else the first thing that differs is named. */
#include <inttypes.h>
#include <string.h>

#include "cli/weights_cmd.h"
#include "emit/blob.h"
#include "emit/blob_notes.h"
#include "emit/manifest.h"
#include "emit/seal.h"
#include "emit/tables.h"
#include "emit/text.h"
#include "emit/weights.h"

/* ---- the options of the code ---- */

/* A manifest is only a file: what is no option that shapes the code ends here. */
static void check_word(const FieldCode *code, const char *word)
{
    int count;
    const OptionRow *row = option_rows(&count);
    const size_t length = strcspn(word, "=");
    bool shapes = false;
    for (int i = 0; i < count && length > 2; i++)
        shapes |= strlen(row[i].name) == length - 2 && option_shapes(row + i) &&
                  !strncmp(row[i].name, word + 2, length - 2);
    if (!shapes || strncmp(word, "--", 2) != 0)
        fail_at(STATUS_MALFORMED, code->loc, NULL,
                "\"%s\" is no option of the code", word);
}

/* The words of a command line that compiles the model as the code was. */
static char *const *words_of(Compile *compile, const FieldCode *code,
                             const char *model, int *count)
{
    Arena *arena = &compile->arena;
    const json_t *list = json_object_get(code->weights, "options");
    const size_t n = json_array_size(list);
    char **word = NEW_ARRAY(arena, char *, n + 6);
    int k = 0;
    word[k++] = arena_printf(arena, "inlay");
    word[k++] = arena_printf(arena, "compile");
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        check_word(code, text ? text : "");
        word[k++] = arena_printf(arena, "%s", text);
    }
    word[k++] =
        arena_printf(arena, "--weights=%s", text_at(code->weights, "form"));
    word[k++] = arena_printf(arena, "--");
    word[k++] = arena_printf(arena, "%s", model);
    *count = k;
    return word;
}

static void take_options(Compile *compile, const FieldCode *code,
                         const char *model)
{
    const Options *given = compile->options;
    Options *options = NEW(&compile->arena, Options);
    int count;
    char *const *word = words_of(compile, code, model, &count);
    options_parse(&compile->arena, options, count, word);
    options->constant = given->constant;
    options->max_memory = given->max_memory;
    options->load = given->load;
    options->external_dir = given->external_dir;
    options->no_external = given->no_external;
    options->quiet = given->quiet;
    compile->options = options;
}

/* ---- what prevents it ---- */

static _Noreturn void refuse(const FieldCode *code, const char *help,
                             const char *why)
{
    fail_at(STATUS_CONFIG, code->loc, help,
            "the new weights do not fit this code: %s", why);
}

static void compare_makers(const Compile *compile, const FieldCode *code)
{
    Arena *arena = compile->program->graph->arena;
    const char *version = text_at(code->manifest, "inlay");
    const json_t *options = json_object_get(code->manifest, "options");
    const char *family = text_at(options, "family");
    const char *own = compile->program->family->name;
    if (strcmp(version, INLAY_VERSION) != 0)
        refuse(code, "pack with the Inlay that made the code",
               arena_printf(arena, "it was made by Inlay %s, this is %s",
                            version, INLAY_VERSION));
    if (strcmp(family, own) != 0)
        refuse(code, "pack on such a host, or compile with --target",
               arena_printf(arena, "its weights are packed for %s, here for %s",
                            family, own));
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key);
    const json_t *y = json_object_get(b, key);
    return x == y || json_equal(x, y);
}

/* ", .lo = 1, .hi = 6" of two texts of parameters: the fields that differ. */
static const char *field_that_differs(Arena *arena, const char *of)
{
    return arena_text(arena, of, strcspn(of, ",\n"));
}

/* Where two texts begin to differ, back to the field's name. */
static const char *differing_params(Arena *arena, const char *old,
                                    const char *new)
{
    size_t at = 0;
    while (old[at] && old[at] == new[at])
        at++;
    while (at && old[at] != '.')
        at--;
    while (at && old[at - 1] != ' ')
        at--;
    return arena_printf(arena, "%s in the code, %s in the new model",
                        field_that_differs(arena, old + at),
                        field_that_differs(arena, new + at));
}

static void compare_step(const Compile *compile, const FieldCode *code,
                         const json_t *old, const Step *step)
{
    Arena *arena = compile->program->graph->arena;
    const char *node = step->node ? step->node->name : "";
    const char *kernel = text_at(old, "kernel");
    const char *params = table_params(arena, step).at;
    if (strcmp(kernel, step->kernel->name) != 0)
        refuse(code, NULL,
               arena_printf(arena,
                            "step %d, node \"%s\": its kernel is %s, that of "
                            "the new model %s",
                            step->index, node, kernel, step->kernel->name));
    if (strcmp(text_at(old, "params"), params) != 0)
        refuse(code,
               "a value of the model became a number in the code: it can only "
               "change with the code",
               arena_printf(
                   arena, "step %d, node \"%s\" (%s): %s", step->index, node,
                   kernel,
                   differing_params(arena, text_at(old, "params"), params)));
}

static void compare_steps(const Compile *compile, const FieldCode *code)
{
    const Program *program = compile->program;
    const json_t *steps = json_object_get(code->manifest, "steps");
    const size_t n = json_array_size(steps);
    for (size_t i = 0; i < n && i < program->step.n; i++)
        compare_step(compile, code, json_array_get(steps, i),
                     program->step.at[i]);
    if (n != program->step.n)
        refuse(code, NULL,
               arena_printf(program->graph->arena,
                            "it has %zu steps, the new model %zu", n,
                            program->step.n));
}

static void compare_constant(const Compile *compile, const FieldCode *code,
                             const json_t *old, const json_t *new)
{
    Arena *arena = compile->program->graph->arena;
    const char *was = constant_text(arena, old);
    const char *is = constant_text(arena, new);
    if (strcmp(was, is) != 0)
        refuse(code, NULL,
               arena_printf(arena, "%s is %s in the new model", was, is));
    if (!same(old, new, "place") || !same(old, new, "at") ||
        !same(old, new, "bytes"))
        refuse(code, NULL,
               arena_printf(arena, "%s lies elsewhere in the new model", is));
    if (!same(old, new, "crc32"))
        refuse(code,
               "places, sizes and numbers between bytes stay in the code: they "
               "can only change with it",
               arena_printf(arena,
                            "%s has other values in the new model, but it is a "
                            "constant of the code",
                            is));
}

static void compare_constants(const Compile *compile, const FieldCode *code)
{
    const Program *program = compile->program;
    const ConstantUse *uses = constant_uses(program);
    const size_t n = json_array_size(code->constants);
    for (size_t i = 0; i < n && i < program->weight.n; i++)
        compare_constant(compile, code, json_array_get(code->constants, i),
                         constant_facts(program, uses, i));
    if (n != program->weight.n)
        refuse(code, NULL,
               arena_printf(program->graph->arena,
                            "it has %zu constants, the new model %zu", n,
                            program->weight.n));
}

/* In the order in which a person would look for it. */
static void compare_layouts(const Compile *compile, const FieldCode *code)
{
    if (compile->program->weight_bytes &&
        seal_layout(compile->program) == code->layout)
        return;
    compare_makers(compile, code);
    compare_steps(compile, code);
    compare_constants(compile, code);
    refuse(code, "were other constants given by --const?",
           "steps and constants agree, but their layout is another");
}

/* ---- the verb ---- */

/* The notes that were asked for, behind the weights. */
static void write_notes(Arena *arena, const Options *given, File *file,
                        File *golden)
{
    uint64_t at = file->size;
    inlay_note_head head = { .tag = INLAY_NOTE_COUNTER };
    if (given->counter) {
        head.number = value_read_count(given->counter);
        at = blob_note_write(arena, file, at, head, NULL);
    }
    if (golden) {
        head = (inlay_note_head){ .tag = INLAY_NOTE_GOLDEN };
        blob_note_write(arena, file, at, head, golden);
    }
}

static void write_blob(const Compile *compile, const Options *given, File *file)
{
    char sha256[65];
    Arena *arena = compile->program->graph->arena;
    File *golden =
        given->golden ? file_open(arena, given->golden, LOAD_STREAM) : NULL;
    weights_write_blob(compile->program, file, false, sha256);
    write_notes(arena, given, file, golden);
    file_close(golden);
}

/* A blob that is only there to be compared. */
static void pack_delta(Compile *compile, const Options *given)
{
    File *file = file_temporary(&compile->arena);
    write_blob(compile, given, file);
    const BlobFile blob = blob_read(&compile->arena, file);
    weights_write_delta(compile, given, &blob);
    file_close(file);
}

static void pack_blob(Compile *compile, const Options *given,
                      const FieldCode *code)
{
    File *file = file_create(&compile->arena, given->output);
    write_blob(compile, given, file);
    pieces_print(&compile->results,
                 "%s: %" PRIu64 " bytes, for the code of %s\n", given->output,
                 file->size, text_at(code->manifest, "name"));
    file_close(file);
}

void weights_pack(Compile *compile)
{
    const Options *given = compile->options;
    const char **operand = compile->options->operand;
    if (!operand[1] || operand[2] || !given->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "inlay weights pack NEW.onnx --for NAME.json "
                "[--against OLD.blob] -o NEW.blob");
    const FieldCode code = field_code(compile);
    take_options(compile, &code, operand[1]);
    compile_to(compile, STAGE_LAYOUT);
    compare_layouts(compile, &code);
    if (given->against)
        pack_delta(compile, given);
    else
        pack_blob(compile, given, &code);
}
