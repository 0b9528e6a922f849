/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/qnarrow.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "kernels/qpacked.h"

int32_t qnarrow_off(DType type)
{
    if (type == DT_I8 || type == DT_I4 || type == DT_I2)
        return 0;
    return 1 << (dtype_bits(type) - 1);
}

/* The number that is stored for 0. */
static int32_t middle_of(const Packing *packing)
{
    const DType type = packing->q->w->dtype;
    const int32_t half = 1 << (dtype_bits(type) - 1);
    return packing->off + half - qnarrow_off(type);
}

static bool is_depthwise(const inlay_qpacked_params *params)
{
    return params->groups > 1 && params->ic == 1 && params->oc == 1;
}

/* Channels whose weights are bytes at a time: as many as have room in a part of what the images
 * take, whole blocks; 0: all of all groups. */
static int32_t panel_of(const Packing *packing)
{
    enum { PART = 8, MOST = 32768 };
    const inlay_qpacked_params *params = packing->params;
    const int64_t x = tensor_bytes(packing->q->x);
    const int64_t y = tensor_bytes(packing->q->y);
    const int64_t room = i64_min(i64_add(x, y) / PART, MOST);
    const int64_t window = packing_window(params);
    const int64_t block = i64_mul(window, params->width);
    const int64_t blocks = i64_max(room / i64_max(block, 1), 1);
    const int64_t channels = i64_mul(blocks, params->width);
    const int64_t all = i64_mul(packing->groups, packing->padded);
    if (is_depthwise(params) || channels >= all)
        return 0;
    return i32_checked(i64_min(channels, packing->padded));
}

inlay_qnarrow_params qnarrow_params(const Packing *packing)
{
    inlay_qnarrow_params narrow;
    memcpy(&narrow, packing->params, sizeof *packing->params);
    narrow.bits = packing->bits;
    narrow.middle = middle_of(packing);
    narrow.panel = panel_of(packing);
    return narrow;
}

static int64_t filled_up(int64_t weights)
{
    const int64_t each = INLAY_QNARROW_ELEMENTS;
    return i64_mul(i64_ceil_div(weights, each), each);
}

/* Bytes w become numbers w + middle, in words that have four of them for each `bits` of a byte
 * (runtime/kernels/qnarrow.h). */
Recipe *qnarrow_packed(const Packing *packing, const Recipe *bytes)
{
    static const int turn[3] = { 0, 2, 1 };
    Store *store = packing->lower->store;
    const int64_t fours = 8 / packing->bits;
    const int64_t count = recipe_count(bytes);
    const int64_t all = filled_up(count);
    const int64_t cut[3] = {
        all / fours / 4,
        fours,
        4,
    };
    const float middle = (float)middle_of(packing);
    const Recipe *add = recipe_number(store, middle);
    Recipe *recipe = recipe_reshape(store, bytes, 1, &count);
    recipe = recipe_fill_up(store, recipe, 0, all);
    recipe = recipe_reshape(store, recipe, 3, cut);
    recipe = recipe_transpose(store, recipe, turn);
    recipe = recipe_cast(store, recipe, DT_F32);
    recipe = recipe_add(store, recipe, add);
    if (packing->bits == 4)
        return recipe_cast(store, recipe, DT_U4);
    return recipe_cast(store, recipe, DT_U2);
}

void qnarrow_panel(Lower *lower, Step *step)
{
    const inlay_qnarrow_params *narrow = step->params;
    const int64_t weights = tensor_count(step->operand[2].tensor);
    const int64_t channels = i64_mul(inlay_up4(narrow->oc), narrow->groups);
    const int64_t window = weights / i64_max(channels, 1);
    assert(step->n_operand == INLAY_QPANEL);
    step_scratch(lower, step,
                 narrow->panel ? i64_mul(window, narrow->panel) : weights);
}

bool qnarrow_by_pixel(const Step *step)
{
    const inlay_qnarrow_params *narrow = step->params;
    return step->n_operand <= INLAY_QPANEL || !narrow->panel;
}
