/* SPDX-License-Identifier: Apache-2.0
 * Declares every function that ops.def names; each family's file includes it. */
#ifndef INLAY_OPS_FAMILIES_H
#define INLAY_OPS_FAMILIES_H

#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/ops.h"

#define OP(name, infer, lower, ...) \
    InferFn infer; \
    LowerFn lower;
#include "ops/ops.def"
#undef OP

ConstantFn constant_add, constant_mul, constant_sub, constant_cast,
    constant_concat, constant_constant, constant_constant_of_shape,
    constant_dequantize, constant_expand, constant_gather, constant_has_element,
    constant_pad, constant_shape, constant_size, constant_slice, constant_split,
    constant_transpose, constant_view;
AxesFn axes_lines, axes_gather_elements, axes_arg, axes_but_one, axes_cumsum,
    axes_tile, axes_expand, axes_flatten, axes_batchnorm, axes_gather,
    axes_gather_nd, axes_images, axes_norm, axes_one_hot, axes_product,
    axes_reduce, axes_regions, axes_reshape, axes_resize, axes_same, axes_slice,
    axes_softmax, axes_squeeze, axes_transpose, axes_unsqueeze;
ScalarFn scalar_abs, scalar_add, scalar_at_least, scalar_at_most, scalar_clip,
    scalar_div, scalar_erf, scalar_exp, scalar_first, scalar_greater,
    scalar_less, scalar_log, scalar_max, scalar_min, scalar_mul, scalar_neg,
    scalar_pow, scalar_reciprocal, scalar_sqrt, scalar_sub, scalar_where;

/* Of operators that are OP_ELEMENTWISE. */
AxesFn axes_elementwise;
CutFn cut_batchnorm, cut_cumulate, cut_gather, cut_gemm, cut_lpnorm, cut_norm,
    cut_product, cut_quantize, cut_reduce, cut_softmax;

StepsFn steps_axes, steps_batch, steps_batchnorm, steps_concat, steps_conv,
    steps_global_pool, steps_pad, steps_pool, steps_qlinear_conv, steps_slice,
    steps_stft, steps_view;

#endif
