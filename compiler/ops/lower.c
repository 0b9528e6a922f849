/* SPDX-License-Identifier: Apache-2.0
 * Steps and their operands, as the families build them. */
#include "ops/lower.h"

#include <assert.h>

#include "base/size.h"
#include "kernels/copy.h"
#include "ops/families.h"

/* Does nobody ask for a byte of it? A body may do more than make its results. */
static bool is_unwanted(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && tensor_count(n->out[i]))
            return false;
    return n->n_out > 0 && !(n->op->flags & OP_CONTROL);
}

void lower_node(Lower *l, Node *n)
{
    if (!is_unwanted(n))
        n->op->lower(l, n);
}

Step *lower_step(Lower *l, Node *n, const char *kernel, const void *params)
{
    Step *s = NEW(l->arena, Step);
    const KernelRow *k = kernel_find(kernel);
    *s = (Step){
        .index = (int)l->program->step.n, .kernel = k, .units = 1, .node = n, .loop_end = -1
    };
    s->params = arena_copy(l->arena, params, k->params_size);
    s->lower = l;
    VEC_PUSH(l->arena, &l->program->step, s);
    return s;
}

/* By two and two: most steps have few operands, and there may be many thousands of steps. */
static void make_room(Arena *a, Step *s)
{
    const size_t room = s->room < 8 ? s->room + 2 : 2 * s->room;
    s->operand = arena_grow(a, s->operand, s->room * sizeof *s->operand, room * sizeof *s->operand);
    s->room = room;
}

static Operand *add_operand(Step *s, Tensor *t)
{
    Lower *l = s->lower;
    if ((size_t)s->n_operand == s->room)
        make_room(l->arena, s);
    Operand *o = s->operand + s->n_operand++;
    *o = (Operand){
        .tensor = t ? lower_use(l, t) : NULL, .rows = 1, .pixel = 1, .rule = { .kind = ROWS_ALL }
    };
    if (t)
        o->row_bytes = tensor_bytes(t);
    return o;
}

Operand *step_out(Step *s, Tensor *t)
{
    assert(s->n_out == s->n_operand);
    Operand *o = add_operand(s, t);
    o->write = true;
    s->n_out++;
    return o;
}

Operand *step_in(Step *s, Tensor *t)
{
    Operand *o = add_operand(s, t);
    o->read = true;
    return o;
}

Operand *step_scratch(Lower *l, Step *s, int64_t bytes)
{
    Operand *o = add_operand(s, bytes ? lower_temp(l, DT_U8, shape_vector(bytes)) : NULL);
    o->write = o->read = o->scratch = true;
    return o;
}

void operand_rows(Operand *o, int32_t rows, int64_t pixel)
{
    if (!o->tensor)
        return;
    o->rows = rows > 0 ? rows : 1;
    o->pixel = pixel;
    o->row_bytes = tensor_bytes(o->tensor) / o->rows;
}

bool shape_has_rows(const Shape *s)
{
    return s->rank >= 2;
}

int shape_row_axis(const Shape *s)
{
    if (s->rank < 2)
        return s->rank;
    for (int i = 1; i < s->rank - 2; i++)
        if (s->dim[i] != 1)
            return s->rank - 2;
    return s->rank - 1;
}

int64_t shape_row_pixels(const Shape *s)
{
    return shape_row_axis(s) == s->rank - 2 ? s->dim[s->rank - 2] : 1;
}

void operand_image(Operand *o)
{
    if (!o->tensor)
        return;
    const Shape *s = &o->tensor->shape;
    int64_t rows = 1;
    for (int i = 0; i < shape_row_axis(s); i++)
        rows = i64_mul(rows, s->dim[i]);
    operand_rows(o, i32_checked(rows), s->rank > 0 ? s->dim[s->rank - 1] : 1);
}

void operand_window(Operand *o, int32_t stride, int32_t pad, int32_t extent)
{
    o->rule = (RowRule){ .kind = ROWS_WINDOW, .stride = stride, .pad = pad, .extent = extent };
}

/* What comes before a row that is needed later must stay, what comes after one that was needed
 * earlier is there. */
void operand_table(Operand *o, int32_t units, Rows *rows)
{
    int32_t low = o->rows, high = 0;
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
        all = all && !rows[u].lo && rows[u].hi == o->rows;
    }
    o->rule = all ? (RowRule){ .kind = ROWS_ALL } : (RowRule){ .kind = ROWS_TABLE, .table = rows };
}

const Rows *lower_columns(Lower *l, int32_t n, int32_t taps, const int32_t *index)
{
    Rows *columns = NEW_ARRAY(l->arena, Rows, n + 1);
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

Tensor *lower_constant(Lower *l, Recipe *value)
{
    return lower_use(l, graph_add_constant(l->graph, NULL, value));
}

Tensor *lower_floats(Lower *l, const float *values, int64_t n)
{
    return lower_constant(l, recipe_memory(l->graph->store, DT_F32, 1, &n, values));
}

Tensor *lower_i64s(Lower *l, const int64_t *values, int64_t n)
{
    return lower_constant(l, recipe_memory(l->graph->store, DT_I64, 1, &n, values));
}

Tensor *lower_i32s(Lower *l, const int32_t *values, int64_t n)
{
    return lower_constant(l, recipe_memory(l->graph->store, DT_I32, 1, &n, values));
}

Tensor *lower_temp(Lower *l, DType t, Shape s)
{
    Tensor *o = graph_add_tensor(l->graph, NULL, t, s);
    o->storage = STORE_ARENA;
    return o;
}

Tensor *lower_use(Lower *l, Tensor *t)
{
    if (!t->value || t->storage)
        return t;
    t->storage = STORE_WEIGHTS;
    VEC_PUSH(l->arena, &l->program->weight, ((WeightSlot){ .tensor = t }));
    return t;
}

void lower_copy(Lower *l, Node *n, Tensor *out, Tensor *in)
{
    const inlay_copy_params p = { .bytes = tensor_bytes(out) };
    Step *s = lower_step(l, n, "copy", &p);
    step_out(s, out);
    step_in(s, in)->reuse = REUSE_ELEMENTWISE;
}

void lower_clear(Lower *l, Node *n, Tensor *out)
{
    const inlay_copy_params p = { .bytes = tensor_bytes(out) };
    step_out(lower_step(l, n, "clear", &p), out);
}

/* Its results have no elements. */
static bool makes_nothing(const Step *s)
{
    for (int k = 0; k < s->n_out; k++)
        if (s->operand[k].tensor && tensor_bytes(s->operand[k].tensor))
            return false;
    return s->n_out && s->operand[0].tensor && !s->control;
}

void lower_empty(Program *p)
{
    static const inlay_copy_params nothing = { 0 };
    for (size_t i = 0; i < p->step.n; i++) {
        Step *s = p->step.at[i];
        if (!makes_nothing(s))
            continue;
        s->kernel = kernel_find("clear");
        s->params = arena_copy(p->graph->arena, &nothing, sizeof nothing);
        s->n_operand = s->n_out = s->units = 1;
    }
}

/* A whole arena tensor whose only purpose is to become an output may live there from the start. */
static bool can_live_in(const Tensor *out, const Tensor *root)
{
    return out->storage == STORE_OUTPUT && !out->view_of && root->storage == STORE_ARENA &&
           tensor_bytes(out) == tensor_bytes(root);
}

void lower_view(Lower *l, Node *n, Tensor *out, Tensor *in, int64_t offset)
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
        const inlay_copy_params p = { .bytes = tensor_bytes(out) };
        Step *s = lower_step(l, n, "copy", &p);
        step_out(s, out);
        step_in(s, in)->offset = offset;
    }
}

const char *dtype_suffix(DType t)
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
    return suffix[t];
}

const char *lower_kernel(Lower *l, const char *name, DType t)
{
    return arena_printf(l->arena, "%s_%s", name, dtype_suffix(t));
}
