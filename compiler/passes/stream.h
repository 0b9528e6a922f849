/* SPDX-License-Identifier: Apache-2.0
 * What the parts of pass_stream() share: stream.c finds out which steps each node needs, and
 * stream_build.c keeps and makes them. */
#ifndef INLAY_PASSES_STREAM_H
#define INLAY_PASSES_STREAM_H

#include "ops/steps.h"

/* What a tensor has to do with the streamed inputs. */
typedef enum FlowKind {
    FLOW_NONE, /* nothing */
    FLOW_STEPS, /* its elements along an axis are steps; a run makes the new ones */
    FLOW_WINDOW, /* made in each run, of the steps of a whole window */
} FlowKind;

/* A number of runs, `num / den`. */
typedef struct Runs {
    int64_t num, den;
} Runs;

typedef struct Flow {
    FlowKind kind;
    Runs reach; /* so many runs, the last one included, decide what it holds */
    Runs delay; /* of a window: it ends so long before the newest step */
    const Node *pad; /* whose padding is the reason for `late` or `spoilt` */
    /* Of steps: */
    int axis;
    int64_t length; /* steps of the whole window */
    int64_t made;   /* steps that a run makes */
    /* The newest step of a run is so many in front of the window's last, as that one needs input
     * that is yet to come. Negative: behind it. */
    int64_t late;
    int64_t spoilt; /* so many first steps of a window are made of padding */
    int64_t kept;   /* steps of runs before that are needed */
    Tensor *all;    /* those and the new ones; NULL: not made yet */
} Flow;

/* Steps that an operand needs: `count` of them, the last one `back` in front of the newest.
 * None: the operand stays as it is. */
typedef struct StepsRead {
    int64_t count, back;
} StepsRead;

/* What becomes of a node. */
typedef struct Turn {
    Node *node;
    bool along;      /* it makes steps; else all of a window */
    Stepping steps;  /* then */
    StepsRead *read; /* of each operand */
} Turn;

typedef struct Walk {
    Graph *graph;
    Flow *flow; /* by id */
    int ids;    /* of tensors that it has room for */
    bool endless;
    VEC(Turn) turn;
    StepsRead *result; /* of each result of the model */
} Walk;

/* NULL: it was made later. */
Flow *flow_of(const Walk *walk, const Tensor *tensor);
/* The tensor whose past is kept for that one: integers in place of what they stand for. */
Tensor *flow_source(const Walk *walk, Tensor *tensor);
/* What of the node can be done step by step becomes a node in front of it, which is returned; NULL:
 * nothing. It makes NEW_TENSORS at most. */
enum { NEW_TENSORS = 6 };
Node *stream_split(const Walk *walk, Node *node);
/* The graph as the walk found that it may be. */
void stream_build(Walk *walk);

#endif
