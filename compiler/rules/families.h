/* SPDX-License-Identifier: Apache-2.0
 * The rules that rows of kernels.def name, family by family. */
#ifndef INLAY_RULES_FAMILIES_H
#define INLAY_RULES_FAMILIES_H

#include "rules/rules.h"

/* window.c */
extern const KernelRules rules_conv;
extern const KernelRules rules_conv1d;
extern const KernelRules rules_dense;
extern const KernelRules rules_dwconv_act;
extern const KernelRules rules_depthwise;
extern const KernelRules rules_deconv;
extern const KernelRules rules_pool;
extern const KernelRules rules_qconv;
extern const KernelRules rules_qshort;
extern const KernelRules rules_qpacked;
extern const KernelRules rules_qdwpacked;
extern const KernelRules rules_qdwmany;
extern const KernelRules rules_dwpw;

/* pixels.c */
extern const KernelRules rules_affine;
extern const KernelRules rules_affine_act;
extern const KernelRules rules_affine_conv;
extern const KernelRules rules_quant;
extern const KernelRules rules_flat;
extern const KernelRules rules_nd2;
extern const KernelRules rules_nd3;

/* move.c */
extern const KernelRules rules_concat;
extern const KernelRules rules_move;
extern const KernelRules rules_move_rows;
extern const KernelRules rules_pick;
extern const KernelRules rules_resample;

/* tiles.c */
extern const KernelRules rules_winograd;
extern const KernelRules rules_matmul;
extern const KernelRules rules_recurrent;
void tiles_conv(const Step *step, TileUse *use);
void tiles_conv1d(const Step *step, TileUse *use);
void tiles_deconv(const Step *step, TileUse *use);
void tiles_dwpw(const Step *step, TileUse *use);
void tiles_affine_conv(const Step *step, TileUse *use);

/* packed.c */
int32_t packed_conv(const Step *step);
int32_t packed_depthwise(const Step *step);
int32_t packed_multiplied(const Step *step);

/* pair.c: ended by { 0 } */
extern const PairRule pairs_depthwise[];
extern const PairRule pairs_affine[];

#endif
