/* SPDX-License-Identifier: Apache-2.0
 * Parameters of convolutions of one tap and stride 1, which are products of matrices; others begin
 * with them. */
#ifndef TEST_POINTWISE_H
#define TEST_POINTWISE_H

#include "kernels/conv_f32.h"

/* h rows of w pixels; each group makes oc channels of its ic. */
static inline inlay_conv_params
pointwise_params(int32_t h, int32_t w, int32_t groups, int32_t ic, int32_t oc)
{
    return (inlay_conv_params){
        .id = 1,
        .ih = h,
        .iw = w,
        .od = 1,
        .oh = h,
        .ow = w,
        .kd = 1,
        .kh = 1,
        .kw = 1,
        .sd = 1,
        .sh = 1,
        .sw = 1,
        .dd = 1,
        .dh = 1,
        .dw = 1,
        .groups = groups,
        .ic = ic,
        .oc = oc,
        .width = 16,
    };
}

#endif
