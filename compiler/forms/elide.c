/* SPDX-License-Identifier: Apache-2.0
 * Works on copies of the steps, since a wider tensor lives longer than its parts did and may need
 * more: the planner tries several ways. An input that cannot be written in place keeps a copy step
 * of its own. */
#include "forms/elide.h"

#include <stdlib.h>

#include "base/size.h"
#include "rules/rules.h"

enum {
    WORK = 10000000, /* operands that are moved: copies beyond stay */
    MOST_INPUTS =
        2048, /* of a concatenation: each part is weighed against the others later */
};

/* How the operands of a tensor see it: all alike, or it stays as it is. */
typedef struct Sight {
    int32_t rows;
    int64_t row_bytes, pixel;
    int joins; /* operands of concatenations that read it */
    bool seen, differs, updated;
} Sight;

/* A copy to be made behind step `after` of those there were. */
typedef struct Late {
    Step *step;
    size_t after;
} Late;

/* A step that touches a tensor: its place in `step`, or, behind all of those, in `late`. */
typedef struct StepUse {
    int32_t step, next;
} StepUse;

typedef struct Elider {
    Arena *arena;
    const Program *program;
    Steps *out;
    const uint8_t *way;
    VEC(Step *) step; /* as they are now, by their old numbers; NULL: gone */
    VEC(Late) late;
    Sight *sight; /* by tensor id */
    VEC(StepUse) use;
    int32_t *first; /* use of a tensor, by id below `ids`; -1: none */
    int ids;
    int64_t work; /* operands that may still be moved */
    bool any;
} Elider;

static int inputs_of(const Step *step)
{
    return rules_join(step).inputs;
}

/* Its inputs are parts of pixels. */
static bool joins_channels(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_PIXELS && join.inputs <= MOST_INPUTS;
}

/* Its inputs lie one after the other. */
static bool joins_blocks(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_BLOCKS && join.inputs <= MOST_INPUTS;
}

/* Does it take channels and rows that lie together, and all pixels of each row? */
static bool takes_box(const Step *step, Box *box)
{
    if (!rules_box(step, box))
        return false;
    const Operand *y = step->operand;
    const Operand *x = step->operand + 1;
    return x->strided && y->strided &&
           y->row_bytes * x->pixel == x->row_bytes * y->pixel;
}

static Tensor *root_of(const Operand *operand, int64_t *at)
{
    return tensor_root(operand->tensor, at);
}

static bool is_ours(const Tensor *root)
{
    return root->storage == STORE_ARENA && root->slot < 0;
}

/* Old bytes of a state must be read, and new ones written, when the model's order says so. */
static bool is_state(const Operand *operand)
{
    int64_t at;
    return root_of(operand, &at)->state;
}

static void look(Elider *elider, const Step *s, const Operand *operand)
{
    int64_t at;
    const Tensor *root = root_of(operand, &at);
    Sight *g = elider->sight + root->id;
    const bool strided =
        operand->strided || (joins_channels(s) && operand->rows == s->units);
    if (!g->seen)
        *g = (Sight){ .seen = true,
                      .rows = operand->rows,
                      .row_bytes = operand->row_bytes,
                      .pixel = operand->pixel,
                      .joins = g->joins };
    if (!strided || at || operand->offset || operand->part ||
        operand->rows != g->rows || operand->row_bytes != g->row_bytes ||
        operand->pixel != g->pixel)
        g->differs = true;
    if (operand->write && operand->read)
        g->updated = true;
    if (inputs_of(s) && operand->read)
        g->joins++;
}

static Step *copy_step(Arena *arena, const Step *s)
{
    Step *c = arena_copy(arena, s, sizeof *s);
    c->operand = arena_copy(arena, s->operand,
                            (size_t)s->n_operand * sizeof *s->operand);
    c->room = s->n_operand;
    return c;
}

/* An image of which all operands see all, in the same rows and pixels, and which ends with its
 * channels. */
static bool is_plain(const Elider *elider, const Operand *operand)
{
    int64_t at;
    const Tensor *root = root_of(operand, &at);
    const Sight *g = elider->sight + root->id;
    return is_ours(root) && g->seen && !g->differs && !operand->part && !at &&
           !operand->offset && g->pixel == operand->pixel;
}

/* The same of the result of a concatenation, which may be the model's or part of another by now. */
static bool is_result(const Elider *elider, const Operand *y)
{
    int64_t at;
    const Tensor *root = root_of(y, &at);
    return y->part ||
           ((root->storage == STORE_ARENA || root->storage == STORE_OUTPUT) &&
            !elider->sight[root->id].differs);
}

/* ---- operands move ---- */

/* Where the operands of a tensor go. */
typedef struct Home {
    Operand y;          /* an operand on all of the new home */
    int64_t offset;     /* bytes into it */
    int64_t part;       /* elements of a pixel; 0: all of them */
    bool block;         /* rows and pixels stay as they are */
    bool reads, writes; /* which operands move */
} Home;

static Tensor *view_of(Elider *elider, const Tensor *like, Tensor *of,
                       int64_t offset)
{
    Tensor *view = graph_add_tensor(elider->program->graph, NULL, like->dtype,
                                    like->shape);
    view->name = like->name;
    view->view_of = of;
    view->view_offset = offset;
    view->storage = of->storage;
    return view;
}

static void move_operand(Elider *elider, Operand *operand, const Tensor *x,
                         const Home *home)
{
    int64_t at;
    if (!operand->tensor || root_of(operand, &at) != x ||
        !(operand->write ? home->writes : home->reads))
        return;
    if (home->block) {
        operand->tensor =
            view_of(elider, operand->tensor, home->y.tensor, home->offset + at);
        return;
    }
    if (!operand->part)
        operand->part = home->part;
    operand->tensor = home->y.tensor;
    operand->offset += home->offset;
    operand->pixel = home->y.pixel;
    operand->row_bytes = home->y.row_bytes;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The steps that touch a tensor, each once, those that were there first. */
static int32_t *list_uses(const Elider *elider, const Tensor *x, int32_t *n)
{
    *n = 0;
    for (int32_t k = x->id < elider->ids ? elider->first[x->id] : -1; k >= 0;
         k = elider->use.at[k].next)
        ++*n;
    int32_t *step = NEW_ARRAY(elider->arena, int32_t, *n + 1);
    int32_t kept = 0;
    for (int32_t k = *n ? elider->first[x->id] : -1, i = 0; k >= 0;
         k = elider->use.at[k].next)
        step[i++] = elider->use.at[k].step;
    if (*n)
        qsort(step, (size_t)*n, sizeof *step, by_number);
    for (int32_t i = 0; i < *n; i++)
        if (!kept || step[kept - 1] != step[i])
            step[kept++] = step[i];
    *n = kept;
    return step;
}

/* NULL: it is gone. */
static Step *used_step(const Elider *elider, int32_t step)
{
    const size_t i = (size_t)step;
    return i < elider->step.n ? elider->step.at[i]
                              : elider->late.at[i - elider->step.n].step;
}

static void note_use(Elider *elider, const Operand *operand, size_t step)
{
    int64_t at;
    const Tensor *root = operand->tensor ? root_of(operand, &at) : NULL;
    if (!root || root->id >= elider->ids ||
        (elider->first[root->id] >= 0 &&
         elider->use.at[elider->first[root->id]].step == (int32_t)step))
        return;
    VEC_PUSH(elider->arena, &elider->use,
             ((StepUse){ (int32_t)step, elider->first[root->id] }));
    elider->first[root->id] = (int32_t)elider->use.n - 1;
}

static void move_all(Elider *elider, const Tensor *x, const Home *home)
{
    int32_t n;
    const int32_t *step = list_uses(elider, x, &n);
    for (int32_t i = 0; i < n; i++) {
        Step *s = used_step(elider, step[i]);
        for (int k = 0; s && k < s->n_operand; k++)
            move_operand(elider, s->operand + k, x, home);
        if (s)
            note_use(elider, &home->y, (size_t)step[i]);
        elider->work -= s ? s->n_operand : 1;
    }
}

static void add_late(Elider *elider, Step *s, size_t after)
{
    VEC_PUSH(elider->arena, &elider->late, ((Late){ s, after }));
    for (int k = 0; k < s->n_operand; k++)
        note_use(elider, s->operand + k, elider->step.n + elider->late.n - 1);
}

/* ---- concatenations ---- */

static int64_t channels_of(const Operand *x)
{
    return x->part ? x->part : x->pixel;
}

static bool can_be_part(const Elider *elider, const Step *s, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return x->rows == s->units && is_plain(elider, x) &&
           elider->sight[root->id].joins == 1 &&
           x->tensor->dtype == s->operand[0].tensor->dtype;
}

/* A concatenation that goes away: each input becomes a part of the result, or is copied there. */
typedef struct Joint {
    Step *step;
    size_t at;      /* where it was */
    int k;          /* the input at hand */
    int64_t before; /* of the inputs before it: channels, or bytes of blocks */
} Joint;

/* The sizes of the pieces of a copy of one input: a constant. */
static Operand size_operand(Elider *elider, int64_t size)
{
    Graph *g = elider->program->graph;
    const int64_t one = 1;
    Recipe *value = recipe_memory(g->store, DT_I64, 1, &one, &size);
    Tensor *table = graph_add_constant(g, NULL, value);
    const WeightSlot slot = { .tensor = table };
    table->storage = STORE_WEIGHTS;
    VEC_PUSH(g->arena, &elider->out->weight, slot);
    return (Operand){
        .tensor = table,
        .read = true,
        .rows = 1,
        .pixel = 1,
        .row_bytes = 8,
        .rule = { .kind = ROWS_ALL },
    };
}

/* A step that copies the input at hand alone. */
static Step *copy_alone(Elider *elider, const Joint *joint)
{
    const Step *joined = joint->step;
    const Operand *x = joined->operand + joint->k;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    int64_t piece = tensor_bytes(x->tensor);
    if (joins_channels(joined))
        piece = channels_of(x) * bytes;
    Step *copy = copy_step(elider->arena, joined);
    copy->n_operand = 3;
    copy->piece = joint->k;
    copy->params =
        arena_copy(elider->arena, joined->params, joined->kernel->params_size);
    joined->kernel->rules->part(copy->params, piece);
    copy->operand[0].part = channels_of(x);
    copy->operand[0].strided = true;
    copy->operand[1] = *x;
    copy->operand[1].strided = true;
    copy->operand[2] = size_operand(elider, piece);
    return copy;
}

/* The same of channels, which lie behind those of the inputs before. */
static Step *copy_channels(Elider *elider, const Joint *joint)
{
    const Operand *x = joint->step->operand + joint->k;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    Step *copy = copy_alone(elider, joint);
    copy->operand[0].offset += joint->before * bytes;
    return copy;
}

/* The same of a block, which is a view of the result. */
static Step *copy_block(Elider *elider, const Joint *joint)
{
    const Operand *y = joint->step->operand;
    const Operand *x = joint->step->operand + joint->k;
    const int64_t offset = y->offset + joint->before;
    Step *copy = copy_alone(elider, joint);
    copy->operand[0] = (Operand){
        .tensor = view_of(elider, x->tensor, y->tensor, offset),
        .write = true,
        .rows = 1,
        .pixel = y->pixel,
        .row_bytes = tensor_bytes(x->tensor),
    };
    return copy;
}

/* The last step that makes some of it. */
static size_t made_by(const Elider *elider, const Tensor *x)
{
    size_t last = 0;
    int32_t n;
    const int32_t *step = list_uses(elider, x, &n);
    for (int32_t i = 0; i < n && step[i] < (int32_t)elider->step.n; i++)
        for (int k = 0; used_step(elider, step[i]) &&
                        k < used_step(elider, step[i])->n_operand;
             k++) {
            const Operand *o = used_step(elider, step[i])->operand + k;
            int64_t at;
            if (o->tensor && o->write && root_of(o, &at) == x)
                last = (size_t)step[i];
        }
    return last;
}

/* Is it made of parts, as a concatenation before this one? */
static bool is_joined(const Elider *elider, const Tensor *x)
{
    const Step *s = elider->step.at[made_by(elider, x)];
    for (int k = 0; s && k < s->n_operand; k++) {
        int64_t at;
        if (s->operand[k].tensor && s->operand[k].write &&
            root_of(s->operand + k, &at) == x)
            return s->operand[k].part || inputs_of(s);
    }
    return true;
}

/* The first input may stay what it is, for those that read it, and be copied once it is made. */
static bool stays_apart(const Elider *elider, const Joint *joint,
                        bool but_first)
{
    int64_t at;
    const Operand *x = joint->step->operand + joint->k;
    return but_first && joint->k == 1 && !is_joined(elider, root_of(x, &at));
}

static void join_part(Elider *elider, const Joint *joint, bool but_first)
{
    const Operand *y = joint->step->operand;
    const Operand *x = joint->step->operand + joint->k;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    int64_t at;
    const Tensor *root = root_of(x, &at);
    Home home = {
        .y = *y,
        .offset = y->offset + joint->before * bytes,
        .part = channels_of(x),
        .reads = true,
        .writes = true,
    };
    if (!can_be_part(elider, joint->step, x)) {
        add_late(elider, copy_channels(elider, joint), joint->at);
        return;
    }
    if (!stays_apart(elider, joint, but_first)) {
        move_all(elider, root, &home);
        return;
    }
    const size_t after = made_by(elider, root);
    Step *copy = copy_channels(elider, joint);
    home.writes = false;
    move_all(elider, root, &home);
    copy->operand[1].reuse = REUSE_ROWS;
    add_late(elider, copy, after);
}

/* Inputs that cannot be parts keep copies where the concatenation was; returns whether any can. */
static bool join_channels(Elider *elider, size_t i, bool but_first)
{
    Step *s = elider->step.at[i];
    Joint joint = { .step = s, .at = i };
    const int inputs = inputs_of(s);
    bool some = false;
    if (!is_result(elider, s->operand) || is_state(s->operand))
        return false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_part(elider, s, s->operand + k);
    if (!some)
        return false;
    elider->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        joint.k = k;
        const int64_t channels = channels_of(s->operand + k);
        join_part(elider, &joint, but_first);
        joint.before += channels;
    }
    return true;
}

/* Can all of the tensor be a block of another? */
static bool can_be_block(const Elider *elider, const Operand *x)
{
    int64_t at;
    const Tensor *root = root_of(x, &at);
    return is_ours(root) && !at && !x->offset && !x->part &&
           elider->sight[root->id].joins == 1 &&
           !elider->sight[root->id].updated &&
           tensor_bytes(root) == tensor_bytes(x->tensor);
}

static void join_block(Elider *elider, const Joint *joint)
{
    const Operand *y = joint->step->operand;
    const Operand *x = joint->step->operand + joint->k;
    const Home home = {
        .y = *y,
        .offset = y->offset + joint->before,
        .block = true,
        .reads = true,
        .writes = true,
    };
    int64_t at;
    if (can_be_block(elider, x))
        move_all(elider, root_of(x, &at), &home);
    else
        add_late(elider, copy_block(elider, joint), joint->at);
}

/* Blocks one after the other: views of the result. */
static bool join_blocks(Elider *elider, size_t i)
{
    Step *s = elider->step.at[i];
    Joint joint = { .step = s, .at = i };
    const int inputs = inputs_of(s);
    bool some = false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_block(elider, s->operand + k);
    if (!some || is_state(s->operand))
        return false;
    elider->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        joint.k = k;
        join_block(elider, &joint);
        joint.before += tensor_bytes(s->operand[k].tensor);
    }
    return true;
}

/* ---- slices ---- */

static bool read_in_place(Elider *elider, size_t i)
{
    const Step *s = elider->step.at[i];
    Box box;
    const Operand *y = s->operand;
    const Operand *x = s->operand + 1;
    int64_t at;
    const Tensor *root = root_of(y, &at);
    if (!takes_box(s, &box) || !is_plain(elider, y) || is_state(x) ||
        elider->sight[root->id].updated)
        return false;
    const int64_t bytes = dtype_bits(y->tensor->dtype) / 8;
    const Home home = { .y = *x,
                        .offset = x->offset + box.row * x->row_bytes +
                                  box.channel * bytes,
                        .part = y->pixel == x->pixel ? 0 : y->pixel,
                        .reads = true };
    elider->step.at[i] = NULL;
    move_all(elider, root, &home);
    return true;
}

/* ---- all of them ---- */

int elide_ways(const Program *program, const Step *s)
{
    (void)program;
    if (joins_channels(s))
        return 3;
    Box box;
    return joins_blocks(s) || takes_box(s, &box) ? 2 : 1;
}

/* Late steps stand behind the step that they follow, in the order in which they were added. */
static void put_steps(const Elider *elider, Steps *out)
{
    Arena *arena = elider->arena;
    const Late *late = elider->late.at;
    /* numbers in `late`, plus one; 0: none */
    int32_t *first = NEW_ARRAY(arena, int32_t, elider->step.n + 1);
    int32_t *next = NEW_ARRAY(arena, int32_t, elider->late.n + 1);
    for (size_t k = elider->late.n; k-- > 0;) {
        int32_t *of_step = first + late[k].after;
        next[k] = *of_step;
        *of_step = (int32_t)k + 1;
    }
    for (size_t i = 0; i < elider->step.n; i++) {
        if (elider->step.at[i])
            VEC_PUSH(arena, &out->step, elider->step.at[i]);
        for (int32_t k = first[i]; k; k = next[k - 1])
            VEC_PUSH(arena, &out->step, late[k - 1].step);
    }
    for (size_t i = 0; i < out->step.n; i++)
        out->step.at[i]->index = (int)i;
}

/* False: steps that jump keep all copies. */
static bool take_steps(Elider *elider)
{
    const Program *program = elider->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (step_jumps(step))
            return false;
        VEC_PUSH(elider->arena, &elider->step, copy_step(elider->arena, step));
        for (int k = 0; k < step->n_operand; k++) {
            if (!step->operand[k].tensor)
                continue;
            look(elider, step, step->operand + k);
            note_use(elider, step->operand + k, i);
        }
    }
    return true;
}

static bool is_tried(const Elider *elider, size_t i)
{
    return elider->way[i] != ELIDE_NOT && elider->work >= 0;
}

static void join_all(Elider *elider)
{
    for (size_t i = 0; i < elider->step.n; i++) {
        const Step *step = elider->step.at[i];
        const bool but_first = elider->way[i] == ELIDE_BUT_FIRST;
        if (!is_tried(elider, i))
            continue;
        if (joins_channels(step))
            elider->any |= join_channels(elider, i, but_first);
        else if (joins_blocks(step))
            elider->any |= join_blocks(elider, i);
    }
}

static void slice_all(Elider *elider)
{
    for (size_t i = 0; i < elider->step.n; i++)
        if (is_tried(elider, i) && elider->step.at[i])
            elider->any |= read_in_place(elider, i);
}

bool elide_copies(Arena *arena, const Program *program, const uint8_t *way,
                  Steps *out)
{
    const int ids = graph_root(program->graph)->next_id;
    Elider elider = {
        .arena = arena,
        .program = program,
        .out = out,
        .way = way,
        .ids = ids,
        .sight = NEW_ARRAY(arena, Sight, ids + 1),
        .first = NEW_ARRAY(arena, int32_t, ids + 1),
        .work = WORK,
    };
    *out = (Steps){ 0 };
    for (int i = 0; i <= ids; i++)
        elider.first[i] = -1;
    if (!take_steps(&elider))
        return false;
    join_all(&elider);
    slice_all(&elider);
    if (elider.any)
        put_steps(&elider, out);
    return elider.any;
}
