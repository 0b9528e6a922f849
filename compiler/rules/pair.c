/* SPDX-License-Identifier: Apache-2.0
 * Which two steps a kernel does as one, and with which parameters. */
#include "kernels/affine_f32.h"
#include "kernels/dwpw_f32.h"
#include "rules/families.h"

enum {
    TILES = 12, /* pixels: a multiple of the tiles of both kernels */
    LEAST =
        6, /* where only one of them has tiles: scratch lies at the peak, and more is no
                   faster */
    SET_UP = 60, /* instructions: each chunk sets up both kernels */
};

/* One tap, at its own pixel, of rows of `width` pixels. */
static bool is_pointwise(const inlay_conv_params *p, int32_t width)
{
    const bool one_tap = p->kd * p->kh * p->kw == 1;
    const bool one_step = p->sd * p->sh * p->sw == 1;
    const bool in_place = !p->pd && !p->ph && !p->pw;
    const bool same_size = p->iw == width && p->ow == width && p->ih == p->oh;
    return p->groups == 1 && p->id == 1 && one_tap && one_step && in_place &&
           same_size;
}

static bool fits_depthwise(const Step *first, const Step *second)
{
    const inlay_conv_params *depthwise = first->params;
    const inlay_conv_params *pointwise = second->params;
    return !first->operand[4].tensor && depthwise->id <= 1 &&
           is_pointwise(pointwise, depthwise->ow) &&
           pointwise->ih == depthwise->oh;
}

static void join_depthwise(const Step *first, const Step *second, void *params)
{
    const inlay_conv_params *depthwise = first->params;
    const inlay_conv_params *pointwise = second->params;
    *(inlay_dwpw_params *)params = (inlay_dwpw_params){
        .ih = depthwise->ih,
        .iw = depthwise->iw,
        .oh = depthwise->oh,
        .ow = depthwise->ow,
        .kh = depthwise->kh,
        .kw = depthwise->kw,
        .sh = depthwise->sh,
        .sw = depthwise->sw,
        .dh = depthwise->dh,
        .dw = depthwise->dw,
        .ph = depthwise->ph,
        .pw = depthwise->pw,
        .channels = depthwise->groups,
        .oc = pointwise->oc,
        .width = pointwise->width,
        .d_clamp = depthwise->clamp,
        .clamp = pointwise->clamp,
        .d_a = depthwise->a,
        .d_b = depthwise->b,
        .a = pointwise->a,
        .b = pointwise->b,
    };
}

static bool fits_affine(const Step *first, const Step *second)
{
    const inlay_affine_params *affine = first->params;
    return is_pointwise(second->params, affine->pixels);
}

static void join_affine(const Step *first, const Step *second, void *params)
{
    const inlay_affine_params *affine = first->params;
    const inlay_conv_params *pointwise = second->params;
    *(inlay_affine_conv_params *)params = (inlay_affine_conv_params){
        .pixels = affine->pixels,
        .ic = pointwise->ic,
        .oc = pointwise->oc,
        .width = pointwise->width,
        .x_clamp = affine->clamp,
        .clamp = pointwise->clamp,
        .act = pointwise->act,
        .x_a = affine->a,
        .x_b = affine->b,
        .a = pointwise->a,
        .b = pointwise->b,
    };
}

const PairRule pairs_depthwise[] = {
    {
        .second = "conv",
        .both = "dwpw",
        .chunk = TILES,
        .set_up = SET_UP,
        .fits = fits_depthwise,
        .join = join_depthwise,
    },
    { 0 },
};

const PairRule pairs_affine[] = {
    {
        .second = "conv",
        .both = "affine_conv",
        .always = true,
        .chunk = LEAST,
        .fits = fits_affine,
        .join = join_affine,
    },
    {
        .second = "conv_act",
        .both = "affine_conv_act",
        .always = true,
        .chunk = LEAST,
        .fits = fits_affine,
        .join = join_affine,
    },
    { 0 },
};
