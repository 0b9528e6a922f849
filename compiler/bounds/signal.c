/* SPDX-License-Identifier: Apache-2.0
 * Bounds of transforms, windows of signals, losses, random numbers and linear attention. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/fft.h"
#include "kernels/linear_attention.h"
#include "kernels/loss.h"
#include "kernels/random.h"
#include "kernels/signal.h"

/* The table of turns and two buffers; without a table it is made behind them. */
static void touch_transform(Bounds *bounds, int64_t n, int table, int scratch)
{
    touch_box(bounds, table, "table", 2, n);
    touch_box(bounds, scratch, "scratch", touch_given(bounds, table) ? 4 : 6,
              n);
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
    const int64_t out = value ? wide_product(bounds, p->rank, p->ny)
                              : product_of(bounds, p->outer, p->bins, p->inner);
    const int64_t in = value
                           ? wide_product(bounds, p->rank, p->nx)
                           : product_of(bounds, p->outer, p->length, p->inner);
    touch_box(bounds, 0, "result", out, part);
    touch_box(bounds, 1, "input", in, parts);
    touch(bounds, 2, "axis", 1);
    touch(bounds, 4, "length", 1);
    touch_transform(bounds, p->n, 3, 5);
}

void bounds_stft(Bounds *bounds)
{
    const inlay_stft_params *p = bounds->params;
    bounds_refuse(bounds, p->parts != 1 && p->parts != 2,
                  "it has neither one nor two parts");
    touch_box(bounds, 0, "result", p->batch, p->frames, p->bins, 2);
    touch_box(bounds, 1, "signal", p->batch, p->length, p->parts);
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
    touch_box(bounds, 0, "result", p->bins, p->mels);
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
    touch_box(bounds, 0, "result", p->n, classes, p->d);
    touch_box(bounds, 1, "scores", p->n, classes, p->d);
}

void bounds_nll_loss(Bounds *bounds)
{
    const inlay_loss_params *p = bounds->params;
    const int64_t places = product_of(bounds, p->n, p->d);
    touch_as(bounds, 2, p->wide ? 'l' : 'i');
    touch(bounds, 0, "loss", p->reduction ? 1 : places);
    touch_box(bounds, 1, "scores", places, p->c);
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
    touch_box(bounds, 0, "result", p->batch, p->samples);
    touch_box(bounds, 1, "input", p->batch,
              i64_max(bounds_size(bounds, p->classes), 1));
}

/* Places are reckoned in 32 bits; one decay or rate for all, or enough of them. */
static void check_linear_attention(Bounds *bounds,
                                   const inlay_linear_attention_params *params,
                                   int64_t heads)
{
    const int64_t widest = i64_max(params->d, params->v);
    bounds_narrow(bounds, product_of(bounds, heads, params->group, widest));
    bounds_narrow(bounds, sat_mul(heads, widest));
    bounds_refuse(bounds, params->decays > 1 && params->decays < params->d,
                  "it has fewer decays than elements");
    bounds_refuse(bounds, params->rates > 1 && params->rates < params->heads,
                  "it has fewer rates than heads");
}

void bounds_linear_attention(Bounds *bounds)
{
    const inlay_linear_attention_params *p = bounds->params;
    const int64_t tokens = product_of(bounds, p->batch, p->steps);
    const int64_t heads = product_of(bounds, tokens, p->heads);
    const int64_t state = product_of(bounds, p->batch, p->heads, p->d, p->v);
    check_linear_attention(bounds, p, heads);
    bounds_narrow(bounds, state);
    touch_box(bounds, 0, "result", heads, p->group, p->v);
    touch(bounds, 1, "last state", state);
    touch_box(bounds, 2, "queries", heads, p->group, p->d);
    touch_box(bounds, 3, "keys", heads, p->d);
    touch_box(bounds, 4, "values", heads, p->v);
    touch(bounds, 5, "first state", state);
    touch_box(bounds, 6, "decay", heads, p->decays);
    touch_box(bounds, 7, "rate", tokens, p->rates);
    touch(bounds, 8, "scratch", p->v);
}
