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
    const int64_t parts = touch_given(bounds, table) ? 4 : 6;
    touch_box(bounds, table, "table", 2, n);
    touch_box(bounds, scratch, "scratch", parts, n);
}

static void refuse_parts(Bounds *bounds, int32_t parts)
{
    const bool wrong = parts < 1 || parts > 2;
    bounds_refuse(bounds, wrong, "it has neither one nor two parts");
}

void bounds_dft(Bounds *bounds)
{
    const inlay_dft_params *p = bounds->params;
    const bool value = touch_given(bounds, 2);
    refuse_parts(bounds, p->parts);
    if (value && !bounds_rank(bounds, p->rank, 1))
        return;
    if (bounds->wrong)
        return;
    const int64_t lines = product_of(bounds, p->outer, p->inner);
    int64_t out = product_of(bounds, lines, p->bins);
    int64_t in = product_of(bounds, lines, p->length);
    if (value) {
        out = wide_product(bounds, p->rank, p->ny);
        in = wide_product(bounds, p->rank, p->nx);
    }
    if (!p->half)
        out = product_of(bounds, out, 2);
    in = product_of(bounds, in, p->parts);
    touch_units(bounds, 0, "result", span_of(out));
    touch_units(bounds, 1, "input", span_of(in));
    touch(bounds, 2, "axis", 1);
    touch(bounds, 4, "length", 1);
    touch_transform(bounds, p->n, 3, 5);
}

void bounds_stft(Bounds *bounds)
{
    const inlay_stft_params *p = bounds->params;
    refuse_parts(bounds, p->parts);
    const int64_t spectra = product_of(bounds, p->batch, p->frames);
    const int64_t numbers = product_of(bounds, p->bins, 2);
    bounds_refuse(bounds, spectra != bounds->step->units,
                  "it has another number of rows than spectra");
    touch_units(bounds, 0, "result", span_of(numbers));
    const int64_t samples = product_of(bounds, p->batch, p->length);
    touch_box(bounds, 1, "signal", samples, p->parts);
    touch(bounds, 2, "step", 1);
    int64_t window = p->window;
    if (!window)
        window = p->n;
    touch(bounds, 3, "window", window);
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
    const int64_t scores = product_of(bounds, p->n, classes, p->d);
    touch(bounds, 0, "result", scores);
    touch(bounds, 1, "scores", scores);
}

void bounds_nll_loss(Bounds *bounds)
{
    const inlay_loss_params *p = bounds->params;
    const int64_t classes = p->c;
    const int64_t places = product_of(bounds, p->n, p->d);
    const int64_t losses = p->reduction ? 1 : places;
    touch_as(bounds, 2, p->wide ? 'l' : 'i');
    touch(bounds, 0, "loss", losses);
    touch_box(bounds, 1, "scores", places, classes);
    touch(bounds, 2, "labels", places);
    touch(bounds, 3, "weights of classes", classes);
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
    const int64_t drawn = product_of(bounds, p->batch, p->samples);
    touch(bounds, 0, "result", drawn);
    const int64_t classes = bounds_size(bounds, p->classes);
    touch_box(bounds, 1, "input", p->batch, i64_max(classes, 1));
}

/* Places are reckoned in 32 bits; one decay or rate for all, or enough of them. */
static void check_linear_attention(Bounds *bounds,
                                   const inlay_linear_attention_params *params,
                                   int64_t heads)
{
    const int64_t widest = i64_max(params->d, params->v);
    const int64_t queries = product_of(bounds, heads, params->group);
    const int64_t elements = product_of(bounds, queries, widest);
    bounds_narrow(bounds, elements);
    bounds_narrow(bounds, sat_mul(heads, widest));
    const int32_t decays = params->decays;
    const int32_t rates = params->rates;
    bounds_refuse(bounds, decays > 1 && decays < params->d,
                  "it has fewer decays than elements");
    bounds_refuse(bounds, rates > 1 && rates < params->heads,
                  "it has fewer rates than heads");
}

/* A matrix of keys by values for each head of each sequence. */
static void touch_states(Bounds *bounds,
                         const inlay_linear_attention_params *params)
{
    const int64_t matrix = product_of(bounds, params->d, params->v);
    const int64_t states =
        product_of(bounds, params->batch, params->heads, matrix);
    bounds_narrow(bounds, states);
    touch(bounds, 1, "last state", states);
    touch(bounds, 5, "first state", states);
}

void bounds_linear_attention(Bounds *bounds)
{
    const inlay_linear_attention_params *p = bounds->params;
    const int64_t tokens = product_of(bounds, p->batch, p->steps);
    const int64_t heads = product_of(bounds, tokens, p->heads);
    const int64_t queries = product_of(bounds, heads, p->group);
    const int64_t key = p->d;
    const int64_t value = p->v;
    touch_states(bounds, p);
    check_linear_attention(bounds, p, heads);
    touch_box(bounds, 0, "result", queries, value);
    touch_box(bounds, 2, "queries", queries, key);
    touch_box(bounds, 3, "keys", heads, key);
    touch_box(bounds, 4, "values", heads, value);
    touch_box(bounds, 6, "decay", heads, p->decays);
    touch_box(bounds, 7, "rate", tokens, p->rates);
    touch(bounds, 8, "scratch", value);
}
