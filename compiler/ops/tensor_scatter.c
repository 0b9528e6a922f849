/* SPDX-License-Identifier: Apache-2.0
 * TensorScatter of ai.onnx, which updates the caches that Attention reads. */
#include <string.h>

#include "base/size.h"
#include "kernels/cache.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

static int scatter_axis(const Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    return infer_axis(node, -2, rank);
}

static bool update_fits(const Shape *update, const Shape *cache, int axis)
{
    if (update->rank != cache->rank || axis == 0)
        return false;
    for (int i = 0; i < cache->rank; i++) {
        if (update->dim[i] > cache->dim[i])
            return false;
        if (i != axis && update->dim[i] != cache->dim[i])
            return false;
    }
    return true;
}

/* One for each of the batch. */
static void check_places(const Node *node, int64_t batch)
{
    const int64_t places = infer_count(node, 2);
    if (places != batch)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld write indices for a batch of %lld", (long long)places,
                  (long long)batch);
}

void infer_tensor_scatter(Node *node)
{
    const Shape *cache = infer_shape(node, 0);
    const Shape *update = infer_shape(node, 1);
    if (!update_fits(update, cache, scatter_axis(node)))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the update does not fit the cache");
    if (node_in(node, 2))
        check_places(node, cache->dim[0]);
    infer_out(node, 0, node_type(node), *cache);
}

static inlay_cache_params cache_params(const Node *node, DType type)
{
    const Shape *cache = node_shape(node, 0);
    const int axis = scatter_axis(node);
    const int64_t inner = shape_product(cache, axis + 1, cache->rank);
    const char *mode = node_string(node, "mode", "linear");
    return (inlay_cache_params){
        .batch = cache->dim[0],
        .outer = shape_product(cache, 1, axis),
        .length = cache->dim[axis],
        .count = node->in[1]->shape.dim[axis],
        .bytes = dtype_bytes(type, inner),
        .circular = !strcmp(mode, "circular"),
    };
}

void lower_tensor_scatter(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    Tensor *update = move_source(lower, node->in[1]);
    const inlay_cache_params params = cache_params(node, x->dtype);
    Tensor *index = lower_index(lower, node_in(node, 2));
    if (!tensor_count(y))
        return;
    Step *step = lower_step(lower, "cache_update", &params);
    step_out(step, y);
    step_in(step, x);
    step_in(step, update);
    step_in(step, index);
    move_finish(lower, node->out[0], y);
}
