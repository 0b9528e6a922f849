/* SPDX-License-Identifier: Apache-2.0
 * Which steps do what comes first; then each operand is worked out from the model and compared with
 * the claim. */
#include "prove/impose.h"

#include <inttypes.h>

#include "base/size.h"
#include "prove/joined.h"
#include "prove/part.h"
#include "prove/strips.h"

typedef struct Imposer {
    Arena *arena;
    Program *program;
    const Claim *claim;
    Loc loc;
    Step **lowered;
    int32_t *done;  /* by lowered step: how many steps do all of it */
    int32_t *strip; /* by lowered step: the last strip that does it, 0: none */
    StripSet strips;
    bool **piece;          /* by concatenation: the inputs that are copied */
    Home *home;            /* by tensor id */
    Tensor **owner;        /* by claimed tensor; NULL: not seen yet */
    int32_t *claimed;      /* by tensor id: place in the claim's list, -1: none yet */
    int32_t step, operand; /* under way */
} Imposer;

static _Noreturn void contradict(const Imposer *imposer, const char *why)
{
    const Step *s = imposer->lowered[imposer->claim->step.at[imposer->step].lowered.at[0]];
    const char *which =
        imposer->operand < 0 ? "" : arena_printf(imposer->arena, ", operand %d", imposer->operand);
    fail_at(STATUS_LIMIT, imposer->loc, NULL, "step %d (%s, node \"%s\")%s: %s", imposer->step,
            s->kernel->name, s->node ? s->node->name : "", which, why);
}

static _Noreturn void differs(const Imposer *imposer, const char *what, int64_t claimed,
                              int64_t real)
{
    contradict(imposer, arena_printf(imposer->arena,
                                     "%s is %" PRId64 " in the manifest, %" PRId64 " in the model",
                                     what, claimed, real));
}

static void same(const Imposer *imposer, const char *what, int64_t claimed, int64_t real)
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
        imposer->piece[i] = NEW_ARRAY(imposer->arena, bool, concat_inputs(s) + 1);
    if (imposer->piece[i][k])
        contradict(imposer, "copies a piece that another step has copied");
    imposer->piece[i][k] = true;
}

/* Once, or once in each strip. */
static void count_whole(Imposer *imposer, const ClaimStep *claim, int32_t i)
{
    if (imposer->done[i] ? !claim->strip || !imposer->strip[i] || imposer->strip[i] >= claim->strip
                         : false)
        contradict(imposer, "does what another step has done");
    imposer->done[i] = 1;
    imposer->strip[i] = claim->strip;
}

static void count_done(Imposer *imposer)
{
    for (imposer->step = 0; imposer->step < (int32_t)imposer->claim->step.n; imposer->step++) {
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
static void settle_parts(Imposer *imposer)
{
    for (int32_t i = 0; i < imposer->program->lowered; i++) {
        const Step *s = imposer->lowered[i];
        const int inputs = concat_inputs(s);
        const char *why = imposer->done[i] && imposer->piece[i] ? "is done as a whole and in pieces"
                          : !imposer->done[i] && !inputs ? part_settle_slice(imposer->home, s)
                                                         : NULL;
        for (int k = 1; !imposer->done[i] && !why && k <= inputs; k++) {
            const bool copied = imposer->piece[i] && imposer->piece[i][k];
            const char *not = part_settle(imposer->home, s, k, copied);
            if (!copied)
                why = not ;
        }
        if (why)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "step %d before the plan (%s, node \"%s\") %s", i, s->kernel->name,
                    s->node ? s->node->name : "", why);
    }
}

/* ---- operands ---- */

static const char *storage_name(const Tensor *tensor)
{
    return tensor->storage == STORE_ARENA   ? "arena"
           : tensor->storage == STORE_INPUT ? "input"
                                            : "output";
}

/* The claimed tensor is the model's, always the same one. */
static void match_tensor(Imposer *imposer, const ClaimOperand *c, Tensor *root)
{
    const ClaimTensor *t = imposer->claim->tensor.at + c->tensor;
    if (!imposer->owner[c->tensor]) {
        if (imposer->claimed[root->id] >= 0)
            contradict(imposer, "names a tensor that other steps know by another place");
        if (strcmp(t->storage, storage_name(root)))
            contradict(imposer, arena_printf(imposer->arena, "lies in the %s, not the %s",
                                             storage_name(root), t->storage));
        if (root->storage != STORE_ARENA)
            same(imposer, "slot", t->slot, root->slot);
        if (root->storage != STORE_ARENA)
            same(imposer, "offset", t->offset, 0);
        if (t->offset % imposer->claim->align)
            contradict(imposer, arena_printf(imposer->arena, "offset %" PRId64 " is not aligned",
                                             t->offset));
        same(imposer, "bytes", t->bytes, tensor_bytes(root));
        imposer->owner[c->tensor] = root;
        imposer->claimed[root->id] = c->tensor;
        root->offset = t->offset;
        root->region = t->region;
    }
    if (imposer->owner[c->tensor] != root)
        contradict(imposer, "names another step's tensor");
}

static ClaimAccess access_of(const Operand *operand)
{
    return operand->scratch                  ? CLAIM_SCRATCH
           : operand->write && operand->read ? CLAIM_UPDATE
           : operand->write                  ? CLAIM_WRITE
                                             : CLAIM_READ;
}

static void match_rule(const Imposer *imposer, const ClaimOperand *claim, const RowRule *o,
                       int32_t units)
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
static void match_pixels(const Imposer *imposer, const PixelRule *c, PixelRule *o)
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

static void match_operand(Imposer *imposer, const Step *s, Operand *o, const ClaimOperand *c)
{
    if (!c->given != !o->tensor)
        contradict(imposer, c->given ? "is left out in the model" : "is left out in the manifest");
    if (!o->tensor)
        return;
    const ClaimStep *step = imposer->claim->step.at + imposer->step;
    const char *why = part_resolve(imposer->home, s, o, c->part && !c->pitch && !s->piece);
    if (!why && step->strip)
        why = strips_resolve(&imposer->strips, step, imposer->lowered[step->lowered.at[0]], s,
                             imposer->operand, o);
    if (why)
        contradict(imposer, why);
    int64_t at;
    Tensor *root = tensor_root(o->tensor, &at);
    if (c->constant != (root->storage == STORE_WEIGHTS))
        contradict(imposer, c->constant ? "is no constant" : "is a constant");
    same(imposer, "kind of access", c->access, access_of(o));
    if (c->constant)
        return;
    match_tensor(imposer, c, root);
    same(imposer, "at", c->at, i64_add(at, o->offset));
    same(imposer, "rows", c->rows, o->rows);
    same(imposer, "row", c->row, o->row_bytes);
    same(imposer, "pixel", c->pixel, o->pixel);
    same(imposer, "part", c->part, o->part);
    same(imposer, "pitch", c->pitch, o->pitch);
    if (o->read && !o->scratch)
        match_rule(imposer, c, &o->rule, s->units);
    match_pixels(imposer, &c->pixels, &o->pixels);
    if (c->ring && root->storage != STORE_ARENA)
        contradict(imposer, "is a ring outside of the arena");
    same(imposer, "extent", imposer->claim->tensor.at[c->tensor].extent,
         c->ring ? i64_mul(c->ring, o->row_bytes) : tensor_bytes(root));
    o->ring = c->ring;
}

/* ---- steps ---- */

static Step *make_step(Imposer *imposer, const ClaimStep *claim)
{
    const Step *first = imposer->lowered[claim->lowered.at[0]];
    const char *why = NULL;
    Step *s;
    if (claim->lowered.n == 1)
        s = step_again(imposer->arena, first, claim->piece);
    else
        s = step_joined(imposer->arena, imposer->program, imposer->lowered, claim, &why);
    if (why)
        contradict(imposer, why);
    if (strcmp(claim->kernel, s->kernel->name))
        fail_at(STATUS_CONFIG, imposer->loc,
                "give the model that it was made from; options are taken from the manifest",
                "step %d runs %s in the manifest, %s in the model", imposer->step, claim->kernel,
                s->kernel->name);
    s->index = imposer->step;
    s->backward = claim->backward;
    return s;
}

static void make_steps(Imposer *imposer)
{
    Program *p = imposer->program;
    const size_t n = imposer->claim->step.n;
    Step **step = NEW_ARRAY(imposer->arena, Step *, n + 1);
    for (imposer->step = 0; (size_t)imposer->step < n; imposer->step++) {
        const ClaimStep *c = imposer->claim->step.at + imposer->step;
        imposer->operand = -1;
        Step *s = step[imposer->step] = make_step(imposer, c);
        same(imposer, "units", c->units, s->units);
        same(imposer, "operands", (int64_t)c->operand.n, s->n_operand);
        for (imposer->operand = 0; imposer->operand < s->n_operand; imposer->operand++)
            match_operand(imposer, s, s->operand + imposer->operand,
                          c->operand.at + imposer->operand);
    }
    p->step.at = step;
    p->step.n = p->step.room = n;
    int32_t lowered;
    const char *why = strips_settle(&imposer->strips, &lowered);
    if (why)
        fail_at(STATUS_LIMIT, imposer->loc, NULL, "step %d before the plan (%s) %s", lowered,
                imposer->lowered[lowered]->kernel->name, why);
}

/* ---- order ---- */

/* Steps that jump know others by their numbers. A stream in front of all of them (an input by rows)
 * is not jumped over. */
static void check_jumps(Imposer *imposer)
{
    int32_t first = 0; /* that jumps */
    imposer->operand = -1;
    while (first < imposer->program->lowered && !imposer->lowered[first]->control &&
           imposer->lowered[first]->loop_end < 0)
        first++;
    if (first == imposer->program->lowered)
        return;
    for (imposer->step = 0; imposer->step < (int32_t)imposer->claim->step.n; imposer->step++)
        if (imposer->claim->step.at[imposer->step].lowered.at[0] != imposer->step)
            contradict(imposer, "is moved, though steps of the model jump");
    for (size_t i = 0; i < imposer->claim->segment.n; i++) {
        const Segment *g = imposer->claim->segment.at + i;
        if (g->list && g->count > first - g->first)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "schedule[%zu] is a stream, though steps of the model jump", i);
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
            fail_at(STATUS_LIMIT, imposer->loc, NULL, "schedule[%zu] names steps that do not exist",
                    i);
        if (2 * (int64_t)g->count > imposer->claim->counters_bytes || imposer->claim->counters % 2)
            fail_at(STATUS_LIMIT, imposer->loc, NULL,
                    "schedule[%zu] has no room for its row counters", i);
        for (int32_t k = g->first; k < g->first + g->count; k++)
            if (imposer->claim->step.at[k].units > UINT16_MAX)
                fail_at(STATUS_LIMIT, imposer->loc, NULL,
                        "step %d has more rows than its counter counts", k);
    }
}

/* Those in the arena lie where the caller is told. */
static void match_values(const Imposer *imposer, const char *kind, Tensor *const *t, size_t n,
                         const int64_t *offset, const int *region, size_t claimed)
{
    if (n != claimed)
        fail_at(STATUS_CONFIG, imposer->loc, "give the model that it was made from",
                "the manifest has %zu %ss, the model has %zu", claimed, kind, n);
    const Step *pushed = program_pushed(imposer->program);
    for (size_t i = 0; i < n; i++) {
        const bool rows = pushed && pushed->operand[0].tensor == t[i];
        if (rows != (offset[i] == BY_ROWS))
            fail_at(STATUS_LIMIT, imposer->loc, NULL, "%s %zu %s row by row", kind, i,
                    rows ? "comes" : "does not come");
        if (rows)
            continue;
        if ((t[i]->storage == STORE_ARENA) != (offset[i] >= 0))
            fail_at(STATUS_LIMIT, imposer->loc, NULL, "%s %zu lies in the %s", kind, i,
                    t[i]->storage == STORE_ARENA ? "arena" : "caller's buffer");
        if (t[i]->storage != STORE_ARENA)
            continue;
        if (imposer->claimed[t[i]->id] < 0)
            t[i]->offset = offset[i], t[i]->region = region[i]; /* no step touches it */
        if (t[i]->offset != offset[i] || t[i]->region != region[i] ||
            offset[i] % imposer->claim->align || t[i]->view_of ||
            offset[i] > program_region_size(imposer->program, region[i]) - tensor_bytes(t[i]))
            fail_at(STATUS_LIMIT, imposer->loc, NULL, "%s %zu does not lie at %" PRId64, kind, i,
                    offset[i]);
    }
}

void claim_impose(Program *p, const Claim *c, const char *path)
{
    Arena *a = p->graph->arena;
    const size_t most = (size_t)graph_root(p->graph)->next_id +
                        2 * c->step.n; /* steps may have a scratch tensor or a strip of their own */
    Imposer imposer = { .arena = a,
                        .program = p,
                        .claim = c,
                        .loc = { .file = path, .byte = -1, .node = -1 },
                        .lowered = p->step.at,
                        .operand = -1 };
    if (c->lowered_steps != p->lowered)
        fail_at(STATUS_CONFIG, imposer.loc,
                "give the model that it was made from; options are taken from the manifest",
                "the manifest is of a model of %d steps, this one has %d", c->lowered_steps,
                p->lowered);
    imposer.done = NEW_ARRAY(a, int32_t, p->lowered + 1);
    imposer.strip = NEW_ARRAY(a, int32_t, p->lowered + 1);
    imposer.strips = strips_of(a, p);
    imposer.piece = NEW_ARRAY(a, bool *, p->lowered + 1);
    imposer.home = NEW_ARRAY(a, Home, most + 1);
    imposer.claimed = NEW_ARRAY(a, int32_t, most + 1);
    for (size_t i = 0; i < most; i++)
        imposer.claimed[i] = -1;
    imposer.owner = NEW_ARRAY(a, Tensor *, c->tensor.n + 1);
    count_done(&imposer);
    settle_parts(&imposer);
    check_jumps(&imposer);
    make_steps(&imposer);
    check_streams(&imposer);
    p->plan = (Plan){ .arena_size = c->size,
                      .arena_align = c->align,
                      .lower_bound = c->lower_bound,
                      .optimal = c->optimal,
                      .state = c->counters,
                      .preserve_input = c->preserve_input,
                      .place = c->run_state };
    for (size_t i = 0; i < c->region.n; i++)
        VEC_PUSH(a, &p->plan.region, ((RegionUse){ .name = "", .size = c->region.at[i] }));
    if (program_pushed(p) && c->run_state < 0)
        fail_at(STATUS_LIMIT, imposer.loc, NULL,
                "the manifest has no place for the state of a run that takes rows");
    match_values(&imposer, "input", p->graph->input.at, p->graph->input.n, c->in_offset.at,
                 c->in_region.at, c->in_offset.n);
    match_values(&imposer, "output", p->graph->output.at, graph_results(p->graph), c->out_offset.at,
                 c->out_region.at, c->out_offset.n);
    for (size_t i = 0; i < c->segment.n; i++)
        VEC_PUSH(a, &p->plan.segment, c->segment.at[i]);
    program_link(p);
}
