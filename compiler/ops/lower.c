/* SPDX-License-Identifier: Apache-2.0
 * Steps and their operands, as the families build them. */
#include "ops/lower.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mix.h"
#include "base/size.h"
#include "kernels/copy.h"
#include "ops/infer.h"

/* Does nobody ask for a byte of it? A body may do more than make its results. */
bool lower_is_unwanted(const Node *node)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && tensor_count(node->out[i]))
            return false;
    return node->n_out > 0 && !(node->op->flags & OP_CONTROL);
}

static bool is_made(const Lower *l, size_t from, const Tensor *tensor)
{
    if (tensor->view_of || tensor->value || !tensor_count(tensor))
        return true;
    for (size_t i = from; i < l->program->step.n; i++) {
        const Step *step = l->program->step.at[i];
        for (int k = 0; k < step->n_out; k++)
            if (step->operand[k].tensor == tensor)
                return true;
    }
    return false;
}

/* Of nothing an operator may make something, the mean of a channel without elements. */
static void check_made(const Lower *l, size_t from, const Node *node)
{
    bool is_empty = false;
    for (int i = 0; i < node->n_out; i++)
        is_empty |= node->out[i] && !tensor_count(node->out[i]);
    for (int i = 0; is_empty && i < node->n_out; i++)
        if (node->out[i] && !is_made(l, from, node->out[i]))
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "makes its result \"%s\" of a tensor without elements",
                      node->out[i]->name);
}

void lower_node(Lower *l, Node *node)
{
    Node *outer = l->node;
    const size_t from = l->program->step.n;
    if (lower_is_unwanted(node))
        return;
    l->node = node;
    diag_work(node_loc(node));
    node->op->lower(l, node);
    if (!(node->op->flags & OP_CONTROL))
        check_made(l, from, node);
    l->node = outer;
}

Step *lower_step(Lower *l, const char *kernel, const void *params)
{
    Step *s = NEW(l->arena, Step);
    const KernelRow *k = kernel_find(kernel);
    if (!k)
        fail_node(l->node, STATUS_UNSUPPORTED, NULL,
                  "there is no kernel %s: its element types are not supported",
                  kernel);
    *s = (Step){
        .index = (int)l->program->step.n,
        .kernel = k,
        .units = 1,
        .node = l->node,
        .loop_end = -1,
    };
    s->params = arena_copy(l->arena, params, k->params_size);
    s->lower = l;
    VEC_PUSH(l->arena, &l->program->step, s);
    return s;
}

Step *lower_typed_step(Lower *lower, const char *name, const void *params)
{
    const DType type = node_type(lower->node);
    return lower_step(lower, lower_kernel(lower, name, type), params);
}

/* By two and two: most steps have few operands, and there may be many thousands of steps. */
static void make_room(Arena *arena, Step *step)
{
    const int32_t room = step->room < 9 ? step->room + 3 : 2 * step->room;
    step->operand = arena_grow(arena, step->operand,
                               (size_t)step->room * sizeof *step->operand,
                               (size_t)room * sizeof *step->operand);
    step->room = room;
}

static Operand *add_operand(Step *step, Tensor *t)
{
    Lower *l = step->lower;
    if (step->n_operand == step->room)
        make_room(l->arena, step);
    Operand *o = step->operand + step->n_operand++;
    *o = (Operand){
        .tensor = t ? lower_use(l, t) : NULL,
        .rows = 1,
        .pixel = 1,
        .rule = { .kind = ROWS_ALL },
    };
    if (t)
        o->row_bytes = tensor_bytes(t);
    return o;
}

Operand *step_out(Step *step, Tensor *tensor)
{
    assert(step->n_out == step->n_operand);
    Operand *operand = add_operand(step, tensor);
    operand->write = true;
    step->n_out++;
    return operand;
}

Operand *step_in(Step *step, Tensor *tensor)
{
    Operand *operand = add_operand(step, tensor);
    operand->read = true;
    return operand;
}

Operand *step_result(Step *step, int i)
{
    return step_out(step, node_out(step->node, i));
}

Operand *step_operand(Step *step, int i)
{
    return step_in(step, node_in(step->node, i));
}

Operand *step_scratch(Lower *lower, Step *step, int64_t bytes)
{
    Operand *operand = add_operand(
        step, bytes ? lower_temp(lower, DT_U8, shape_vector(bytes)) : NULL);
    operand->write = operand->read = operand->scratch = true;
    return operand;
}

void operand_rows(Operand *operand, int32_t rows, int64_t pixel)
{
    if (!operand->tensor)
        return;
    operand->rows = rows > 0 ? rows : 1;
    operand->pixel = pixel;
    operand->row_bytes = tensor_bytes(operand->tensor) / operand->rows;
}

bool shape_has_rows(const Shape *shape)
{
    return shape->rank >= 2;
}

int shape_row_axis(const Shape *shape)
{
    if (shape->rank < 2)
        return shape->rank;
    for (int i = 1; i < shape->rank - 2; i++)
        if (shape->dim[i] != 1)
            return shape->rank - 2;
    return shape->rank - 1;
}

int64_t shape_row_pixels(const Shape *shape)
{
    return shape_row_axis(shape) == shape->rank - 2
               ? shape->dim[shape->rank - 2]
               : 1;
}

void operand_image(Operand *operand)
{
    if (!operand->tensor)
        return;
    const Shape *s = &operand->tensor->shape;
    int64_t rows = 1;
    for (int i = 0; i < shape_row_axis(s); i++)
        rows = i64_mul(rows, s->dim[i]);
    operand_rows(operand, i32_checked(rows),
                 s->rank > 0 ? s->dim[s->rank - 1] : 1);
}

int32_t step_by_lines(Step *step, int64_t lines, int64_t k)
{
    Operand *y = step->operand;
    Operand *x = step->operand + 1;
    const int32_t all = i32_checked(lines);
    if (!k || tensor_count(x->tensor) != i64_mul(lines, k))
        return all;
    operand_image(y);
    if (y->rows < 2 || all % y->rows) {
        operand_rows(y, 1, 1);
        return all;
    }
    step->units = y->rows;
    operand_rows(x, y->rows, k);
    x->rule = (RowRule){ .kind = ROWS_SAME };
    return all / y->rows;
}

void operand_window(Operand *operand, int32_t stride, int32_t pad,
                    int32_t extent)
{
    operand->rule = (RowRule){
        .kind = ROWS_WINDOW,
        .stride = stride,
        .pad = pad,
        .extent = extent,
    };
}

Rows *step_rows(const Step *step)
{
    if (step->units > LIMIT_ROWS)
        fail_node(step->node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d rows", LIMIT_ROWS);
    return NEW_ARRAY(step->lower->arena, Rows, step->units + 1);
}

static RowRule table_rule(const Rows *rows, int32_t units)
{
    RowRule rule = { .kind = ROWS_TABLE, .table = rows };
    for (int32_t u = 0; u < units; u++) {
        const int32_t n = rows[u].hi - rows[u].lo;
        rule.most = (int32_t)i64_max(rule.most, n);
        rule.key = mix_number(rule.key, rows[u].lo);
        rule.key = mix_number(rule.key, rows[u].hi);
    }
    return rule;
}

/* What comes before a row that is needed later must stay, what comes after one that was needed
 * earlier is there. */
void operand_table(Operand *operand, int32_t units, Rows *rows)
{
    int32_t low = operand->rows;
    int32_t high = 0;
    bool all = true;
    for (int32_t u = 0; u < units; u++) {
        if (rows[u].lo < rows[u].hi && rows[u].hi > high)
            high = rows[u].hi;
        rows[u].hi = high;
    }
    for (int32_t u = units - 1; u >= 0; u--) {
        if (rows[u].lo < low && rows[u].lo < rows[u].hi)
            low = rows[u].lo;
        rows[u].lo = low < rows[u].hi ? low : rows[u].hi;
        all = all && !rows[u].lo && rows[u].hi == operand->rows;
    }
    operand->rule = (RowRule){ .kind = ROWS_ALL };
    if (!all && units <= LIMIT_RULES)
        operand->rule = table_rule(rows, units);
}

const Rows *lower_columns(Lower *lower, int32_t n, int32_t taps,
                          const int32_t *index)
{
    Rows *columns = NEW_ARRAY(lower->arena, Rows, n + 1);
    for (int32_t c = 0; c < n; c++) {
        columns[c] = (Rows){ INT32_MAX, 0 };
        for (int32_t t = 0; t < taps; t++) {
            const int32_t at = index[c * taps + t];
            columns[c] = (Rows){ (int32_t)i64_min(at, columns[c].lo),
                                 (int32_t)i64_max(at + 1, columns[c].hi) };
        }
    }
    return columns;
}

Tensor *lower_constant(Lower *lower, Recipe *value)
{
    return lower_use(lower, graph_add_constant(lower->graph, NULL, value));
}

Tensor *lower_floats(Lower *lower, const float *values, int64_t n)
{
    return lower_constant(lower,
                          recipe_memory(lower->store, DT_F32, 1, &n, values));
}

Tensor *lower_i64s(Lower *lower, const int64_t *values, int64_t n)
{
    return lower_constant(lower,
                          recipe_memory(lower->store, DT_I64, 1, &n, values));
}

Tensor *lower_i32s(Lower *lower, const int32_t *values, int64_t n)
{
    return lower_constant(lower,
                          recipe_memory(lower->store, DT_I32, 1, &n, values));
}

Tensor *lower_temp(Lower *lower, DType type, Shape shape)
{
    Tensor *o = graph_add_tensor(lower->graph, NULL, type, shape);
    o->storage = STORE_ARENA;
    return o;
}

Tensor *lower_use(Lower *lower, Tensor *t)
{
    if (!t->value || t->storage)
        return t;
    t->storage = STORE_WEIGHTS;
    VEC_PUSH(lower->arena, &lower->program->weight,
             ((WeightSlot){ .tensor = t }));
    return t;
}

void lower_copy(Lower *lower, Tensor *out, Tensor *in)
{
    const inlay_copy_params params = { .bytes = tensor_bytes(out) };
    Step *step = lower_step(lower, "copy", &params);
    step_out(step, out);
    step_in(step, in)->reuse = REUSE_ELEMENTWISE;
}

void lower_clear(Lower *lower, Tensor *out)
{
    const inlay_copy_params params = { .bytes = tensor_bytes(out) };
    step_out(lower_step(lower, "clear", &params), out);
}

/* Its results have no elements. */
static bool makes_nothing(const Step *step)
{
    for (int k = 0; k < step->n_out; k++)
        if (step->operand[k].tensor && tensor_bytes(step->operand[k].tensor))
            return false;
    return step->n_out && step->operand[0].tensor && !step->control;
}

void lower_empty(Program *program)
{
    static const inlay_copy_params nothing = { 0 };
    for (size_t i = 0; i < program->step.n; i++) {
        Step *s = program->step.at[i];
        if (!makes_nothing(s))
            continue;
        s->kernel = kernel_find("clear");
        s->params = arena_copy(program->graph->arena, &nothing, sizeof nothing);
        s->n_operand = s->n_out = s->units = 1;
    }
}

/* A whole arena tensor whose only purpose is to become an output may live there from the start. */
static bool can_live_in(const Tensor *out, const Tensor *root)
{
    return out->storage == STORE_OUTPUT && !out->view_of &&
           root->storage == STORE_ARENA &&
           tensor_bytes(out) == tensor_bytes(root);
}

void lower_view(Lower *lower, Tensor *out, Tensor *in, int64_t offset)
{
    assert(offset + tensor_bytes(out) <= tensor_bytes(in));
    int64_t at;
    Tensor *root = tensor_root(in, &at);
    if (out->storage != STORE_OUTPUT && !in->value) {
        out->view_of = in;
        out->view_offset = offset;
        out->storage = root->storage;
    } else if (can_live_in(out, root) && !in->value) {
        root->view_of = out;
        root->storage = STORE_OUTPUT;
    } else {
        const inlay_copy_params params = { .bytes = tensor_bytes(out) };
        Step *step = lower_step(lower, "copy", &params);
        step_out(step, out);
        Operand *read = step_in(step, in);
        read->offset = offset;
        read->row_bytes = tensor_bytes(out);
    }
}

const char *dtype_suffix(DType type)
{
    static const char *const suffix[DT_COUNT] = {
        [DT_F32] = "f32",
        [DT_F64] = "f64",
        [DT_I8] = "i8",
        [DT_I16] = "i16",
        [DT_I32] = "i32",
        [DT_I64] = "i64",
        [DT_U8] = "u8",
        [DT_U16] = "u16",
        [DT_U32] = "u32",
        [DT_U64] = "u64",
        [DT_BOOL] = "u8",
        [DT_F16] = "f16",
        [DT_BF16] = "bf16",
        [DT_F8E4M3FN] = "f8e4m3fn",
        [DT_F8E4M3FNUZ] = "f8e4m3fnuz",
        [DT_F8E5M2] = "f8e5m2",
        [DT_F8E5M2FNUZ] = "f8e5m2fnuz",
        [DT_F4E2M1] = "f4e2m1",
        [DT_F8E8M0] = "f8e8m0",
        [DT_U4] = "u4",
        [DT_I4] = "i4",
        [DT_U2] = "u2",
        [DT_I2] = "i2",
        [DT_C64] = "c64",
        [DT_C128] = "c128",
    };
    return suffix[type];
}

const char *lower_kernel(Lower *lower, const char *name, DType type)
{
    return arena_printf(lower->arena, "%s_%s", name, dtype_suffix(type));
}

const char *lower_kernel_of(Lower *lower)
{
    const Node *node = lower->node;
    return lower_kernel(lower, node->op->kernel, node_type(node));
}
