/* SPDX-License-Identifier: Apache-2.0
 * The lines of pixels that kernels cut into tiles, by their parameters. */
#include "rules/tiles.h"

#include "kernels/affine_f32.h"
#include "kernels/conv_narrow.h"
#include "kernels/deconv_f32.h"
#include "kernels/dwpw_f32.h"
#include "kernels/matmul.h"
#include "kernels/recurrent.h"
#include "kernels/tile_narrow.h"
#include "kernels/winograd_f32.h"
#include "rules/families.h"

static void add_line(TileUse *use, TileLine line)
{
    if (line.channels < 1 || line.pixels < 1)
        return;
    for (size_t i = 0; i < use->line.n; i++) {
        const TileLine *had = use->line.at + i;
        if (had->walk == line.walk && had->channels == line.channels &&
            had->pixels == line.pixels)
            return;
    }
    VEC_PUSH(use->arena, &use->line, line);
}

static void add_row(TileUse *use, int32_t channels, int32_t pixels)
{
    add_line(use, (TileLine){ TILE_ROWS, channels, pixels });
}

/* A line of `pixels` pixels that is made `chunk` at a time. */
static void add_chunks(TileUse *use, int32_t channels, int32_t pixels,
                       int32_t chunk)
{
    if (pixels >= chunk)
        add_row(use, channels, chunk);
    add_row(use, channels, pixels % chunk);
}

/* Lines of any size, to so many pixels: a longer one than this has tiles of the most pixels. */
static void add_any(TileUse *use, TileWalk walk, int32_t channels, int32_t most)
{
    const int32_t longest = INLAY_TILE_MOST * INLAY_TILE_MOST;
    for (int32_t n = 1; n <= most && n <= longest; n++)
        add_line(use, (TileLine){ walk, channels, n });
}

/* What follows the sums of `channels` channels; `residual`: its operand. */
static void add_ends(TileUse *use, const Step *step, int32_t channels,
                     int32_t clamp, int residual)
{
    use->ends |= clamp;
    if (step->operand[residual].tensor)
        use->ends |= INLAY_END_ADD;
    if (channels % 4)
        use->ends |= INLAY_END_PART;
}

/* Do all rows of the operand exist at once? */
static bool is_whole(const Operand *operand)
{
    return !operand->ring || operand->ring >= operand->rows;
}

/* Does operand `how` of a step, which may be left out, say that each channel has one scale and no
 * zero point? */
static bool has_late_scales(const TileUse *use, const Step *step, int how)
{
    const Tensor *t = step->operand[how].tensor;
    if (!t)
        return true;
    if (!t->value || step->operand[how + 2].tensor)
        return false;
    const int32_t *values = recipe_values(use->store, use->arena, t->value);
    return values[INLAY_HOW_BLOCKS] == 1 && values[INLAY_HOW_ZERO] == 0;
}

static bool is_narrow(const Step *step, int w)
{
    return step->operand[w].tensor->dtype != DT_F32;
}

/* Weights are operand w; those of a narrow type are followed by operand `how`. */
static void add_weights(TileUse *use, const Step *step, int w, int how)
{
    if (!is_narrow(step, w))
        return;
    use->narrow = true;
    if (step->operand[w].tensor->dtype != DT_I8 ||
        !has_late_scales(use, step, how))
        use->panels = true;
}

/* ---- convolutions ---- */

/* Pixels with all of their window, in a row; the others are made by themselves. */
static void add_window(TileUse *use, const inlay_conv_params *p)
{
    const int32_t extent = (p->kw - 1) * p->dw + 1;
    int32_t right;
    const int32_t left =
        inlay_inside(p->sw, p->pw, extent, p->iw, p->ow, &right);
    add_row(use, p->oc, right - left);
    if (right - left < p->ow)
        add_row(use, p->oc, 1);
}

/* Blocks of four are those of Arm cores: those copy windows where weights are signed bytes that
 * need no panels. */
static bool copies_windows(const TileUse *use, const Step *step,
                           const inlay_conv_params *p)
{
    const bool is_alone = p->ow == 1 && step->units == 1;
    return use->width == 4 && step->operand[2].tensor->dtype == DT_I8 &&
           has_late_scales(use, step, 5) && !is_alone && inlay_conv_copies(p);
}

/* The same of windows that are copied, where all pixels are alike. */
static void add_copies(TileUse *use, const inlay_conv_params *p)
{
    const int32_t taps = p->kh * p->kw * p->ic;
    if (use->copied < taps)
        use->copied = taps;
    add_row(use, p->oc, p->ow);
}

/* Is each pixel made of one pixel, at the same place? Then rows may be joined. */
static bool is_product(const inlay_conv_params *p)
{
    const bool one_tap = p->kd * p->kh * p->kw == 1;
    const bool every_pixel = p->sd * p->sh * p->sw == 1;
    return one_tap && every_pixel && p->pd + p->ph + p->pw == 0;
}

/* Rows that an activation goes over behind the convolution, as one line. */
static void add_stripes(TileUse *use, const inlay_conv_params *p, int32_t rows)
{
    const inlay_act_pass pass =
        inlay_act_pass_of(p->ow, p->oc, p->act, p->a, p->b);
    const int32_t stripe = inlay_act_stripe(&pass);
    if (rows >= stripe)
        add_row(use, p->oc, p->ow * stripe);
    add_row(use, p->oc, p->ow * (rows % stripe));
}

static bool is_short(int32_t pixels, int32_t rows)
{
    return pixels <= INLAY_TILE_MOST * INLAY_TILE_MOST / rows;
}

/* All rows as one line, or as many as lie together in a ring. */
static void add_joined(TileUse *use, const Step *step,
                       const inlay_conv_params *p)
{
    const bool whole = is_whole(step->operand) && is_whole(step->operand + 1);
    const int32_t most = step->units;
    if (!whole)
        for (int32_t rows = 2; rows <= most && is_short(p->ow, rows); rows++)
            add_row(use, p->oc, p->ow * rows);
    if (whole && !p->act)
        add_row(use, p->oc, p->ow * most);
    if (whole && p->act)
        add_stripes(use, p, most);
}

void tiles_conv(const Step *step, TileUse *use)
{
    const inlay_conv_params *p = step->params;
    add_ends(use, step, p->oc, p->clamp, 4);
    add_weights(use, step, 2, 5);
    /* A pixel that is alone takes neither panels nor tiles. */
    if (p->ow == 1 && step->units == 1 && is_narrow(step, 2))
        use->panels = true;
    if (copies_windows(use, step, p))
        add_copies(use, p);
    else
        add_window(use, p);
    if (is_product(p))
        add_joined(use, step, p);
}

/* Rows of one pixel: those whose windows lie inside go together. */
void tiles_conv1d(const Step *step, TileUse *use)
{
    const inlay_conv_params *p = step->params;
    const int32_t extent = (p->kh - 1) * p->dh + 1;
    int32_t end;
    const int32_t begin =
        inlay_inside(p->sh, p->ph, extent, p->ih, p->oh, &end);
    add_ends(use, step, p->oc, p->clamp, 4);
    use->panels = use->panels || is_narrow(step, 2);
    add_any(use, TILE_STEPS, p->oc, 1);
    if (is_whole(step->operand))
        add_line(use, (TileLine){ TILE_STEPS, p->oc, end - begin });
    else
        add_any(use, TILE_STEPS, p->oc, end - begin);
}

/* The columns of each phase, as pixels of a convolution of stride 1. */
static void add_phases(TileUse *use, const inlay_conv_params *p)
{
    for (int32_t c = 0; c < p->sw && c < p->ow; c++) {
        const inlay_phase column =
            inlay_phase_of(c + p->pw, p->sw, p->dw, p->kw);
        inlay_conv_params one = *p;
        one.ow = (p->ow - c + p->sw - 1) / p->sw;
        one.pw = -column.top;
        one.sw = 1;
        one.dw = column.step;
        add_window(use, &one);
        if (column.first < 0)
            add_row(use, one.oc, one.ow);
    }
}

void tiles_deconv(const Step *step, TileUse *use)
{
    inlay_conv_params p = *(const inlay_conv_params *)step->params;
    add_ends(use, step, p.oc, p.clamp, 4);
    add_weights(use, step, 2, 5);
    if (inlay_upright(&p)) {
        if (!is_whole(step->operand) || !is_whole(step->operand + 1))
            add_any(use, TILE_ROWS, p.oc, p.oh / p.sh + 1);
        inlay_lie_params(&p, p.ih, p.oh, p.ph);
    }
    add_phases(use, &p);
}

void tiles_dwpw(const Step *step, TileUse *use)
{
    const inlay_dwpw_params *p = step->params;
    add_ends(use, step, p->oc, p->clamp, 6);
    add_weights(use, step, 4, 7);
    add_chunks(use, p->oc, p->ow, p->chunk);
}

void tiles_affine_conv(const Step *step, TileUse *use)
{
    const inlay_affine_conv_params *p = step->params;
    add_ends(use, step, p->oc, p->clamp, 6);
    add_weights(use, step, 4, 7);
    add_chunks(use, p->oc, p->pixels, p->chunk);
}

/* The products of the tiles of an image, a block and some channels at a time. */
static void tiles_winograd(const Step *step, TileUse *use)
{
    const inlay_winograd_params *p = step->params;
    const int32_t wide = (p->ow + p->tile - 1) / p->tile;
    const int32_t high = (p->oh + p->tile - 1) / p->tile;
    const int32_t rest = p->oc % INLAY_WINOGRAD_CHANNELS;
    if (p->oc >= INLAY_WINOGRAD_CHANNELS)
        add_chunks(use, INLAY_WINOGRAD_CHANNELS, wide * high, p->block);
    add_chunks(use, inlay_winograd_filled(rest), wide * high, p->block);
}

/* ---- products ---- */

/* y[..][i][j] of a right operand with adjacent columns; others have no tiles. Units that are less
 * than a matrix come in any number where there is a ring. */
static void tiles_matmul(const Step *step, TileUse *use)
{
    const inlay_matmul_params *p = step->params;
    const bool whole = is_whole(step->operand) && is_whole(step->operand + 1);
    if (p->ak != 1 || (p->bn != 1 && p->n != 1))
        return;
    if (whole || p->lines >= p->m)
        add_line(use, (TileLine){ TILE_LINES, p->n, p->m });
    else
        add_any(use, TILE_LINES, p->n, p->m);
}

/* The projection of some time steps, and the recurrence of the rows of the batch; of a GRU's n by
 * itself. Rows of different lengths end one after the other. */
static void tiles_recurrent(const Step *step, TileUse *use)
{
    enum { LENGTHS = 8 };
    const inlay_recurrent_params *p = step->params;
    const int32_t gates = p->kind * p->hidden;
    const int32_t cell = p->kind == 3 ? p->hidden : 0;
    const int32_t first = gates - cell;
    use->ends |= INLAY_END_ADD;
    use->panels = use->panels || is_narrow(step, 4);
    if (p->hidden % 4)
        use->ends |= INLAY_END_PART;
    add_chunks(use, gates, p->steps, p->chunk);
    add_row(use, first, p->batch);
    add_row(use, cell, p->batch);
    if (!step->operand[LENGTHS].tensor)
        return;
    add_any(use, TILE_ROWS, gates, p->chunk);
    add_any(use, TILE_ROWS, first, p->batch);
    add_any(use, TILE_ROWS, cell, p->batch);
}

void tiles_of_step(const Step *step, TileUse *use)
{
    const KernelRules *rules = step->kernel->rules;
    if (!rules || !rules->tiles)
        return;
    if (!step->fetch) {
        rules->tiles(step, use);
        return;
    }
    for (int last = 0; last < 2; last++) {
        const Step piece = step_piece(use->arena, step, last);
        rules->tiles(&piece, use);
    }
}

static int64_t winograd_transforms(const Step *step)
{
    const inlay_winograd_params *p = step->params;
    return i64_mul(9, i64_mul(p->ic, p->oc));
}

const KernelRules rules_winograd = {
    .transforms = winograd_transforms,
    .tiles = tiles_winograd,
};
const KernelRules rules_matmul = {
    .tiles = tiles_matmul,
};
const KernelRules rules_recurrent = {
    .tiles = tiles_recurrent,
};
