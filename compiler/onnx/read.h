/* SPDX-License-Identifier: Apache-2.0
 * What the files of the reader share, private to onnx/. reader.c turns the
 * scanner's events into calls of the enter, field and leave functions here; as
 * messages nest, unfinished ones wait in frames (one a graph) and in drafts. */
#ifndef INLAY_ONNX_READ_H
#define INLAY_ONNX_READ_H

#include "ir/graph.h"
#include "onnx/external.h"
#include "onnx/message.h"

enum {
    LEAF_BYTES = 8192, /* most bytes of a message that protobuf-c may unpack */
    LEAF_MEMORY = 32 * 1024, /* most memory it may use for one; of LEAF_ALIGN */
    LEAF_ALIGN = 16,
    MOST_ATTRIBUTES = 1024, /* of one node */
    MOST_ERRORS = 20,       /* listed before the reader gives up */
};

/* While reading, Tensor.storage (lowering's) says what makes a tensor besides its producer. */
enum { MADE_BY_INPUT = 1, MADE_BY_INITIALIZER = 2 };

typedef struct AttrDraft {
    Attr attr;
    int64_t type; /* as the file says; 0: it does not */
    uint64_t at;
    bool has_tensor, has_graph, has_sparse;
    int64_t others; /* elements of the kinds that Attr does not hold */
    int seen; /* the field that held a value, for files that leave out the type */
    VEC(float) floats; /* of the list: what is not spilled yet */
    VEC(int64_t) ints;
    Span spill; /* what is: elements in the spill file */
    VEC(const char *) strings;
} AttrDraft;

typedef struct NodeDraft {
    int index; /* nodes of the graph before this one */
    const char *name, *op_type, *domain, *overload;
    uint64_t at;
    VEC(Tensor *) in;
    VEC(Tensor *) out;
    VEC(Attr) attr;
} NodeDraft;

/* A graph or function that is being read. Lists are reused by the next at the same depth. */
typedef struct Frame {
    Graph *graph;
    Function *function; /* whose body the graph is, else NULL */
    NodeDraft node;
    AttrDraft attr;
    VEC(const char *) names; /* a function's attributes */
    VEC(Attr) defaults;
} Frame;

/* A TensorProto that is being read. Data come in one field, whole, in chunks, or one by one. */
typedef struct TensorDraft {
    const char *name;
    uint64_t at;
    int rank;
    int64_t dims[MAX_RANK];
    int64_t data_type;
    const ProtobufCFieldDescriptor *field; /* of the data; NULL: none yet */
    VEC(Span) span;      /* its chunks, until there are too many */
    bool gathered;       /* copied together instead: */
    VEC(uint8_t) gather; /* what is not spilled yet */
    File *spilled;
    Span spill;
    bool external;
    ExternalRef ref;
} TensorDraft;

typedef struct SparseDraft {
    uint64_t at;
    const char *name; /* that of the values */
    Recipe *values, *indices;
    int rank;
    int64_t dims[MAX_RANK];
} SparseDraft;

typedef struct ValueDraft {
    Span name, type; /* of the file; length 0: absent */
    int dims;        /* dimensions met in the type */
} ValueDraft;

typedef struct TypeInfo {
    DType dtype; /* DT_NONE: no tensor, or not said */
    Shape shape;
    const char *symbol[MAX_RANK]; /* valid until the next leaf */
} TypeInfo;

typedef struct Reader {
    Arena *arena;
    Store *store;
    File *file;
    External external;
    Map texts; /* operator types, domains, attribute names: each kept once */
    Map functions; /* by domain, name and overload */
    Graph *model;
    bool has_graph;
    int errors;
    bool warned; /* of constants defined again */
    int depth;   /* frames in use */
    Frame frame[WIRE_NESTING + 1];
    TensorDraft tensor;
    SparseDraft sparse;
    ValueDraft value;
    Recipe *single; /* what onnx_read_tensor() is after */
    size_t leaf_used;
    unsigned char *leaf; /* LEAF_MEMORY bytes */
    Wire wire;
    char name[WIRE_VIEW + 1];
} Reader;

Frame *reader_frame(Reader *reader);
Loc reader_loc(const Reader *reader, uint64_t at, const char *name);
/* The bytes of event as text: a NUL inside, or more than WIRE_VIEW bytes, fails with 65. */
const char *reader_text(Reader *reader, const WireEvent *event);
/* The same, each text kept once. */
const char *reader_word(Reader *reader, const WireEvent *event);
/* Another text, kept in the same way; NULL is "". */
const char *reader_keep(Reader *reader, const char *text);
/* The tensor of that name in the frame's graph, made where there is none yet; NULL: the empty name.
 */
Tensor *reader_tensor(Reader *reader, Graph *graph, uint64_t at,
                      uint64_t length);
/* Adds the numbers of event to the end of dims; more than MAX_RANK fail with 69. */
void reader_dims(Reader *reader, const WireEvent *event, int *rank,
                 int64_t *dims, const char *name);

/* read_graph.c */
void graph_enter(Reader *reader, const WireEvent *event);
void graph_field(Reader *reader, const WireEvent *event);
void graph_leave(Reader *reader, const WireEvent *event);
void value_enter(Reader *reader, const WireEvent *event);
void value_field(Reader *reader, const WireEvent *event);
void value_leave(Reader *reader, const WireEvent *event);
void graph_initializer(Reader *reader, const char *name, uint64_t at,
                       DType dtype, Shape shape, Recipe *value);
/* Opens and closes a frame for graph. */
Frame *frame_push(Reader *reader, Graph *graph);
/* Initializers leave the inputs, inputs take their declared types. */
void graph_close(Graph *graph);

/* read_function.c */
void function_enter(Reader *reader, const WireEvent *event);
void function_field(Reader *reader, const WireEvent *event);
void function_leave(Reader *reader, const WireEvent *event);

/* read_node.c */
void node_enter(Reader *reader, const WireEvent *event);
void node_field(Reader *reader, const WireEvent *event);
void node_leave(Reader *reader, const WireEvent *event);

/* read_attr.c */
void attribute_enter(Reader *reader, const WireEvent *event);
void attribute_field(Reader *reader, const WireEvent *event);
void attribute_leave(Reader *reader, const WireEvent *event);

/* read_tensor.c */
void tensor_enter(Reader *reader, const WireEvent *event);
void tensor_field(Reader *reader, const WireEvent *event);
void tensor_leave(Reader *reader, const WireEvent *event);

/* read_data.c: where the elements of a tensor lie. */
void data_field(Reader *reader, const WireEvent *event);
/* The finished draft as a recipe. */
Recipe *data_recipe(Reader *reader, DType type);

/* read_sparse.c */
void sparse_enter(Reader *reader, const WireEvent *event);
void sparse_field(Reader *reader, const WireEvent *event);
void sparse_leave(Reader *reader, const WireEvent *event);

/* read_leaf.c: what protobuf-c unpacks. */
void type_enter(Reader *reader, const WireEvent *event);
void leaf_field(Reader *reader, const WireEvent *event);
void opset_leave(Reader *reader, const WireEvent *event);
void entry_leave(Reader *reader, const WireEvent *event);
TypeInfo leaf_type(Reader *reader, Span type);

/* link.c: every operand finds its tensor; also captured ones. */
void link_names(Reader *reader, Graph *root);
void link_finish(Graph *root);

#endif
