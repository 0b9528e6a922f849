/* SPDX-License-Identifier: 0BSD
 * What packed products of bytes are told beside their window: fields of their parameters, included
 * within the structures. */
int32_t groups;
int32_t ic;    /* channels of x in a group */
int32_t oc;    /* channels of y in a group */
int32_t width; /* channels of a block of packed weights: 16 or 4 */
int32_t flip;  /* a byte of x is (byte ^ flip) - minus */
int32_t minus;
int32_t zero; /* zero point of x as such a number, where it is no operand */
int32_t zw;   /* zero point of the weights, where it is no operand */
int32_t out;  /* INLAY_QOUT_... */
int32_t zy;   /* zero point of y */
int32_t lo;   /* its least and largest number */
int32_t hi;
int32_t scales; /* 1, or one for each channel */
/* pixels that scratch holds the windows of; 0: there is none */
int32_t gather;
/* weights are packed as halves, and scratch holds so many widened windows instead, each in the
 * room of two; 0: they are not */
int32_t wide;
int32_t deep; /* 1: weights are packed in sixteens of the whole window */
