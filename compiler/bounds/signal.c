/* SPDX-License-Identifier: Apache-2.0
 * Bounds of transforms, windows of signals, losses, random numbers and linear attention. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/fft.h"
#include "kernels/linear_attention.h"
#include "kernels/loss.h"
#include "kernels/random.h"
#include "kernels/signal.h"

static int64_t product4(Bounds *b, int64_t w, int64_t x, int64_t y, int64_t z)
{
    const int64_t sizes[] = { w, x, y, z };
    return wide_product(b, 4, sizes);
}

/* The table of turns and two buffers; without a table it is made behind them. */
static void touch_transform(Bounds *b, int64_t n, int table, int scratch)
{
    touch(b, table, "table", sat_mul(2, n));
    touch(b, scratch, "scratch", sat_mul(touch_given(b, table) ? 4 : 6, bounds_size(b, n)));
}

void bounds_dft(Bounds *b)
{
    const inlay_dft_params *p = b->params;
    const int64_t part = p->half ? 1 : 2, parts = p->parts == 2 ? 2 : 1;
    const bool value = touch_given(b, 2);
    bounds_refuse(b, p->parts != parts, "it has neither one nor two parts");
    bounds_refuse(b, value && (p->rank < 1 || p->rank > 8), "it has no axes");
    if (b->wrong)
        return;
    const int64_t out =
        value ? wide_product(b, p->rank, p->ny) : product4(b, p->outer, p->bins, p->inner, 1);
    const int64_t in =
        value ? wide_product(b, p->rank, p->nx) : product4(b, p->outer, p->length, p->inner, 1);
    touch(b, 0, "result", sat_mul(out, part));
    touch(b, 1, "input", sat_mul(in, parts));
    touch(b, 2, "axis", 1);
    touch(b, 4, "length", 1);
    touch_transform(b, p->n, 3, 5);
}

void bounds_stft(Bounds *b)
{
    const inlay_stft_params *p = b->params;
    bounds_refuse(b, p->parts != 1 && p->parts != 2, "it has neither one nor two parts");
    touch(b, 0, "result", product4(b, p->batch, p->frames, p->bins, 2));
    touch(b, 1, "signal", product4(b, p->batch, p->length, p->parts, 1));
    touch(b, 2, "step", 1);
    touch(b, 3, "window", p->window ? p->window : p->n);
    touch(b, 4, "length", 1);
    touch_transform(b, p->n, 5, 6);
}

void bounds_taper(Bounds *b)
{
    const inlay_taper_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "size", 1);
}

void bounds_mel(Bounds *b)
{
    const inlay_mel_params *p = b->params;
    touch(b, 0, "result", product4(b, p->bins, p->mels, 1, 1));
    touch(b, 1, "number of mels", 1);
    touch(b, 2, "length", 1);
    touch(b, 3, "sample rate", 1);
    touch(b, 4, "lower frequency", 1);
    touch(b, 5, "upper frequency", 1);
}

/* The first class is looked at before there is any. */
void bounds_log_softmax_classes(Bounds *b)
{
    const inlay_loss_params *p = b->params;
    const int64_t classes = i64_max(bounds_size(b, p->c), 1);
    touch(b, 0, "result", product4(b, p->n, classes, p->d, 1));
    touch(b, 1, "scores", product4(b, p->n, classes, p->d, 1));
}

void bounds_nll_loss(Bounds *b)
{
    const inlay_loss_params *p = b->params;
    const int64_t places = product4(b, p->n, p->d, 1, 1);
    touch_as(b, 2, p->wide ? 'l' : 'i');
    touch(b, 0, "loss", p->reduction ? 1 : places);
    touch(b, 1, "scores", sat_mul(places, bounds_size(b, p->c)));
    touch(b, 2, "labels", places);
    touch(b, 3, "weights of classes", p->c);
}

void bounds_random(Bounds *b)
{
    const inlay_random_params *p = b->params;
    touch(b, 0, "result", p->n);
}

void bounds_multinomial(Bounds *b)
{
    const inlay_multinomial_params *p = b->params;
    touch_as(b, 0, p->wide ? 'l' : 'i');
    touch(b, 0, "result", product4(b, p->batch, p->samples, 1, 1));
    touch(b, 1, "input", product4(b, p->batch, i64_max(bounds_size(b, p->classes), 1), 1, 1));
}

/* Places are reckoned in 32 bits. */
void bounds_linear_attention(Bounds *b)
{
    const inlay_linear_attention_params *p = b->params;
    const int64_t heads = product4(b, p->batch, p->steps, p->heads, 1);
    const int64_t queries = sat_mul(heads, bounds_size(b, p->group));
    const int64_t state = product4(b, sat_mul(p->batch, p->heads), p->d, p->v, 1);
    const int64_t rates = product4(b, p->batch, p->steps, p->rates, 1);
    bounds_narrow(b, sat_mul(queries, i64_max(p->d, p->v)));
    bounds_narrow(b, sat_mul(heads, i64_max(p->d, p->v)));
    bounds_narrow(b, state);
    bounds_refuse(b, p->decays > 1 && p->decays < p->d, "it has fewer decays than elements");
    bounds_refuse(b, p->rates > 1 && p->rates < p->heads, "it has fewer rates than heads");
    touch(b, 0, "result", sat_mul(queries, p->v));
    touch(b, 1, "last state", state);
    touch(b, 2, "queries", sat_mul(queries, p->d));
    touch(b, 3, "keys", sat_mul(heads, p->d));
    touch(b, 4, "values", sat_mul(heads, p->v));
    touch(b, 5, "first state", state);
    touch(b, 6, "decay", sat_mul(heads, bounds_size(b, p->decays)));
    touch(b, 7, "rate", rates);
    touch(b, 8, "scratch", p->v);
}
