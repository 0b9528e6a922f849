/* SPDX-License-Identifier: Apache-2.0
 * Windows that slide over images: their geometry, from a node's attributes and shapes. */
#ifndef INLAY_OPS_WINDOW_H
#define INLAY_OPS_WINDOW_H

#include "ops/lower.h"

/* Parameters of kernels: who fills them in includes the headers of these. */
typedef struct inlay_conv_params inlay_conv_params;
typedef struct inlay_qpacked_params inlay_qpacked_params;
typedef struct inlay_qshort_params inlay_qshort_params;
typedef struct inlay_qconv_params inlay_qconv_params;
typedef struct inlay_pool_params inlay_pool_params;
typedef struct inlay_window_params inlay_window_params;

enum {
    WINDOW_DIMS = 3
}; /* depth, row, column; leading ones are 1 below three dimensions */

/* One dimension of the window and its images. */
typedef struct WindowAxis {
    int64_t in, out; /* sizes of the images */
    int64_t kernel;  /* taps */
    int64_t stride;
    int64_t dilation;
    int64_t pad, end; /* padding before and after the image */
} WindowAxis;

/* A dimension that the image does not have. */
extern const WindowAxis window_one;

typedef struct Window {
    int spatial; /* 1 to 3 */
    bool channels_last;
    int64_t images, channels; /* of operand 0 */
    WindowAxis axis[WINDOW_DIMS];
} Window;

/* A window with `taps` (spatial of them); fails with 65 where attributes and shapes do not fit. */
Window window_of(const Node *node, const int64_t *taps);
/* The same read backwards: `in` of the window is the node's input, `out` the larger image it is
 * spread over. */
Window window_transposed(const Node *node, const int64_t *taps);
/* The attribute kernel_shape, which pools must have. */
const int64_t *window_kernel_shape(const Node *node, int64_t *count);
/* Does the only window of a pool cover all of its image? (pools.c) */
bool pool_is_global(const Node *node);
/* Shape of an image of `channels` and the window's output size, in the node's layout. */
Shape window_shape(const Window *window, int64_t channels);
/* The spatial taps of weights [O][I][taps...]: how many dimensions. */
int window_rank(const Node *node);

/* Where there is one row, of the window's rows only that one is of use: returns which; -1: all
 * stay. */
int64_t window_thin(Window *window);
/* Where there is one row, its pixels become rows, see operand_image(). */
void window_upright(Window *window);

/* The same as parameters of kernels. */
void window_conv_params(const Window *window, inlay_conv_params *params);
void window_bytes_params(const Window *window, inlay_qpacked_params *params);
void window_short_params(const Window *window, inlay_qshort_params *params);
void window_qconv_params(const Window *window, inlay_qconv_params *params);
void window_pool_params(const Window *window, inlay_pool_params *params);
void window_plain_params(const Window *window, inlay_window_params *params,
                         int64_t out_channels);
/* Rows of the operands of a windowed step; `y` and `x` by their places. Also the step's units. */
void window_rows(const Window *window, Step *step, Operand *y, Operand *x);
/* Operand x of a kernel that makes its rows in tiles of at most `tile` pixels, see PixelRule. */
void window_pixels(const Window *window, Operand *x, int32_t tile);
/* After how many results of a transposed convolution the same taps meet the input again. */
int32_t window_phases(const WindowAxis *axis);
/* The same for a transposed convolution. */
void window_rows_transposed(const Window *window, Step *step, Operand *y,
                            Operand *x);

#endif
