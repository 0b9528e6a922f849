/* SPDX-License-Identifier: Apache-2.0
 * NonMaxSuppression. */
#include "base/size.h"
#include "kernels/nms.h"
#include "ops/dynamic.h"
#include "ops/families.h"

void infer_nms(Node *node)
{
    const Shape *boxes = infer_shape(node, 0);
    const Shape *scores = infer_shape(node, 1);
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
        scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "boxes %s and scores %s do not fit",
                  shape_text(node->graph->arena, boxes), shape_text(node->graph->arena, scores));
    int64_t count;
    int64_t each = node_in(node, 2) ? boxes->dim[1] : 0;
    const int64_t *most = infer_ints(node, 2, &count);
    if (most && count == 1)
        each = i64_max(0, i64_min(each, *most));
    const int64_t bound[2] = { i64_mul(i64_mul(scores->dim[0], scores->dim[1]), each), 3 };
    infer_out(node, 0, DT_I64, dynamic_bound(node, 0, shape_of(2, bound)));
    if (node->out[0]->shape.dim[1] != 3)
        fail_node(node, STATUS_MALFORMED, NULL, "its result is declared with another shape");
    dynamic_out(node, 0, 0);
}

void lower_nms(Lower *lower, Node *node)
{
    const Shape *scores = &node->in[1]->shape;
    const inlay_nms_params params = { .batch = i32_checked(scores->dim[0]),
                                      .classes = i32_checked(scores->dim[1]),
                                      .n = i32_checked(scores->dim[2]),
                                      .room = i32_checked(node->out[0]->shape.dim[0]),
                                      .center = node_int(node, "center_point_box", 0) != 0 };
    Step *step = lower_step(lower, node, "nms_f32", &params);
    step_out(step, node->out[0]);
    step_out(step, node_count(node));
    for (int i = 0; i < 5; i++)
        step_in(step, node_in(node, i));
    step_scratch(lower, step, i64_max(1, params.n));
}
