/* SPDX-License-Identifier: Apache-2.0
 * The operator table: one row an operator and opset meaning, in ops.def.
 *
 * A row states all that the compiler knows about an operator by its name: no other table has
 * operators' names. */
#ifndef INLAY_OPS_OPS_H
#define INLAY_OPS_OPS_H

#include "ir/graph.h"

typedef struct Lower Lower;

/* Element types and shapes of the outputs, from the inputs' shapes and constant values. */
typedef void InferFn(Node *n);
/* The steps that compute it. */
typedef void LowerFn(Lower *l, Node *n);
/* Output 0 as a recipe of constant inputs, for tensors too large to fold by value; NULL: none. */
typedef Recipe *ConstantFn(Node *n);
/* Sizes known only at run time: to[a] is the axis of the results that axis a of operand k becomes,
 * -1: none. False: the operator does not let them pass. */
typedef bool AxesFn(const Node *n, int k, int *to);
/* Which axis of operand k goes with an axis of the results, for computing pieces: ops/cut.h. */
typedef int CutFn(const Node *node, int axis, int k);
/* How it goes along an axis of operand k, step by step: ops/steps.h. */
typedef struct Stepping Stepping;
typedef bool StepsFn(const Node *node, int k, int axis, Stepping *steps);
/* One element of the result from one element of each of n operands, in float64. */
typedef double ScalarFn(int n, const double *x);

enum OpFlag {
    /* Each output element from the elements at the same (broadcast) place: any layout. */
    OP_ELEMENTWISE = 1,
    /* Operand 0 and the results are images: computed channels last. */
    OP_SPATIAL = 2,
    /* Small floats: compute in float32 between casts (passes/widen.c). */
    OP_WIDEN = 4,
    /* Never folded: random, or has state. */
    OP_NOT_CONSTANT = 8,
    /* Needs its input's shape, not its values (Shape, Size). */
    OP_SHAPE_ONLY = 16,
    /* The kernel takes operands 0 and 1 in the other order. */
    OP_SWAP = 32,
    /* Has subgraphs. */
    OP_CONTROL = 64,
    /* The result has operand 0's shape, whatever the others are. */
    OP_SHAPED_LIKE_FIRST = 128,
    /* Integers and bool without a kernel: int64, else float64, in their place. */
    OP_WIDEN_INT = 256,
    /* The elements of operand 0 in their order, under other dimensions. */
    OP_VIEW = 512,
    /* Zeros beyond the real size of operand 0 stay zeros beyond that of the results. */
    OP_KEEPS_REST = 1024,
    /* Takes the attributes of ops/epilogue.h. */
    OP_EPILOGUE = 2048,
    /* The scalar function is transcendental. */
    OP_BENDS = 4096,
    /* What it goes through is divided by how many there are. */
    OP_MEAN = 8192,
    /* Takes attributes lo and hi, bounds of its result of 8 bits (made by passes). */
    OP_BOUNDED = 16384,
    /* Looks at far more than its operands hold: never folded. */
    OP_LOOKS = 32768,
    /* Of an OP_SPATIAL one: as fast where its image lies plane by plane. */
    OP_EITHER_ORDER = 65536,
};

/* How the operator's attributes change where its operands are permuted (passes/relayout.c). */
typedef enum RelayoutRule {
    RELAYOUT_NONE,      /* it needs its operands as they are */
    RELAYOUT_PARTS,     /* `axis`, default 0; all operands are permuted */
    RELAYOUT_AXIS,      /* `axis`, default 0 */
    RELAYOUT_AXIS_LAST, /* `axis`, default -1 */
    RELAYOUT_REDUCE,    /* a list of axes that go */
    RELAYOUT_ARG,       /* `axis`, default 0, goes */
    RELAYOUT_PADS,      /* two numbers for each dimension */
    RELAYOUT_SLICE,     /* a list of axes that are cut */
    RELAYOUT_QUANT, /* `axis`, default 1, where there is more than one scale */
    RELAYOUT_COUNT
} RelayoutRule;

/* What becomes of the operator between DequantizeLinear and QuantizeLinear (passes/quantize.c). */
typedef enum QuantizedForm {
    QUANTIZED_NONE,   /* it computes in float, but for tables of one operand */
    QUANTIZED_MOVE,   /* elements of operand 0 change place: so do its bytes */
    QUANTIZED_SELECT, /* the same of what it orders: needs a scale above 0 */
    QUANTIZED_RESIZE, /* moves where attribute `mode` says so, else mixes four pixels */
    QUANTIZED_PAD,   /* moves; what it puts around becomes a byte */
    QUANTIZED_PARTS, /* moves elements of all operands */
    QUANTIZED_CHOICE, /* one of the operands' elements, by their order or a condition */
    QUANTIZED_INDEX, /* its result is no number, but the place of one */
    QUANTIZED_ADD,
    QUANTIZED_SUB,
    QUANTIZED_MUL,
    QUANTIZED_DIV,
    QUANTIZED_PRELU,
    QUANTIZED_CONV,
    QUANTIZED_CHANNELS, /* a factor and a shift for each channel */
    QUANTIZED_DECONV,
    QUANTIZED_PRODUCT,
    QUANTIZED_GEMM,
    QUANTIZED_POOL,
    QUANTIZED_MEAN,
    QUANTIZED_GLOBAL_MEAN,
    QUANTIZED_SOFTMAX,
    QUANTIZED_NORM,
    QUANTIZED_RMS_NORM,
    QUANTIZED_TABLE,        /* made by the pass: a byte for each byte */
    QUANTIZED_PRODUCT_SUMS, /* sums of integers, that what is behind it scales */
    QUANTIZED_CONV_SUMS,
    QUANTIZED_COUNT
} QuantizedForm;

/* Least and most operands; ANY: no limit. */
typedef struct OpCount {
    int min, max;
} OpCount;

enum { ANY = -1 };

struct OpRow {
    const char *name;
    const char *domain;
    InferFn *infer;
    LowerFn *lower;
    int since,
        until; /* opset versions with this meaning; until 0: to the newest */
    OpCount in, out;
    int added;      /* of the most operands, those that only passes give it */
    DTypeSet types; /* of operand 0 that lower takes as they are */
    unsigned flags;
    ConstantFn *constant; /* NULL: it has no recipe of its own */
    /* of the lower functions of a family, without its type */
    const char *kernel;
    int act; /* INLAY_ACT_... of kernels/act.def, 0: it is no activation */
    ScalarFn *scalar; /* NULL: passes do not evaluate it by element */
    AxesFn *axes;     /* NULL: sizes known only at run time do not pass */
    RelayoutRule relayout;
    QuantizedForm quantized;
    CutFn *cut;     /* NULL: as OP_ELEMENTWISE says, or not at all */
    StepsFn *steps; /* NULL: along the axes that it may be cut along */
    /* the operator that makes one result of those of pieces that it goes through; NULL: none */
    const char *join;
    /* the names that ONNX and ONNX Runtime know for it in any version, a blank between them */
    const char *attributes;
};

/* All of ai.onnx between these; older files pass where their operators mean the same today. */
enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };

/* The row for that operator at that opset version of its domain; NULL: none. */
const OpRow *op_find(const char *domain, const char *op_type, int64_t version);
const OpRow *op_rows(int *count);
/* What to do instead of an operator that is left out on purpose; NULL: it is not one of those. */
const char *op_left_out(const char *domain, const char *op_type);
/* Reports with error_at a node without a row, and how many more there are of its operator. */
void op_report_unknown(const Node *node, int more);
/* Checks operand counts and element type against the row; reports with error_at (all nodes are
 * checked before leaving). */
bool op_check(const Node *node);
/* The same of a node of the file: it has no operands that only passes give. */
bool op_check_given(const Node *node);
/* Does the permutation of a Transpose put the channels, which are last, behind the batch? */
bool turns_to_planes(int rank, const int *perm);
/* Does a BatchNormalization, whose shapes are known, normalize by the batch it is given? */
bool batchnorm_trains(const Node *node);
/* y = x * factor + shift, numbers of each channel, in the graph's memory; false: they are not
 * constant. */
bool batchnorm_factors(const Node *node, double **factor, double **shift);
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
#define T_ALL_FLOAT (T_FLOAT | T_SMALL_FLOAT)
#define T_FLOAT8 \
    (DTYPE_BIT(DT_F8E4M3FN) | DTYPE_BIT(DT_F8E4M3FNUZ) | \
     DTYPE_BIT(DT_F8E5M2) | DTYPE_BIT(DT_F8E5M2FNUZ))
#define T_SMALL_FLOAT \
    (DTYPE_BIT(DT_F16) | DTYPE_BIT(DT_BF16) | T_FLOAT8 | \
     DTYPE_BIT(DT_F4E2M1) | DTYPE_BIT(DT_F8E8M0))
#define T_SIGNED \
    (DTYPE_BIT(DT_I8) | DTYPE_BIT(DT_I16) | DTYPE_BIT(DT_I32) | \
     DTYPE_BIT(DT_I64))
#define T_UNSIGNED \
    (DTYPE_BIT(DT_U8) | DTYPE_BIT(DT_U16) | DTYPE_BIT(DT_U32) | \
     DTYPE_BIT(DT_U64))
#define T_INT (T_SIGNED | T_UNSIGNED)
/* Integers of 32 and 64 bits; those that are an index; those of quantized numbers. */
#define T_INDEX (DTYPE_BIT(DT_I32) | DTYPE_BIT(DT_I64))
#define T_LONG (T_INDEX | DTYPE_BIT(DT_U32) | DTYPE_BIT(DT_U64))
#define T_Q8 (DTYPE_BIT(DT_I8) | DTYPE_BIT(DT_U8))
#define T_SHORT (DTYPE_BIT(DT_I16) | DTYPE_BIT(DT_U16))
#define T_Q16 (T_Q8 | T_SHORT)
#define T_BOOL DTYPE_BIT(DT_BOOL)
#define T_NUMBER (T_FLOAT | T_INT)
#define T_BYTES \
    (T_NUMBER | T_BOOL | \
     T_SMALL_FLOAT) /* moved, not computed: any type of whole bytes */
#define T_PACKED \
    (DTYPE_BIT(DT_U4) | DTYPE_BIT(DT_I4) | DTYPE_BIT(DT_U2) | DTYPE_BIT(DT_I2))
#define T_COMPLEX (DTYPE_BIT(DT_C64) | DTYPE_BIT(DT_C128))
#define T_ANY (T_BYTES | T_PACKED | T_COMPLEX)
/* Codes of words: moved, or compared with each other. */
#define T_STRING DTYPE_BIT(DT_STRING)

#endif
