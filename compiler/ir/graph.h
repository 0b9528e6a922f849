/* SPDX-License-Identifier: Apache-2.0
 * The graph between the stages: tensors and nodes, all in one arena.
 * onnx/ makes it, passes/ rewrite it, lower turns its nodes into steps. */
#ifndef INLAY_IR_GRAPH_H
#define INLAY_IR_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "ir/dtype.h"
#include "ir/recipe.h"

typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Tensor Tensor;
typedef struct OpRow OpRow; /* a row of ops/ops.def */

/* Dimensions; rank -1: not known. A dimension not known is -1. */
typedef struct Shape {
    int rank;
    int64_t dim[MAX_RANK];
} Shape;

/* An operand place that reads a tensor: entry `operand` of its node's list. */
typedef struct Use {
    Node *node;
    int operand;
    struct Use *next, *before;
} Use;

/* What integers stand for: (integer - zero) * scale. */
typedef struct IntegerScale {
    float scale;
    int32_t zero;
} IntegerScale;

/* A sequence while it lasts: its tensors; NULL: one whose shape is not known. */
typedef struct Sequence {
    int64_t n;
    struct Tensor **item;
} Sequence;

/* Where an input or a result of the model lies while it runs. */
/* A size that is the sum of others. */
typedef struct JoinedSize {
    int n;
    /* [n]: a size, or -1 - the number of one known at run time */
    const int64_t *part;
    int id; /* its own number */
} JoinedSize;

/* A size known only at run time. */
typedef struct CountedSize {
    struct Tensor *count; /* int64 [1] */
    int64_t bound;
    int id;
} CountedSize;

typedef enum IoForm {
    IO_CALLER, /* in a buffer of the caller, as ONNX has it */
    IO_ARENA, /* in the arena, where the header says and in the layout that the steps want */
    IO_ROWS, /* an input that comes row by row, in that layout: the arena holds the rows that are
                  needed */
    IO_STATE, /* in the arena, as ONNX has it, from run to run */
} IoForm;

/* The symbol of a dimension that the file gives as a negative number: not ONNX, but exporters mean
 * "any". */
#define DIM_NEGATIVE "-1"

/* A value: made once, by a node, as a graph input or as a constant. */
struct Tensor {
    int id; /* dense, in order of creation: file order */
    DType dtype;
    Graph *graph;     /* whose value it is */
    const char *name; /* of the file, or ours for what passes make; borrowed */
    Shape shape;
    /* [MAX_RANK] names of symbolic dimensions of a graph input, NULL: none */
    const char *const *symbol;
    /* as the file's value_info says; rank -1: it does not; shared, never NULL */
    const Shape *declared;
    Recipe *value; /* constant: its values; else NULL */
    /* of integers, as a node that reads or makes them says; NULL: none says it */
    const IntegerScale *numbers;
    /* it is no tensor but this list of them; NULL: a tensor */
    const Sequence *sequence;
    bool listed; /* it is in such a list, and keeps its name */
    /* the layout pass turned it: its dimension i is dimension turn[i] of this one, which may be
     * gone; NULL: it did not */
    const Tensor *turned_of;
    const int *turn;
    Node *producer; /* NULL: graph input, constant */
    /* a constant: the node that it was computed of, dead; NULL: of none */
    const Node *folded;
    Use *use; /* the live nodes that read it */
    int uses; /* their number + 1 for each graph output */
    /* bit i: dimension i is a bound, the real one is known when it runs */
    unsigned dynamic;
    /* then: the real dimensions, int64 [rank], a value of the graph */
    Tensor *dims;
    /* its elements are the real dimensions of that tensor; NULL: of none */
    Tensor *sizes_of;
    /* [MAX_RANK] of those dimensions: equal numbers are equal sizes; shared, never NULL */
    const int *size_id;
    /* Set by lowering: */
    /* its bytes are bytes of another tensor, from view_offset */
    Tensor *view_of;
    int64_t view_offset;
    int64_t offset;       /* of a root: bytes into its base, set by the plan */
    DType declared_dtype; /* as the file's value_info says */
    /* `declared` is not of the file, but follows from what that says of others */
    bool assumed;
    /* of a root in the arena: which of the plan's regions, 0 where there are none; of a constant: 1
     * where it stays in the code (Program.blob) */
    int region;
    bool placed; /* offset is set */
    bool words;  /* its integers are codes of words: ir/words.h */
    /* An input whose bytes survive until the next run; or, as a view of that input, the result that
     * it is in the next run: what is written through it is new, what is read otherwise old. */
    bool state;
    int storage; /* StorageKind of ir/program.h */
    int slot;    /* index of the input or output it is, else -1 */
    /* of one in the arena: its dimension i is the model's perm[i]; NULL: as in the model */
    const int *perm;
};

typedef enum AttrKind {
    ATTR_FLOAT = 1,
    ATTR_INT = 2,
    ATTR_STRING = 3,
    ATTR_TENSOR = 4,
    ATTR_GRAPH = 5,
    ATTR_FLOATS = 6,
    ATTR_INTS = 7,
    ATTR_STRINGS = 8,
    ATTR_TENSORS = 9,
    ATTR_GRAPHS = 10,
    ATTR_SPARSE_TENSOR = 11,
    ATTR_SPARSE_TENSORS = 12,
    ATTR_TYPE = 13,
    ATTR_TYPES = 14, /* ONNX's numbers */
} AttrKind;

typedef struct Attr {
    const char *name;
    AttrKind kind;
    int64_t n; /* elements of the repeated kinds; bytes of a string */
    float f;
    int64_t i;
    const char *s; /* NUL added; may hold NULs within n */
    const float *floats;
    const int64_t *ints;
    const char *const *strings;
    /* of a long list of floats or ints, until node_floats() or node_ints() reads it: those are
     * NULL */
    Recipe *list;
    Recipe *tensor; /* ATTR_TENSOR; ATTR_SPARSE_TENSOR made dense */
    Graph *graph;
    const char *ref; /* ref_attr_name inside a function body, NULL: none */
} Attr;

struct Node {
    int index; /* place in the file's node list, for messages; -1: made by a pass */
    const char *name, *op_type, *domain; /* domain "" is ai.onnx */
    const char *overload; /* of the function it calls; NULL: none */
    const OpRow *op;      /* NULL until resolved */
    /* opset of its domain where it differs from the graph's (function bodies); 0: the graph's */
    int64_t version;
    Graph *graph;
    int level; /* function expansions it went through */
    int n_in, n_out, n_attr;
    Tensor **in, **out; /* NULL: an optional operand left out */
    Use *use;           /* of `in`, one each: graph.c's */
    Attr *attr;
    int order; /* place in the sorted list */
    bool dead;
    /* its last result is ours: how many there are, int64 [1] (ops/dynamic.h) */
    bool counts;
    /* set by the layout pass: operand 0 and the result are [N][spatial...][C] */
    bool channels_last;
    /* set where the layout begins: the image stays plane by plane */
    bool own_order;
    /* set by the winograd pass: sums may be rounded as that algorithm does */
    bool winograd;
    /* set by the banks pass: the expansion that it is of, from 1 on; 0: of none */
    int32_t expansion;
    /* made by the recompute pass: what another node computes, for another reader */
    bool again;
};

/* Of each expansion (passes/banks.c) how many channels are made at a time; 0, and of those beyond
 * the list: all. */
typedef struct Banks {
    int32_t n;
    const int32_t *channels;
} Banks;

typedef struct Opset {
    const char *domain;
    int64_t version;
} Opset;

/* A model-local function: a body whose inputs and outputs are names. */
typedef struct Function {
    const char *domain, *name, *overload;
    Graph *body; /* inputs, outputs, nodes; not type-checked until expanded */
    const char *const *attr_names;
    int n_attr_names;
    Attr *attr_defaults;
    int n_attr_defaults;
} Function;

/* Result `out` of a run is input `in` of the next one: places in Graph.output and Graph.input. */
typedef struct State {
    size_t out, in;
    bool streamed; /* of --stream: the model's file knows nothing of it */
} State;

/* An input of which a run takes only the new steps: places of Graph.input. */
typedef struct Signal {
    size_t in;
    int axis;
    int64_t hop;    /* steps of a run */
    int64_t window; /* steps of the model's own input; set by pass_stream() */
    /* the signal goes on where a window ends: nothing is padded there */
    bool endless;
} Signal;

struct Graph {
    Arena *arena;
    Store *store;
    Graph *parent; /* of a subgraph: names not found here are looked up there */
    Node *holder;  /* of a subgraph: the node whose attribute it is */
    const char *file, *name;
    int64_t ir_version;
    VEC(Opset) opset;     /* of the model (subgraphs share the root's) */
    VEC(Tensor *) tensor; /* all ever made */
    VEC(Node *) node;     /* in execution order once sorted */
    VEC(Tensor *) input;  /* not counting those that are initializers */
    VEC(Tensor *)
    output; /* of the root, after infer: its results, then the real dims of the dynamic ones */
    VEC(Function *) function;
    VEC(Graph *) all; /* of the root: itself and every subgraph */
    Map by_name;
    const char *producer; /* producer_name of the model, for reports */
    bool dead; /* a body that was expanded or copied: its nodes count no more */
    void (*infer)(
        /* of the root, while types and shapes are inferred: a subgraph, and a new node */
        Graph *g);
    void (*infer_node)(Node *n);
    int next_id; /* of the root: ids of tensors */
    /* of the root: names of results that are computed when it runs, though they could be before;
     * NULL: there are none */
    const Map *kept;
    int next_size; /* of the root: numbers of sizes known at run time */
    VEC(JoinedSize) joined; /* of the root */
    VEC(CountedSize) sizes; /* of the root */
    /* of the root: nodes that were copied to count the turns of loops */
    int counted;
    /* of the root: nodes that are copies of bodies, how many there may be, items of all lists */
    int64_t copied, most_copied, listed;
    /* of the root: a pool makes fewer windows than rounding up gives, see passes/declare.c */
    bool windows_left_out;
    /* of the root: codes of 16 bits become floats, of which the target computes several */
    bool float_shorts;
    /* of the root: weights of fewer than 8 bits that became bytes, and how many more these are */
    int widened;
    int64_t widened_bytes;
    /* of the root: entries at the end of `output` that are dims */
    size_t dims_outputs;
    /* of the root, after infer: `numbers` of each input and of each result */
    const IntegerScale *const *in_numbers, *const *out_numbers;
    const IoForm *in_form,
        *out_form; /* of the root: where its inputs and its results lie; NULL:
                                         all with the caller */
    VEC(State) state;   /* of the root: in the order of the command line */
    VEC(Signal) signal; /* of the root: likewise */
    /* of the root, with signals: from that run on all that a result is made of has been there; of
     * each result by how many steps of the first signal it lags behind the newest one */
    int64_t signal_runs;
    const int64_t *signal_delay;
    Banks banks;        /* of the root: what pass_banks() is to do */
    int32_t expansions; /* of the root: those that it met */
    /* of the root: images of gates of so many bytes or more pass_recompute() computes twice; 0:
     * none; and the bytes of all that it met */
    int64_t recompute;
    VEC(int64_t) gated;
    /* hops that a run of this process has; set by cli/hops.c */
    int64_t signal_given;
};

Graph *graph_new(Arena *arena, Store *store, const char *file, Graph *parent);
Graph *graph_root(Graph *graph);

/* New tensor named `name` (borrowed) or, where NULL, named by us. */
Tensor *graph_add_tensor(Graph *graph, const char *name, DType dtype,
                         Shape shape);
/* As value_info says: a copy is kept. */
void tensor_declare(Tensor *tensor, const Shape *shape);
/* The numbers of its dynamic dimensions, its own, to write. */
int *tensor_size_ids(Tensor *tensor);
/* The tensor of that name here or in a parent, or NULL. */
Tensor *graph_find(Graph *graph, const char *name);
/* A constant tensor. */
Tensor *graph_add_constant(Graph *graph, const char *name, Recipe *value);
Tensor *graph_add_ints(Graph *graph, const char *name, int64_t n,
                       const int64_t *values);

/* A node at the end of the list; operands are copied. Producers of the outputs are set. */
Node *graph_add_node(Graph *graph, const char *domain, const char *op_type,
                     int n_in, Tensor *const *in, int n_out,
                     Tensor *const *out);
/* A new node that serves `anchor` and is named after it; graph_sort() brings it to its place beside
 * it. */
Node *graph_insert_node(Graph *graph, const Node *anchor, const char *domain,
                        const char *op_type, int n_in, Tensor *const *in,
                        int n_out, Tensor *const *out);

/* Every use of `from` (operands and graph outputs, subgraphs included) becomes `to`. */
void graph_replace(Graph *graph, Tensor *from, Tensor *to);
/* What `made` computes becomes the value of `old`, which keeps its name (it may be an output of the
 * graph). */
void graph_take_name(Graph *graph, Tensor *old, Tensor *made);
/* Makes all lists of uses anew, over this graph's root and its subgraphs. The functions here keep
 * them current. */
void graph_count_uses(Graph *graph);
/* Is the graph part of nothing any more: a dead body, or a subgraph of a node that was taken out?
 */
bool graph_gone(const Graph *graph);
/* Takes a node out: its operands lose a use, its outputs their producer. */
void graph_kill(Node *node);
bool graph_is_output(const Graph *graph, const Tensor *tensor);
/* The model's own results, the first of `output`; and the place in `output` of the real dims of
 * dynamic result i. */
size_t graph_results(const Graph *graph);
size_t graph_dims_place(const Graph *graph, size_t i);
/* The inputs and the results that the model's file has: the first ones; behind them those that
 * keep steps of a signal from run to run. */
size_t graph_own_inputs(const Graph *graph);
size_t graph_own_results(const Graph *graph);
/* The signal that input i is; NULL: none. */
const Signal *graph_signal(const Graph *graph, size_t i);
/* Where input i and output i of the root lie; and a tensor's shape as the model has it. */
IoForm graph_in_form(const Graph *graph, size_t i);
IoForm graph_out_form(const Graph *graph, size_t i);
Shape tensor_model_shape(const Tensor *tensor);
/* Is it a result that an input of the next run is? */
static inline bool tensor_is_renewed(const Tensor *tensor)
{
    return tensor->state && tensor->view_of;
}
/* Sorts the nodes by their operands, file order where free; drops the dead. A cycle fails with 65
 * and names its nodes. */
void graph_sort(Graph *graph);
/* Drops dead nodes from the list. */
void graph_compact(Graph *graph);
int64_t graph_opset(const Graph *g, const char *domain); /* 0: not imported */

/* Attributes. The named kind or the default; a wrong kind fails with 65. */
const Attr *node_attr(const Node *n, const char *name); /* NULL: absent */
int64_t node_int(const Node *node, const char *name, int64_t otherwise);
bool node_flag(const Node *node, const char *name, bool otherwise);
float node_float(const Node *node, const char *name, float otherwise);
double node_double(const Node *node, const char *name, float otherwise);
const char *node_string(const Node *node, const char *name,
                        const char *otherwise);
/* The list and its length (0: absent). */
const int64_t *node_ints(const Node *node, const char *name, int64_t *count);
const float *node_floats(const Node *node, const char *name, int64_t *count);
/* A list of strings as codes of the model's words; NULL: absent. */
const int64_t *node_codes(const Node *node, const char *name, int64_t *count);
/* All values of a list that an attribute holds, in the graph's arena; too many fail with 69. */
void *node_values(const Node *node, const Recipe *recipe);
void node_set_int(Node *node, const char *name, int64_t value);
void node_set_float(Node *node, const char *name, float value);
void node_set_string(Node *n, const char *name,
                     const char *value); /* borrowed */
void node_set_ints(Node *node, const char *name, int64_t count,
                   const int64_t *values);
void node_set_op(Node *node, const char *domain, const char *op_type);
void node_set_inputs(Node *node, int count, Tensor *const *in);
/* Operand i becomes another tensor. */
void node_set_input(Node *node, int i, Tensor *tensor);
/* The operands, to be changed and given to node_set_inputs(). */
Tensor **node_copy_inputs(const Node *node);

Loc node_loc(const Node *node);
Tensor *node_in(const Node *n, int i); /* NULL beyond the end or left out */
Tensor *node_out(const Node *node, int i);
bool node_is(const Node *n, const char *op_type); /* ai.onnx */
/* The element type of operand 0, by which most kernels are named. */
DType node_type(const Node *node);
/* Of operand i, of result i. */
const Shape *node_shape(const Node *node, int i);
const Shape *result_shape(const Node *node, int i);

/* Shapes. */
Shape shape_of(int rank, const int64_t *dims);
Shape shape_scalar(void);
Shape shape_vector(int64_t n);
bool shape_known(const Shape *s); /* rank and all dimensions */
bool shape_equal(const Shape *a, const Shape *b);
int64_t
shape_count(const Shape *s); /* product, checked; the shape must be known */
const char *shape_text(Arena *arena, const Shape *shape);
int64_t tensor_count(const Tensor *tensor);
int64_t tensor_bytes(const Tensor *tensor);
/* Small integer constants (shapes, axes) widened to int64; NULL: not constant. *count gets the
 * elements. */
const int64_t *tensor_ints(Graph *graph, const Tensor *tensor, int64_t *count);
/* Small float constants widened to double; NULL: not constant. */
const double *tensor_doubles(Graph *graph, const Tensor *tensor,
                             int64_t *count);
/* axis in -rank..rank-1 made 0..rank-1; outside fails with 65 at the node. */
int node_axis(const Node *node, int64_t axis, int rank);

#endif
