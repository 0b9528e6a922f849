/* SPDX-License-Identifier: Apache-2.0
 * Do kernels keep to the bounds that their rows of kernels.def state? Each step of a model runs
 * once more with every operand in a buffer of its own, of exactly the bytes that are stated. Then
 * each number of its parameters is enlarged by itself: either the bounds object, or the step must
 * run within the bytes that its operands have. AddressSanitizer sees what goes beyond; without it
 * guard bytes see what is written.
 *
 *   reach run MODEL.onnx [--shape ...] [--input FILE.pb ...] [--plan ...]      options are those of
 * inlay run */
#include "bench.h"

#include "bounds/bounds.h"

#if defined __SANITIZE_ADDRESS__
enum { GUARD = 0 };
#else
enum { GUARD = 64 };
#endif
enum { GUARD_BYTE = 0x5c, LARGEST = 1 << 26, MOST_DAMAGED = 1 << 14 };

/* One operand by itself. */
typedef struct Box {
    unsigned char *at;
    int64_t bytes;
} Box;

static int64_t room_of(const Operand *o)
{
    return i64_max(tensor_bytes(o->tensor) - o->offset, 0);
}

/* What the operand held before the step; rubbish where the step alone makes it. */
static void fill(const Bench *b, const Operand *o, const unsigned char *before,
                 const Box *box)
{
    int64_t at;
    const Tensor *root = root_of(o, &at);
    const int64_t have = i64_min(tensor_bytes(root) - at, box->bytes);
    const unsigned char *from =
        before ? before : root_bytes(b->real, b->program, root);
    if (root->storage == STORE_WEIGHTS)
        from += root->offset;
    memset(box->at, 0x7f, (size_t)(box->bytes + GUARD));
    if (have > 0 && (!o->write || before))
        memcpy(box->at, from + at, (size_t)have);
    memset(box->at + box->bytes, GUARD_BYTE, GUARD);
}

static bool guards_hold(Bench *b, const Step *s, const Box *box)
{
    for (int k = 0; k < s->n_operand; k++)
        for (int i = 0; i < GUARD && box[k].at; i++)
            if (box[k].at[box[k].bytes + i] != GUARD_BYTE)
                return fault(b, k, 0, "is written beyond its bounds");
    return true;
}

/* Runs the step on the boxes; what the kernel says of its values does not matter. */
static void run_boxed(const Step *s, const void *params, const Box *box,
                      bool backward)
{
    void **base = calloc((size_t)s->n_operand + 1, sizeof *base);
    inlay_ref *ref = calloc((size_t)s->n_operand + 1, sizeof *ref);
    for (int k = 0; base && ref && k < s->n_operand; k++) {
        base[k] = box[k].at;
        ref[k] = s->operand[k].ref;
        ref[k].off = 0;
        ref[k].base = box[k].at ? k : INLAY_NONE;
    }
    const inlay_step own = { s->kernel->run, params, ref, s->units, backward };
    if (base && ref)
        own.run(base, &own, 0, own.units);
    free(ref);
    free(base);
}

/* Operands in boxes of the bytes that are stated, or, without `reach`, of those that they have. */
static bool run_in_boxes(Bench *b, const Step *s, const void *params,
                         const Reach *reach, unsigned char *const *before)
{
    Box *box = calloc((size_t)s->n_operand + 1, sizeof *box);
    bool good = box != NULL;
    for (int k = 0; good && k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!o->tensor)
            continue;
        box[k].bytes = reach ? bounds_bytes(o, reach + k) : room_of(o);
        box[k].at = malloc((size_t)box[k].bytes + GUARD);
        good = box[k].at != NULL;
        if (good)
            fill(b, o, before[k], box + k);
    }
    b->runs++;
    if (good)
        run_boxed(s, params, box, b->backward);
    good = good && guards_hold(b, s, box);
    for (int k = 0; box && k < s->n_operand; k++)
        free(box[k].at);
    free(box);
    return good;
}

/* The number at `at` enlarged; false: it is none that can be. */
static bool enlarge(const FieldRow *f, unsigned char *at, int how)
{
    int64_t v = 0;
    if (!strcmp(f->type, "int64_t"))
        memcpy(&v, at, 8);
    else if (!strcmp(f->type, "int32_t"))
        v = *(const int32_t *)(const void *)at;
    else
        return false;
    v = how ? 2 * v + 2 : v + 1;
    if (v > LARGEST)
        return false;
    memcpy(at, &v, f->size); /* little-endian */
    return true;
}

static void judge_damage(Bench *b, const Step *s, unsigned char *const *before)
{
    unsigned char *own = malloc(s->kernel->params_size + 1);
    Step damaged = *s;
    damaged.params = own;
    for (int i = 0; own && i < s->kernel->fields; i++) {
        const FieldRow *f = s->kernel->field + i;
        for (int k = 0; k < 2 * (f->count ? f->count : 1); k++) {
            memcpy(own, s->params, s->kernel->params_size);
            if (!enlarge(f, own + f->offset + (size_t)(k / 2) * f->size, k % 2))
                continue;
            const ArenaMark mark = arena_mark(b->arena);
            if (!bounds_object(b->arena, b->program, &damaged).why)
                run_in_boxes(b, s, own, NULL, before);
            arena_release(b->arena, mark);
        }
    }
    free(own);
}

static int64_t operand_bytes(const Step *s)
{
    int64_t bytes = 0;
    for (int k = 0; k < s->n_operand; k++)
        if (s->operand[k].tensor)
            bytes += tensor_bytes(s->operand[k].tensor);
    return bytes;
}

/* Two operands on one tensor, of which one is written, cannot be told apart here. */
static bool entangled(const Step *s)
{
    int64_t at;
    for (int k = 0; k < s->n_operand; k++)
        for (int i = 0; i < s->n_operand; i++)
            if (i != k && s->operand[k].write && s->operand[k].tensor &&
                s->operand[i].tensor &&
                root_of(s->operand + k, &at) == root_of(s->operand + i, &at))
                return true;
    return false;
}

static void judge(Bench *b, const Step *s, unsigned char *const *before)
{
    Reach *reach = NEW_ARRAY(b->arena, Reach, s->n_operand + 1);
    if (bounds_of(b->program, s, reach)) {
        fault(b, 0, 0, "has bounds that refuse it");
        return;
    }
    if (entangled(s) || operand_bytes(s) > LARGEST)
        return;
    b->steps++;
    for (int turn = 0; turn <= step_reverses(s); turn++) {
        b->backward = turn;
        run_in_boxes(b, s, s->params, reach, before);
    }
    b->backward = false;
    if (operand_bytes(s) <= MOST_DAMAGED && !s->control)
        judge_damage(b, s, before);
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, judge);
}
