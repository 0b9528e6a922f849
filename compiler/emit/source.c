/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emit/check_tables.h"
#include "emit/embedded.h"
#include "emit/entry.h"
#include "emit/interface.h"
#include "emit/template.h"

/* What kernels need: that of the widest element. */
enum { WEIGHTS_LEAST_ALIGN = 8 };

static Text about(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    text_print(&t, "/* Made by Inlay %s from an ONNX model; do not edit.\n", INLAY_VERSION);
    text_print(&t, " * %zu steps, %" PRIu64 " bytes of weights, %" PRId64 " bytes of arena. */\n",
               emitter->p->step.n, emitter->p->weight_bytes, emitter->p->plan.arena_size);
    return t;
}

static Text sizes(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    interface_arena(&t, emitter);
    text_print(&t, "#define %s_WEIGHTS_SIZE %" PRIu64 "u   /* bytes, constant */\n", emitter->upper,
               emitter->p->weight_bytes);
    if (emitter->p->weight_bytes)
        text_print(&t, "#define %s_WEIGHTS_ALIGN %du\n", emitter->upper, WEIGHTS_LEAST_ALIGN);
    interface_offsets(&t, emitter);
    return t;
}

static const char FOLDER[] = "kernels/";

/* What a runtime file is called in the output, where all lie side by side: with a prefix that no
 * model's name has (emit/names.h). */
static const char *runtime_name(Arena *arena, const char *name)
{
    if (!strncmp(name, FOLDER, sizeof FOLDER - 1))
        name += sizeof FOLDER - 1;
    return strncmp(name, "inlay", 5) ? arena_printf(arena, "inlay_%s", name) : name;
}

/* The runtime headers of the kernels in use, each once. */
static Text includes(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    Map seen = map_new(emitter->arena);
    text_put(&t, "#include <math.h>\n\n#include \"inlay.h\"\n");
    if (has_weights(emitter))
        text_put(&t, "#include \"inlay_weights.h\"\n");
    for (size_t i = 0; i < emitter->p->step.n; i++) {
        const char *file = emitter->p->step.at[i]->kernel->file;
        if (!map_put(&seen, file, emitter->arena))
            text_print(&t, "#include \"%s\"\n", runtime_name(emitter->arena, file));
    }
    return t;
}

static void print_float(Text *t, double v, const char *suffix)
{
    if (isnan(v))
        text_put(t, "NAN");
    else if (isinf(v))
        text_put(t, v < 0 ? "-INFINITY" : "INFINITY");
    else
        text_print(t, "%a%s", v, suffix);
}

static void print_value(Text *t, const FieldRow *f, const unsigned char *at)
{
    if (!strcmp(f->type, "float")) {
        float v;
        memcpy(&v, at, sizeof v);
        print_float(t, (double)v, "f");
    } else if (!strcmp(f->type, "double")) {
        double v;
        memcpy(&v, at, sizeof v);
        print_float(t, v, "");
    } else if (!strcmp(f->type, "int64_t")) {
        int64_t v;
        memcpy(&v, at, sizeof v);
        if (v == INT64_MIN)
            text_put(t, "INT64_MIN");
        else
            text_print(t, v >= INT32_MIN && v <= INT32_MAX ? "%" PRId64 : "INT64_C(%" PRId64 ")",
                       v);
    } else if (!strcmp(f->type, "uint32_t")) {
        uint32_t v;
        memcpy(&v, at, sizeof v);
        text_print(t, "%" PRIu32 "u", v);
    } else {
        int32_t v;
        memcpy(&v, at, sizeof v);
        if (v == INT32_MIN)
            text_put(t, "INT32_MIN");
        else
            text_print(t, "%" PRId32, v);
    }
}

static void print_field(Text *t, const FieldRow *f, const unsigned char *params)
{
    text_print(t, " .%s = ", f->name);
    if (!f->count) {
        print_value(t, f, params + f->offset);
    } else {
        text_put(t, "{ ");
        for (int i = 0; i < f->count; i++) {
            if (i)
                text_put(t, ", ");
            print_value(t, f, params + f->offset + (size_t)i * f->size);
        }
        text_put(t, " }");
    }
    text_put(t, ",");
}

/* Equal tables are stored once: the number of the first that reads like this one. */
static int first_like(Map *seen, const Text *t, int number)
{
    const int *had = map_get(seen, t->at);
    if (had)
        return *had;
    int *own = arena_alloc(t->arena, sizeof *own);
    *own = number;
    map_put(seen, t->at, own);
    return number;
}

static Text params(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    Map seen = map_new(emitter->arena);
    for (size_t i = 0; i < emitter->p->step.n; i++) {
        const Step *s = emitter->p->step.at[i];
        Text one = text_new(emitter->arena);
        text_print(&one, "%s {", s->kernel->params);
        for (int f = 0; f < s->kernel->fields; f++)
            print_field(&one, s->kernel->field + f, s->params);
        emitter->params_of[i] = first_like(&seen, &one, (int)i);
        if (emitter->params_of[i] == (int)i)
            text_print(&t, "static const inlay_%s_params p%zu =%s };\n", s->kernel->params, i,
                       one.at + strlen(s->kernel->params));
    }
    return t;
}

static Text refs(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    Map seen = map_new(emitter->arena);
    for (size_t i = 0; i < emitter->p->step.n; i++) {
        const Step *s = emitter->p->step.at[i];
        if (!s->n_operand)
            continue; /* a jump */
        Text one = text_new(emitter->arena);
        for (int k = 0; k < s->n_operand; k++) {
            const inlay_ref *r = &s->operand[k].ref;
            text_print(&one, "%s { %zuu, %zuu, %d, %d, %d }", k ? "," : "", r->off, r->row, r->cap,
                       r->pix, r->base);
        }
        emitter->refs_of[i] = first_like(&seen, &one, (int)i);
        if (emitter->refs_of[i] == (int)i)
            text_print(&t, "static const inlay_ref r%zu[] = {%s };\n", i, one.at);
    }
    return t;
}

static Text steps(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    text_put(&t, "static const inlay_step step[] = {\n");
    for (size_t i = 0; i < emitter->p->step.n; i++) {
        const Step *s = emitter->p->step.at[i];
        text_print(&t, "    { inlay_%s, &p%d, ", s->kernel->name, emitter->params_of[i]);
        if (s->n_operand)
            text_print(&t, "r%d", emitter->refs_of[i]);
        else
            text_put(&t, "NULL");
        text_print(&t, ", %d, %d },  /* %zu ", s->units, step_backward(s), i);
        text_comment(&t, step_name(s));
        text_put(&t, " ");
        text_comment(&t, s->node ? s->node->name : "");
        text_put(&t, " */\n");
    }
    if (!emitter->p->step.n)
        text_put(&t, "    { 0, 0, 0, 0, 0 }\n");
    text_put(&t, "};\n");
    return t;
}

/* Each list once; list_of: by segment. */
static void lists(const Emitter *emitter, Text *t, int *list_of)
{
    const Plan *plan = &emitter->p->plan;
    Map seen = map_new(emitter->arena);
    for (size_t i = 0; i < plan->segment.n; i++) {
        const Segment *g = plan->segment.at + i;
        if (!g->list)
            continue;
        Text one = text_new(emitter->arena);
        for (int32_t k = 0; k < g->prologue + g->period + g->epilogue; k++)
            text_print(&one, "%s%u", k % 32 ? ", " : k ? ",\n    " : " ", g->list[k]);
        list_of[i] = first_like(&seen, &one, (int)i);
        if (list_of[i] == (int)i)
            text_print(t, "static const uint8_t list%zu[] = {%s };\n", i, one.at);
    }
}

static Text segments(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    const Plan *plan = &emitter->p->plan;
    int *list_of = NEW_ARRAY(emitter->arena, int, plan->segment.n + 1);
    lists(emitter, &t, list_of);
    if (!plan->segment.n)
        return t;
    text_put(&t, "static const inlay_segment segment[] = {\n");
    for (size_t i = 0; i < plan->segment.n; i++) {
        const Segment *g = plan->segment.at + i;
        text_print(&t, "    { %d, %d, %d, %d, %d, %d, ", g->first, g->count, g->prologue, g->period,
                   g->repeats, g->epilogue);
        if (g->list)
            text_print(&t, "list%d },\n", list_of[i]);
        else
            text_put(&t, "0 },\n");
    }
    text_put(&t, "};\n");
    return t;
}

static Text model(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    const Plan *plan = &emitter->p->plan;
    text_print(&t, "#define %s_BASES %d\n", emitter->upper, program_bases(emitter->p));
    text_print(&t, "static const inlay_model %s_steps = { step, %zu, %s, %zu, %" PRId64 "u",
               emitter->name, emitter->p->step.n, plan->segment.n ? "segment" : "0",
               plan->segment.n, plan->state);
    const Text more = check_members(emitter->arena, emitter->p);
    text_add(&t, more.at, more.n);
    text_put(&t, " };\n");
    return t;
}

static Text weights(const Emitter *emitter)
{
    Text t = text_new(emitter->arena);
    if (has_symbol(emitter))
        text_print(&t, "/* In %s_weights.%s. */\nextern const uint64_t %s_weights_data[];\n",
                   emitter->name, emitter->form == WEIGHTS_OBJ ? "o" : "c", emitter->name);
    if (has_weights(emitter))
        entry_seal(&t, emitter);
    return t;
}

typedef VEC(const char *) Names;

static const EmbeddedFile *find_runtime(const char *name)
{
    if (!strncmp(name, FOLDER, sizeof FOLDER - 1))
        name += sizeof FOLDER - 1;
    for (const EmbeddedFile *f = runtime_files; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

static const char INCLUDE[] = "#include \"";

/* The file with the names of the output in its #includes; `found` gets those of the runtime. */
static Text renamed(const Emitter *emitter, const EmbeddedFile *f, Names *found)
{
    Text t = text_new(emitter->arena);
    const char *from = f->text;
    for (const char *at; (at = strstr(from, INCLUDE)) != NULL;) {
        at += sizeof INCLUDE - 1;
        const char *name = arena_text(emitter->arena, at, strcspn(at, "\""));
        text_add(&t, from, (size_t)(at - from));
        text_put(&t, runtime_name(emitter->arena, name));
        VEC_PUSH(emitter->arena, found, name);
        from = at + strlen(name);
    }
    text_put(&t, from);
    return t;
}

/* Writes a runtime header and what it includes. */
static void copy_runtime(const Emitter *emitter, Output *output)
{
    Map seen = map_new(emitter->arena);
    Names todo = { 0 };
    VEC_PUSH(emitter->arena, &todo, "inlay.h");
    if (has_weights(emitter))
        VEC_PUSH(emitter->arena, &todo, "inlay_weights.h");
    for (size_t i = 0; i < emitter->p->step.n; i++)
        VEC_PUSH(emitter->arena, &todo, emitter->p->step.at[i]->kernel->file);
    while (todo.n) {
        const char *name = todo.at[--todo.n];
        const EmbeddedFile *f = find_runtime(name);
        if (!f || map_put(&seen, f->name, emitter->arena))
            continue;
        const Text text = renamed(emitter, f, &todo);
        output_text(output,
                    arena_printf(emitter->arena, "src/%s", runtime_name(emitter->arena, f->name)),
                    text.at, text.n);
    }
}

void emit_source(const Program *p, Output *output, const char *name, WeightsForm form)
{
    Arena *a = p->graph->arena;
    Emitter emitter = { a,
                        p,
                        name,
                        text_upper(a, name),
                        form,
                        NEW_ARRAY(a, int, p->step.n + 1),
                        NEW_ARRAY(a, int, p->step.n + 1) };
    const Section header[] = { { "about", about(&emitter) },
                               { "sizes", sizes(&emitter) },
                               { "structs", interface_structs(&emitter) },
                               { "run", entry_declarations(&emitter) } };
    const Text h = template_fill(a, "model.h", name, header, 4);
    output_text(output, arena_printf(a, "src/%s.h", name), h.at, h.n);
    const Section source[] = {
        { "about", about(&emitter) },
        { "includes", includes(&emitter) },
        { "weights", weights(&emitter) },
        { "params", params(&emitter) },
        { "refs", refs(&emitter) },
        { "steps", steps(&emitter) },
        { "segments", segments(&emitter) },
        { "check", check_tables(a, p) },
        { "asserts", check_asserts(a, p, name, emitter.upper) },
        { "model", model(&emitter) },
        { "entry", entry_head(&emitter) },
        { "bases", interface_bases(&emitter) },
        { "call", entry_call(&emitter) },
        { "run", entry_functions(&emitter) },
    };
    const Text c = template_fill(a, "model.c", name, source, (int)(sizeof source / sizeof *source));
    output_text(output, arena_printf(a, "src/%s.c", name), c.at, c.n);
    copy_runtime(&emitter, output);
}
