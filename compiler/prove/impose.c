/* SPDX-License-Identifier: Apache-2.0
 * Which steps do what comes first; then each operand is worked out from the model and compared with
 * the claim. */
#include "prove/impose.h"

#include <inttypes.h>

#include "base/size.h"
#include "prove/joined.h"
#include "prove/part.h"
#include "prove/pools.h"
#include "prove/strips.h"
#include "prove/values.h"

typedef struct Imposer {
    Arena *arena;
    Program *program;
    const Claim *claim;
    Loc loc;
    Step **lowered;
    int32_t *done;  /* by lowered step: how many steps do all of it */
    int32_t *strip; /* by lowered step: the last strip that does it, 0: none */
    StripSet strips;
    bool **piece;   /* by concatenation: the inputs that are copied */
    Home *home;     /* by tensor id */
    Tensor **owner; /* by claimed tensor; NULL: not seen yet */
    /* by tensor id: place in the claim's list, -1: none yet */
    int32_t *claimed;
    int32_t step, operand; /* under way */
} Imposer;

static _Noreturn void contradict(const Imposer *imposer, const char *why)
{
    const Step *s =
        imposer->lowered[imposer->claim->step.at[imposer->step].lowered.at[0]];
    const char *which =
        imposer->operand < 0
            ? ""
            : arena_printf(imposer->arena, ", operand %d", imposer->operand);
    fail_at(STATUS_LIMIT, imposer->loc, NULL, "step %d (%s, node \"%s\")%s: %s",
            imposer->step, s->kernel->name, s->node ? s->node->name : "", which,
            why);
}

static _Noreturn void differs(const Imposer *imposer, const char *what,
                              int64_t claimed, int64_t real)
{
    contradict(imposer,
               arena_printf(imposer->arena,
                            "%s is %" PRId64 " in the manifest, %" PRId64
                            " in the model",
                            what, claimed, real));
}

static void same(const Imposer *imposer, const char *what, int64_t claimed,
                 int64_t real)
{
    if (claimed != real)
        differs(imposer, what, claimed, real);
}

/* ---- which steps do what ---- */

static void count_piece(Imposer *imposer, int32_t i, int32_t k)
{
    const Step *s = imposer->lowered[i];
    if (k > concat_inputs(s))
        contradict(imposer, "copies a piece of what has no such piece");
    if (!imposer->piece[i])
        imposer->piece[i] =
            NEW_ARRAY(imposer->arena, bool, concat_inputs(s) + 1);
    if (imposer->piece[i][k])
        contradict(imposer, "copies a piece that another step has copied");
    imposer->piece[i][k] = true;
}

/* Once, or once in each strip. */
static void count_whole(Imposer *imposer, const ClaimStep *claim, int32_t i)
{
    const bool next_strip =
        claim->strip && imposer->strip[i] && imposer->strip[i] < claim->strip;
    if (imposer->done[i] && !next_strip)
        contradict(imposer, "does what another step has done");
    imposer->done[i] = 1;
    imposer->strip[i] = claim->strip;
}

static void count_done(Imposer *imposer)
{
    for (imposer->step = 0; imposer->step < (int32_t)imposer->claim->step.n;
         imposer->step++) {
        const ClaimStep *c = imposer->claim->step.at + imposer->step;
        if (c->piece && c->lowered.n == 1)
            count_piece(imposer, c->lowered.at[0], c->piece);
        else if (c->piece)
            contradict(imposer, "copies a piece of several steps");
        for (size_t i = 0; !c->piece && i < c->lowered.n; i++)
            count_whole(imposer, c, c->lowered.at[i]);
    }
}

/* What no step does must be a concatenation whose inputs are written where they belong, or a slice
 * that is read in place. */
static const char *settle_step(Imposer *imposer, int32_t i)
{
    const Step *step = imposer->lowered[i];
    const bool *piece = imposer->piece[i];
    const int inputs = concat_inputs(step);
    if (imposer->done[i])
        return piece ? "is done as a whole and in pieces" : NULL;
    if (!inputs)
        return part_settle_slice(imposer->home, step);
    for (int k = 1; k <= inputs; k++) {
        const bool copied = piece && piece[k];
        const char *why = part_settle(imposer->home, step, k, copied);
        if (why && !copied)
            return why;
    }
    return NULL;
}

static void settle_parts(Imposer *imposer)
{
    for (int32_t i = 0; i < imposer->program->lowered; i++) {
        const Step *s = imposer->lowered[i];
        const char *why = settle_step(imposer, i);
        if (why)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "step %d before the plan (%s, node \"%s\") %s", i,
                    s->kernel->name, s->node ? s->node->name : "", why);
    }
}

/* ---- operands ---- */

static const char *storage_name(const Tensor *tensor)
{
    if (tensor->storage == STORE_ARENA)
        return "arena";
    return tensor->storage == STORE_INPUT ? "input" : "output";
}

/* What the manifest says of a tensor that a step names first. */
static void match_place(const Imposer *imposer, const ClaimTensor *claimed,
                        const Tensor *root)
{
    const char *storage = storage_name(root);
    if (strcmp(claimed->storage, storage))
        contradict(imposer,
                   arena_printf(imposer->arena, "lies in the %s, not the %s",
                                storage, claimed->storage));
    if (root->storage != STORE_ARENA) {
        same(imposer, "slot", claimed->slot, root->slot);
        same(imposer, "offset", claimed->offset, 0);
    }
    if (claimed->offset % imposer->claim->align)
        contradict(imposer, arena_printf(imposer->arena,
                                         "offset %" PRId64 " is not aligned",
                                         claimed->offset));
    same(imposer, "bytes", claimed->bytes, tensor_bytes(root));
}

/* The claimed tensor is the model's, always the same one. */
static void match_tensor(Imposer *imposer, const ClaimOperand *c, Tensor *root)
{
    const ClaimTensor *claimed = imposer->claim->tensor.at + c->tensor;
    Tensor **owner = imposer->owner + c->tensor;
    if (!*owner) {
        if (imposer->claimed[root->id] >= 0)
            contradict(imposer,
                       "names a tensor that other steps know by another place");
        match_place(imposer, claimed, root);
        *owner = root;
        imposer->claimed[root->id] = c->tensor;
        root->offset = claimed->offset;
        root->region = claimed->region;
    }
    if (*owner != root)
        contradict(imposer, "names another step's tensor");
}

static ClaimAccess access_of(const Operand *operand)
{
    if (operand->scratch)
        return CLAIM_SCRATCH;
    if (operand->write)
        return operand->read ? CLAIM_UPDATE : CLAIM_WRITE;
    return CLAIM_READ;
}

static void match_rule(const Imposer *imposer, const ClaimOperand *claim,
                       const RowRule *o, int32_t units)
{
    const RowRule *c = &claim->rule;
    const bool window = o->kind == ROWS_WINDOW;
    const bool table = o->kind == ROWS_TABLE;
    same(imposer, "kind of rule", c->kind, o->kind);
    if (table)
        same(imposer, "entries", (int64_t)claim->entries, units);
    for (int32_t u = 0; table && u < units; u++) {
        same(imposer, "first row", c->table[u].lo, o->table[u].lo);
        same(imposer, "end row", c->table[u].hi, o->table[u].hi);
    }
    if (window)
        same(imposer, "stride", c->stride, o->stride);
    if (window)
        same(imposer, "pad", c->pad, o->pad);
    if (window)
        same(imposer, "extent", c->extent, o->extent);
}

/* A claim of whole rows says less, and holds. */
static void match_pixels(const Imposer *imposer, const PixelRule *c,
                         PixelRule *o)
{
    if (!c->tile) {
        *o = *c;
        return;
    }
    same(imposer, "stride of pixels", c->stride, o->stride);
    same(imposer, "pad of pixels", c->pad, o->pad);
    same(imposer, "extent of pixels", c->extent, o->extent);
    same(imposer, "tile of pixels", c->tile, o->tile);
}

/* The operand as the step sees it where parts and strips lie. */
static void resolve_operand(Imposer *imposer, const Step *s, Operand *o,
                            const ClaimOperand *c)
{
    const ClaimStep *step = imposer->claim->step.at + imposer->step;
    const bool parted = c->part && !c->pitch && !s->piece;
    const char *why = part_resolve(imposer->home, s, o, parted);
    if (!why && step->strip)
        why = strips_resolve(&imposer->strips, step, s, imposer->operand, o);
    if (why)
        contradict(imposer, why);
}

static void match_geometry(const Imposer *imposer, const Operand *o,
                           const ClaimOperand *c, int64_t at)
{
    same(imposer, "at", c->at, i64_add(at, o->offset));
    same(imposer, "rows", c->rows, o->rows);
    same(imposer, "row", c->row, o->row_bytes);
    same(imposer, "pixel", c->pixel, o->pixel);
    same(imposer, "part", c->part, o->part);
    same(imposer, "pitch", c->pitch, o->pitch);
}

/* What scratch for each thread takes behind that of the first. */
static int64_t copied_bytes(const Claim *claim, const Tensor *root)
{
    const int64_t bytes = tensor_bytes(root);
    const int64_t each = i64_ceil_div(bytes, claim->align) * claim->align;
    return claim->threads ? i64_mul(each, claim->threads) - bytes : 0;
}

/* A multiple of 4 bytes: kernels count the slots of numbers in numbers. */
enum { UNIT_OF_SLOTS = 4 };

static void match_slots(const Imposer *imposer, Operand *o,
                        const RowSlots *slots, const Tensor *root)
{
    o->slots = slots;
    if (!slots)
        return;
    same(imposer, "rows in slots", slots->rows, o->rows);
    if (root->storage != STORE_ARENA)
        contradict(imposer, "has slots outside of the arena");
    if (slots->unit % UNIT_OF_SLOTS)
        contradict(imposer, "has slots of a size that kernels do not know");
    if (o->ring)
        contradict(imposer, "is a ring and has slots");
    for (int32_t r = 0; r < slots->rows; r++)
        if (slots->slot[r] * (int64_t)slots->unit + o->row_bytes > slots->pool)
            contradict(imposer, "has a slot beyond its pool");
}

static void match_ring(const Imposer *imposer, Operand *o,
                       const ClaimOperand *c, const Tensor *root)
{
    const ClaimTensor *tensor = imposer->claim->tensor.at + c->tensor;
    if (c->ring && root->storage != STORE_ARENA)
        contradict(imposer, "is a ring outside of the arena");
    o->ring = c->ring;
    match_slots(imposer, o, tensor->slots, root);
    if (o->scratch && tensor->extent != tensor_bytes(root))
        o->copied = copied_bytes(imposer->claim, root);
    same(imposer, "extent", tensor->extent, operand_extent(o, root));
}

static void match_operand(Imposer *imposer, const Step *s, Operand *o,
                          const ClaimOperand *c)
{
    int64_t at;
    if (!c->given != !o->tensor)
        contradict(imposer, c->given ? "is left out in the model"
                                     : "is left out in the manifest");
    if (!o->tensor)
        return;
    resolve_operand(imposer, s, o, c);
    Tensor *root = tensor_root(o->tensor, &at);
    if (c->constant != (root->storage == STORE_WEIGHTS))
        contradict(imposer, c->constant ? "is no constant" : "is a constant");
    same(imposer, "kind of access", c->access, access_of(o));
    if (c->constant)
        return;
    match_tensor(imposer, c, root);
    match_geometry(imposer, o, c, at);
    if (o->read && !o->scratch)
        match_rule(imposer, c, &o->rule, s->units);
    match_pixels(imposer, &c->pixels, &o->pixels);
    match_ring(imposer, o, c, root);
}

/* ---- steps ---- */

static Step *make_step(Imposer *imposer, const ClaimStep *claim)
{
    const Step *first = imposer->lowered[claim->lowered.at[0]];
    const char *why = NULL;
    Step *s;
    if (claim->lowered.n == 1)
        s = step_again(imposer->arena, imposer->program, first, claim->piece);
    else
        s = step_joined(imposer->arena, imposer->program, imposer->lowered,
                        claim, &why);
    if (why)
        contradict(imposer, why);
    if (strcmp(claim->kernel, s->kernel->name))
        fail_at(STATUS_CONFIG, imposer->loc,
                "give the model that it was made from; options are taken from "
                "the manifest",
                "step %d runs %s in the manifest, %s in the model",
                imposer->step, claim->kernel, s->kernel->name);
    s->index = imposer->step;
    s->backward = claim->backward;
    s->split = claim->split;
    return s;
}

static void match_operands(Imposer *imposer, const ClaimStep *claim, Step *s)
{
    imposer->operand = -1;
    same(imposer, "units", claim->units, s->units);
    same(imposer, "operands", (int64_t)claim->operand.n, s->n_operand);
    const char *why = claim->strip ? strips_begin(&imposer->strips, s) : NULL;
    if (why)
        contradict(imposer, why);
    for (int k = 0; k < s->n_operand; k++) {
        imposer->operand = k;
        match_operand(imposer, s, s->operand + k, claim->operand.at + k);
    }
    if (claim->strip)
        strips_cut(&imposer->strips, claim, s);
}

static void make_steps(Imposer *imposer)
{
    Program *p = imposer->program;
    const size_t n = imposer->claim->step.n;
    Step **step = NEW_ARRAY(imposer->arena, Step *, n + 1);
    int32_t lowered;
    for (size_t i = 0; i < n; i++) {
        const ClaimStep *claim = imposer->claim->step.at + i;
        imposer->step = (int32_t)i;
        imposer->operand = -1;
        step[i] = make_step(imposer, claim);
        match_operands(imposer, claim, step[i]);
    }
    p->step.at = step;
    p->step.n = p->step.room = n;
    const char *why = strips_settle(&imposer->strips, &lowered);
    if (why)
        fail_at(STATUS_LIMIT, imposer->loc, NULL,
                "step %d before the plan (%s) %s", lowered,
                imposer->lowered[lowered]->kernel->name, why);
}

/* ---- order ---- */

/* Steps that jump know others by their numbers. Streams in front of all of them or behind all that
 * they jump over go on from step to step. */
static void check_jumps(Imposer *imposer)
{
    const int32_t lowered = (int32_t)imposer->program->lowered;
    const StepRange jumped = steps_jumped(imposer->lowered, lowered);
    imposer->operand = -1;
    if (!jumped.end)
        return;
    for (imposer->step = 0; imposer->step < (int32_t)imposer->claim->step.n;
         imposer->step++)
        if (imposer->claim->step.at[imposer->step].lowered.at[0] !=
            imposer->step)
            contradict(imposer, "is moved, though steps of the model jump");
    for (size_t i = 0; i < imposer->claim->segment.n; i++) {
        const Segment *g = imposer->claim->segment.at + i;
        if (!g->list)
            continue;
        const bool before = g->count <= jumped.first - g->first;
        if (!before && g->first < jumped.end)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "schedule[%zu] is a stream where steps of the model jump",
                    i);
    }
}

static void check_streams(const Imposer *imposer)
{
    if (!imposer->claim->segment.n && imposer->claim->step.n)
        fail_at(STATUS_LIMIT, imposer->loc, NULL, "the schedule runs no steps");
    for (size_t i = 0; i < imposer->claim->segment.n; i++) {
        const Segment *g = imposer->claim->segment.at + i;
        if (!g->list)
            continue;
        if ((size_t)g->first + (size_t)g->count > imposer->claim->step.n)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "schedule[%zu] names steps that do not exist", i);
        if (2 * (int64_t)g->count > imposer->claim->counters_bytes ||
            imposer->claim->counters % 2)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "schedule[%zu] has no room for its row counters", i);
        for (int32_t k = g->first; k < g->first + g->count; k++)
            if (imposer->claim->step.at[k].units > UINT16_MAX)
                fail_at(STATUS_LIMIT, imposer->loc, NULL,
                        "step %d has more rows than its counter counts", k);
    }
}

/* ---- the plan ---- */

/* Tensors of the model, and those that the claim's steps have of their own: scratch, strips, tables
 * of sizes. */
static size_t most_tensors(const Program *program, const Claim *claim)
{
    size_t most = (size_t)graph_root(program->graph)->next_id;
    for (size_t i = 0; i < claim->step.n; i++)
        most += claim->step.at[i].operand.n + 2;
    return most;
}

static Imposer new_imposer(Program *program, const Claim *claim,
                           const char *path)
{
    Arena *arena = program->graph->arena;
    const size_t most = most_tensors(program, claim);
    const int32_t lowered = program->lowered;
    Imposer imposer = {
        .arena = arena,
        .program = program,
        .claim = claim,
        .loc = { .file = path, .byte = -1, .node = -1 },
        .lowered = program->step.at,
        .done = NEW_ARRAY(arena, int32_t, lowered + 1),
        .strip = NEW_ARRAY(arena, int32_t, lowered + 1),
        .strips = strips_of(arena, program),
        .piece = NEW_ARRAY(arena, bool *, lowered + 1),
        .home = NEW_ARRAY(arena, Home, most + 1),
        .owner = NEW_ARRAY(arena, Tensor *, claim->tensor.n + 1),
        .claimed = NEW_ARRAY(arena, int32_t, most + 1),
        .operand = -1,
    };
    for (size_t i = 0; i < most; i++)
        imposer.claimed[i] = -1;
    return imposer;
}

static void take_plan(Program *program, const Claim *claim)
{
    Arena *arena = program->graph->arena;
    Plan *plan = &program->plan;
    *plan = (Plan){
        .arena_size = claim->size,
        .arena_align = claim->align,
        .lower_bound = claim->lower_bound,
        .optimal = claim->optimal,
        .state = claim->counters,
        .preserve_input = claim->preserve_input,
        .place = claim->run_state,
        .place_bytes = claim->run_state_bytes,
        .threads = claim->threads,
    };
    for (size_t i = 0; i < claim->region.n; i++) {
        const RegionUse region = { .name = "", .size = claim->region.at[i] };
        VEC_PUSH(arena, &plan->region, region);
    }
}

void claim_impose(Program *p, const Claim *c, const char *path)
{
    Imposer imposer = new_imposer(p, c, path);
    if (c->lowered_steps != p->lowered)
        fail_at(STATUS_CONFIG, imposer.loc,
                "give the model that it was made from; options are taken from "
                "the manifest",
                "the manifest is of a model of %d steps, this one has %d",
                c->lowered_steps, p->lowered);
    count_done(&imposer);
    settle_parts(&imposer);
    check_jumps(&imposer);
    make_steps(&imposer);
    check_streams(&imposer);
    if (!pools_are_tight(p->graph->arena, p, c->align))
        fail_at(STATUS_LIMIT, imposer.loc, NULL,
                "a pool of slots is larger than its rows need");
    take_plan(p, c);
    if (program_pushed(p) && c->run_state_bytes != PLACE_BYTES)
        fail_at(
            STATUS_LIMIT, imposer.loc, NULL,
            "the manifest has no place for the state of a run that takes rows");
    claim_match_values(p, c, imposer.claimed, imposer.loc);
    for (size_t i = 0; i < c->segment.n; i++)
        VEC_PUSH(p->graph->arena, &p->plan.segment, c->segment.at[i]);
    program_link(p);
}
