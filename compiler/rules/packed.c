/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/packed.h"

#include "kernels/qpacked.h"
#include "rules/families.h"

const int32_t packed_all = INLAY_QUSE_ALL;
const char *const packed_names[] = {
    "MORE",    "CLIPS",  "REST",    "SIGNED",   "UNSIGNED",  "SHIFTED",
    "VOLUMES", "FOURS",  "HALVES",  "SIXTEENS", "GROUPS",    "DW_NEAR",
    "DW_FAR",  "DW_ANY", "DW_TAPS", "DW_DEEP",  "DW_DIRECT", "PIECES",
    "WINDOWS", "THREES", NULL
};

/* Operands 5 to 9 are zero points, sums, a factor and addends. */
enum { FIRST_MORE = 5, LAST_MORE = 9 };

static int32_t when(bool holds, int32_t bit)
{
    return holds ? bit : 0;
}

static bool has_more(const Step *step, const inlay_qpacked_params *p)
{
    for (int i = FIRST_MORE; i <= LAST_MORE; i++)
        if (step->operand[i].tensor)
            return true;
    return p->zw || p->out == INLAY_QOUT_I32 || p->out == INLAY_QOUT_F32;
}

/* What both kernels have; channels: those of a group, or all. */
static int32_t common_uses(const Step *step, int32_t channels)
{
    const inlay_qpacked_params *p = step->params;
    const bool is_volume = p->kd > 1 || p->id > 1 || p->od > 1 || p->pd;
    int32_t uses = p->minus ? INLAY_QUSE_SIGNED : INLAY_QUSE_UNSIGNED;
    uses |= when(p->flip != p->minus, INLAY_QUSE_SHIFTED);
    uses |= when(p->minus && p->out == INLAY_QOUT_U8, INLAY_QUSE_SHIFTED);
    uses |= when(has_more(step, p), INLAY_QUSE_MORE);
    uses |= when(p->hi - p->lo != UINT8_MAX, INLAY_QUSE_CLIPS);
    uses |= when(channels % 4, INLAY_QUSE_REST);
    return uses | when(is_volume, INLAY_QUSE_VOLUMES);
}

/* Is the window one pixel, never beside x? */
static bool is_pixel(const inlay_qpacked_params *p)
{
    return p->kd * p->kh * p->kw == 1 && !p->pd && !p->ph && !p->pw &&
           (p->od - 1) * p->sd < p->id && (p->oh - 1) * p->sh < p->ih &&
           (p->ow - 1) * p->sw < p->iw;
}

/* Do rows of windows lie in one piece that is not of whole fours, and is one at least? */
static bool is_piece(const Step *step)
{
    const inlay_qpacked_params *p = step->params;
    return p->ic % 4 && p->dw * step->operand[1].ref.pix == p->ic &&
           p->iw * p->ic >= 4;
}

static int32_t window_uses(const Step *step)
{
    if (is_piece(step))
        return INLAY_QUSE_PIECES;
    return is_pixel(step->params) ? 0 : INLAY_QUSE_WINDOWS;
}

int32_t packed_conv(const Step *step)
{
    const inlay_qpacked_params *p = step->params;
    int32_t uses = common_uses(step, p->oc);
    if (p->wide)
        uses |= INLAY_QUSE_HALVES | when(p->wide > 2, INLAY_QUSE_THREES);
    else if (p->deep)
        uses |= INLAY_QUSE_SIXTEENS;
    else
        uses |= INLAY_QUSE_FOURS;
    uses |= window_uses(step);
    return uses | when(p->groups > 1, INLAY_QUSE_GROUPS);
}

int32_t packed_depthwise(const Step *step)
{
    const inlay_qpacked_params *p = step->params;
    const bool is_three = p->kd == 1 && p->kh == 3 && p->kw == 3 && p->dw == 1;
    int32_t uses = common_uses(step, p->groups);
    if (is_three && p->sw <= 2)
        uses |= p->sw == 1 ? INLAY_QUSE_DW_NEAR : INLAY_QUSE_DW_FAR;
    else
        uses |= INLAY_QUSE_DW_ANY;
    uses |= p->deep ? INLAY_QUSE_DW_DEEP : INLAY_QUSE_DW_TAPS;
    return uses | when(p->gather < 2, INLAY_QUSE_DW_DIRECT);
}

/* Nothing of the window, nor of how weights are packed. */
int32_t packed_multiplied(const Step *step)
{
    const inlay_qpacked_params *p = step->params;
    return common_uses(step, p->groups % 4 * (p->oc % 4));
}

int32_t packed_uses(Arena *arena, const Step *step)
{
    const KernelRules *rules = step->kernel->rules;
    int32_t uses = 0;
    if (!rules || !rules->packed)
        return 0;
    if (!step->fetch)
        return rules->packed(step);
    for (int last = 0; last < 2; last++) {
        const Step piece = step_piece(arena, step, last);
        uses |= rules->packed(&piece);
    }
    return uses;
}
