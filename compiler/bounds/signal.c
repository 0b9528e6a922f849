/* SPDX-License-Identifier: Apache-2.0
 * Bounds of transforms, windows of signals, losses, random numbers and linear attention. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/fft.h"
#include "kernels/linear_attention.h"
#include "kernels/loss.h"
#include "kernels/random.h"
#include "kernels/signal.h"

static int64_t product4(Bounds *bounds, int64_t w, int64_t x, int64_t y,
                        int64_t z)
{
    const int64_t sizes[] = { w, x, y, z };
    return wide_product(bounds, 4, sizes);
}

/* The table of turns and two buffers; without a table it is made behind them. */
static void touch_transform(Bounds *bounds, int64_t n, int table, int scratch)
{
    touch(bounds, table, "table", sat_mul(2, n));
    touch(bounds, scratch, "scratch",
          sat_mul(touch_given(bounds, table) ? 4 : 6, bounds_size(bounds, n)));
}

void bounds_dft(Bounds *bounds)
{
    const inlay_dft_params *p = bounds->params;
    const int64_t part = p->half ? 1 : 2;
    const int64_t parts = p->parts == 2 ? 2 : 1;
    const bool value = touch_given(bounds, 2);
    bounds_refuse(bounds, p->parts != parts,
                  "it has neither one nor two parts");
    bounds_refuse(bounds, value && (p->rank < 1 || p->rank > 8),
                  "it has no axes");
    if (bounds->wrong)
        return;
    const int64_t out = value
                            ? wide_product(bounds, p->rank, p->ny)
                            : product4(bounds, p->outer, p->bins, p->inner, 1);
    const int64_t in = value
                           ? wide_product(bounds, p->rank, p->nx)
                           : product4(bounds, p->outer, p->length, p->inner, 1);
    touch(bounds, 0, "result", sat_mul(out, part));
    touch(bounds, 1, "input", sat_mul(in, parts));
    touch(bounds, 2, "axis", 1);
    touch(bounds, 4, "length", 1);
    touch_transform(bounds, p->n, 3, 5);
}

void bounds_stft(Bounds *bounds)
{
    const inlay_stft_params *p = bounds->params;
    bounds_refuse(bounds, p->parts != 1 && p->parts != 2,
                  "it has neither one nor two parts");
    touch(bounds, 0, "result",
          product4(bounds, p->batch, p->frames, p->bins, 2));
    touch(bounds, 1, "signal",
          product4(bounds, p->batch, p->length, p->parts, 1));
    touch(bounds, 2, "step", 1);
    touch(bounds, 3, "window", p->window ? p->window : p->n);
    touch(bounds, 4, "length", 1);
    touch_transform(bounds, p->n, 5, 6);
}

void bounds_taper(Bounds *bounds)
{
    const inlay_taper_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch(bounds, 1, "size", 1);
}

void bounds_mel(Bounds *bounds)
{
    const inlay_mel_params *p = bounds->params;
    touch(bounds, 0, "result", product4(bounds, p->bins, p->mels, 1, 1));
    touch(bounds, 1, "number of mels", 1);
    touch(bounds, 2, "length", 1);
    touch(bounds, 3, "sample rate", 1);
    touch(bounds, 4, "lower frequency", 1);
    touch(bounds, 5, "upper frequency", 1);
}

/* The first class is looked at before there is any. */
void bounds_log_softmax_classes(Bounds *bounds)
{
    const inlay_loss_params *p = bounds->params;
    const int64_t classes = i64_max(bounds_size(bounds, p->c), 1);
    touch(bounds, 0, "result", product4(bounds, p->n, classes, p->d, 1));
    touch(bounds, 1, "scores", product4(bounds, p->n, classes, p->d, 1));
}

void bounds_nll_loss(Bounds *bounds)
{
    const inlay_loss_params *p = bounds->params;
    const int64_t places = product4(bounds, p->n, p->d, 1, 1);
    touch_as(bounds, 2, p->wide ? 'l' : 'i');
    touch(bounds, 0, "loss", p->reduction ? 1 : places);
    touch(bounds, 1, "scores", sat_mul(places, bounds_size(bounds, p->c)));
    touch(bounds, 2, "labels", places);
    touch(bounds, 3, "weights of classes", p->c);
}

void bounds_random(Bounds *bounds)
{
    const inlay_random_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
}

void bounds_multinomial(Bounds *bounds)
{
    const inlay_multinomial_params *p = bounds->params;
    touch_as(bounds, 0, p->wide ? 'l' : 'i');
    touch(bounds, 0, "result", product4(bounds, p->batch, p->samples, 1, 1));
    touch(bounds, 1, "input",
          product4(bounds, p->batch,
                   i64_max(bounds_size(bounds, p->classes), 1), 1, 1));
}

/* Places are reckoned in 32 bits. */
void bounds_linear_attention(Bounds *bounds)
{
    const inlay_linear_attention_params *p = bounds->params;
    const int64_t heads = product4(bounds, p->batch, p->steps, p->heads, 1);
    const int64_t queries = sat_mul(heads, bounds_size(bounds, p->group));
    const int64_t state =
        product4(bounds, sat_mul(p->batch, p->heads), p->d, p->v, 1);
    const int64_t rates = product4(bounds, p->batch, p->steps, p->rates, 1);
    bounds_narrow(bounds, sat_mul(queries, i64_max(p->d, p->v)));
    bounds_narrow(bounds, sat_mul(heads, i64_max(p->d, p->v)));
    bounds_narrow(bounds, state);
    bounds_refuse(bounds, p->decays > 1 && p->decays < p->d,
                  "it has fewer decays than elements");
    bounds_refuse(bounds, p->rates > 1 && p->rates < p->heads,
                  "it has fewer rates than heads");
    touch(bounds, 0, "result", sat_mul(queries, p->v));
    touch(bounds, 1, "last state", state);
    touch(bounds, 2, "queries", sat_mul(queries, p->d));
    touch(bounds, 3, "keys", sat_mul(heads, p->d));
    touch(bounds, 4, "values", sat_mul(heads, p->v));
    touch(bounds, 5, "first state", state);
    touch(bounds, 6, "decay", sat_mul(heads, bounds_size(bounds, p->decays)));
    touch(bounds, 7, "rate", rates);
    touch(bounds, 8, "scratch", p->v);
}
