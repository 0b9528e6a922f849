/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/golden.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/diag.h"
#include "emit/interface.h"
#include "emit/lengths.h"
#include "emit/values.h"
#include "eval/counted.h"

/* What a test may take: multiplications, bytes that steps write, bytes of weights, and bytes in
 * memory: of inputs, results and the arena. */
static const int64_t MOST_MACS = INT64_C(20000000);
static const int64_t MOST_BYTES = INT64_C(64) << 20;
static const int64_t MOST_HELD = INT64_C(16) << 20;
/* What loops may take besides in a self-test, of work as eval/counted.h counts it. */
static const int64_t MOST_LOOPED = INT64_C(1) << 31;
static const uint64_t MOST_WEIGHTS = UINT64_C(4) << 20;
enum { MOST_VALUES = 32 };
/* Up to here a double holds every integer; what is beyond, or no number, makes no test. */
static const double LARGEST = 9007199254740992.0;

/* ---- made-up inputs ---- */

/* An element is made from the 32 bits of a random number r: (r >> shift) + base, of floats divided
 * by 1 << 23. */
typedef struct Maker {
    int shift;
    int32_t base;
} Maker;

static Maker maker_of(DType dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_F64:
    case DT_C64:
    case DT_C128:
        return (Maker){ 8, -(1 << 23) };
    case DT_F16:
        return (Maker){ 22, 0x3000 }; /* from 0.125 to 0.25 */
    case DT_BF16:
        return (Maker){ 24, 0x3e00 }; /* from 0.125 to 0.5 */
    case DT_I8:
        return (Maker){ 24, -128 };
    case DT_I16:
        return (Maker){ 16, -32768 };
    case DT_U16:
        return (Maker){ 16, 0 };
    case DT_I32:
    case DT_U32:
    case DT_I64:
    case DT_U64:
    case DT_BOOL:
        return (Maker){ 31, 0 }; /* a place, or a count: 0 or 1 */
    case DT_F8E4M3FN:
    case DT_F8E4M3FNUZ:
    case DT_F8E5M2:
    case DT_F8E5M2FNUZ:
        return (Maker){ 26, 0 }; /* small and positive */
    default:
        return (Maker){ 24, 0 };
    }
}

static bool is_real(DType dtype)
{
    const char *type = dtype_ctype(dtype);
    return !strcmp(type, "float") || !strcmp(type, "double");
}

static void store_integer(unsigned char *to, size_t bytes, int64_t value)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)((uint64_t)value >> 8 * i);
}

static void store_real(unsigned char *to, size_t bytes, int64_t value)
{
    const double real = (double)value / (1 << 23);
    const float narrow = (float)real;
    if (bytes == sizeof narrow)
        memcpy(to, &narrow, bytes);
    else
        memcpy(to, &real, bytes);
}

/* The same numbers as model_golden_next() of the template makes. */
static uint32_t fill(const Tensor *tensor, unsigned char *to, uint32_t random)
{
    const Maker maker = maker_of(tensor->dtype);
    const size_t bytes = (size_t)dtype_element(tensor->dtype);
    const int64_t count = value_length(tensor);
    for (int64_t i = 0; i < count; i++, to += bytes) {
        random = random * UINT32_C(1664525) + UINT32_C(1013904223);
        const int64_t value = (int64_t)(random >> maker.shift) + maker.base;
        if (is_real(tensor->dtype))
            store_real(to, bytes, value);
        else
            store_integer(to, bytes, value);
    }
    return random;
}

/* ---- results ---- */

/* Is an element of the API's type a number that can be compared? */
static bool has_values(DType dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_F64:
    case DT_U8:
    case DT_I8:
    case DT_U16:
    case DT_I16:
    case DT_I32:
    case DT_U32:
    case DT_I64:
    case DT_U64:
    case DT_BOOL:
        return true;
    default:
        return false;
    }
}

static double load(DType dtype, const unsigned char *from)
{
    float real;
    double wide;
    int64_t value = 0;
    const size_t bytes = (size_t)dtype_bits(dtype) / 8;
    switch (dtype) {
    case DT_F32:
        memcpy(&real, from, sizeof real);
        return (double)real;
    case DT_F64:
        memcpy(&wide, from, sizeof wide);
        return wide;
    case DT_I8:
    case DT_I16:
    case DT_I32:
        value = from[bytes - 1] & 0x80 ? -1 : 0;
        break;
    default:
        break;
    }
    memcpy(&value, from, bytes);
    return (double)value;
}

/* Of a result whose size depends on values: the elements that there are. */
static int64_t real_count(const Graph *graph, size_t i, void *const *out)
{
    const Tensor *tensor = graph->output.at[i];
    int64_t count = 1;
    if (!tensor->dynamic)
        return value_length(tensor);
    const int64_t *dims = out[graph_dims_place(graph, i)];
    for (int k = 0; k < tensor->shape.rank; k++)
        count *= dims[k];
    return count;
}

/* false: it holds what is no number. */
static bool take_result(Golden *golden, size_t i, void *const *out)
{
    const Graph *graph = golden->emitter->program->graph;
    const Tensor *tensor = graph->output.at[i];
    const unsigned char *from = out[i];
    const size_t bytes = (size_t)dtype_element(tensor->dtype);
    const int64_t count = real_count(graph, i, out);
    GoldenResult *result = golden->result + i;
    if (!has_values(tensor->dtype) || !count)
        return true;
    result->step = (count + MOST_VALUES - 1) / MOST_VALUES;
    result->count = (count + result->step - 1) / result->step;
    result->value = NEW_ARRAY(golden->emitter->arena, double, result->count);
    for (int64_t k = 0; k < result->count; k++) {
        const int64_t at = k * result->step * (int64_t)bytes;
        result->value[k] = load(tensor->dtype, from + at);
        if (!(fabs(result->value[k]) < LARGEST))
            return false;
    }
    return true;
}

static bool take_results(Golden *golden, void *const *out)
{
    const size_t count = graph_results(golden->emitter->program->graph);
    int64_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        if (!take_result(golden, i, out))
            return false;
        compared += golden->result[i].count;
    }
    return compared > 0;
}

/* ---- the run ---- */

static int64_t buffer_bytes(const Graph *graph)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < graph->input.n; i++)
        bytes += tensor_bytes(graph->input.at[i]);
    for (size_t i = 0; i < graph->output.n; i++)
        bytes += tensor_bytes(graph->output.at[i]);
    return bytes;
}

static bool is_little_work(const Program *program)
{
    int64_t macs = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        macs += step->macs;
        if (step->n_operand && step->operand[0].tensor)
            bytes += tensor_bytes(step->operand[0].tensor);
        if (macs > MOST_MACS || bytes > MOST_BYTES)
            return false;
    }
    const int64_t held =
        i64_add(buffer_bytes(program->graph), program->plan.arena_size);
    return held <= MOST_HELD && program->weight_bytes <= MOST_WEIGHTS;
}

bool golden_plain_call(const Emitter *emitter)
{
    return !inputs_inside(emitter) && !outputs_inside(emitter) &&
           !emitter->pushed && !has_states(emitter);
}

static void **buffers_of(Arena *arena, Tensor *const *tensor, size_t count)
{
    void **buffer = NEW_ARRAY(arena, void *, count + 1);
    for (size_t i = 0; i < count; i++)
        buffer[i] = arena_alloc(arena, (size_t)tensor_bytes(tensor[i]) + 1);
    return buffer;
}

/* The run itself; with a table of what is summed up, the words of the steps, too. */
static bool run_golden(Golden *golden, Program *program)
{
    const Graph *graph = program->graph;
    Arena *arena = golden->emitter->arena;
    Arena *scratch = &graph->store->scratch;
    void **in = buffers_of(scratch, graph->input.at, graph->input.n);
    void **out = buffers_of(scratch, graph->output.at, graph->output.n);
    uint32_t random = 1;
    int error;
    for (size_t i = 0; i < graph->input.n; i++)
        random = fill(graph->input.at[i], in[i], random);
    golden->result = NEW_ARRAY(arena, GoldenResult, graph->output.n + 1);
    if (golden->table)
        error = sums_run(program, golden->table,
                         i64_add(eval_work(program), MOST_LOOPED), in, out,
                         golden->sum);
    else
        error = eval_run_within(program, in, out, MOST_MACS + MOST_BYTES);
    return !error && take_results(golden, out);
}

static void run_if_it_ends(Golden *golden, Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    if (!run_golden(golden, program))
        golden->result = NULL;
    arena_release(scratch, mark);
}

Golden golden_run(const Emitter *emitter, Program *program)
{
    Golden golden = { .emitter = emitter };
    if (!weights_apart(emitter) && golden_plain_call(emitter) &&
        is_little_work(program))
        run_if_it_ends(&golden, program);
    return golden;
}

Golden golden_run_summed(const Emitter *emitter, Program *program)
{
    const size_t steps = program->step.n;
    Golden golden = {
        .emitter = emitter,
        .table = sums_tables(emitter->arena, program),
        .sum = NEW_ARRAY(emitter->arena, StepSum, steps + 1),
    };
    run_if_it_ends(&golden, program);
    if (!golden.result)
        fail_at(STATUS_CONFIG, LOC_NONE, "leave out --emit=selftest",
                "--emit=selftest: on made-up inputs the model gives no finite "
                "numbers that could be compared, or its loops turn too often");
    return golden;
}

/* ---- as C ---- */

static Text begin(const Golden *golden)
{
    return text_new(golden->emitter->arena);
}

Text golden_arenas(const Golden *golden)
{
    const Emitter *emitter = golden->emitter;
    const Plan *plan = &emitter->program->plan;
    Text text = begin(golden);
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(&text,
                   "    static unsigned char arena_%s[%s + %s_ARENA_ALIGN];\n",
                   plan->region.at[i].name, memory_macro(emitter, (int)i),
                   emitter->upper);
    return text;
}

Text golden_regions(const Golden *golden)
{
    const Emitter *emitter = golden->emitter;
    const Plan *plan = &emitter->program->plan;
    Text text = begin(golden);
    for (size_t i = 0; i < plan->region.n; i++) {
        const char *name = plan->region.at[i].name;
        text_print(&text,
                   "    arenas.arena_%s = arena_%s + (%s_ARENA_ALIGN - "
                   "(uintptr_t)arena_%s %% %s_ARENA_ALIGN) %% "
                   "%s_ARENA_ALIGN;\n",
                   name, name, emitter->upper, name, emitter->upper,
                   emitter->upper);
    }
    return text;
}

static void put_buffer(Text *text, const Emitter *emitter, const Tensor *tensor,
                       const char *kind, size_t i)
{
    text_print(text, "    static %s %s%zu[%s_%s%zu_LENGTH + 1];\n",
               dtype_ctype(tensor->dtype), kind, i, emitter->upper,
               text_upper(emitter->arena, kind), i);
}

/* Integers are compared to the last digit. */
static void put_wanted(Text *text, const GoldenResult *result,
                       const Tensor *tensor, size_t i)
{
    const int digits = is_real(tensor->dtype) ? 6 : 17;
    if (!result->count)
        return;
    text_print(text, "    static const double want%zu[] = {", i);
    for (int64_t k = 0; k < result->count; k++)
        text_print(text, "%s%.*g,", k % 6 ? " " : "\n        ", digits,
                   result->value[k]);
    text_put(text, "\n    };\n");
}

Text golden_buffers(const Golden *golden)
{
    const Emitter *emitter = golden->emitter;
    const Graph *graph = emitter->program->graph;
    Text text = begin(golden);
    for (size_t i = 0; i < graph->input.n; i++)
        put_buffer(&text, emitter, graph->input.at[i], "in", i);
    for (size_t i = 0; i < graph_results(graph); i++) {
        put_buffer(&text, emitter, graph->output.at[i], "out", i);
        put_wanted(&text, golden->result + i, graph->output.at[i], i);
    }
    return text;
}

/* The element as fill() makes it. */
static void put_element(Text *text, const Tensor *tensor)
{
    const Maker maker = maker_of(tensor->dtype);
    const char *type = dtype_ctype(tensor->dtype);
    text_print(text, "(%s)((int32_t)(r >> %d)", type, maker.shift);
    if (maker.base)
        text_print(text, " %c %" PRId32, maker.base < 0 ? '-' : '+',
                   maker.base < 0 ? -maker.base : maker.base);
    text_put(text, ")");
    if (is_real(tensor->dtype))
        text_print(text, " / (%s)8388608", type);
}

Text golden_inputs(const Golden *golden)
{
    const Emitter *emitter = golden->emitter;
    const Graph *graph = emitter->program->graph;
    Text text = begin(golden);
    if (!graph->input.n)
        text_print(&text,
                   "    (void)r;\n    (void)%s_golden_next;\n"
                   "    in.none = NULL;\n",
                   emitter->name);
    put_length_most(&text, emitter, "in");
    for (size_t i = 0; i < graph->input.n; i++) {
        text_print(&text,
                   "    in.in%zu = in%zu;\n"
                   "    for (i = 0; i < %s_IN%zu_LENGTH; i++) {\n"
                   "        r = %s_golden_next(r);\n"
                   "        in%zu[i] = ",
                   i, i, emitter->upper, i, emitter->name, i);
        put_element(&text, graph->input.at[i]);
        text_put(&text, ";\n    }\n");
    }
    return text;
}

Text golden_outputs(const Golden *golden)
{
    const Graph *graph = golden->emitter->program->graph;
    Text text = begin(golden);
    for (size_t i = 0; i < graph_results(graph); i++) {
        text_print(&text, "    out.out%zu = out%zu;\n", i, i);
        if (graph->output.at[i]->dynamic ||
            lengths_give_dims(golden->emitter, i))
            text_print(&text, "    out.out%zu_dims = NULL;\n", i);
    }
    return text;
}

/* Floats by their last bits, quantized values by one step. */
const char *golden_allowed(DType dtype)
{
    if (is_real(dtype))
        return "1e-3, 1e-3";
    return dtype_bits(dtype) == 8 && dtype != DT_BOOL ? "1, 0" : "0, 0";
}

Text golden_compare(const Golden *golden)
{
    const Emitter *emitter = golden->emitter;
    const Graph *graph = emitter->program->graph;
    Text text = begin(golden);
    for (size_t i = 0; i < graph_results(graph); i++) {
        const GoldenResult *result = golden->result + i;
        if (!result->count)
            continue;
        text_print(&text,
                   "    for (i = 0; i < %" PRId64 "u; i++)\n"
                   "        wrong |= %s_golden_differs((double)out%zu[i * "
                   "%" PRId64 "u], want%zu[i], %s);\n",
                   result->count, emitter->name, i, result->step, i,
                   golden_allowed(graph->output.at[i]->dtype));
    }
    return text;
}
