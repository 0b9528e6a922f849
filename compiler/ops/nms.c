/* SPDX-License-Identifier: Apache-2.0
 * NonMaxSuppression. */
#include <float.h>
#include <math.h>

#include "base/size.h"
#include "kernels/nms.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"

static bool boxes_fit(const Shape *boxes, const Shape *scores)
{
    if (boxes->rank != 3 || scores->rank != 3)
        return false;
    if (boxes->dim[2] != 4)
        return false;
    return scores->dim[0] == boxes->dim[0] && scores->dim[2] == boxes->dim[1];
}

static void require_boxes(const Node *node)
{
    Arena *arena = node->graph->arena;
    const Shape *boxes = infer_shape(node, 0);
    const Shape *scores = infer_shape(node, 1);
    if (!boxes_fit(boxes, scores))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "boxes %s and scores %s do not fit", shape_text(arena, boxes),
                  shape_text(arena, scores));
}

/* How many boxes of a class it can select. */
static int64_t most_of_class(const Node *node)
{
    const int64_t boxes = infer_shape(node, 0)->dim[1];
    const int64_t *most = infer_number(node, 2);
    if (!node_in(node, 2))
        return 0;
    if (!most)
        return boxes;
    return i64_max(0, i64_min(boxes, *most));
}

/* Boxes beyond a number that is known only when the model runs have the lowest score, which no
 * threshold lets pass. */
static void fill_boxes(Node *node)
{
    const Tensor *boxes = node->in[0];
    const Tensor *scores = node->in[1];
    if (boxes->dynamic != 1u << 1 || scores->dynamic != 1u << 2)
        return;
    Tensor *in[5] = { NULL };
    for (int i = 0; i < node->n_in; i++)
        in[i] = node->in[i];
    in[0] = dynamic_filled(node, in[0], 1, 0.0);
    in[1] = dynamic_filled(node, in[1], 2, -(double)INFINITY);
    if (!in[4])
        in[4] = expand_number(node, -(double)FLT_MAX, DT_F32);
    node_set_inputs(node, 5, in);
}

void infer_nms(Node *node)
{
    require_boxes(node);
    fill_boxes(node);
    const Shape *scores = infer_shape(node, 1);
    const int64_t classes = i64_mul(scores->dim[0], scores->dim[1]);
    const int64_t most = i64_mul(classes, most_of_class(node));
    const int64_t dims[] = {
        most,
        3,
    };
    const Shape bound = dynamic_bound(node, 0, shape_of(2, dims));
    if (bound.dim[1] != 3)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with another shape");
    infer_out(node, 0, DT_I64, bound);
    dynamic_out(node, 0, 0);
}

static int64_t nms_scratch(const inlay_nms_params *params)
{
    const int64_t entry = params->sorted ? (int64_t)sizeof(uint64_t) : 1;
    return i64_max(1, i64_mul(params->n, entry));
}

/* The scores are [batch][classes][boxes], or [batch][boxes][classes] where a pass found them so. */
void lower_nms(Lower *lower, Node *node)
{
    const Shape *scores = node_shape(node, 1);
    const int64_t room = node->out[0]->shape.dim[0];
    const bool by_box = node_flag(node, "scores_by_box", false);
    const int32_t classes = i32_checked(scores->dim[by_box ? 2 : 1]);
    const int32_t boxes = i32_checked(scores->dim[by_box ? 1 : 2]);
    const inlay_nms_params params = {
        .batch = i32_checked(scores->dim[0]),
        .classes = classes,
        .n = boxes,
        .room = i32_checked(room),
        .center = node_flag(node, "center_point_box", false),
        .next_box = by_box ? classes : 1,
        .next_class = by_box ? 1 : boxes,
        .sorted = lower->for_speed,
    };
    Step *step = lower_step(lower, "nms_f32", &params);
    step->looks = i64_mul(room, boxes);
    step_result(step, 0);
    step_out(step, node_count(node));
    for (int i = 0; i < 5; i++)
        step_operand(step, i);
    step_scratch(lower, step, nms_scratch(&params));
}
