/* SPDX-License-Identifier: Apache-2.0 */
#include "bounds/bounds.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "inlay_coded.h"

/* Letters of a kernel's row, an operand each: '?' behind one that may be left out, '*' behind one
 * of which there are any number. */
static bool next_letter(const char **at, Reach *r)
{
    if (!**at)
        return false;
    r->type = **at;
    const char mark = (*at)[1];
    r->needed = mark != '?';
    if (mark != '*')
        *at += mark == '?' ? 2 : 1;
    return true;
}

/* Of a step that does not fetch. */
static const char *reach_of(const Program *p, const Step *s, Reach *reach)
{
    const char *letters = s->kernel->operands;
    Bounds b = { .program = p, .step = s, .params = s->params, .reach = reach };
    for (int k = 0; k < s->n_operand; k++) {
        reach[k] = (Reach){ .type = '.' };
        if (!next_letter(&letters, reach + k))
            return "it has more operands than its kernel";
    }
    if (*letters && !strchr(letters, '*'))
        return "it has fewer operands than its kernel";
    s->kernel->bounds(&b);
    return b.wrong;
}

/* A step that fetches as its kernel would do it at once, without a window. */
static Step whole_step(const Step *step)
{
    Step whole = *step;
    whole.n_operand = step_operands(step);
    whole.fetch = NULL;
    if (step->fetch->units)
        whole.units = step->fetch->units;
    return whole;
}

const char *bounds_of(const Program *p, const Step *s, Reach *reach)
{
    if (!s->fetch)
        return reach_of(p, s, reach);
    const Step whole = whole_step(s);
    reach[whole.n_operand] = (Reach){ .type = '.' };
    return reach_of(p, &whole, reach);
}

void bounds_any(const Program *program, const Step *step, bool *any)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    Reach *reach = NEW_ARRAY(arena, Reach, step->n_operand + 1);
    const char *wrong = bounds_of(program, step, reach);
    for (int k = 0; k < step->n_operand; k++)
        any[k] = !wrong && reach[k].any && !reach[k].believed;
    arena_release(arena, mark);
}

int64_t bounds_bytes(const Operand *operand, const Reach *r)
{
    if (!r->by_row)
        return r->hi;
    return r->rows ? sat_add(sat_mul(r->rows - 1, operand->row_bytes), r->hi)
                   : 0;
}

/* Is the operand's type that of the kernel, or of its width where only that counts? */
static bool type_fits(char type, DType t)
{
    switch (type) {
    case '.':
        return t != DT_STRING;
    case 'f':
        return t == DT_F32;
    case 'd':
        return t == DT_F64;
    default:
        return dtype_bits(t) == type_bits(type);
    }
}

/* Bytes of a row of the operand that are its own: a part of wider pixels ends before the next row
 * begins. */
static int64_t row_room(const Operand *operand)
{
    if (!operand->part || !operand->row_bytes)
        return operand->row_bytes;
    return operand->row_bytes - operand->offset % operand->row_bytes;
}

static const char *done_with(const Operand *operand)
{
    if (operand->write)
        return operand->read ? "read and written" : "written";
    return "read";
}

/* In elements where that comes out even. */
static const char *whole_text(Arena *arena, const Operand *operand,
                              const Reach *r, int64_t have)
{
    const int64_t bits = type_bits(r->type);
    const bool even = r->type != '.' && bits >= 8 && !(have % (bits / 8));
    const int64_t unit = even ? bits / 8 : 1;
    if (r->lo < 0)
        return arena_printf(
            arena, "its %s begins at 0, and is %s from %" PRId64 " %s on",
            r->name, done_with(operand), r->lo / unit,
            even ? "elements" : "bytes");
    return arena_printf(arena, "its %s has %" PRId64 " %s, %" PRId64 " are %s",
                        r->name, have / unit, even ? "elements" : "bytes",
                        r->hi / unit, done_with(operand));
}

static const char *object_whole(Arena *arena, const Operand *operand,
                                const Reach *r)
{
    int64_t have = i64_max(tensor_bytes(operand->tensor) - operand->offset, 0);
    if (operand->ring && operand->ring < operand->rows)
        have = i64_min(have, sat_mul(operand->ring, operand->row_bytes));
    if (operand->offset >= 0 && r->lo >= 0 && r->hi <= have)
        return NULL;
    return whole_text(arena, operand, r, have);
}

static const char *object_rows(Arena *arena, const Operand *operand,
                               const Reach *r)
{
    const int64_t end = sat_add(operand->offset, bounds_bytes(operand, r));
    if (!r->rows)
        return NULL;
    if (r->rows > operand->rows)
        return arena_printf(arena, "its %s has %d rows, %" PRId64 " are %s",
                            r->name, operand->rows, r->rows,
                            done_with(operand));
    if (operand->offset >= 0 && r->lo >= 0 && r->hi <= row_room(operand) &&
        end <= tensor_bytes(operand->tensor))
        return NULL;
    return arena_printf(arena,
                        "a row of its %s has %" PRId64 " bytes, %" PRId64
                        " to %" PRId64 " are %s",
                        r->name, row_room(operand), r->lo, r->hi,
                        done_with(operand));
}

static const char *object_operand(Arena *arena, const Operand *operand,
                                  const Reach *r)
{
    if (!operand->tensor)
        return r->needed && r->name
                   ? arena_printf(arena, "its %s is left out", r->name)
                   : NULL;
    if (!r->name)
        return NULL;
    if (!operand->scratch && !type_fits(r->type, operand->tensor->dtype))
        return arena_printf(
            arena, "its %s is of type %s, which its kernel does not take",
            r->name, dtype_name(operand->tensor->dtype));
    return r->by_row ? object_rows(arena, operand, r)
                     : object_whole(arena, operand, r);
}

/* Its operands, as far as their reach is known. */
static BoundsFault judge_operands(Arena *arena, const Step *step,
                                  const Reach *reach)
{
    for (int k = 0; k < step->n_operand; k++) {
        const char *why = object_operand(arena, step->operand + k, reach + k);
        if (why)
            return (BoundsFault){ why, k };
    }
    return (BoundsFault){ NULL, -1 };
}

/* Does a piece of the step, which reaches so far, find what it reads in the window? */
static const char *object_fetched(const Step *step, const Step *piece,
                                  const Reach *reach, bool last)
{
    const Fetch *fetch = step->fetch;
    const Operand *window = step->operand + piece->n_operand;
    for (int i = 0; i < fetch->parts; i++) {
        const FetchPart *part = fetch->part + i;
        const Reach *r = reach + part->operand;
        const int64_t bytes = last ? part->last : part->bytes;
        const int64_t end = part->at + bytes + fetch->half;
        if (r->name &&
            (r->lo < 0 ||
             bounds_bytes(piece->operand + part->operand, r) > bytes))
            return "it fetches less of its constants than it reads";
        if (end > tensor_bytes(window->tensor))
            return "its window is smaller than what it fetches";
        if (part->coded &&
            (end > fetch->code || fetch->code + (int64_t)sizeof(inlay_code) >
                                      tensor_bytes(window->tensor)))
            return "its window has no room for a code";
    }
    return NULL;
}

/* The first piece of those that are alike, or the last one. */
static BoundsFault judge_piece(Arena *arena, const Program *program,
                               const Step *step, bool last)
{
    Step piece = step_piece(arena, step, last);
    const size_t bytes = (size_t)piece.n_operand * sizeof *piece.operand;
    Reach *reach = NEW_ARRAY(arena, Reach, piece.n_operand + 1);
    piece.operand = arena_copy(arena, piece.operand, bytes);
    for (int k = 0; last && k < piece.n_operand; k++)
        piece.operand[k].offset +=
            step->fetch->advance[k] * (step->fetch->pieces - 1);
    const char *wrong = reach_of(program, &piece, reach);
    if (!wrong)
        wrong = object_fetched(step, &piece, reach, last);
    if (wrong)
        return (BoundsFault){ wrong, -1 };
    return judge_operands(arena, &piece, reach);
}

BoundsFault bounds_judge(Arena *arena, const Program *program, const Step *step,
                         Reach *reach)
{
    const char *wrong = bounds_of(program, step, reach);
    if (wrong)
        return (BoundsFault){ wrong, -1 };
    BoundsFault fault = judge_operands(arena, step, reach);
    for (int last = 0; step->fetch && last < 2 && !fault.why; last++)
        fault = judge_piece(arena, program, step, last);
    return fault;
}

BoundsFault bounds_object(Arena *arena, const Program *program,
                          const Step *step)
{
    Reach *reach = NEW_ARRAY(arena, Reach, step->n_operand + 1);
    return bounds_judge(arena, program, step, reach);
}

/* The name that the file gives an operand; "": none. */
static const char *operand_name(Arena *arena, const Step *step, int k)
{
    const Tensor *t = k < 0 ? NULL : step->operand[k].tensor;
    return t && t->name ? arena_printf(arena, " (\"%s\")", t->name) : "";
}

typedef struct Blame {
    Status status;
    const char *help, *what;
} Blame;

static void check_steps(const Program *program, const Blame *blame)
{
    Arena *arena = &program->graph->store->scratch;
    for (size_t i = 0; i < program->step.n; i++) {
        const ArenaMark mark = arena_mark(arena);
        const Step *s = program->step.at[i];
        const BoundsFault fault = bounds_object(arena, program, s);
        if (fault.why)
            fail_at(blame->status, s->node ? node_loc(s->node) : LOC_NONE,
                    blame->help, "%s: %s%s (step %d, %s)", blame->what,
                    fault.why, operand_name(arena, s, fault.operand), s->index,
                    s->kernel->name);
        arena_release(arena, mark);
    }
}

void bounds_check(const Program *program)
{
    static const Blame model = {
        STATUS_MALFORMED,
        "the node's operands must be of the sizes that its operator and "
        "attributes ask for",
        "the operands do not fit together"
    };
    check_steps(program, &model);
}

void bounds_check_planned(const Program *program)
{
    static const Blame ours = {
        STATUS_INTERNAL,
        "please report this model: it is a bug of Inlay, not of the model",
        "the plan leaves an operand"
    };
    check_steps(program, &ours);
}
