/* SPDX-License-Identifier: Apache-2.0
 * NonMaxSuppression. */
#include "base/size.h"
#include "kernels/nms.h"
#include "ops/dynamic.h"
#include "ops/families.h"

void infer_nms(Node *n)
{
    const Shape *boxes = infer_shape(n, 0), *scores = infer_shape(n, 1);
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
        scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "boxes %s and scores %s do not fit",
                  shape_text(n->graph->arena, boxes), shape_text(n->graph->arena, scores));
    int64_t count, each = node_in(n, 2) ? boxes->dim[1] : 0;
    const int64_t *most = infer_ints(n, 2, &count);
    if (most && count == 1)
        each = i64_max(0, i64_min(each, *most));
    const int64_t bound[2] = { i64_mul(i64_mul(scores->dim[0], scores->dim[1]), each), 3 };
    infer_out(n, 0, DT_I64, dynamic_bound(n, 0, shape_of(2, bound)));
    if (n->out[0]->shape.dim[1] != 3)
        fail_node(n, STATUS_MALFORMED, NULL, "its result is declared with another shape");
    dynamic_out(n, 0, 0);
}

void lower_nms(Lower *l, Node *n)
{
    const Shape *scores = &n->in[1]->shape;
    const inlay_nms_params p = { .batch = i32_checked(scores->dim[0]),
                                 .classes = i32_checked(scores->dim[1]),
                                 .n = i32_checked(scores->dim[2]),
                                 .room = i32_checked(n->out[0]->shape.dim[0]),
                                 .center = node_int(n, "center_point_box", 0) != 0 };
    Step *s = lower_step(l, n, "nms_f32", &p);
    step_out(s, n->out[0]);
    step_out(s, node_count(n));
    for (int i = 0; i < 5; i++)
        step_in(s, node_in(n, i));
    step_scratch(l, s, i64_max(1, p.n));
}
