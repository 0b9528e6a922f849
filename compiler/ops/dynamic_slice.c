/* SPDX-License-Identifier: Apache-2.0
 * A Slice of which only a run says from where or up to where: so many elements, at most as many as
 * the axis has. */
#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/partly.h"
#include "ops/ranges.h"

/* One axis of such a Slice. */
typedef struct Cut {
    Node *node;
    int64_t entry; /* of the lists of starts, ends, axes and steps */
    int axis;
    int64_t step;
} Cut;

enum { STARTS = 1, ENDS, AXES, STEPS };

/* Operand k of a sum where it makes element i of the result. */
static Element addend(const Node *sum, int k, int64_t i)
{
    const Tensor *tensor = sum->in[k];
    const bool one = tensor_count(tensor) == 1;
    return partly_origin(tensor, one ? 0 : i);
}

/* Numbers beyond mean "to the end": nothing is added to them. */
static const int64_t MOST_ADDED = (int64_t)1 << 56;

static bool has_value(const Node *node, Element element, int64_t *value)
{
    return partly_known(node->graph, element.tensor, element.at, value);
}

static bool is_added(const Node *node, Element element, int64_t *value)
{
    if (!has_value(node, element, value))
        return false;
    return *value<MOST_ADDED && * value> - MOST_ADDED;
}

/* The entry of a list is a number plus that element; where it is a sum of numbers alone, one of
 * them. */
static Element base_of_entry(const Cut *cut, int list, int64_t *plus)
{
    enum { MOST_SUMS = 8 };
    const Node *node = cut->node;
    Element element = partly_origin(node->in[list], cut->entry);
    for (int i = 0; i < MOST_SUMS; i++) {
        const Node *sum = element.tensor->producer;
        int64_t value = 0;
        if (!sum || !node_is(sum, "Add"))
            break;
        const Element first = addend(sum, 0, element.at);
        const Element second = addend(sum, 1, element.at);
        const bool adds_first = is_added(node, first, &value);
        if (!adds_first && !is_added(node, second, &value))
            break;
        *plus = i64_add(*plus, value);
        element = adds_first ? second : first;
    }
    return element;
}

/* Is the entry of starts or of ends a number already? false: value stays. */
static bool is_known(const Cut *cut, int list, int64_t *value)
{
    int64_t plus = 0;
    int64_t given;
    const Element base = base_of_entry(cut, list, &plus);
    if (!plus)
        return has_value(cut->node, base, value);
    if (!is_added(cut->node, base, &given))
        return false;
    *value = given + plus;
    return true;
}

static bool is_open(const Cut *cut)
{
    int64_t value;
    if (!is_known(cut, STARTS, &value))
        return true;
    return !is_known(cut, ENDS, &value);
}

static int64_t entry_of(const Node *node, int list, int64_t i,
                        int64_t otherwise)
{
    int64_t count;
    const int64_t *values = infer_ints(node, list, &count);
    if (!values || i >= count)
        return otherwise;
    return values[i];
}

static Cut cut_of(Node *node, int64_t i)
{
    const int rank = node->in[0]->shape.rank;
    return (Cut){
        .node = node,
        .entry = i,
        .axis = node_axis(node, entry_of(node, AXES, i, i), rank),
        .step = entry_of(node, STEPS, i, 1),
    };
}

/* Has it the form that the functions below take: lists of so many, axes one by one, forwards? */
static bool has_lists(const Node *node, int64_t count)
{
    int64_t length = count;
    if (node_in(node, AXES) && !infer_ints(node, AXES, &length))
        return false;
    if (length != count)
        return false;
    if (node_in(node, STEPS) && !infer_ints(node, STEPS, &length))
        return false;
    if (length != count || infer_count(node, ENDS) != count)
        return false;
    return count <= node->in[0]->shape.rank;
}

static bool is_open_slice(Node *node, int64_t *count)
{
    if (!node_is(node, "Slice") || node->op->since < 10)
        return false;
    for (int i = 0; i <= ENDS; i++) {
        const Tensor *tensor = node_in(node, i);
        if (!tensor || !shape_known(&tensor->shape))
            return false;
        if (i && (tensor->dynamic || tensor->shape.rank != 1))
            return false;
    }
    if (node->in[0]->dtype == DT_STRING)
        return false;
    if (slice_is_sized(node))
        return false;
    *count = infer_count(node, STARTS);
    return has_lists(node, *count);
}

/* Each axis once, those that a run decides forwards. */
static bool has_axes(Node *node, int64_t count)
{
    unsigned all = 0;
    for (int64_t i = 0; i < count; i++) {
        const Cut cut = cut_of(node, i);
        if (all >> cut.axis & 1u)
            return false;
        all |= 1u << cut.axis;
        if (is_open(&cut) && cut.step < 1)
            return false;
    }
    return true;
}

/* --- one axis --- */

/* Has the axis itself a size known only at run time? */
static bool is_dynamic(const Cut *cut, const Tensor *x)
{
    return x->dynamic >> cut->axis & 1u;
}

/* Where the entry of a list says, between 0 and the axis' real size: int64 [1]. */
static Tensor *place_of(const Cut *cut, int list, Tensor *size)
{
    const Node *node = cut->node;
    Tensor *none = expand_i64(node, 0);
    int64_t value;
    Tensor *place;
    if (is_known(cut, list, &value)) {
        place = expand_i64(node, value);
    } else {
        Tensor *all = expand_cast(node, node->in[list], DT_I64);
        place = expand_slice(node, all, 0, cut->entry, cut->entry + 1);
    }
    Tensor *from_end = expand_binary(node, "Less", place, none);
    Tensor *moved = expand_add(node, place, size);
    place = expand_where(node, from_end, moved, place);
    place = expand_binary(node, "Min", place, size);
    return expand_binary(node, "Max", place, none);
}

/* From a place that only a run knows to so many elements behind it; 0: it is no such cut. */
static int64_t known_length(const Cut *cut)
{
    int64_t from = 0;
    int64_t to = 0;
    const Element start = base_of_entry(cut, STARTS, &from);
    const Element end = base_of_entry(cut, ENDS, &to);
    if (start.tensor != end.tensor || start.at != end.at)
        return 0;
    return i64_max(0, i64_sub(to, from));
}

/* At most so many elements lie between the two, of the axis' n. */
static int64_t most_between(const Cut *cut, int64_t n)
{
    int64_t start = 0;
    int64_t end = n;
    int64_t most = n;
    if (is_known(cut, STARTS, &start) && start < 0) {
        most = -i64_max(start, -n);
        start = 0;
    }
    if (is_known(cut, ENDS, &end) && end < 0)
        end = i64_max(end + n, 0);
    end = i64_min(end, n);
    most = i64_min(most, end - i64_min(start, n));
    return i64_max(0, most);
}

/* How many elements there are from one place to the other: int64 [1]. */
static Tensor *count_between(const Cut *cut, Tensor *from, Tensor *to)
{
    const Node *node = cut->node;
    Tensor *left = expand_sub(node, to, from);
    left = expand_binary(node, "Max", left, expand_i64(node, 0));
    if (cut->step == 1)
        return left;
    left = expand_add(node, left, expand_i64(node, cut->step - 1));
    return expand_div(node, left, expand_i64(node, cut->step));
}

/* The same entry of the same list is the same number wherever it is read. */
static void name_entry(const Cut *cut, int list, int64_t *name)
{
    const Element element = partly_origin(cut->node->in[list], cut->entry);
    name[0] = -1;
    name[1] = 0;
    if (is_known(cut, list, &name[1]))
        return;
    name[0] = element.tensor->id;
    name[1] = element.at;
}

/* The number of the size that is cut off an axis. */
static int size_number(const Cut *cut, const Tensor *x)
{
    const int fresh = ++graph_root(cut->node->graph)->next_size;
    int64_t name[] = {
        INT64_MIN, /* no sum */
        0,         0, 0, 0, x->shape.dim[cut->axis], cut->step,
    };
    if (is_dynamic(cut, x))
        name[5] = -1 - (int64_t)x->size_id[cut->axis];
    name_entry(cut, STARTS, name + 1);
    name_entry(cut, ENDS, name + 3);
    return dynamic_joined(cut->node, 7, name, fresh);
}

/* Elements from, from + step and so on of n: int64 [bound]. Those behind the real ones are any. */
static Tensor *indices(const Cut *cut, Tensor *from, int64_t bound, int64_t n)
{
    const Node *node = cut->node;
    int64_t *number = NEW_ARRAY(node->graph->arena, int64_t, bound);
    for (int64_t i = 0; i < bound; i++)
        number[i] = i64_mul(i, cut->step);
    Tensor *index = expand_i64s(node, bound, number);
    index = expand_add(node, index, from);
    return expand_binary(node, "Min", index, expand_i64(node, n - 1));
}

/* A value of the run: what is constant has no size that a run decides. */
static Tensor *not_constant(const Cut *cut, Tensor *index, Tensor *count)
{
    const Node *node = cut->node;
    Tensor *any = expand_binary(node, "Less", index, count);
    return expand_where(node, any, index, index);
}

/* The elements of those indices, of which `count` count. */
static Tensor *cut_so_many(const Cut *cut, Tensor *x, Tensor *index,
                           Tensor *count, int id)
{
    if (x->value && index->value)
        index = not_constant(cut, index, count);
    Tensor *y = expand_gather(cut->node, x, index, cut->axis);
    dynamic_mark(cut->node, y, cut->axis, count, id);
    return y;
}

/* The size known only at run time up to which the first elements of an axis are taken; NULL: it is
 * no such cut. */
static const CountedSize *size_taken(const Cut *cut, const Tensor *x)
{
    int64_t start;
    if (is_dynamic(cut, x) || cut->step != 1)
        return NULL;
    if (!is_known(cut, STARTS, &start) || start)
        return NULL;
    return dynamic_entry(cut->node, ENDS, cut->entry);
}

int dynamic_limited(const Node *at, int id, int64_t n)
{
    const int fresh = ++graph_root(at->graph)->next_size;
    const int64_t name[] = { INT64_MIN, id, n };
    return dynamic_joined(at, 3, name, fresh);
}

/* As many elements as there are of something else, or all where there are fewer. */
static Tensor *cut_size(const Cut *cut, Tensor *x, const CountedSize *size)
{
    const Node *node = cut->node;
    const int64_t n = x->shape.dim[cut->axis];
    const int64_t bound = i64_min(size->bound, n);
    Tensor *count = size->count;
    int id = size->id;
    if (n < size->bound) {
        id = dynamic_limited(node, id, n);
        count = expand_binary(node, "Min", count, expand_i64(node, n));
    }
    Tensor *from = expand_i64(node, 0);
    Tensor *index = indices(cut, from, bound, n);
    return cut_so_many(cut, x, index, count, id);
}

/* From one place of the axis to another. */
static Tensor *cut_places(const Cut *cut, Tensor *x, int64_t bound)
{
    const Node *node = cut->node;
    const int id = size_number(cut, x);
    const int64_t n = x->shape.dim[cut->axis];
    Tensor *size = is_dynamic(cut, x) ? dynamic_size(node, x, cut->axis)
                                      : expand_i64(node, n);
    Tensor *from = place_of(cut, STARTS, size);
    Tensor *to = place_of(cut, ENDS, size);
    Tensor *count = count_between(cut, from, to);
    Tensor *index = indices(cut, from, bound, n);
    return cut_so_many(cut, x, index, count, id);
}

/* So many elements; where there are fewer, the run says so. */
static Tensor *cut_length(const Cut *cut, Tensor *x, int64_t length)
{
    const int64_t n = x->shape.dim[cut->axis];
    const int64_t most = i64_min(length, n);
    const int64_t count = i64_ceil_div(most, cut->step);
    Tensor *y = cut_places(cut, x, count);
    return dynamic_settled(cut->node, "FixedSize", y);
}

static Tensor *cut_open(const Cut *cut, Tensor *x)
{
    const int64_t n = x->shape.dim[cut->axis];
    const int64_t length = known_length(cut);
    if (n && length && !x->dynamic)
        return cut_length(cut, x, length);
    const int64_t bound = i64_ceil_div(most_between(cut, n), cut->step);
    if (!bound)
        return expand_slice(cut->node, x, cut->axis, 0, 0);
    const CountedSize *size = size_taken(cut, x);
    if (size && size->bound > 0)
        return cut_size(cut, x, size);
    return cut_places(cut, x, bound);
}

/* --- all --- */

/* What is known of the Slice. */
static Tensor *cut_known(Node *node, int64_t count)
{
    enum { LISTS = 4 };
    int64_t list[LISTS][MAX_RANK];
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        const Cut cut = cut_of(node, i);
        if (is_open(&cut))
            continue;
        is_known(&cut, STARTS, &list[0][n]);
        is_known(&cut, ENDS, &list[1][n]);
        list[2][n] = cut.axis;
        list[3][n++] = cut.step;
    }
    if (!n)
        return node->in[0];
    Tensor *in[1 + LISTS] = { node->in[0] };
    for (int i = 0; i < LISTS; i++)
        in[1 + i] = expand_i64s(node, n, list[i]);
    return expand_done(expand_node(node, "Slice", 1 + LISTS, in, 1));
}

bool dynamic_sliced(Node *node)
{
    int64_t count;
    if (!is_open_slice(node, &count) || !has_axes(node, count))
        return false;
    Tensor *y = cut_known(node, count);
    /* First the axes that have such a size: a Gather takes no other beside it. */
    const unsigned given = y->dynamic;
    for (int64_t i = 0; i < 2 * count; i++) {
        const Cut cut = cut_of(node, i % count);
        const bool first = given >> cut.axis & 1u;
        if (is_open(&cut) && first == (i < count))
            y = cut_open(&cut, y);
    }
    expand_finish_one(node, y);
    return true;
}
