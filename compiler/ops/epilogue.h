/* SPDX-License-Identifier: Apache-2.0
 * What passes attach to Conv, ConvTranspose, Gemm, MatMul and their kin, and lower functions obey:
 *
 *  int "act"           an INLAY_ACT_... number (kernels/act.h); absent: none
 *  float "act_a", "act_b"      its two numbers: bounds of the clamp, slopes (SiLU: a = 1)
 *  int "residual"      index of the operand (the last) that is added before the activation;
 *                      it has the shape of the result. Left-out operands before it are NULL. */
#ifndef INLAY_OPS_EPILOGUE_H
#define INLAY_OPS_EPILOGUE_H

#include "ops/lower.h"

typedef struct inlay_conv_params inlay_conv_params;

typedef struct Epilogue {
    int act;
    float a, b;
    Tensor *residual; /* NULL: none */
} Epilogue;

Epilogue epilogue_of(const Node *node);
/* The clamp a kernel's tile does by itself: bit 0 a lower bound, bit 1 an upper bound; 0 where the
 * activation is none or no clamp. */
int epilogue_clamp(const Epilogue *epilogue);
/* Does it need the kernel with the second pass? */
bool epilogue_needs_pass(const Epilogue *epilogue);
/* What the packed kernels are told of it. */
void epilogue_params(const Epilogue *epilogue, inlay_conv_params *params);
/* Operand 2 of node where it is a bias, not the residual; NULL: none. */
Tensor *epilogue_bias(const Node *node, const Epilogue *epilogue);
/* A step of its own, after kernels that know no epilogue: output 0 of node = act(y + residual). */
void lower_epilogue(Lower *lower, Node *node, const Epilogue *epilogue,
                    Tensor *y);

#endif
