/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/entry.h"

#include <inttypes.h>

#include "emit/seal.h"

/* The parameters after the weights. */
static void put_rest(Text *text, const Emitter *emitter)
{
    text_print(text, "%sarena, const %s_inputs *in, const %s_outputs *out",
               interface_arena_type(emitter), emitter->name, emitter->name);
}

/* int NAME_verb(..., or with the weights as first parameter, int NAME_verb_with(... */
static void put_head(Text *text, const Emitter *emitter, const char *verb, bool with)
{
    text_print(text, "int %s_%s%s(%s", emitter->name, verb, with ? "_with" : "",
               with ? "const void *weights, " : "");
    put_rest(text, emitter);
    text_put(text, ")");
}

/* The functions that a caller begins and goes on with. */
static const char *const runs[] = { "run", NULL }, *const pushes[] = { "start", "push", NULL };

static const char *const *verbs(const Emitter *emitter)
{
    return program_pushed(emitter->p) ? pushes : runs;
}

/* ---- header ---- */

static void declare_short(Text *text, const Emitter *emitter)
{
    for (const char *const *v = verbs(emitter); *v; v++) {
        put_head(text, emitter, *v, false);
        text_put(text, ";\n");
    }
    text_put(text, "\n");
    if (emitter->form == WEIGHTS_OBJ)
        text_print(text,
                   "/* They use the weights in %s_weights.o: link it like the object of any source "
                   "file. */\n\n",
                   emitter->name);
    text_print(text,
               "/* The same with the weights at another place: %s_WEIGHTS_SIZE bytes, those of "
               "this model, aligned to\n"
               " * %s_WEIGHTS_ALIGN (64 is fastest), read only. */\n",
               emitter->upper, emitter->upper);
}

static void declare_rows(Text *text, const Emitter *emitter)
{
    const Step *step = program_pushed(emitter->p);
    const int slot = step->operand[0].tensor->slot;
    text_print(text,
               "/* in%d comes row by row: %s_start() begins a run; as long as it or %s_push() "
               "returns %s_MORE, write the next\n"
               " * row, %s_IN%d_ROW_SIZE bytes, to %s_input_row() and call %s_push(). What they "
               "return else ends the run; 0: the results\n"
               " * are there, after %s_IN%d_ROWS rows. Until then the arena is the run's, and the "
               "other buffers stay. */\n",
               slot, emitter->name, emitter->name, emitter->upper, emitter->upper, slot,
               emitter->name, emitter->name, emitter->upper, slot);
    text_print(text,
               "#define %s_MORE 5\n#define %s_IN%d_ROWS %" PRId32
               "u\n#define %s_IN%d_ROW_SIZE %" PRId64 "u\n\n",
               emitter->upper, emitter->upper, slot, program_rows(emitter->p, step), emitter->upper,
               slot, step->operand[0].row_bytes);
    text_print(text, "/* NULL: no row is awaited. */\nvoid *%s_input_row(%sarena);\n\n",
               emitter->name, interface_arena_type(emitter));
}

static void declare_check(Text *text, const Emitter *emitter)
{
    text_print(
        text,
        "\n/* Once, before weights from elsewhere are used: are these `length` bytes those of "
        "this code, whole\n * and undamaged? %s_OK, or %s_E_WEIGHTS. A run finds another "
        "layout by itself, not damaged values.%s */\n"
        "int %s_weights_check(const void *weights, size_t length);\n",
        emitter->upper, emitter->upper,
        has_symbol(emitter) ? "\n * NULL: those linked into the program." : "", emitter->name);
}

Text entry_declarations(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    if (program_pushed(emitter->p))
        declare_rows(&text, emitter);
    if (has_symbol(emitter))
        declare_short(&text, emitter);
    else if (has_weights(emitter))
        text_print(&text,
                   "/* `weights`: the content of %s_weights.bin, %s_WEIGHTS_SIZE bytes aligned to "
                   "%s_WEIGHTS_ALIGN (64 is\n"
                   " * fastest), read only: a mapping of the file, flash, or memory it was read "
                   "into. It must outlive the call. */\n",
                   emitter->name, emitter->upper, emitter->upper);
    for (const char *const *v = verbs(emitter); *v; v++) {
        put_head(&text, emitter, *v, has_weights(emitter));
        text_put(&text, ";\n");
    }
    if (has_weights(emitter))
        declare_check(&text, emitter);
    return text;
}

/* ---- source ---- */

void entry_seal(Text *text, const Emitter *emitter)
{
    uint64_t w[3];
    seal_words(emitter->p, w);
    text_put(text, "/* How the weights end: magic, layout, bytes before; then their CRC-32. */\n");
    text_print(text,
               "static const uint64_t seal[] = { UINT64_C(0x%" PRIx64 "), UINT64_C(0x%016" PRIx64
               "), UINT64_C(%" PRIu64 ") };\n",
               w[0], w[1], w[2]);
}

static void define_check(Text *text, const Emitter *emitter)
{
    text_print(text, "\nint %s_weights_check(const void *weights, size_t length)\n{\n",
               emitter->name);
    if (has_symbol(emitter))
        text_print(text,
                   "    if (!weights) {\n        weights = %s_weights_data;\n"
                   "        length = %s_WEIGHTS_SIZE;\n    }\n",
                   emitter->name, emitter->upper);
    else
        text_print(text, "    if (!weights) return %s_E_ARG;\n", emitter->upper);
    text_print(text,
               "    if ((uintptr_t)weights %% %s_WEIGHTS_ALIGN) return %s_E_ALIGN;\n"
               "    if (length < %s_WEIGHTS_SIZE || !inlay_sealed(weights, %s_WEIGHTS_SIZE, seal)) "
               "return %s_E_WEIGHTS;\n"
               "    return inlay_weights_whole(weights, %s_WEIGHTS_SIZE) ? %s_OK : "
               "%s_E_WEIGHTS;\n}\n",
               emitter->upper, emitter->upper, emitter->upper, emitter->upper, emitter->upper,
               emitter->upper, emitter->upper, emitter->upper);
}

Text entry_head(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    if (program_pushed(emitter->p)) {
        text_print(&text,
                   "/* row 0: begin; 1: the awaited row is there. */\nstatic int %s_go_on(%s",
                   emitter->name, has_weights(emitter) ? "const void *weights, " : "");
        put_rest(&text, emitter);
        text_put(&text, ", int row)\n");
    } else {
        put_head(&text, emitter, "run", has_weights(emitter));
        text_put(&text, "\n");
    }
    return text;
}

Text entry_call(const Emitter *emitter)
{
    const Step *step = program_pushed(emitter->p);
    Text text = text_new(emitter->arena);
    if (step)
        text_print(&text, "    return inlay_go_on(&%s_steps, base, %" PRId64 "u, %d, row);\n",
                   emitter->name, emitter->p->plan.place, step->index);
    else
        text_print(&text, "    return inlay_run(&%s_steps, base);\n", emitter->name);
    return text;
}

static void define_pushes(Text *text, const Emitter *emitter)
{
    const Step *step = program_pushed(emitter->p);
    for (int row = 0; row < 2; row++) {
        text_put(text, "\n");
        put_head(text, emitter, pushes[row], has_weights(emitter));
        text_print(text, "\n{\n    return %s_go_on(%sarena, in, out, %d);\n}\n", emitter->name,
                   has_weights(emitter) ? "weights, " : "", row);
    }
    const Plan *plan = &emitter->p->plan;
    text_print(text,
               "\nvoid *%s_input_row(%sarena)\n{\n    void *base[INLAY_ARENA + %d];\n    if "
               "(!arena) return NULL;\n    base[INLAY_WEIGHTS] = NULL;\n",
               emitter->name, interface_arena_type(emitter), program_regions(emitter->p));
    if (!plan->region.n)
        text_put(text, "    base[INLAY_ARENA] = arena;\n");
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(text, "    base[%d] = arena->arena_%s;\n", INLAY_ARENA + (int)i,
                   plan->region.at[i].name);
    text_print(text, "    return inlay_input_row(&%s_steps, base, %" PRId64 "u, %d);\n}\n",
               emitter->name, plan->place, step->index);
}

Text entry_functions(const Emitter *emitter)
{
    Text text = text_new(emitter->arena);
    if (has_weights(emitter))
        define_check(&text, emitter);
    if (program_pushed(emitter->p))
        define_pushes(&text, emitter);
    for (const char *const *v = verbs(emitter); has_symbol(emitter) && *v; v++) {
        text_put(&text, "\n");
        put_head(&text, emitter, *v, false);
        text_print(&text, "\n{\n    return %s_%s_with(%s_weights_data, arena, in, out);\n}\n",
                   emitter->name, *v, emitter->name);
    }
    return text;
}
