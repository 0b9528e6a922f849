/* SPDX-License-Identifier: Apache-2.0
 * Each step takes its work from what is left before it runs. */
#include "eval/counted.h"

#include "base/limits.h"
#include "base/size.h"

/* What the call of a step costs besides, in bytes. */
enum { CALL_WORK = 64 };

/* A step that is counted, and what all of its units cost. */
typedef struct Counted {
    const inlay_step *step;
    EvalBudget *budget;
    int64_t work;
} Counted;

static int run_counted(void *const *base, const inlay_step *step, int32_t r0,
                       int32_t r1)
{
    const Counted *counted = step->params;
    const double part = (double)(r1 - r0) / (double)step->units;
    counted->budget->left -=
        CALL_WORK + (int64_t)(part * (double)counted->work);
    if (counted->budget->left < 0)
        return -INLAY_E_SHAPE;
    return counted->step->run(base, counted->step, r0, r1);
}

/* Of all units, once. */
static int64_t work_of(const Step *step)
{
    const Operand *made = step->operand;
    const bool writes = step->n_operand && made->tensor;
    const int64_t macs = step->macs / i64_max(step->turns, 1);
    const int64_t bytes = writes ? tensor_bytes(made->tensor) : 0;
    return i64_add(i64_add(macs, step->looks), bytes);
}

int64_t eval_work(const Program *program)
{
    int64_t work = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        const int64_t calls = i64_mul(step->units, CALL_WORK);
        const int64_t once = i64_add(work_of(step), calls);
        work = i64_add(work, i64_mul(once, i64_max(step->turns, 1)));
    }
    return work;
}

bool eval_has_time(Store *store, double work)
{
    const double most =
        LIMIT_FOLDED + (double)store->input_bytes * LIMIT_FOLDED_OF_BYTE;
    if (store->folded + work > most)
        return false;
    store->folded += work;
    return true;
}

void eval_count_steps(void *context, Arena *arena, inlay_model *model,
                      int32_t base)
{
    EvalBudget *budget = context;
    const size_t steps = budget->program->step.n;
    inlay_step *step = NEW_ARRAY(arena, inlay_step, steps + 1);
    Counted *counted = NEW_ARRAY(arena, Counted, steps + 1);
    (void)base;
    for (size_t i = 0; i < steps; i++) {
        counted[i] = (Counted){
            .step = model->step + i,
            .budget = budget,
            .work = work_of(budget->program->step.at[i]),
        };
        step[i] = model->step[i];
        step[i].run = run_counted;
        step[i].params = counted + i;
    }
    model->step = step;
}

int eval_run_within(Program *program, void *const *in, void *const *out,
                    int64_t work)
{
    EvalBudget budget = { .program = program, .left = work };
    const EvalWrap wrap = { .wrap = eval_count_steps, .context = &budget };
    return eval_run_alone(program, in, out, &wrap);
}
