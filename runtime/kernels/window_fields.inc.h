/* SPDX-License-Identifier: 0BSD
 * How a window slides over images of up to three dimensions: the first fields of the parameters of
 * convolutions and pools, included within their structures. Planes, rows and pixels end in d, h
 * and w; x is the input, y the result. */
int32_t id; /* planes of x in an image; 1 below three dimensions */
int32_t ih; /* rows of x in a plane */
int32_t iw; /* pixels of x in a row */
int32_t od; /* the same of y */
int32_t oh;
int32_t ow;
int32_t kd; /* taps of the window */
int32_t kh;
int32_t kw;
int32_t sd; /* strides */
int32_t sh;
int32_t sw;
int32_t dd; /* dilations */
int32_t dh;
int32_t dw;
int32_t pd; /* padding before the first element */
int32_t ph;
int32_t pw;
