/* SPDX-License-Identifier: Apache-2.0
 * The bounds functions that rows of kernels.def name, family by family. */
#ifndef INLAY_BOUNDS_FAMILIES_H
#define INLAY_BOUNDS_FAMILIES_H

#include "ir/kernel.h"

/* window.c */
KernelBounds bounds_conv;
KernelBounds bounds_conv_narrow;
KernelBounds bounds_deconv;
KernelBounds bounds_deconv_narrow;
KernelBounds bounds_winograd;
KernelBounds bounds_dwconv;
KernelBounds bounds_dwconv_narrow;
KernelBounds bounds_dwmany;
KernelBounds bounds_qdwmany;
KernelBounds bounds_dwpw;
KernelBounds bounds_dwpw_narrow;
KernelBounds bounds_affine;
KernelBounds bounds_affine_planes;
KernelBounds bounds_affine_conv;
KernelBounds bounds_affine_conv_narrow;
KernelBounds bounds_pool;
KernelBounds bounds_qavgpool;
KernelBounds bounds_globalpool;
KernelBounds bounds_conv_plain;
KernelBounds bounds_maxpool_plain;
KernelBounds bounds_sumpool_plain;
KernelBounds bounds_input;
KernelBounds bounds_dense;
KernelBounds bounds_matmul;

/* nest.c */
KernelBounds bounds_flat;
KernelBounds bounds_table;
KernelBounds bounds_qscale;
KernelBounds bounds_qpair;
KernelBounds bounds_packed;
KernelBounds bounds_nd2;
KernelBounds bounds_nd3;
KernelBounds bounds_move;
KernelBounds bounds_move_rows;
KernelBounds bounds_shuffle;
KernelBounds bounds_pick;
KernelBounds bounds_copy;
KernelBounds bounds_clear;
KernelBounds bounds_concat;

/* along.c */
KernelBounds bounds_reduce;
KernelBounds bounds_arg;
KernelBounds bounds_softmax;
KernelBounds bounds_qsoftmax;
KernelBounds bounds_qsoftmax_table;
KernelBounds bounds_qnorm;
KernelBounds bounds_qresize;
KernelBounds bounds_lrn;
KernelBounds bounds_norm;
KernelBounds bounds_topk;
KernelBounds bounds_unique;
KernelBounds bounds_cumulate;
KernelBounds bounds_range;
KernelBounds bounds_einsum;
KernelBounds bounds_det;
KernelBounds bounds_inverse;

/* index.c */
KernelBounds bounds_gather;
KernelBounds bounds_gather_elements;
KernelBounds bounds_gather_nd;
KernelBounds bounds_scatter_elements;
KernelBounds bounds_scatter_nd;
KernelBounds bounds_onehot;
KernelBounds bounds_compress;
KernelBounds bounds_trilu;
KernelBounds bounds_reverse_sequence;
KernelBounds bounds_nonzero;
KernelBounds bounds_check_values;
KernelBounds bounds_slice_values;
KernelBounds bounds_pad_values;
KernelBounds bounds_jump;
KernelBounds bounds_jump_unless;
KernelBounds bounds_refusal;
KernelBounds bounds_loop;
KernelBounds bounds_slice_load;
KernelBounds bounds_slice_store;
KernelBounds bounds_settle;
KernelBounds bounds_nms;
KernelBounds bounds_cache;
KernelBounds bounds_lookup;

/* quant.c */
KernelBounds bounds_quant;
KernelBounds bounds_dynamic_quantize;
KernelBounds bounds_qmatmul;
KernelBounds bounds_qpacked;
KernelBounds bounds_qdwpacked;
KernelBounds bounds_qnarrow;
KernelBounds bounds_qdwnarrow;
KernelBounds bounds_qconv;
KernelBounds bounds_qconv_short;
KernelBounds bounds_qpair_short;
KernelBounds bounds_qscale_short;
KernelBounds bounds_qdwconv_short;

/* recurrent.c */
KernelBounds bounds_recurrent;
KernelBounds bounds_recurrent_narrow;
KernelBounds bounds_recurrent_plain;

/* image.c */
KernelBounds bounds_resize_table;
KernelBounds bounds_resample;
KernelBounds bounds_grid_sample;
KernelBounds bounds_affine_grid;
KernelBounds bounds_roi_align;
KernelBounds bounds_roi_pool;
KernelBounds bounds_col2im;
KernelBounds bounds_max_unpool;
KernelBounds bounds_deform_conv;

/* models.c */
KernelBounds bounds_ml_classify;
KernelBounds bounds_ml_normalize;
KernelBounds bounds_tree;
KernelBounds bounds_svm_regress;
KernelBounds bounds_svm_classify;
KernelBounds bounds_tfidf;

/* signal.c */
KernelBounds bounds_dft;
KernelBounds bounds_stft;
KernelBounds bounds_taper;
KernelBounds bounds_mel;
KernelBounds bounds_log_softmax_classes;
KernelBounds bounds_nll_loss;
KernelBounds bounds_random;
KernelBounds bounds_multinomial;
KernelBounds bounds_linear_attention;

/* window.c: what makes floats of narrow weights of so many taps, operands k to k + 2. */
void narrow_weights(Bounds *bounds, int k, int64_t taps);

#endif
