/* SPDX-License-Identifier: Apache-2.0
 * The lowered model: a list of steps, each one kernel with its parameters and
 * operands. Steps are printed by emit/, run by eval/, and placed by plan/. */
#ifndef INLAY_IR_PROGRAM_H
#define INLAY_IR_PROGRAM_H

#include "inlay_threads.h"
#include "ir/coded.h"
#include "ir/family.h"
#include "ir/graph.h"
#include "ir/kernel.h"

typedef enum StorageKind {
    STORE_NONE, /* not used by any step */
    STORE_ARENA,
    STORE_INPUT, /* the caller's buffer of graph input `slot` */
    STORE_OUTPUT,
    STORE_WEIGHTS,
} StorageKind;

/* May the memory of this input be written by the step's first output? */
typedef enum Reuse {
    REUSE_NONE,
    REUSE_ELEMENTWISE, /* element i is read before element i is written, and never after */
    REUSE_ROWS, /* row by row by the rule below, in the kernel's order (diagonal overlap) */
    REUSE_PIXELS, /* the same; and pixel i is read before pixel i is written, and never after */
} Reuse;

/* Which rows of an input unit u of the step needs. */
typedef enum RowKind {
    ROWS_ALL,  /* all, whatever the unit */
    ROWS_SAME, /* row u */
    ROWS_WINDOW, /* rows [u * stride - pad, u * stride - pad + extent), clipped to the tensor */
    ROWS_UNIT, /* a unit is an input row: row u (global reductions) */
    ROWS_TABLE, /* rows [table[u].lo, table[u].hi), neither of which falls as u rises */
} RowKind;

/* Rows [lo, hi). */
typedef struct Rows {
    int32_t lo, hi;
} Rows;

typedef struct RowRule {
    RowKind kind;
    int32_t stride, pad, extent;
    const Rows *table; /* of as many entries as the step has units */
    int32_t most;      /* rows of its largest entry */
    uint64_t key;      /* the same for the same entries (base/mix.h) */
} RowRule;

/* How a unit goes along its rows: pixel c of the result's row needs columns [c * stride - pad, c *
 * stride - pad + extent) of this operand's rows, clipped. Results are made from the first to the
 * last, mirrored when backward, at most `tile` of them at a time; within a tile reads and writes
 * may come in any order. tile 0: the whole row is one tile. */
typedef struct PixelRule {
    int32_t stride, pad, extent, tile;
} PixelRule;

/* Where the rows of a tensor lie within the pool that some rings of a stream share: row r begins
 * slot[r] * unit bytes into it. */
typedef struct RowSlots {
    int32_t rows, unit; /* unit: bytes, a multiple of 4 */
    int64_t pool;       /* bytes, of all that share it */
    const uint16_t *slot;
} RowSlots;

typedef struct Operand {
    Tensor *tensor;   /* NULL: left out */
    bool write, read; /* an accumulator is both */
    bool scratch;     /* alive during this step only */
    /* the kernel follows ref.pix and ref.row: it may be made a part of a wider image */
    bool strided;
    Reuse reuse;
    /* bytes behind scratch that other threads have in its stead */
    int64_t copied;
    RowRule rule;
    PixelRule pixels;
    /* columns of it for each column of the result, where the kernel has a table of them */
    const Rows *columns;
    int32_t rows; /* the tensor as rows; 1: one unit */
    int32_t ring; /* rows that exist at a time, set by the plan; 0: all */
    const RowSlots *slots; /* NULL: its rows lie one after the other */
    int64_t row_bytes,
        pixel; /* bytes from row to row, elements from pixel to pixel (channels) */
    int64_t offset; /* bytes into the tensor (a concat part) */
    /* elements of each pixel that it touches, from `offset` on; 0: all of them */
    int64_t part;
    /* elements after which the part comes again, a row where it is some columns; 0: `pixel` */
    int64_t pitch;
    inlay_ref ref; /* final address, filled after planning */
} Operand;

/* A constant that is read into a window before the kernel is called. */
typedef struct FetchPart {
    int operand;
    int64_t at;    /* byte of the window, or of each of its halves */
    int64_t bytes; /* of each piece but the last */
    int64_t last;
    /* how it is coded; NULL: it is read as it is. Then value of it that the first piece begins
     * with, and of each piece the bit that its code words begin with; or palette_words() */
    const Coded *coded;
    int64_t first;
    uint32_t *begin;
    int32_t begins;
} FetchPart;

/* How a step comes by its constants where weights are streamed: its last operand is a window in the
 * arena, which its kernel does not know of. Where they are larger, the kernel makes its result
 * piece by piece, some channels at a time; the step is one unit then. */
typedef struct Fetch {
    int32_t units; /* of the kernel; 0: those of the step */
    int32_t pieces;
    /* bytes from the window's first half to the second; 0: it has no halves */
    int64_t half;
    const void *params, *end; /* of a piece, and of the last one */
    int64_t *advance;         /* of each operand: bytes from piece to piece */
    int64_t code; /* byte of the window at which codes are made ready */
    int parts;
    FetchPart *part; /* the largest constant first */
} Fetch;

/* What streams of weights come to. */
typedef struct StreamUse {
    bool coded;     /* they are decoded into windows, not read */
    int64_t window; /* bytes of the largest; 0: weights are not streamed */
    int64_t asked, resident; /* what was asked for */
    /* of each step as lowered, a window; NULL: `asked` for all */
    const int64_t *room;
    int64_t traffic; /* bytes read in a run that goes through each step once */
    int64_t kept;    /* bytes of constants that are resident by choice */
    bool whole;      /* so was that each step is one unit */
    int32_t steps, pieces;
} StreamUse;

typedef struct Step {
    int index;
    int32_t units; /* rows of the result, or 1 */
    const KernelRow *kernel;
    void *params;         /* the kernel's structure, arena */
    int n_operand, n_out; /* outputs first */
    Operand *operand;
    struct Lower *lower; /* who made it; used while its operands are added */
    bool backward;
    bool split; /* its units are shared by the threads of the plan */
    /* units must be made in ascending order, one after the other */
    bool accumulates;
    /* its units come from outside, one after the other: an input row by row */
    bool pushed;
    /* it may go on elsewhere (branches, loops): steps keep their numbers */
    bool control;
    /* then: no further than there, if it is ahead */
    int32_t jumps_to;
    Node *node; /* for messages and reports */
    int64_t macs;
    /* what else takes time and grows faster than the result: comparisons, elements looked at */
    int64_t looks;
    /* of the loops around it, as often as macs are counted; 0: once, or nobody knows */
    int64_t turns;
    /* a loop's first step: index of its last step, else -1 (lifetimes) */
    int32_t loop_end;
    int32_t room;           /* of operand */
    const int32_t *lowered; /* numbers, as lowered, of the steps that it does */
    int32_t n_lowered;      /* one; more where the planner joined steps */
    /* number, from 1 on, of the strip of columns that it is made for; 0: all columns */
    int32_t strip;
    int32_t first_column, end_column; /* then: of its result */
    /* of a concatenation that the planner split: the operand that is copied; 0: not split */
    int32_t piece;
    /* channels of its result that its constants are packed for by themselves: it is made in pieces
     * of so many, which is less than its kernel takes at a time; 0: it is not */
    int32_t alone;
    const Fetch *fetch; /* NULL: its constants are where pointers reach */
} Step;

/* Steps [first, end). */
typedef struct StepRange {
    int32_t first, end;
} StepRange;

typedef struct Segment { /* as inlay_segment, in host form */
    int32_t first, count, prologue, period, repeats, epilogue;
    const uint8_t *list;
} Segment;

/* Bytes of the arena that something holds during steps [first, end), as they run: what reports
 * draw. */
typedef struct Block {
    /* the owner of the bytes; NULL: the row counters of streams */
    Tensor *tensor;
    int64_t offset, bytes;
    int32_t first, end;
    int32_t ring; /* rows that exist at a time; 0: all */
    bool pool;    /* rows of other tensors of its stream lie in it, too */
    bool scratch;
} Block;

/* A plan that was found: its arena and what it costs. */
typedef struct CurvePoint {
    int64_t arena, macs;
    int64_t cost; /* scalar instructions that streaming adds, estimated */
    int32_t steps, streamed; /* of the step table; of them run row by row */
    /* that ranges of steps were cut into, 0: nothing is computed twice */
    int32_t strips;
    bool chosen;
} CurvePoint;
typedef VEC(CurvePoint) CurvePoints;

/* Of what a run keeps in the arena while it waits: for the next row of an input, for the next
 * slice. */
enum { PLACE_BYTES = 8, SLICE_BYTES = 12 };

/* One of several memories that the caller gives instead of one arena. */
typedef struct RegionUse {
    const char *name; /* lower case, an identifier */
    int64_t capacity,
        cost; /* as asked for: bytes, and what a byte read or written costs */
    int64_t size,
        lower_bound; /* bytes that the plan takes; no placement of the same items takes less */
    int64_t traffic; /* bytes read and written in a run */
} RegionUse;

typedef struct Plan {
    /* lower_bound: of offsets, for this order and these streams; bound_schedules: for any */
    int64_t arena_size, arena_align, lower_bound, bound_schedules;
    bool optimal; /* the placement: arena_size is lower_bound */
    /* inputs in the arena are as they were when it is done */
    bool preserve_input;
    int64_t state; /* arena offset of the row counters */
    /* where a run stands that waits, in the arena, and its bytes; 0: it never waits */
    int64_t place, place_bytes;
    /* that share the units of large steps; 0: there is one */
    int32_t threads;
    VEC(RegionUse)
    region; /* empty: one arena. Else arena_size is their sum; counters and place lie in the first
             */
    int64_t region_cost,
        region_least; /* traffic by cost; what no assignment goes below */
    /* bytes beyond what the regions have, 0 once planned: else it fails */
    int64_t region_missing;
    VEC(Segment) segment; /* empty: layer by layer */
    const int64_t *live;  /* bytes of the arena in use at each step */
    /* from the cheapest to the smallest; empty: nobody asked */
    CurvePoints curve;
    int64_t macs_once; /* of all steps, nothing computed twice; with a curve */
    VEC(Block)
    block; /* in order of birth; a stream's are alive in all of its steps */
} Plan;

/* A constant: in the blob, where tensor->region is 0; else in the code, where the blob may be
 * replaced, or in the weights of Program.lender[region - 1]. */
typedef struct WeightSlot {
    Tensor *tensor;
    uint64_t offset, bytes;
    const Coded *coded; /* NULL: it lies there as it is */
    /* of weights that were rounded for it; NULL: they are the model's */
    const Palette *palette;
} WeightSlot;

/* What the model takes when it is compiled with other options: of a plan that was made. */
typedef struct Alternative {
    /* to be given besides, as words of a shell; text of the model in them */
    const char *options;
    int64_t arena, ram; /* bytes; of RAM as program_ram() counts them */
    int64_t macs;
} Alternative;

typedef struct Advice {
    int tried;
    VEC(Alternative) found; /* those that take less RAM, the least first */
} Advice;

/* Steps that a program may take instead of its own. */
typedef struct Steps {
    VEC(Step *) step;
    VEC(WeightSlot) weight; /* constants that only they need */
} Steps;

/* The word of a step that has been summed up (runtime/inlay_sums.h). */
typedef struct StepSum {
    bool known; /* its results are the same in every run */
    bool near;  /* the word is a float, within `allowed` elsewhere */
    uint32_t word;
    double allowed;
} StepSum;

typedef struct Program {
    Graph *graph;
    const Family *family; /* how its weights are packed */
    bool narrow;          /* they are stored in the type of the file */
    bool winograd;        /* those of 3x3 convolutions may be transformed */
    VEC(Step *) step;
    int32_t lowered; /* steps as lowered: what the plan starts from */
    VEC(WeightSlot) weight;
    uint64_t weight_bytes;
    /* some look alike that were not read further: there may be fewer bytes */
    bool weights_alike;
    /* the weights come from elsewhere and may be of any values: constants that kernels believe
     * (bounds_any) stay in the code, so many bytes of them */
    bool blob;
    bool updates; /* tensors of it are replaced while runs use them */
    StreamUse stream;
    uint64_t code_bytes;
    /* models of the same folder whose weights hold some of its constants */
    VEC(const char *) lender;
    struct File *code;    /* they, as they lie; NULL: there are none */
    char code_sha256[65]; /* of them */
    PaletteAsk palette;   /* as it was lowered with */
    int palettes;         /* weights that may have some */
    /* values of constants that are coded, and they as they lie; NULL: there are none */
    struct File *uncoded, *coded;
    /* that runs are given within bounds; NULL: all sizes are fixed (ir/lengths.h) */
    struct Lengths *lengths;
    /* of each step, of a run on the inputs of the self-test; NULL: none was asked for */
    const StepSum *sum;
    /* NULL: it was not asked for */
    const Advice *advice;
    Plan plan;
} Program;

/* May the run go on elsewhere behind it, or come back to it? Does any step of a program do so? Then
 * they keep their numbers and their order. */
bool step_jumps(const Step *step);
bool program_jumps(const Program *program);
/* The most operands of a step that fetches, its window included; 0: there is none. */
int program_fetch_operands(const Program *program);
/* From the first step that jumps to the last that is jumped over; empty: none does. */
StepRange steps_jumped(Step *const *step, int32_t steps);
/* Operands that the step's kernel knows. */
int step_operands(const Step *step);
/* A piece of a step that fetches, or the last one, as its kernel sees it: operands begin where
 * those of the first piece do. */
Step step_piece(Arena *arena, const Step *step, bool last);
/* The code of a constant that a step decodes, in the runtime's form. */
struct inlay_coded fetch_coded(const Step *step, const FetchPart *part);
/* The same step, with operands and parameters of its own. */
Step *step_copy(Arena *arena, const Step *step);
/* The same program with other steps: a value, of which nothing may be pushed to `weight`. The given
 * one is as it was. */
Program program_with_steps(const Program *program, Step **step, size_t n);
/* The same with the constants of those steps, too, listed in `arena`. */
Program program_with(Arena *arena, const Program *program, const Steps *steps);
/* Makes these the program's steps. */
void program_take_steps(Program *program, Step **step, size_t n);

/* Memories of the plan: 1, or its regions; bytes of one; and where it begins when they are drawn
 * one behind the other. */
int program_regions(const Program *program);
int64_t program_region_size(const Program *program, int region);
int64_t program_region_start(const Program *program, int region);
/* Index of a root tensor's base pointer, and their number: weights, arena or its regions, inputs,
 * outputs, constants of the code where there are some, or the weights of each lender. */
int program_base(const Program *program, const Tensor *root);
int program_bases(const Program *program);
/* Where a constant lies that is not in the blob: "code", or the model whose weights have it. */
const char *program_lender(const Program *program, const Tensor *root);
/* The step that takes an input row by row, and how many rows the plan keeps of it; NULL: none does.
 */
const Step *program_pushed(const Program *program);
/* Does its run come in slices, of which each makes so many units? */
bool program_sliced(const Program *program);
/* Multiplications of a run, all turns of loops whose number is known. */
int64_t program_macs(const Program *program);
/* Units of a run that goes through each step once, and the most MACs of one of them. */
int64_t program_units(const Program *program);
int64_t program_unit_macs(const Program *program);
/* May shares of its units be made in any order, and is there work of so many multiplications for
 * them? Results of different units must not meet, which is the plan's to see. */
bool step_may_split(const Step *step, int64_t least_work);
/* Have the rows of both as many pixels? */
bool operand_same_width(const Operand *a, const Operand *b);
/* Bytes that an operand's tensor takes, which `root` owns: a ring has fewer rows than the tensor,
 * and scratch may have copies. */
int64_t operand_extent(const Operand *operand, const Tensor *root);
/* How many steps threads share; one of them in the runtime's form. */
int program_splits(const Program *program);
inlay_split program_split(Arena *arena, const Program *program, int32_t step);
int32_t program_rows(const Program *program, const Step *pushed);
/* Does its kernel go backward through several units? Only kernels that take their rows by the rule
 * are known to. */
bool step_reverses(const Step *step);
/* inlay_step.backward. */
int32_t step_backward(const Step *step);
/* What a step is called where no node says it. */
const char *step_name(const Step *step);
/* So many bytes that a step has for itself, whatever unit it makes. */
Operand operand_of_scratch(Graph *graph, int64_t bytes);
/* Results that are states lie where those do, once they have a place. */
void program_place_states(const Program *program);
/* Fills Operand.ref of all steps: the plan has set Tensor.offset, Operand.ring and strides. */
void program_link(Program *program);
/* Fills plan.live from plan.block. */
void program_count_live(Program *program);
/* The steps in the runtime's form, for running them in this process. */
inlay_model program_model(Arena *arena, const Program *program);

/* Percent that so many bytes are above a bound. */
double plan_above(int64_t bytes, int64_t bound);
/* MACs of a point of the curve by those of all steps made once. */
double curve_factor(const Plan *plan, const CurvePoint *c);
/* Bytes from a part of an operand to where it comes again. */
int64_t operand_pitch(const Operand *operand);
/* May results take the very place of the operand? May a step go from its last row to its first for
 * it? */
static inline bool reuse_in_place(Reuse reuse)
{
    return reuse == REUSE_ELEMENTWISE || reuse == REUSE_PIXELS;
}
static inline bool reuse_reverses(Reuse reuse)
{
    return reuse == REUSE_ROWS || reuse == REUSE_PIXELS;
}
/* The tensor that owns the bytes of tensor, and where in it tensor begins. */
Tensor *tensor_root(Tensor *tensor, int64_t *offset);

#endif
