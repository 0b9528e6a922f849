/* SPDX-License-Identifier: Apache-2.0
 * A part has no bytes of its own: whoever touches it touches some of the tensor that it belongs to.
 */
#include "prove/part.h"

#include "base/size.h"
#include "rules/rules.h"

static bool joins_pixels(const Step *step)
{
    return rules_join(step).way == JOIN_PIXELS;
}

int concat_inputs(const Step *step)
{
    const Join join = rules_join(step);
    return join.way == JOIN_NOT ? 0 : join.inputs;
}

static int64_t element_bytes(const Operand *operand)
{
    return dtype_bits(operand->tensor->dtype) / 8;
}

int64_t concat_part(const Step *step, int k)
{
    return joins_pixels(step) ? step->operand[k].pixel : 0;
}

int64_t concat_lane(const Step *step, int k)
{
    int64_t lane = 0;
    for (int i = 1; i < k; i++) {
        const Operand *x = step->operand + i;
        lane = i64_add(lane, joins_pixels(step)
                                 ? i64_mul(x->pixel, element_bytes(x))
                                 : tensor_bytes(x->tensor));
    }
    return lane;
}

/* The tensor that the operand is all of; NULL: it is none. */
static Tensor *all_of(const Operand *operand)
{
    int64_t at;
    if (!operand->tensor || operand->offset || operand->part)
        return NULL;
    Tensor *root = tensor_root(operand->tensor, &at);
    return !at && tensor_bytes(root) == tensor_bytes(operand->tensor) ? root
                                                                      : NULL;
}

static const char *settle(Home *homes, const Operand *own, const Home *home)
{
    const Tensor *tensor = all_of(own);
    if (!tensor || tensor->slot >= 0 || tensor->storage != STORE_ARENA)
        return "is not done, and what it moves is no tensor that could lie "
               "elsewhere";
    if (homes[tensor->id].y)
        return "is not done, and what it moves is part of another tensor, too";
    homes[tensor->id] = *home;
    return NULL;
}

const char *part_settle(Home *homes, const Step *step, int k, bool copied)
{
    const Operand *x = step->operand + k;
    const Operand *y = step->operand;
    const bool block = !joins_pixels(step);
    if (!block && (x->rows != step->units || !operand_same_width(x, y)))
        return "is not done, and its inputs are no images that could be "
               "written in place";
    return settle(homes, x,
                  &(Home){ .y = y,
                           .own = x,
                           .offset = i64_add(y->offset, concat_lane(step, k)),
                           .part = concat_part(step, k),
                           .block = block,
                           .copied = copied });
}

const char *part_settle_slice(Home *homes, const Step *step)
{
    const Operand *y = step->operand;
    const Operand *x = step->operand + 1;
    Box box;
    if (!rules_box(step, &box) || !operand_same_width(x, y))
        return "is not done";
    const int64_t rows = i64_mul(box.row, x->row_bytes);
    const int64_t channels = i64_mul(box.channel, element_bytes(x));
    const Home home = {
        .y = x,
        .own = y,
        .offset = i64_add(x->offset, i64_add(rows, channels)),
        .part = y->pixel == x->pixel ? 0 : y->pixel,
    };
    return settle(homes, y, &home);
}

/* One tensor further. */
static const char *resolve_once(const Home *home, const Step *step,
                                Operand *operand, int64_t at)
{
    if (home->block) {
        operand->offset = i64_add(i64_add(operand->offset, at), home->offset);
        operand->tensor = home->y->tensor;
        return NULL;
    }
    const bool strided = operand->strided ||
                         (concat_inputs(step) && operand->rows == step->units);
    if (!strided || at ||
        (!operand->part &&
         (operand->offset || operand->rows != home->own->rows ||
          operand->row_bytes != home->own->row_bytes ||
          operand->pixel != home->own->pixel)))
        return "is part of another tensor, which this step cannot follow";
    if (!operand->part)
        operand->part = home->part;
    /* bytes into a tensor of narrower pixels become bytes into this one */
    const int64_t narrow = home->own->row_bytes;
    const int64_t rows = narrow ? operand->offset / narrow : 0;
    operand->offset = i64_add(i64_add(i64_mul(rows, home->y->row_bytes),
                                      operand->offset - rows * narrow),
                              home->offset);
    operand->tensor = home->y->tensor;
    operand->pixel = home->y->pixel;
    operand->row_bytes = home->y->row_bytes;
    return NULL;
}

const char *part_resolve(const Home *homes, const Step *step, Operand *operand,
                         bool parted)
{
    for (;;) {
        int64_t at;
        const Home *home = homes + tensor_root(operand->tensor, &at)->id;
        if (!home->y ||
            (home->copied && (operand->write || !parted || operand->part)))
            return NULL;
        const char *why = resolve_once(home, step, operand, at);
        if (why)
            return why;
    }
}
