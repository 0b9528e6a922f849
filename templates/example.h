/* SPDX-License-Identifier: 0BSD
 * The templates by example: what the compiler puts into them, so that they are C as they stand, for
 * editors and for `cc -fsyntax-only`. Nothing of this file reaches the generated code. */
#ifndef INLAY_TEMPLATES_EXAMPLE_H
#define INLAY_TEMPLATES_EXAMPLE_H

/* The conditions: the compiler resolves each `#if` on one of these. */
#ifndef MODEL_GROUPED /* several models share a source file, which has the runtime */
#define MODEL_GROUPED 0
#endif
#ifndef MODEL_BORROWS /* the weights of others of them hold some of its constants */
#define MODEL_BORROWS 0
#endif
#ifndef MODEL_HAS_WEIGHTS
#define MODEL_HAS_WEIGHTS 1
#endif
#ifndef MODEL_WEIGHTS_APART /* they are not linked: the caller brings them */
#define MODEL_WEIGHTS_APART 0
#endif
#ifndef MODEL_WEIGHTS_BLOB /* ... as a blob with a head, which the code opens */
#define MODEL_WEIGHTS_BLOB 0
#endif
#ifndef MODEL_WEIGHTS_STREAM /* ... which is read through windows */
#define MODEL_WEIGHTS_STREAM 0
#endif
#ifndef MODEL_HAS_CONSTANTS /* some constants stay in the code */
#define MODEL_HAS_CONSTANTS 0
#endif
#ifndef MODEL_WEIGHTS_OBJECT /* they are in an object file */
#define MODEL_WEIGHTS_OBJECT 0
#endif
#ifndef MODEL_HAS_REGIONS /* several memories instead of one arena */
#define MODEL_HAS_REGIONS 0
#endif
#ifndef MODEL_SLICED /* there is a run in slices */
#define MODEL_SLICED 0
#endif
#ifndef MODEL_SHARED /* there is a run on several threads */
#define MODEL_SHARED 0
#endif
#ifndef MODEL_WAITS /* a run waits for rows, or for the next slice */
#define MODEL_WAITS 0
#endif
#ifndef MODEL_BY_ROWS /* an input comes row by row */
#define MODEL_BY_ROWS 0
#endif
#ifndef MODEL_HAS_STATES /* bytes of the arena survive from run to run */
#define MODEL_HAS_STATES 1
#endif
#ifndef MODEL_HAS_SEGMENTS /* some steps run row by row */
#define MODEL_HAS_SEGMENTS 1
#endif
#ifndef MODEL_HAS_DOUBLES /* a value is float64 */
#define MODEL_HAS_DOUBLES 1
#endif
#ifndef MODEL_HAS_BUFFERS /* some input or output lies in a buffer of the caller */
#define MODEL_HAS_BUFFERS 1
#endif
#ifndef MODEL_INPUTS_INSIDE /* some input lies in the arena, and the caller writes it there */
#define MODEL_INPUTS_INSIDE 0
#endif
#ifndef MODEL_INPUTS_STAY
#define MODEL_INPUTS_STAY 0
#endif
#ifndef MODEL_OUTPUTS_INSIDE
#define MODEL_OUTPUTS_INSIDE 0
#endif

/* The type that `weights` points to. */
#if MODEL_WEIGHTS_STREAM
#define model_source inlay_source
#else
#define model_source void
#endif

/* The type that `arena` points to. */
#if MODEL_HAS_REGIONS
#define model_memory const model_arenas
#else
#define model_memory void
#endif

#endif
