/* SPDX-License-Identifier: Apache-2.0
 * First it is settled which constants are fetched, by all steps that read them; then how each step
 * does it. */
#include "forms/fetch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "inlay_coded.h"
#include "rules/rules.h"

enum {
    ALIGN = 16,        /* of constants in a window, as in the blob */
    LEAST_FETCHED = 64 /* bytes: less is less than what it takes to fetch it */
};

/* A constant by its root. */
typedef struct Constant {
    const Tensor *root;
    const Coded *coded;
    int64_t bytes;
    int reads; /* steps that read it, those of loops many times */
    bool stays;
} Constant;

typedef struct Fetcher {
    Program *program;
    const FetchOptions *options;
    Arena *arena;
    Constant *constant; /* as program->weight */
    int32_t *number;    /* by tensor id, from 1 on; 0: it is no constant */
    int64_t left;       /* bytes that may still stay */
} Fetcher;

/* ---- which constants ---- */

static Constant *constant_of(const Fetcher *fetcher, const Operand *operand)
{
    int64_t at;
    if (!operand->tensor || operand->scratch)
        return NULL;
    const Tensor *root = tensor_root(operand->tensor, &at);
    if (root->storage != STORE_WEIGHTS || !fetcher->number[root->id])
        return NULL;
    return fetcher->constant + fetcher->number[root->id] - 1;
}

/* NULL: the operand is not fetched. */
static Constant *fetched_of(const Fetcher *fetcher, const Operand *operand)
{
    Constant *constant = constant_of(fetcher, operand);
    return constant && !constant->stays ? constant : NULL;
}

/* Bytes of the operand, which may be a part of its constant. */
static int64_t bytes_of(const Operand *operand)
{
    return tensor_bytes(operand->tensor) - operand->offset;
}

/* Can a window stand for constants of the step? */
static bool may_fetch(const Step *step)
{
    return !step_jumps(step) && !step->pushed &&
           step->n_operand < INLAY_FETCH_MOST;
}

/* Is it made again and again? */
static bool is_in_loop(const Program *program, const Step *step)
{
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *loop = program->step.at[i];
        if (loop->loop_end >= step->index && loop->index <= step->index)
            return true;
    }
    return false;
}

/* What a kernel believes stays; so does what a step reads that cannot have a window. */
static void note_step(Fetcher *fetcher, const Step *step)
{
    enum { TURNS = 1000 }; /* of a loop, whose number need not be known */
    const ArenaMark mark = arena_mark(fetcher->arena);
    bool *any = NEW_ARRAY(fetcher->arena, bool, step->n_operand + 1);
    const bool may = may_fetch(step);
    const int reads = is_in_loop(fetcher->program, step) ? TURNS : 1;
    bounds_any(fetcher->program, step, any);
    for (int k = 0; k < step->n_operand; k++) {
        Constant *constant = constant_of(fetcher, step->operand + k);
        if (!constant)
            continue;
        constant->reads += reads;
        constant->stays |= !any[k] || !may;
    }
    arena_release(fetcher->arena, mark);
}

static void list_constants(Fetcher *fetcher)
{
    Program *program = fetcher->program;
    const int ids = graph_root(program->graph)->next_id;
    fetcher->number = NEW_ARRAY(fetcher->arena, int32_t, ids + 1);
    fetcher->constant =
        NEW_ARRAY(fetcher->arena, Constant, program->weight.n + 1);
    for (size_t i = 0; i < program->weight.n; i++) {
        const Tensor *root = program->weight.at[i].tensor;
        const Coded *coded = program->weight.at[i].coded;
        const int64_t bytes = tensor_bytes(root);
        fetcher->number[root->id] = (int32_t)i + 1;
        fetcher->constant[i] = (Constant){
            .root = root,
            .coded = coded,
            .bytes = bytes,
            .stays =
                bytes <= LEAST_FETCHED || (fetcher->options->coded && !coded),
        };
    }
    for (size_t i = 0; i < program->step.n; i++)
        note_step(fetcher, program->step.at[i]);
}

/* Those that are read most often first, then the smallest: so the most steps need no window. */
static int by_worth(const void *a, const void *b)
{
    const Constant *x = *(Constant *const *)a;
    const Constant *y = *(Constant *const *)b;
    if (x->reads != y->reads)
        return x->reads > y->reads ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool keep(Fetcher *fetcher, Constant *constant)
{
    if (constant->stays)
        return true;
    if (constant->bytes > fetcher->left)
        return false;
    constant->stays = true;
    fetcher->left -= constant->bytes;
    fetcher->program->stream.kept += constant->bytes;
    return true;
}

static void keep_worthy(Fetcher *fetcher)
{
    const size_t n = fetcher->program->weight.n;
    if (fetcher->options->coded)
        return;
    Constant **list = NEW_ARRAY(fetcher->arena, Constant *, n + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = fetcher->constant + i;
    qsort(list, n, sizeof(Constant *), by_worth);
    for (size_t i = 0; i < n; i++)
        (void)keep(fetcher, list[i]);
}

/* ---- how a step fetches ---- */

/* Bytes that constants may take of the step's window. */
static int64_t room_of(const Fetcher *fetcher, const Step *step)
{
    const FetchOptions *options = fetcher->options;
    const int64_t code = options->coded ? (int64_t)sizeof(inlay_code) : 0;
    const int64_t window =
        options->room ? options->room[step->index] : options->window;
    return i64_max(0, window - code);
}

/* A step as it may fetch. */
typedef struct Cut {
    ChannelRule rule;
    void *params; /* those that rule.count is in */
    int64_t all;  /* bytes of a window with all constants */
    /* of one with those of the least channels; 0: it cannot be cut */
    int64_t block;
    int64_t most; /* of its constants, and which operand that is */
    int operand;
} Cut;

static int64_t aligned(int64_t bytes)
{
    return i64_add(bytes, ALIGN - 1) / ALIGN * ALIGN;
}

/* Channels that constants have room for. */
static int64_t padded(const ChannelRule *rule)
{
    return i64_ceil_div(rule->channels, 4) * 4;
}

/* Bytes of operand k for so many channels; -1: they are no whole bytes. */
static int64_t bytes_for(const ChannelRule *rule, const Operand *operand,
                         int64_t channels)
{
    const int64_t bytes = i64_mul(bytes_of(operand), channels);
    return bytes % padded(rule) ? -1 : bytes / padded(rule);
}

/* Bytes of a window for so many channels; -1: it cannot be cut so. */
static int64_t window_for(const Fetcher *fetcher, const Step *step,
                          const ChannelRule *rule, int64_t channels)
{
    int64_t all = 0;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const bool each = rule->each >> k & 1 && operand->tensor;
        const bool fetched = fetched_of(fetcher, operand);
        const int64_t bytes = each ? bytes_for(rule, operand, channels) : 0;
        if (bytes < 0 || (fetched && !each))
            return -1;
        if (fetched)
            all = i64_add(all, aligned(bytes));
    }
    return all;
}

static Cut cut_of(const Fetcher *fetcher, const Step *step)
{
    Cut cut = { .operand = -1 };
    cut.params =
        arena_copy(fetcher->arena, step->params, step->kernel->params_size);
    cut.rule = rules_channels(step, cut.params);
    if (step->alone)
        cut.rule.least = step->alone;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!fetched_of(fetcher, operand))
            continue;
        const int64_t bytes = bytes_of(operand);
        cut.all = i64_add(cut.all, aligned(bytes));
        if (cut.operand < 0 || bytes > cut.most)
            cut.operand = k;
        cut.most = i64_max(cut.most, bytes);
    }
    if (cut.rule.channels > cut.rule.least)
        cut.block =
            i64_max(0, window_for(fetcher, step, &cut.rule, cut.rule.least));
    return cut;
}

/* Of a step that can be cut, what no channel has by itself stays. */
static void keep_shared(Fetcher *fetcher, const Step *step)
{
    const Cut cut = cut_of(fetcher, step);
    if (cut.all <= room_of(fetcher, step) || !cut.rule.channels)
        return;
    for (int k = 0; k < step->n_operand; k++) {
        Constant *constant = fetched_of(fetcher, step->operand + k);
        if (constant && !(cut.rule.each >> k & 1))
            (void)keep(fetcher, constant);
    }
}

/* Bytes of the smallest window that will do. */
static int64_t least_window(const Cut *cut)
{
    return cut->block ? i64_min(cut->block, cut->all) : cut->all;
}

static _Noreturn void fail_window(const Fetcher *fetcher, const Step *step,
                                  const Cut *cut)
{
    const Tensor *tensor = step->operand[cut->operand].tensor;
    const int64_t least = least_window(cut);
    fail_at(STATUS_UNSUPPORTED, step->node ? node_loc(step->node) : LOC_NONE,
            arena_printf(fetcher->arena,
                         "the smallest window that will do is --window=%" PRId64
                         "; or let it stay: --resident=%" PRId64,
                         least, cut->most),
            "a constant of %" PRId64
            " bytes (%s %s) comes through no window of %" PRId64 " bytes",
            cut->most, dtype_name(tensor->dtype),
            shape_text(fetcher->arena, &tensor->shape), room_of(fetcher, step));
}

/* Constants that fit no window stay, where so many bytes may; else the step that needs the largest
 * window is named. */
static void settle(Fetcher *fetcher)
{
    const Program *program = fetcher->program;
    const Step *worst = NULL;
    Cut of_worst = { .operand = -1 };
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        keep_shared(fetcher, step);
        Cut cut = cut_of(fetcher, step);
        while (least_window(&cut) > room_of(fetcher, step) &&
               keep(fetcher, constant_of(fetcher, step->operand + cut.operand)))
            cut = cut_of(fetcher, step);
        if (least_window(&cut) <= room_of(fetcher, step) ||
            (worst && least_window(&cut) <= least_window(&of_worst)))
            continue;
        worst = step;
        of_worst = cut;
    }
    if (worst)
        fail_window(fetcher, worst, &of_worst);
}

/* ---- the steps ---- */

static int by_size(const void *a, const void *b)
{
    const FetchPart *x = a;
    const FetchPart *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->operand - y->operand;
}

/* Channels of a piece: two pieces fit into the window, where it is large enough for two and the
 * next one may be on its way. */
static int64_t piece_channels(const Fetcher *fetcher, const Step *step,
                              const Cut *cut)
{
    const int64_t window = room_of(fetcher, step);
    const int64_t least = cut->rule.least;
    const int64_t blocks = i64_ceil_div(cut->rule.channels, least);
    const bool halves = cut->block <= window / 2 && !fetcher->options->coded;
    const int64_t room = halves ? window / 2 : window;
    int64_t n = 1;
    while (!step->alone && n < blocks &&
           window_for(fetcher, step, &cut->rule, (n + 1) * least) <= room)
        n++;
    return i64_ceil_div(blocks, i64_ceil_div(blocks, n)) * least;
}

/* Where a part of a constant begins that is coded, and room for where its pieces do. */
static void note_code(const Fetcher *fetcher, const Operand *operand,
                      int32_t pieces, FetchPart *part)
{
    int64_t at;
    part->coded = fetched_of(fetcher, operand)->coded;
    if (!part->coded)
        return;
    (void)tensor_root(operand->tensor, &at);
    part->first = (at + operand->offset) / part->coded->width;
    part->begins = pieces;
    part->begin =
        NEW_ARRAY(fetcher->arena, uint32_t, i64_max(pieces, PALETTE_WORDS));
    if (part->coded->palette)
        part->begins = palette_words(part->coded->palette, part->begin);
}

/* What the window holds of an operand. */
static FetchPart part_of(const Fetcher *fetcher, const Step *step,
                         const ChannelRule *rule, int64_t channels,
                         int32_t pieces, int k)
{
    const Operand *operand = step->operand + k;
    const int64_t all = bytes_of(operand);
    FetchPart part = { .operand = k, .bytes = all, .last = all };
    const int32_t before = pieces - 1;
    if (before) {
        part.bytes = bytes_for(rule, operand, channels);
        part.last = all - part.bytes * before;
    }
    note_code(fetcher, operand, pieces, &part);
    return part;
}

/* The constants, one behind the other in the window; returns where they end. */
static int64_t list_parts(const Fetcher *fetcher, const Step *step,
                          const ChannelRule *rule, int64_t channels,
                          Fetch *fetch)
{
    int64_t at = 0;
    fetch->part = NEW_ARRAY(fetcher->arena, FetchPart, step->n_operand + 1);
    for (int k = 0; k < step->n_operand; k++)
        if (fetched_of(fetcher, step->operand + k))
            fetch->part[fetch->parts++] =
                part_of(fetcher, step, rule, channels, fetch->pieces, k);
    qsort(fetch->part, (size_t)fetch->parts, sizeof *fetch->part, by_size);
    for (int i = 0; i < fetch->parts; i++) {
        fetch->part[i].at = at;
        at = i64_add(at, aligned(fetch->part[i].bytes));
    }
    return at;
}

/* The parameters with so many channels. */
static const void *params_with(const Fetcher *fetcher, const Step *step,
                               int64_t channels)
{
    void *params =
        arena_copy(fetcher->arena, step->params, step->kernel->params_size);
    const ChannelRule rule = rules_channels(step, params);
    *rule.count = i32_checked(channels);
    return params;
}

/* The result's channels in pieces, all of which need all of the rest. */
static void cut_channels(const Fetcher *fetcher, Step *step, const Cut *cut,
                         int64_t channels, Fetch *fetch)
{
    const int64_t before = channels * (fetch->pieces - 1);
    fetch->units = step->units;
    fetch->params = params_with(fetcher, step, channels);
    fetch->end = params_with(fetcher, step, cut->rule.channels - before);
    for (int k = 0; k < step->n_operand; k++) {
        Operand *operand = step->operand + k;
        const bool in_pixels = cut->rule.in_pixels >> k & 1;
        if (operand->tensor && in_pixels)
            fetch->advance[k] =
                channels * dtype_bits(operand->tensor->dtype) / 8;
        if (operand->tensor && cut->rule.each >> k & 1)
            fetch->advance[k] = bytes_for(&cut->rule, operand, channels);
        if (!in_pixels || !reuse_in_place(operand->reuse))
            operand->reuse = REUSE_NONE;
    }
}

/* The step is one unit. */
static void make_whole(Step *step)
{
    step->units = 1;
    step->accumulates = false;
    for (int k = 0; k < step->n_operand; k++) {
        Operand *operand = step->operand + k;
        operand->rule = (RowRule){ .kind = ROWS_ALL };
        operand->pixels = (PixelRule){ .tile = 0 };
        operand->columns = NULL;
        if (operand->reuse != REUSE_ELEMENTWISE)
            operand->reuse = REUSE_NONE;
    }
}

static void add_window(const Fetcher *fetcher, Step *step, int64_t bytes)
{
    const size_t n = (size_t)step->n_operand;
    Operand *operand = NEW_ARRAY(fetcher->arena, Operand, n + 1);
    memcpy(operand, step->operand, n * sizeof *operand);
    operand[n] = operand_of_scratch(fetcher->program->graph, bytes);
    step->operand = operand;
    step->room = (int32_t)n + 1;
    step->n_operand++;
}

/* What the step adds to the figures. */
static void count(StreamUse *use, const Fetch *fetch, int64_t window)
{
    use->window = i64_max(use->window, window);
    use->steps++;
    use->pieces += fetch->pieces;
    for (int i = 0; i < fetch->parts; i++) {
        const FetchPart *part = fetch->part + i;
        const int64_t before = i64_mul(part->bytes, fetch->pieces - 1);
        use->traffic = i64_add(use->traffic, i64_add(before, part->last));
    }
}

/* Into how many pieces the step is cut; *channels: of each. */
static int32_t pieces_of(const Fetcher *fetcher, const Step *step,
                         const Cut *cut, int64_t *channels)
{
    if (cut->all <= room_of(fetcher, step) && !step->alone)
        return 1;
    assert(cut->rule.channels);
    *channels = piece_channels(fetcher, step, cut);
    return (int32_t)i64_ceil_div(cut->rule.channels, *channels);
}

/* Lays out the window; returns its bytes. */
static int64_t lay_out(const Fetcher *fetcher, const Step *step, const Cut *cut,
                       int64_t channels, Fetch *fetch)
{
    const int64_t bytes =
        list_parts(fetcher, step, &cut->rule, channels, fetch);
    fetch->code = bytes;
    if (fetcher->options->coded && fetch->parts)
        return i64_add(bytes, sizeof(inlay_code));
    if (fetch->pieces == 1 || 2 * bytes > room_of(fetcher, step) ||
        fetcher->options->coded)
        return i64_max(bytes, ALIGN);
    fetch->half = bytes;
    return i64_max(2 * bytes, ALIGN);
}

static void make_fetch(const Fetcher *fetcher, Step *step)
{
    const Cut cut = cut_of(fetcher, step);
    Fetch *fetch = NEW(fetcher->arena, Fetch);
    int64_t channels = 0;
    *fetch = (Fetch){ .params = step->params, .end = step->params };
    fetch->advance = NEW_ARRAY(fetcher->arena, int64_t, step->n_operand + 1);
    fetch->pieces = pieces_of(fetcher, step, &cut, &channels);
    const int64_t window = lay_out(fetcher, step, &cut, channels, fetch);
    if (fetch->pieces > 1)
        cut_channels(fetcher, step, &cut, channels, fetch);
    else if (fetcher->options->whole)
        fetch->units = step->units;
    if (fetch->units)
        make_whole(step);
    add_window(fetcher, step, window);
    step->fetch = fetch;
    count(&fetcher->program->stream, fetch, window);
}

/* Constants that stay are not coded. */
static void leave_uncoded(Fetcher *fetcher)
{
    Program *program = fetcher->program;
    for (size_t i = 0; i < program->weight.n; i++)
        if (fetcher->constant[i].stays)
            program->weight.at[i].coded = NULL;
    program->stream.kept = 0;
}

static void fetch_all(Fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->program->step.n; i++) {
        Step *step = fetcher->program->step.at[i];
        if (cut_of(fetcher, step).all || step->alone)
            make_fetch(fetcher, step);
    }
}

void fetch_steps(Program *program, const FetchOptions *options)
{
    Fetcher fetcher = {
        .program = program,
        .options = options,
        .arena = program->graph->arena,
        .left = options->coded ? INT64_MAX : options->resident,
    };
    program->stream = (StreamUse){
        .coded = options->coded,
        .asked = options->window,
        .room = options->room,
        .resident = options->resident,
        .whole = options->whole,
    };
    list_constants(&fetcher);
    settle(&fetcher);
    keep_worthy(&fetcher);
    if (options->coded)
        leave_uncoded(&fetcher);
    fetch_all(&fetcher);
}

bool fetch_has(const Step *step, int operand)
{
    for (int i = 0; step->fetch && i < step->fetch->parts; i++)
        if (step->fetch->part[i].operand == operand)
            return true;
    return false;
}
