/* SPDX-License-Identifier: Apache-2.0
 * An input that cannot be written in place is copied by a step of its own: where the concatenation
 * was, or right behind the step that makes it. */
#include "forms/elide_join.h"

#include "rules/rules.h"

enum {
    /* inputs of a concatenation: each part is weighed against the others later */
    MOST_INPUTS = 2048,
};

int join_inputs(const Step *step)
{
    return rules_join(step).inputs;
}

bool joins_channels(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_PIXELS && join.inputs <= MOST_INPUTS;
}

bool joins_blocks(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_BLOCKS && join.inputs <= MOST_INPUTS;
}

/* The same of the result of a concatenation, which may be the model's or part of another by now. */
static bool is_result(const Elider *elider, const Operand *y)
{
    int64_t at;
    const Tensor *root = operand_root(y, &at);
    return y->part ||
           ((root->storage == STORE_ARENA || root->storage == STORE_OUTPUT) &&
            !elider->sight[root->id].differs);
}

static int64_t channels_of(const Operand *x)
{
    return x->part ? x->part : x->pixel;
}

static bool can_be_part(const Elider *elider, const Step *s, const Operand *x)
{
    int64_t at;
    const Tensor *root = operand_root(x, &at);
    return x->rows == s->units && elider_is_plain(elider, x) &&
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
    Step *copy = elider_copy_step(elider->arena, joined);
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
        .tensor = elider_view(elider, x->tensor, y->tensor, offset),
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
    const int32_t *step = elider_uses(elider, x, &n);
    for (int32_t i = 0; i < n && step[i] < (int32_t)elider->step.n; i++)
        for (int k = 0; elider_step(elider, step[i]) &&
                        k < elider_step(elider, step[i])->n_operand;
             k++) {
            const Operand *o = elider_step(elider, step[i])->operand + k;
            int64_t at;
            if (o->tensor && o->write && operand_root(o, &at) == x)
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
            operand_root(s->operand + k, &at) == x)
            return s->operand[k].part || join_inputs(s);
    }
    return true;
}

/* The first input may stay what it is, for those that read it, and be copied once it is made. */
static bool stays_apart(const Elider *elider, const Joint *joint,
                        bool but_first)
{
    int64_t at;
    const Operand *x = joint->step->operand + joint->k;
    return but_first && joint->k == 1 &&
           !is_joined(elider, operand_root(x, &at));
}

static void join_part(Elider *elider, const Joint *joint, bool but_first)
{
    const Operand *y = joint->step->operand;
    const Operand *x = joint->step->operand + joint->k;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    int64_t at;
    const Tensor *root = operand_root(x, &at);
    Home home = {
        .y = *y,
        .offset = y->offset + joint->before * bytes,
        .part = channels_of(x),
        .reads = true,
        .writes = true,
    };
    if (!can_be_part(elider, joint->step, x)) {
        elider_add_late(elider, copy_channels(elider, joint), joint->at);
        return;
    }
    if (!stays_apart(elider, joint, but_first)) {
        elider_move(elider, root, &home);
        return;
    }
    const size_t after = made_by(elider, root);
    Step *copy = copy_channels(elider, joint);
    home.writes = false;
    elider_move(elider, root, &home);
    copy->operand[1].reuse = REUSE_ROWS;
    elider_add_late(elider, copy, after);
}

bool join_channels(Elider *elider, size_t i, bool but_first)
{
    Step *s = elider->step.at[i];
    Joint joint = { .step = s, .at = i };
    const int inputs = join_inputs(s);
    bool some = false;
    if (!is_result(elider, s->operand) || operand_is_state(s->operand))
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
    const Tensor *root = operand_root(x, &at);
    return root_may_move(root) && !at && !x->offset && !x->part &&
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
        elider_move(elider, operand_root(x, &at), &home);
    else
        elider_add_late(elider, copy_block(elider, joint), joint->at);
}

bool join_blocks(Elider *elider, size_t i)
{
    Step *s = elider->step.at[i];
    Joint joint = { .step = s, .at = i };
    const int inputs = join_inputs(s);
    bool some = false;
    for (int k = 1; k <= inputs; k++)
        some |= can_be_block(elider, s->operand + k);
    if (!some || operand_is_state(s->operand))
        return false;
    elider->step.at[i] = NULL;
    for (int k = 1; k <= inputs; k++) {
        joint.k = k;
        join_block(elider, &joint);
        joint.before += tensor_bytes(s->operand[k].tensor);
    }
    return true;
}
