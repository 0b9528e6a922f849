# SPDX-License-Identifier: Apache-2.0
"""Detections, of which a run has fewer or more: small graphs with answers worked out by hand.

    detections.py --inlay INLAY"""
import itertools

from by_hand import F32, I64, arena_above, floats, ints, judge, run
from onnx import make_graph_attr, make_model, make_node, make_value


def detector():
    """The end of a detector: scores above a threshold, the best three of these, boxes that do not
    overlap, and the last candidate."""
    nodes = [
        make_node('Greater', ['scores', 'least'], ['good']),
        make_node('NonZero', ['good'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['scores', 'at'], ['s1'], axis=0),
        make_node('Gather', ['boxes', 'at'], ['b1'], axis=0),
        make_node('Shape', ['s1'], ['found']),
        make_node('Concat', ['most', 'found'], ['both'], axis=0),
        make_node('ReduceMin', ['both'], ['k'], keepdims=1),
        make_node('TopK', ['s1', 'k'], ['s2', 'best'], axis=0),
        make_node('Gather', ['b1', 'best'], ['b2'], axis=0),
        make_node('Unsqueeze', ['b2', 'first'], ['b3']),
        make_node('Unsqueeze', ['s2', 'two'], ['s3']),
        make_node('NonMaxSuppression', ['b3', 's3', 'each', 'overlap'], ['chosen']),
        make_node('Gather', ['chosen', 'box'], ['row'], axis=1),
        make_node('Gather', ['b2', 'row'], ['y'], axis=0),
        make_node('Gather', ['b2', 'end'], ['last'], axis=0),
    ]
    model = make_model(
        nodes,
        [make_value('scores', F32, [6]), make_value('boxes', F32, [6, 4])],
        [make_value('y', F32, ['n', 4]), make_value('last', F32, [1, 4])],
        [
            floats('least', [], [0.05]),
            ints('first', [1], [0]),
            ints('two', [2], [0, 1]),
            ints('most', [1], [3]),
            ints('each', [], [5]),
            floats('overlap', [], [0.5]),
            ints('box', [], [2]),
            ints('end', [1], [-1]),
        ],
        17,
    )
    boxes = [0, 0, 10, 10] + [1] * 4 + [0, 0, 10, 9] + [20, 20, 30, 30] + [2] * 4 + [40, 0, 50, 10]
    return (
        model,
        [floats('scores', [6], [0.9, 0.01, 0.8, 0.7, 0.02, 0.95]), floats('boxes', [6, 4], boxes)],
        [floats('y', [2, 4], [40, 0, 50, 10, 0, 0, 10, 10]), floats('last', [1, 4], [0, 0, 10, 9])],
    )


def detector_without_boxes():
    """The same where no score is above the threshold."""
    model, (_, boxes), _ = detector()
    return (
        model,
        [floats('scores', [6], [0.01] * 6), boxes],
        [floats('y', [0, 4], []), floats('last', [1, 4], [0] * 4)],
    )


def best_of_some(k):
    """As many as the model is told when it runs, of two rows of four: no more than there are."""
    model = make_model(
        [make_node('TopK', ['x', 'k'], ['v', 'i']), make_node('Neg', ['v'], ['y'])],
        [make_value('x', F32, [2, 4]), make_value('k', I64, [1])],
        [make_value('y', F32, [2, 'n']), make_value('i', I64, [2, 'n'])],
    )
    values, places, n = (
        [[-4, -3, -2, -1], [-8, -7, -6, -5]],
        [[1, 3, 0, 2], [3, 2, 1, 0]],
        min(max(k, 0), 4),
    )
    return (
        model,
        [floats('x', [2, 4], [2, 4, 1, 3, 5, 6, 7, 8]), ints('k', [1], [k])],
        [
            floats('y', [2, n], [v for row in values for v in row[:n]]),
            ints('i', [2, n], [i for row in places for i in row[:n]]),
        ],
    )


def joined_selections(scores=(1, -1, 3, 0.5), want=(10, 14, 16, 22), last=(3,)):
    """The end of torchvision's detectors: selections of two classes are joined, with a label for
    each row; where there is any row, its second number is moved by its label times the greatest
    number."""
    nothing = make_graph_attr(
        'then_branch', [make_node('Identity', ['none'], ['n'])], [], [make_value('n', F32, [0])]
    )
    moved = make_graph_attr(
        'else_branch',
        [
            make_node('ReduceMax', ['rows'], ['top'], keepdims=0),
            make_node('Mul', ['labels', 'top'], ['by']),
            make_node('Gather', ['rows', 'one'], ['second'], axis=1),
            make_node('Add', ['second', 'by'], ['m']),
        ],
        [],
        [make_value('m', F32, ['k'])],
    )
    nodes = []
    for i, least in enumerate(('zero', 'two')):
        a, b, c, d, e = ('%s%d' % (name, i) for name in ('good', 'rows', 'column', 'size', 'label'))
        nodes += [
            make_node('Greater', ['s', least], [a]),
            make_node('Compress', ['f', a], [b], axis=0),
            make_node('Gather', [b, 'one'], [c], axis=1),
            make_node('Shape', [c], [d]),
            make_node('ConstantOfShape', [d], [e + 'z']),
            make_node('Add', [e + 'z', 'class%d' % i], [e]),
        ]
    nodes += [
        make_node('Concat', ['rows0', 'rows1'], ['all'], axis=0),
        make_node('Concat', ['label0', 'label1'], ['labels'], axis=0),
        make_node('Unsqueeze', ['all', 'middle'], ['deep']),
        make_node('Flatten', ['deep'], ['flat'], axis=1),
        make_node('Shape', ['flat'], ['sizes']),
        make_node('Gather', ['sizes', 'first'], ['n'], axis=0),
        make_node('Concat', ['n', 'width'], ['form'], axis=0),
        make_node('Reshape', ['flat', 'form'], ['rows']),
        make_node('Greater', ['labels', 'class0'], ['second_class']),
        make_node('NonZero', ['second_class'], ['z']),
        make_node('Shape', ['rows'], ['shape']),
        make_node('ReduceProd', ['shape'], ['count'], keepdims=0),
        make_node('Equal', ['count', 'no'], ['empty']),
        make_node('If', ['empty'], ['y'], graphs=[nothing, moved]),
    ]
    model = make_model(
        nodes,
        [make_value('f', F32, [4, 2]), make_value('s', F32, [4])],
        [make_value('y', F32, ['k']), make_value('z', I64, [1, 'q'])],
        [
            floats('zero', [], [0]),
            floats('two', [], [2]),
            floats('class0', [], [1]),
            floats('class1', [], [2]),
            floats('none', [0], []),
            ints('one', [], [1]),
            ints('middle', [1], [1]),
            ints('first', [1], [0]),
            ints('width', [1], [2]),
            ints('no', [], [0]),
        ],
    )
    return (
        model,
        [floats('f', [4, 2], range(1, 9)), floats('s', [4], scores)],
        [floats('y', [len(want)], want), ints('z', [1, len(last)], last)],
    )


def joined_nothing():
    return joined_selections([-1] * 4, [], [])


def mask_of_scores():
    """Zero where a mask lets through and -inf elsewhere, as torch exports attention with a mask of
    booleans: no function of the mask is linear there."""
    model = make_model(
        [
            make_node('Greater', ['m', 'zero'], ['seen']),
            make_node('Where', ['seen', 'zero', 'never'], ['mask']),
            make_node('Add', ['x', 'mask'], ['y']),
        ],
        [make_value('x', F32, [4]), make_value('m', F32, [4])],
        [make_value('y', F32, [4])],
        [floats('zero', [], [0]), floats('never', [], [float('-inf')])],
    )
    return (
        model,
        [floats('x', [4], [1, 2, 3, 4]), floats('m', [4], [-2, 0.5, 0, 3])],
        [floats('y', [4], [float('-inf'), 2, float('-inf'), 4])],
    )


def grid_and_anchors():
    """A decoder: a number for each place, one for each anchor, one for each anchor's column,
    broadcast over rows of 5 pixels; the sum of rows streams, so that no image is held."""
    size = [1, 3, 4, 5, 2]
    x = [float(i % 23) for i in range(120)]
    grid, anchor, both = (
        [float(i) for i in range(20)],
        [1.0, 2.0, 4.0],
        [float(i % 5) for i in range(12)],
    )
    want = []
    for i, (_, a, r, c, _) in enumerate(itertools.product(*[range(n) for n in size])):
        v = (grid[r * 5 + c] - x[i]) * anchor[a] + both[a * 4 + r]
        want.append(-(v if v > 3.0 else x[i]))
    nodes = [
        make_node('Neg', ['x'], ['a']),
        make_node('Add', ['a', 'grid'], ['b']),
        make_node('Mul', ['b', 'anchor'], ['c']),
        make_node('Add', ['c', 'both'], ['d']),
        make_node('Greater', ['d', 'three'], ['e']),
        make_node('Neg', ['d'], ['f']),
        make_node('Where', ['e', 'f', 'a'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, size)],
        [make_value('y', F32, size)],
        [
            floats('grid', [4, 5, 1], grid),
            floats('anchor', [1, 3, 1, 1, 1], anchor),
            floats('both', [3, 4, 1, 1], both),
            floats('three', [], [3.0]),
        ],
        17,
    )
    return model, [floats('x', size, x)], [floats('y', size, want)]


def best_by_box():
    """Scores by box, as a head of a detector gives them: turned for the suppression, and read again
    where it found them."""
    nodes = [
        make_node('Transpose', ['scores'], ['s1'], perm=[0, 2, 1]),
        make_node('NonMaxSuppression', ['boxes', 's1', 'each', 'overlap', 'least'], ['chosen']),
        make_node('GatherND', ['s1', 'chosen'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('scores', F32, [1, 3, 2]), make_value('boxes', F32, [1, 3, 4])],
        [make_value('y', F32, ['n']), make_value('chosen', I64, ['n', 3])],
        [ints('each', [], [5]), floats('overlap', [], [0.5]), floats('least', [], [0.15])],
        17,
    )
    boxes = [0, 0, 10, 10] + [0, 0, 10, 9] + [20, 20, 30, 30]
    scores = [0.5, 0.2, 0.9, 0.1, 0.3, 0.8]
    return (
        model,
        [floats('scores', [1, 3, 2], scores), floats('boxes', [1, 3, 4], boxes)],
        [
            floats('y', [4], [0.9, 0.3, 0.8, 0.2]),
            ints('chosen', [4, 3], [0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0]),
        ],
    )


def selected_images():
    """Images that a mask chose, as many as a run has: enlarged, normalized, pooled, each by
    itself."""
    nodes = [
        make_node('Greater', ['s', 'zero'], ['mask']),
        make_node('NonZero', ['mask'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['x', 'at'], ['images']),
        make_node('Resize', ['images', '', 'scales'], ['scaled']),
        make_node('Shape', ['images'], ['dims']),
        make_node('Slice', ['dims', 'first', 'second'], ['n']),
        make_node('Concat', ['n', 'one', 'wide'], ['sizes'], axis=0),
        make_node(
            'Resize',
            ['images', '', '', 'sizes'],
            ['sized'],
            mode='linear',
            coordinate_transformation_mode='align_corners',
        ),
        make_node('InstanceNormalization', ['images', 'ones', 'nulls'], ['normal']),
        make_node('SpaceToDepth', ['scaled'], ['deep'], blocksize=2),
        make_node('LpPool', ['images'], ['pooled'], kernel_shape=[1, 2]),
        make_node('LRN', ['images'], ['local'], size=1, alpha=0.0),
    ]
    wanted = {
        'scaled': ([2, 1, 2, 4], [1, 1, 3, 3] * 2 + [3, 3, 4, 4] * 2),
        'sized': ([2, 1, 1, 3], [1, 2, 3, 3, 3.5, 4]),
        'normal': ([2, 1, 1, 2], [-1, 1, -1, 1]),
        'deep': ([2, 4, 1, 2], [1, 3] * 4 + [3, 4] * 4),
        'pooled': ([2, 1, 1, 1], [10**0.5, 5]),
        'local': ([2, 1, 1, 2], [1, 3, 3, 4]),
    }
    outs = [make_value(name, F32, ['n'] + dims[1:]) for name, (dims, _) in wanted.items()]
    model = make_model(
        nodes,
        [make_value('x', F32, [4, 1, 1, 2]), make_value('s', F32, [4])],
        outs,
        [
            floats('zero', [], [0]),
            ints('first', [1], [0]),
            ints('second', [1], [1]),
            floats('scales', [4], [1, 1, 2, 2]),
            ints('one', [1], [1]),
            ints('wide', [2], [1, 3]),
            floats('ones', [1], [1]),
            floats('nulls', [1], [0]),
        ],
    )
    return (
        model,
        [floats('x', [4, 1, 1, 2], [1, 3, 7, 7, 3, 4, 9, 9]), floats('s', [4], [1, -1, 1, -1])],
        [floats(n, *w) for n, w in wanted.items()],
    )


def selected_regions():
    """RoiAlign over those regions that a score chose; the image is 7 everywhere."""
    nodes = [
        make_node('Greater', ['s', 'least'], ['mask']),
        make_node('NonZero', ['mask'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['boxes', 'at'], ['chosen']),
        make_node('Gather', ['image', 'at'], ['of']),
        make_node('RoiAlign', ['x', 'chosen', 'of'], ['y'], output_height=1, output_width=1),
    ]
    model = make_model(
        nodes,
        [
            make_value('x', F32, [1, 1, 4, 4]),
            make_value('boxes', F32, [3, 4]),
            make_value('s', F32, [3]),
        ],
        [make_value('y', F32, ['n', 1, 1, 1])],
        [floats('least', [], [0.5]), ints('first', [1], [0]), ints('image', [3], [0, 0, 0])],
    )
    given = [
        floats('x', [1, 1, 4, 4], [7] * 16),
        floats('boxes', [3, 4], [0, 0, 2, 2, 1, 1, 3, 3, 0, 1, 2, 3]),
    ]
    return model, given + [floats('s', [3], [0.9, 0.1, 0.8])], [floats('y', [2, 1, 1, 1], [7, 7])]


CASES = (
    detector,
    detector_without_boxes,
    mask_of_scores,
    joined_selections,
    joined_nothing,
    selected_images,
    selected_regions,
)


def check(t, inlay):
    bad = judge(inlay, grid_and_anchors()) or arena_above(inlay, grid_and_anchors(), 400)
    t.ok(grid_and_anchors.__name__, not bad, bad)
    bad = judge(inlay, best_by_box())
    t.ok(best_by_box.__name__, not bad, bad)
    for k in (2, 4, 1, 0, 9, -3):
        bad = judge(inlay, best_of_some(k))
        t.ok('best %d of four' % k, not bad, bad)


if __name__ == '__main__':
    run(check, CASES)
