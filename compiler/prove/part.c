/* SPDX-License-Identifier: Apache-2.0
 * A part has no bytes of its own: whoever touches it touches channels of the result that it belongs to. */
#include "prove/part.h"

#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"

int concat_inputs(const Step *s)
{
    if (strcmp(s->kernel->name, "concat")) return 0;
    const inlay_concat_params *p = s->params;
    return p->size && s->operand[0].rows == s->units ? p->inputs : 0;
}

static int64_t channels_of(const Tensor *t) { return t->shape.rank ? t->shape.dim[t->shape.rank - 1] : 1; }
static int64_t element_bytes(const Operand *o) { return dtype_bits(o->tensor->dtype) / 8; }

int64_t concat_lane(const Step *s, int k)
{
    int64_t lane = 0;
    for (int i = 1; i < k; i++) lane = i64_add(lane, i64_mul(channels_of(s->operand[i].tensor), element_bytes(s->operand + i)));
    return lane;
}

/* The tensor that the operand is all of; a view of the same shape is the tensor itself. NULL: it is none. */
static Tensor *all_of(const Operand *o)
{
    int64_t at;
    if (!o->tensor || (o->offset && !o->part)) return NULL;
    Tensor *root = tensor_root(o->tensor, &at);
    return !at && root->dtype == o->tensor->dtype && shape_equal(&root->shape, &o->tensor->shape) ? root : NULL;
}

/* An image in the arena. */
static Tensor *image_of(const Operand *o)
{
    Tensor *t = all_of(o);
    return t && t->storage == STORE_ARENA && o->pixel == channels_of(t) ? t : NULL;
}

const char *part_settle(Home *homes, const Step *s, int k)
{
    const Operand *x = s->operand + k, *y = s->operand;
    Tensor *t = image_of(x);
    if (!t || t->slot >= 0 || x->rows != s->units) return "is not done, and its inputs are no images that could be written in place";
    if (!image_of(y)) return "is not done, and its result is no image that could have parts";
    if (homes[t->id].y) return "is not done, and its input is part of another result, too";
    homes[t->id] = (Home){ y, concat_lane(s, k) };
    return NULL;
}

const char *part_resolve(const Home *homes, const Step *s, Operand *o)
{
    int64_t at;
    const Tensor *root = tensor_root(o->tensor, &at);
    const Home *h = homes + root->id;
    if (!h->y) return NULL;
    const bool strided = o->strided || (concat_inputs(s) && o->rows == s->units);
    if (!image_of(o) || !strided) return "is part of another tensor, which this step cannot follow";
    if (!o->part) o->part = channels_of(root);
    for (; h->y; h = homes + o->tensor->id) {
        if (h->y->rows != o->rows) return "is part of a tensor of other rows";
        o->offset = i64_add(o->offset, h->lane);
        o->tensor = image_of(h->y);
        o->pixel = h->y->pixel;
        o->row_bytes = h->y->row_bytes;
    }
    return NULL;
}
