/* SPDX-License-Identifier: Apache-2.0
 * What the files of the schedule share: a graph whose nodes are the places between steps, and whose
 * edges are a step, a stream or a range in strips. A schedule is a path through it. */
#ifndef INLAY_SCHEDULE_FINDER_H
#define INLAY_SCHEDULE_FINDER_H

#include "schedule/strip.h"
#include "schedule/walked.h"

enum { MOST_CROSSING = 24 };

/* More than any peak or cost. */
#define NEVER (INT64_MAX / 4)

/* A range in strips. */
typedef struct StripEdge {
    Cut cut;
    StripRange range;
    /* MACs of strips beyond those of the range; 0 where they leave out columns that nobody reads.
     */
    int64_t work;
} StripEdge;

typedef struct Edge {
    int32_t from, to;
    int32_t strip; /* 1 + its place in Finder.strip; 0: a step or a stream */
    bool exact, grown; /* grown: settled since the last look for a path */
    /* walked: its bytes are the least that its pool may come to */
    bool bounded;
    int64_t bytes; /* peak of the edge; a lower bound until it is exact */
    int64_t cost;
    Stream *stream;
} Edge;

/* The best path to a place: by peak and then by cost, or by cost alone under a limit. */
typedef struct Best {
    int64_t peak, work, cost;
    int32_t edge; /* its last; -1: there is no path */
} Best;

typedef struct Finder {
    Arena *arena;
    const Items *all;
    const PlanOptions *opt;
    bool streams, overlap; /* by the options' level */
    bool slots;            /* rings of streams may share a pool */
    bool bounding;         /* no pool is laid out yet */
    int32_t pixels;        /* that streams make in a call at least */
    int32_t steps;
    int64_t *alive;                  /* bytes alive between steps k - 1 and k */
    int32_t *crossing;               /* how many items that is */
    int32_t (*cross)[MOST_CROSSING]; /* and which, where they are few */
    int64_t *layer;                  /* peak of step k run by itself */
    int64_t *cost;       /* of step k in a stream; -1: it cannot be in one */
    int32_t *least_rows; /* of an item: fewer no ring of it has */
    /* of an item: fewer are never alive, where rings share a pool */
    int32_t *least_kept;
    VEC(Edge) edge;
    VEC(StripEdge) strip;
    /* Those that end at k: edge[into[k]] .. edge[into_end[k] - 1]. */
    int32_t *into, *into_end;
    int32_t reach;   /* most steps of a stream */
    int64_t walking; /* unit visits that are left */
    int64_t looking; /* edges that may yet be looked at in search of a path */
    int64_t most;    /* peaks beyond it are of no use */
    /* paths of few edges that are not settled are sought, whatever they cost; then no path has a
     * peak below the floor, and none is better for it */
    bool seeking;
    int64_t floor;
    Strips strips;
    WalkedKeys keys;    /* where walks are remembered */
    Best *best;         /* of places */
    bool *changed;      /* a place's best, while paths are mended */
    VEC(int32_t) grown; /* edges */
} Finder;

static inline const StripEdge *strip_of_edge(const Finder *finder,
                                             const Edge *edge)
{
    return edge->strip ? finder->strip.at + edge->strip - 1 : NULL;
}

/* alive.c: what is alive at each place, and what each step takes and costs by itself. */
void finder_count(Finder *finder);
/* What lies outside of a range and is alive at both of its ends, counted once. */
int64_t finder_around(const Finder *finder, int32_t from, int32_t to);

/* edges.c: all edges, streams with a lower bound of their bytes. */
void finder_add_edges(Finder *finder);

/* settle.c: the bytes of an edge, by a walk or as remembered. */
void finder_settle(Finder *finder, Edge *edge);
/* An edge whose bytes were remembered gets its stream. */
void finder_walk_again(Finder *finder, Edge *edge);
/* The rows of a stream's pool are laid out with more work, until it takes no more than `enough`
 * bytes: replaces the stream where that takes less. Returns its peak. */
int64_t finder_fit_closer(Finder *finder, int64_t enough, Stream **stream);
/* More rows in a call where the peak stays as it is: the stream is replaced. */
void finder_join_units(Finder *finder, Stream **stream, int64_t peak);

/* path.c: the best paths. exact: over edges whose peaks are known. limit 0: by peak. */
void finder_find_path(Finder *finder, int64_t limit, bool exact, Best *best);
/* The same after edges grew: only what a path led through them changes. */
void finder_mend_path(Finder *finder, int64_t limit, Best *best);
void finder_forget_grown(Finder *finder);
/* Settles the streams of the path that are not exact yet; false: all were. */
bool finder_settle_path(Finder *finder, const Best *best);
/* The budget is used up: what was not settled by now is not used. */
void finder_give_up_edges(Finder *finder);
/* Streams beyond `most` are looked at no more. */
void finder_drop_edges(Finder *finder, int64_t most);

#endif
