/* SPDX-License-Identifier: 0BSD
 * Softmax between quantized bytes: y = byte(e^(x - max) / sum) of each line, with byte() and the
 * numbers of qstep.h. What the exponentials of a scale are may be a table: differences of two bytes
 * are 256 only. */
#ifndef INLAY_QSOFTMAX_H
#define INLAY_QSOFTMAX_H

#include "kernels/qstep.h"
#include "softmax.h"

enum {
    INLAY_QSOFTMAX_TABLE = 256, /* entry d: e^(-d sa), a float */
    INLAY_QSOFTMAX_BLOCK = 16   /* elements that become bytes at a time */
};

/* n elements `step` apart; y may be x. */
typedef struct inlay_qline {
    uint8_t *y;
    const uint8_t *x;
    int32_t n;
    ptrdiff_t step;
    const inlay_qstep *q;
    const float *table;
} inlay_qline;

static inline int32_t inlay_qline_at(const inlay_qline *line, int32_t i)
{
    return line->x[i * line->step] ^ line->q->flip_a;
}

static inline int32_t inlay_qline_most(const inlay_qline *line)
{
    int32_t most = 0;
    int32_t i;
    for (i = 0; i < line->n; i++) {
        const int32_t v = inlay_qline_at(line, i);
        most = v > most ? v : most;
    }
    return most;
}

static inline void inlay_qsoftmax_line(const inlay_qline *line)
{
    const int32_t most = inlay_qline_most(line);
    const float scale = line->q->sa;
    float sum = 0.0f;
    float part;
    int32_t i;
    for (i = 0; i < line->n; i++) {
        const int32_t v = inlay_qline_at(line, i) - most;
        sum += inlay_exp_f((float)v * scale);
    }
    part = 1.0f / sum;
    for (i = 0; i < line->n; i++) {
        const int32_t v = inlay_qline_at(line, i) - most;
        const float y = inlay_exp_f((float)v * scale) * part;
        line->y[i * line->step] = inlay_qstep_byte(line->q, y);
    }
}

/* Bytes of at most a block, of exponentials times `part`; of: entry 0 less the largest byte. */
static inline void inlay_qsoftmax_block(const inlay_qline *block,
                                        const float *of, float part)
{
    const inlay_qstep *q = block->q;
    const int32_t sign = q->flip_y;
    float v[INLAY_QSOFTMAX_BLOCK];
    uint8_t byte[INLAY_QSOFTMAX_BLOCK];
    int32_t i;
    for (i = 0; i < block->n; i++)
        v[i] = of[-inlay_qline_at(block, i)] * part;
    i = inlay_quantize_fast(byte, v, block->n, q->sy, q->zy - sign,
                            q->lo - sign, q->hi - sign);
    for (; i < block->n; i++)
        byte[i] = inlay_qstep_byte(q, v[i]);
    for (i = 0; i < block->n; i++)
        block->y[i * block->step] = byte[i];
}

/* The same line by the table: the same bits. */
static inline void inlay_qsoftmax_looked(const inlay_qline *line)
{
    const float *of = line->table + inlay_qline_most(line);
    inlay_qline block = *line;
    float sum = 0.0f;
    int32_t left = line->n;
    int32_t i;
    for (i = 0; i < line->n; i++)
        sum += of[-inlay_qline_at(line, i)];
    sum = 1.0f / sum;
    block.n = INLAY_QSOFTMAX_BLOCK;
    for (; left > 0; left -= INLAY_QSOFTMAX_BLOCK) {
        block.n = left < block.n ? left : block.n;
        inlay_qsoftmax_block(&block, of, sum);
        block.x += block.n * block.step;
        block.y += block.n * block.step;
    }
}

typedef void inlay_qsoftmax_way(const inlay_qline *line);

/* n lines, each an element behind the last. */
INLAY_INLINE void inlay_qsoftmax_lines(inlay_qline line, int32_t n,
                                       inlay_qsoftmax_way *way)
{
    for (; n > 0; n--) {
        way(&line);
        line.x++;
        line.y++;
    }
}

/* Lines as those of softmax_f32. */
INLAY_INLINE int inlay_qsoftmax_rows(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1, const float *table,
                                     inlay_qsoftmax_way *way)
{
    const inlay_softmax_params *p = (const inlay_softmax_params *)s->params;
    const inlay_qstep q = *(const inlay_qstep *)inlay_at(base, s, 2);
    const ptrdiff_t block = (ptrdiff_t)p->n * p->inner;
    const ptrdiff_t y_step = p->by_pixel ? s->ref[0].pix : block;
    const ptrdiff_t x_step = p->by_pixel ? s->ref[1].pix : block;
    inlay_qline line;
    line.n = p->n;
    line.step = p->inner;
    line.q = &q;
    line.table = table;
    for (; r0 < r1; r0++) {
        int32_t o;
        line.y = (uint8_t *)inlay_row(base, s, 0, r0);
        line.x = (const uint8_t *)inlay_row(base, s, 1, r0);
        for (o = 0; o < p->outer; o++) {
            inlay_qsoftmax_lines(line, p->inner, way);
            line.y += y_step;
            line.x += x_step;
        }
    }
    return 0;
}

/* Operands: y, x, numbers. */
static inline int inlay_qsoftmax(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    return inlay_qsoftmax_rows(base, s, r0, r1, NULL, inlay_qsoftmax_line);
}

/* Operands: y, x, numbers, table. */
static inline int inlay_qsoftmax_table(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const float *table = (const float *)inlay_at(base, s, 3);
    return inlay_qsoftmax_rows(base, s, r0, r1, table, inlay_qsoftmax_looked);
}

#endif
