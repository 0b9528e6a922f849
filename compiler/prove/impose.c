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

static _Noreturn void contradict(const Imposer *m, const char *why)
{
    const Step *s = m->lowered[m->claim->step.at[m->step].lowered.at[0]];
    const char *which = m->operand < 0 ? "" : arena_printf(m->arena, ", operand %d", m->operand);
    fail_at(STATUS_LIMIT, m->loc, NULL, "step %d (%s, node \"%s\")%s: %s", m->step, s->kernel->name,
            s->node ? s->node->name : "", which, why);
}

static _Noreturn void differs(const Imposer *m, const char *what, int64_t claimed, int64_t real)
{
    contradict(m,
               arena_printf(m->arena, "%s is %" PRId64 " in the manifest, %" PRId64 " in the model",
                            what, claimed, real));
}

static void same(const Imposer *m, const char *what, int64_t claimed, int64_t real)
{
    if (claimed != real)
        differs(m, what, claimed, real);
}

/* ---- which steps do what ---- */

static void count_piece(Imposer *m, int32_t i, int32_t k)
{
    const Step *s = m->lowered[i];
    if (k > concat_inputs(s))
        contradict(m, "copies a piece of what has no such piece");
    if (!m->piece[i])
        m->piece[i] = NEW_ARRAY(m->arena, bool, concat_inputs(s) + 1);
    if (m->piece[i][k])
        contradict(m, "copies a piece that another step has copied");
    m->piece[i][k] = true;
}

/* Once, or once in each strip. */
static void count_whole(Imposer *m, const ClaimStep *c, int32_t i)
{
    if (m->done[i] ? !c->strip || !m->strip[i] || m->strip[i] >= c->strip : false)
        contradict(m, "does what another step has done");
    m->done[i] = 1;
    m->strip[i] = c->strip;
}

static void count_done(Imposer *m)
{
    for (m->step = 0; m->step < (int32_t)m->claim->step.n; m->step++) {
        const ClaimStep *c = m->claim->step.at + m->step;
        if (c->piece && c->lowered.n == 1)
            count_piece(m, c->lowered.at[0], c->piece);
        else if (c->piece)
            contradict(m, "copies a piece of several steps");
        for (size_t i = 0; !c->piece && i < c->lowered.n; i++)
            count_whole(m, c, c->lowered.at[i]);
    }
}

/* What no step does must be a concatenation whose inputs are written where they belong, or a slice
 * that is read in place. */
static void settle_parts(Imposer *m)
{
    for (int32_t i = 0; i < m->program->lowered; i++) {
        const Step *s = m->lowered[i];
        const int inputs = concat_inputs(s);
        const char *why = m->done[i] && m->piece[i] ? "is done as a whole and in pieces"
                          : !m->done[i] && !inputs  ? part_settle_slice(m->home, s)
                                                    : NULL;
        for (int k = 1; !m->done[i] && !why && k <= inputs; k++) {
            const bool copied = m->piece[i] && m->piece[i][k];
            const char *not = part_settle(m->home, s, k, copied);
            if (!copied)
                why = not ;
        }
        if (why)
            fail_at(STATUS_LIMIT, m->loc, NULL, "step %d before the plan (%s, node \"%s\") %s", i,
                    s->kernel->name, s->node ? s->node->name : "", why);
    }
}

/* ---- operands ---- */

static const char *storage_name(const Tensor *t)
{
    return t->storage == STORE_ARENA ? "arena" : t->storage == STORE_INPUT ? "input" : "output";
}

/* The claimed tensor is the model's, always the same one. */
static void match_tensor(Imposer *m, const ClaimOperand *c, Tensor *root)
{
    const ClaimTensor *t = m->claim->tensor.at + c->tensor;
    if (!m->owner[c->tensor]) {
        if (m->claimed[root->id] >= 0)
            contradict(m, "names a tensor that other steps know by another place");
        if (strcmp(t->storage, storage_name(root)))
            contradict(m, arena_printf(m->arena, "lies in the %s, not the %s", storage_name(root),
                                       t->storage));
        if (root->storage != STORE_ARENA)
            same(m, "slot", t->slot, root->slot);
        if (root->storage != STORE_ARENA)
            same(m, "offset", t->offset, 0);
        if (t->offset % m->claim->align)
            contradict(m, arena_printf(m->arena, "offset %" PRId64 " is not aligned", t->offset));
        same(m, "bytes", t->bytes, tensor_bytes(root));
        m->owner[c->tensor] = root;
        m->claimed[root->id] = c->tensor;
        root->offset = t->offset;
        root->region = t->region;
    }
    if (m->owner[c->tensor] != root)
        contradict(m, "names another step's tensor");
}

static ClaimAccess access_of(const Operand *o)
{
    return o->scratch            ? CLAIM_SCRATCH
           : o->write && o->read ? CLAIM_UPDATE
           : o->write            ? CLAIM_WRITE
                                 : CLAIM_READ;
}

static void match_rule(const Imposer *m, const ClaimOperand *claim, const RowRule *o, int32_t units)
{
    const RowRule *c = &claim->rule;
    const bool window = o->kind == ROWS_WINDOW, table = o->kind == ROWS_TABLE;
    same(m, "kind of rule", c->kind, o->kind);
    if (table)
        same(m, "entries", (int64_t)claim->entries, units);
    for (int32_t u = 0; table && u < units; u++) {
        same(m, "first row", c->table[u].lo, o->table[u].lo);
        same(m, "end row", c->table[u].hi, o->table[u].hi);
    }
    if (window)
        same(m, "stride", c->stride, o->stride);
    if (window)
        same(m, "pad", c->pad, o->pad);
    if (window)
        same(m, "extent", c->extent, o->extent);
}

/* A claim of whole rows says less, and holds. */
static void match_pixels(const Imposer *m, const PixelRule *c, PixelRule *o)
{
    if (!c->tile) {
        *o = *c;
        return;
    }
    same(m, "stride of pixels", c->stride, o->stride);
    same(m, "pad of pixels", c->pad, o->pad);
    same(m, "extent of pixels", c->extent, o->extent);
    same(m, "tile of pixels", c->tile, o->tile);
}

static void match_operand(Imposer *m, const Step *s, Operand *o, const ClaimOperand *c)
{
    if (!c->given != !o->tensor)
        contradict(m, c->given ? "is left out in the model" : "is left out in the manifest");
    if (!o->tensor)
        return;
    const ClaimStep *step = m->claim->step.at + m->step;
    const char *why = part_resolve(m->home, s, o, c->part && !c->pitch && !s->piece);
    if (!why && step->strip)
        why = strips_resolve(&m->strips, step, m->lowered[step->lowered.at[0]], s, m->operand, o);
    if (why)
        contradict(m, why);
    int64_t at;
    Tensor *root = tensor_root(o->tensor, &at);
    if (c->constant != (root->storage == STORE_WEIGHTS))
        contradict(m, c->constant ? "is no constant" : "is a constant");
    same(m, "kind of access", c->access, access_of(o));
    if (c->constant)
        return;
    match_tensor(m, c, root);
    same(m, "at", c->at, i64_add(at, o->offset));
    same(m, "rows", c->rows, o->rows);
    same(m, "row", c->row, o->row_bytes);
    same(m, "pixel", c->pixel, o->pixel);
    same(m, "part", c->part, o->part);
    same(m, "pitch", c->pitch, o->pitch);
    if (o->read && !o->scratch)
        match_rule(m, c, &o->rule, s->units);
    match_pixels(m, &c->pixels, &o->pixels);
    if (c->ring && root->storage != STORE_ARENA)
        contradict(m, "is a ring outside of the arena");
    same(m, "extent", m->claim->tensor.at[c->tensor].extent,
         c->ring ? i64_mul(c->ring, o->row_bytes) : tensor_bytes(root));
    o->ring = c->ring;
}

/* ---- steps ---- */

static Step *make_step(Imposer *m, const ClaimStep *c)
{
    const Step *first = m->lowered[c->lowered.at[0]];
    const char *why = NULL;
    Step *s;
    if (c->lowered.n == 1)
        s = step_again(m->arena, first, c->piece);
    else
        s = step_joined(m->arena, m->program, m->lowered, c, &why);
    if (why)
        contradict(m, why);
    if (strcmp(c->kernel, s->kernel->name))
        fail_at(STATUS_CONFIG, m->loc,
                "give the model that it was made from; options are taken from the manifest",
                "step %d runs %s in the manifest, %s in the model", m->step, c->kernel,
                s->kernel->name);
    s->index = m->step;
    s->backward = c->backward;
    return s;
}

static void make_steps(Imposer *m)
{
    Program *p = m->program;
    const size_t n = m->claim->step.n;
    Step **step = NEW_ARRAY(m->arena, Step *, n + 1);
    for (m->step = 0; (size_t)m->step < n; m->step++) {
        const ClaimStep *c = m->claim->step.at + m->step;
        m->operand = -1;
        Step *s = step[m->step] = make_step(m, c);
        same(m, "units", c->units, s->units);
        same(m, "operands", (int64_t)c->operand.n, s->n_operand);
        for (m->operand = 0; m->operand < s->n_operand; m->operand++)
            match_operand(m, s, s->operand + m->operand, c->operand.at + m->operand);
    }
    p->step.at = step;
    p->step.n = p->step.room = n;
    int32_t lowered;
    const char *why = strips_settle(&m->strips, &lowered);
    if (why)
        fail_at(STATUS_LIMIT, m->loc, NULL, "step %d before the plan (%s) %s", lowered,
                m->lowered[lowered]->kernel->name, why);
}

/* ---- order ---- */

/* Steps that jump know others by their numbers. A stream in front of all of them (an input by rows)
 * is not jumped over. */
static void check_jumps(Imposer *m)
{
    int32_t first = 0; /* that jumps */
    m->operand = -1;
    while (first < m->program->lowered && !m->lowered[first]->control &&
           m->lowered[first]->loop_end < 0)
        first++;
    if (first == m->program->lowered)
        return;
    for (m->step = 0; m->step < (int32_t)m->claim->step.n; m->step++)
        if (m->claim->step.at[m->step].lowered.at[0] != m->step)
            contradict(m, "is moved, though steps of the model jump");
    for (size_t i = 0; i < m->claim->segment.n; i++) {
        const Segment *g = m->claim->segment.at + i;
        if (g->list && g->count > first - g->first)
            fail_at(STATUS_LIMIT, m->loc, NULL,
                    "schedule[%zu] is a stream, though steps of the model jump", i);
    }
}

static void check_streams(const Imposer *m)
{
    if (!m->claim->segment.n && m->claim->step.n)
        fail_at(STATUS_LIMIT, m->loc, NULL, "the schedule runs no steps");
    for (size_t i = 0; i < m->claim->segment.n; i++) {
        const Segment *g = m->claim->segment.at + i;
        if (!g->list)
            continue;
        if ((size_t)g->first + (size_t)g->count > m->claim->step.n)
            fail_at(STATUS_LIMIT, m->loc, NULL, "schedule[%zu] names steps that do not exist", i);
        if (2 * (int64_t)g->count > m->claim->counters_bytes || m->claim->counters % 2)
            fail_at(STATUS_LIMIT, m->loc, NULL, "schedule[%zu] has no room for its row counters",
                    i);
        for (int32_t k = g->first; k < g->first + g->count; k++)
            if (m->claim->step.at[k].units > UINT16_MAX)
                fail_at(STATUS_LIMIT, m->loc, NULL, "step %d has more rows than its counter counts",
                        k);
    }
}

/* Those in the arena lie where the caller is told. */
static void match_values(const Imposer *m, const char *kind, Tensor *const *t, size_t n,
                         const int64_t *offset, const int *region, size_t claimed)
{
    if (n != claimed)
        fail_at(STATUS_CONFIG, m->loc, "give the model that it was made from",
                "the manifest has %zu %ss, the model has %zu", claimed, kind, n);
    const Step *pushed = program_pushed(m->program);
    for (size_t i = 0; i < n; i++) {
        const bool rows = pushed && pushed->operand[0].tensor == t[i];
        if (rows != (offset[i] == BY_ROWS))
            fail_at(STATUS_LIMIT, m->loc, NULL, "%s %zu %s row by row", kind, i,
                    rows ? "comes" : "does not come");
        if (rows)
            continue;
        if ((t[i]->storage == STORE_ARENA) != (offset[i] >= 0))
            fail_at(STATUS_LIMIT, m->loc, NULL, "%s %zu lies in the %s", kind, i,
                    t[i]->storage == STORE_ARENA ? "arena" : "caller's buffer");
        if (t[i]->storage != STORE_ARENA)
            continue;
        if (m->claimed[t[i]->id] < 0)
            t[i]->offset = offset[i], t[i]->region = region[i]; /* no step touches it */
        if (t[i]->offset != offset[i] || t[i]->region != region[i] || offset[i] % m->claim->align ||
            t[i]->view_of ||
            offset[i] > program_region_size(m->program, region[i]) - tensor_bytes(t[i]))
            fail_at(STATUS_LIMIT, m->loc, NULL, "%s %zu does not lie at %" PRId64, kind, i,
                    offset[i]);
    }
}

void claim_impose(Program *p, const Claim *c, const char *path)
{
    Arena *a = p->graph->arena;
    const size_t most = (size_t)graph_root(p->graph)->next_id +
                        2 * c->step.n; /* steps may have a scratch tensor or a strip of their own */
    Imposer m = { .arena = a,
                  .program = p,
                  .claim = c,
                  .loc = { .file = path, .byte = -1, .node = -1 },
                  .lowered = p->step.at,
                  .operand = -1 };
    if (c->lowered_steps != p->lowered)
        fail_at(STATUS_CONFIG, m.loc,
                "give the model that it was made from; options are taken from the manifest",
                "the manifest is of a model of %d steps, this one has %d", c->lowered_steps,
                p->lowered);
    m.done = NEW_ARRAY(a, int32_t, p->lowered + 1);
    m.strip = NEW_ARRAY(a, int32_t, p->lowered + 1);
    m.strips = strips_of(a, p);
    m.piece = NEW_ARRAY(a, bool *, p->lowered + 1);
    m.home = NEW_ARRAY(a, Home, most + 1);
    m.claimed = NEW_ARRAY(a, int32_t, most + 1);
    for (size_t i = 0; i < most; i++)
        m.claimed[i] = -1;
    m.owner = NEW_ARRAY(a, Tensor *, c->tensor.n + 1);
    count_done(&m);
    settle_parts(&m);
    check_jumps(&m);
    make_steps(&m);
    check_streams(&m);
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
        fail_at(STATUS_LIMIT, m.loc, NULL,
                "the manifest has no place for the state of a run that takes rows");
    match_values(&m, "input", p->graph->input.at, p->graph->input.n, c->in_offset.at,
                 c->in_region.at, c->in_offset.n);
    match_values(&m, "output", p->graph->output.at, graph_results(p->graph), c->out_offset.at,
                 c->out_region.at, c->out_offset.n);
    for (size_t i = 0; i < c->segment.n; i++)
        VEC_PUSH(a, &p->plan.segment, c->segment.at[i]);
    program_link(p);
}
