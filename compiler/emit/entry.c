/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/entry.h"

#include <inttypes.h>

#include "emit/seal.h"

/* The parameters after the weights. */
static void put_rest(Text *t, const Emitter *e)
{
    text_print(t, "%sarena, const %s_inputs *in, const %s_outputs *out", interface_arena_type(e),
               e->name, e->name);
}

/* int NAME_verb(..., or with the weights as first parameter, int NAME_verb_with(... */
static void put_head(Text *t, const Emitter *e, const char *verb, bool with)
{
    text_print(t, "int %s_%s%s(%s", e->name, verb, with ? "_with" : "",
               with ? "const void *weights, " : "");
    put_rest(t, e);
    text_put(t, ")");
}

/* The functions that a caller begins and goes on with. */
static const char *const runs[] = { "run", NULL }, *const pushes[] = { "start", "push", NULL };

static const char *const *verbs(const Emitter *e)
{
    return program_pushed(e->p) ? pushes : runs;
}

/* ---- header ---- */

static void declare_short(Text *t, const Emitter *e)
{
    for (const char *const *v = verbs(e); *v; v++) {
        put_head(t, e, *v, false);
        text_put(t, ";\n");
    }
    text_put(t, "\n");
    if (e->form == WEIGHTS_OBJ)
        text_print(t,
                   "/* They use the weights in %s_weights.o: link it like the object of any source "
                   "file. */\n\n",
                   e->name);
    text_print(t,
               "/* The same with the weights at another place: %s_WEIGHTS_SIZE bytes, those of "
               "this model, aligned to\n"
               " * %s_WEIGHTS_ALIGN (64 is fastest), read only. */\n",
               e->upper, e->upper);
}

static void declare_rows(Text *t, const Emitter *e)
{
    const Step *s = program_pushed(e->p);
    const int slot = s->operand[0].tensor->slot;
    text_print(t,
               "/* in%d comes row by row: %s_start() begins a run; as long as it or %s_push() "
               "returns %s_MORE, write the next\n"
               " * row, %s_IN%d_ROW_SIZE bytes, to %s_input_row() and call %s_push(). What they "
               "return else ends the run; 0: the results\n"
               " * are there, after %s_IN%d_ROWS rows. Until then the arena is the run's, and the "
               "other buffers stay. */\n",
               slot, e->name, e->name, e->upper, e->upper, slot, e->name, e->name, e->upper, slot);
    text_print(t,
               "#define %s_MORE 5\n#define %s_IN%d_ROWS %" PRId32
               "u\n#define %s_IN%d_ROW_SIZE %" PRId64 "u\n\n",
               e->upper, e->upper, slot, program_rows(e->p, s), e->upper, slot,
               s->operand[0].row_bytes);
    text_print(t, "/* NULL: no row is awaited. */\nvoid *%s_input_row(%sarena);\n\n", e->name,
               interface_arena_type(e));
}

static void declare_check(Text *t, const Emitter *e)
{
    text_print(
        t,
        "\n/* Once, before weights from elsewhere are used: are these `length` bytes those of "
        "this code, whole\n * and undamaged? %s_OK, or %s_E_WEIGHTS. A run finds another "
        "layout by itself, not damaged values.%s */\n"
        "int %s_weights_check(const void *weights, size_t length);\n",
        e->upper, e->upper, has_symbol(e) ? "\n * NULL: those linked into the program." : "",
        e->name);
}

Text entry_declarations(const Emitter *e)
{
    Text t = text_new(e->arena);
    if (program_pushed(e->p))
        declare_rows(&t, e);
    if (has_symbol(e))
        declare_short(&t, e);
    else if (has_weights(e))
        text_print(&t,
                   "/* `weights`: the content of %s_weights.bin, %s_WEIGHTS_SIZE bytes aligned to "
                   "%s_WEIGHTS_ALIGN (64 is\n"
                   " * fastest), read only: a mapping of the file, flash, or memory it was read "
                   "into. It must outlive the call. */\n",
                   e->name, e->upper, e->upper);
    for (const char *const *v = verbs(e); *v; v++) {
        put_head(&t, e, *v, has_weights(e));
        text_put(&t, ";\n");
    }
    if (has_weights(e))
        declare_check(&t, e);
    return t;
}

/* ---- source ---- */

void entry_seal(Text *t, const Emitter *e)
{
    uint64_t w[3];
    seal_words(e->p, w);
    text_put(t, "/* How the weights end: magic, layout, bytes before; then their CRC-32. */\n");
    text_print(t,
               "static const uint64_t seal[] = { UINT64_C(0x%" PRIx64 "), UINT64_C(0x%016" PRIx64
               "), UINT64_C(%" PRIu64 ") };\n",
               w[0], w[1], w[2]);
}

static void define_check(Text *t, const Emitter *e)
{
    text_print(t, "\nint %s_weights_check(const void *weights, size_t length)\n{\n", e->name);
    if (has_symbol(e))
        text_print(t,
                   "    if (!weights) {\n        weights = %s_weights_data;\n"
                   "        length = %s_WEIGHTS_SIZE;\n    }\n",
                   e->name, e->upper);
    else
        text_print(t, "    if (!weights) return %s_E_ARG;\n", e->upper);
    text_print(t,
               "    if ((uintptr_t)weights %% %s_WEIGHTS_ALIGN) return %s_E_ALIGN;\n"
               "    if (length < %s_WEIGHTS_SIZE || !inlay_sealed(weights, %s_WEIGHTS_SIZE, seal)) "
               "return %s_E_WEIGHTS;\n"
               "    return inlay_weights_whole(weights, %s_WEIGHTS_SIZE) ? %s_OK : "
               "%s_E_WEIGHTS;\n}\n",
               e->upper, e->upper, e->upper, e->upper, e->upper, e->upper, e->upper, e->upper);
}

Text entry_head(const Emitter *e)
{
    Text t = text_new(e->arena);
    if (program_pushed(e->p)) {
        text_print(&t, "/* row 0: begin; 1: the awaited row is there. */\nstatic int %s_go_on(%s",
                   e->name, has_weights(e) ? "const void *weights, " : "");
        put_rest(&t, e);
        text_put(&t, ", int row)\n");
    } else {
        put_head(&t, e, "run", has_weights(e));
        text_put(&t, "\n");
    }
    return t;
}

Text entry_call(const Emitter *e)
{
    const Step *s = program_pushed(e->p);
    Text t = text_new(e->arena);
    if (s)
        text_print(&t, "    return inlay_go_on(&%s_steps, base, %" PRId64 "u, %d, row);\n", e->name,
                   e->p->plan.place, s->index);
    else
        text_print(&t, "    return inlay_run(&%s_steps, base);\n", e->name);
    return t;
}

static void define_pushes(Text *t, const Emitter *e)
{
    const Step *s = program_pushed(e->p);
    for (int row = 0; row < 2; row++) {
        text_put(t, "\n");
        put_head(t, e, pushes[row], has_weights(e));
        text_print(t, "\n{\n    return %s_go_on(%sarena, in, out, %d);\n}\n", e->name,
                   has_weights(e) ? "weights, " : "", row);
    }
    const Plan *plan = &e->p->plan;
    text_print(t,
               "\nvoid *%s_input_row(%sarena)\n{\n    void *base[INLAY_ARENA + %d];\n    if "
               "(!arena) return NULL;\n    base[INLAY_WEIGHTS] = NULL;\n",
               e->name, interface_arena_type(e), program_regions(e->p));
    if (!plan->region.n)
        text_put(t, "    base[INLAY_ARENA] = arena;\n");
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(t, "    base[%d] = arena->arena_%s;\n", INLAY_ARENA + (int)i,
                   plan->region.at[i].name);
    text_print(t, "    return inlay_input_row(&%s_steps, base, %" PRId64 "u, %d);\n}\n", e->name,
               plan->place, s->index);
}

Text entry_functions(const Emitter *e)
{
    Text t = text_new(e->arena);
    if (has_weights(e))
        define_check(&t, e);
    if (program_pushed(e->p))
        define_pushes(&t, e);
    for (const char *const *v = verbs(e); has_symbol(e) && *v; v++) {
        text_put(&t, "\n");
        put_head(&t, e, *v, false);
        text_print(&t, "\n{\n    return %s_%s_with(%s_weights_data, arena, in, out);\n}\n", e->name,
                   *v, e->name);
    }
    return t;
}
