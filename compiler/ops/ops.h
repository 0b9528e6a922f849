/* SPDX-License-Identifier: Apache-2.0
 * The operator table: one row an operator and opset meaning, in ops.def.
 *
 * A row names its functions; nothing else in the compiler switches on operators.
 *   infer   element types and shapes of the outputs, from the inputs' shapes and constant values
 *   lower   the steps that compute it
 *   constant (may be NULL) output 0 as a recipe of constant inputs, for tensors too large to fold
 *       by value */
#ifndef INLAY_OPS_OPS_H
#define INLAY_OPS_OPS_H

#include "ir/graph.h"

typedef struct Lower Lower;

typedef void InferFn(Node *n);
typedef void LowerFn(Lower *l, Node *n);
typedef Recipe *ConstantFn(Node *n);

enum OpFlag {
    OP_ELEMENTWISE =
        1, /* each output element from the elements at the same (broadcast) place: any layout */
    OP_SPATIAL = 2,      /* operand 0 and the results are images: computed channels last */
    OP_WIDEN = 4,        /* small floats: compute in float32 between casts (passes/widen.c) */
    OP_NOT_CONSTANT = 8, /* never folded: random, or has state */
    OP_SHAPE_ONLY = 16,  /* needs its input's shape, not its values (Shape, Size) */
    OP_AXIS = 32,        /* has one attribute `axis` over dimensions; the layout pass renames it */
    OP_CONTROL = 64,     /* has subgraphs */
    OP_WIDEN_INT =
        256, /* integers and bool without a kernel: int64, else float64, in their place */
    OP_SHAPED_LIKE_FIRST = 128, /* the result has operand 0's shape, whatever the others are */
};

struct OpRow {
    const char *name, *domain;
    int since, until; /* opset versions with this meaning; until 0: the newest known */
    int min_in, max_in, min_out, max_out; /* max -1: any number */
    DTypeSet types;                       /* of operand 0 that lower takes as they are */
    unsigned flags;
    InferFn *infer;
    LowerFn *lower;
    ConstantFn *constant;
    const char *attributes; /* names, a blank between them */
};

/* All of ai.onnx between these; older files pass where their operators mean the same today. */
enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };

/* The row for that operator at that opset version of its domain; NULL: none. */
const OpRow *op_find(const char *domain, const char *op_type, int64_t version);
const OpRow *op_rows(int *count);
/* Checks operand counts and element type against the row; reports with error_at (all nodes are
 * checked before leaving). */
bool op_check(const Node *node);
/* Reports (error_at) each attribute that the operator of node->op does not have. Names that
 * begin with "__" are anybody's. */
void op_check_attributes(const Node *node);

/* The type in which an operand of type is computed: type itself, or what the flags say; operands of
 * number `i`. */
DType op_compute_type(const OpRow *row, int i, DType type);
/* All types of operand 0 that are taken, those computed in another one included. */
DTypeSet op_types(const OpRow *row);

/* The types of a set as people read them: "float, int8-64". */
const char *op_types_text(Arena *arena, DTypeSet types);
/* Reports (error_at) an operand 0 of a type that its row does not take, naming those it takes. */
bool op_check_type(const Node *node);

/* Element type sets used in ops.def. */
#define T_F32 DTYPE_BIT(DT_F32)
#define T_F64 DTYPE_BIT(DT_F64)
#define T_FLOAT (T_F32 | T_F64)
#define T_FLOAT8 \
    (DTYPE_BIT(DT_F8E4M3FN) | DTYPE_BIT(DT_F8E4M3FNUZ) | DTYPE_BIT(DT_F8E5M2) | \
     DTYPE_BIT(DT_F8E5M2FNUZ))
#define T_SMALL_FLOAT \
    (DTYPE_BIT(DT_F16) | DTYPE_BIT(DT_BF16) | T_FLOAT8 | DTYPE_BIT(DT_F4E2M1) | \
     DTYPE_BIT(DT_F8E8M0))
#define T_SIGNED (DTYPE_BIT(DT_I8) | DTYPE_BIT(DT_I16) | DTYPE_BIT(DT_I32) | DTYPE_BIT(DT_I64))
#define T_UNSIGNED (DTYPE_BIT(DT_U8) | DTYPE_BIT(DT_U16) | DTYPE_BIT(DT_U32) | DTYPE_BIT(DT_U64))
#define T_INT (T_SIGNED | T_UNSIGNED)
#define T_BOOL DTYPE_BIT(DT_BOOL)
#define T_NUMBER (T_FLOAT | T_INT)
#define T_BYTES \
    (T_NUMBER | T_BOOL | T_SMALL_FLOAT) /* moved, not computed: any type of whole bytes */
#define T_PACKED (DTYPE_BIT(DT_U4) | DTYPE_BIT(DT_I4) | DTYPE_BIT(DT_U2) | DTYPE_BIT(DT_I2))
#define T_ANY (T_BYTES | T_PACKED | DTYPE_BIT(DT_C64) | DTYPE_BIT(DT_C128))

#endif
