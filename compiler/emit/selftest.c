/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/selftest.h"

#include "base/diag.h"
#include "emit/interface.h"

/* ---- where there can be none ---- */

typedef struct Obstacle {
    bool there;
    const char *what;
    const char *help;
} Obstacle;

void selftest_refuse(const Emitter *emitter)
{
    const Program *program = emitter->program;
    const Obstacle obstacles[] = {
        { weights_apart(emitter), "weights that are not linked into the code",
          "--weights=c or incbin" },
        { inputs_inside(emitter) || outputs_inside(emitter) || emitter->pushed,
          "inputs or results in the arena",
          "leave out --io: a self-test hands in buffers of its own" },
        { has_states(emitter), "states that go on from run to run",
          "leave out --state and --stream" },
        { program->lengths != NULL, "lengths that each run is given",
          "--dim with one number in place of the bounds" },
    };
    const size_t count = sizeof obstacles / sizeof *obstacles;
    for (size_t i = 0; i < count; i++)
        if (obstacles[i].there)
            fail_at(STATUS_CONFIG, LOC_NONE, obstacles[i].help,
                    "--emit=selftest does not go with %s", obstacles[i].what);
}

/* ---- as C ---- */

static void put_sum(Text *text, const inlay_sum *sum)
{
    static const char *const kinds[] = {
        "BYTES", "I8",  "U8",  "I16",  "U16", "I32", "U32",
        "I64",   "U64", "F16", "BF16", "F32", "F64",
    };
    text_print(text,
               "    { .operand = %d, .kind = INLAY_SUM_%s, .size = %d, .rows = "
               "%d, .by_row = %d, .row = %zuu",
               sum->operand, kinds[sum->kind], sum->size, sum->rows,
               sum->by_row, sum->row);
    if (sum->part)
        text_print(text, ", .pitch = %zuu, .part = %zuu", sum->pitch,
                   sum->part);
    text_put(text, " },\n");
}

Text selftest_sums(const Golden *golden)
{
    const Program *program = golden->emitter->program;
    Text text = text_new(golden->emitter->arena);
    for (size_t i = 0; i < program->step.n; i++) {
        const SumTable *table = golden->table + i;
        if (!table->sums)
            continue;
        text_print(&text, "static const inlay_sum sums%zu[] = {\n", i);
        for (int32_t k = 0; k < table->sums; k++)
            put_sum(&text, table->sum + k);
        text_put(&text, "};\n");
    }
    return text;
}

Text selftest_summed(const Golden *golden)
{
    const Program *program = golden->emitter->program;
    Text text = text_new(golden->emitter->arena);
    for (size_t i = 0; i < program->step.n; i++) {
        const SumTable *table = golden->table + i;
        text_print(&text, "    { .step = steps + %zu", i);
        if (table->sums)
            text_print(&text, ", .sum = sums%zu, .sums = %d", i, table->sums);
        text_print(&text, ", .base = BASES, .word = %zu },\n", i);
    }
    if (!program->step.n)
        text_put(&text, "    { .step = NULL }\n");
    return text;
}

Text selftest_steps(const Golden *golden)
{
    const Program *program = golden->emitter->program;
    Text text = text_new(golden->emitter->arena);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        text_print(&text,
                   "    { .run = inlay_summed_run, .params = summed + %zu, "
                   ".units = %d",
                   i, (int)step->units);
        if (step_backward(step))
            text_print(&text, ", .backward = %d", (int)step_backward(step));
        text_put(&text, " },\n");
    }
    if (!program->step.n)
        text_put(&text, "    { .run = NULL }\n");
    return text;
}
