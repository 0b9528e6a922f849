# SPDX-License-Identifier: Apache-2.0
"""Islands of QuantizeLinear and DequantizeLinear become integer operators: small networks of each,
against the same model without the pass, which computes them in float. Results differ by one step of
the result's scale at most, and rarely; no step computes in float but for those that are named.

    islands.py --inlay INLAY"""
import argparse
import os
import re

import host
import onnx
import tap
from island import answer, floats_of, I8, IMAGE, Island, steps_of, U8, written
from island_few_bits import (
    groups_of_few_bits,
    lines_of_few_bits,
    panels_of_few_bits,
    weights_of_four_bits,
    weights_of_microsoft,
    weights_of_two_bits,
)
from island_functions import (
    choices,
    float_results,
    float_tables,
    linear_sizes,
    mean_squares,
    means,
    moves,
    norms,
    other_types,
    padded_lines,
    paddings,
    permuted,
    pools,
    products,
    quotients,
    root_mean_squares,
    shared,
    signs,
    sizes,
    softmax,
    sums,
    tables,
    whole_pool,
    wide_softmax,
)
from island_products import (
    biases,
    channels,
    channels_of_rows,
    channels_of_six_dimensions,
    conv,
    conv_bounds,
    conv_clip,
    conv_relu,
    deconv_fillers,
    deconv_groups,
    deconv_line,
    deconv_one,
    deconvs,
    dynamic,
    gemm,
    gemm_flat,
    large_biases,
    matmul,
    multiplied,
    qlinear,
    rounded_weights,
    scores,
)

CASES = [
    (conv, ()),
    (conv_relu, ()),
    (conv_clip, ()),
    (conv_bounds, ()),
    (channels, ()),
    (channels_of_rows, ()),
    (multiplied, ()),
    (large_biases, ()),
    (qlinear, ()),
    (whole_pool, ()),
    (permuted, ()),
    (gemm, ()),
    (weights_of_four_bits, ()),
    (weights_of_microsoft, ()),
    (weights_of_two_bits, ()),
    (panels_of_few_bits, ()),
    (lines_of_few_bits, ()),
    (groups_of_few_bits, ()),
    (gemm_flat, ()),
    (matmul, ()),
    (scores, ()),
    (sums, ()),
    (products, ()),
    (tables, ()),
    (pools, ()),
    (means, ()),
    (softmax, ()),
    (wide_softmax, ()),
    (moves, ()),
    (paddings, ()),
    (padded_lines, ()),
    (signs, ()),
    (sizes, ()),
    (shared, ()),
    (rounded_weights, ()),
    (deconvs, ()),
    (deconv_groups, ()),
    (deconv_fillers, ()),
    (deconv_line, ()),
    (deconv_one, ()),
    (biases, ()),
    (choices, ('Less',)),
    (dynamic, ()),
    (quotients, ()),
    (norms, ()),
    (root_mean_squares, ()),
    (mean_squares, ()),
    (linear_sizes, ()),
    (float_results, ('Add', 'Relu', 'Sigmoid', 'Tanh')),
    (float_tables, ('AveragePool',)),
    (channels_of_six_dimensions, ('BatchNormalization',)),
    (other_types, ('ConvTranspose', 'LpPool')),
]
NO_TABLES = (conv_relu, conv_clip, conv_bounds, signs)
# Kernels that take images as a whole, where others go row by row.
WHOLE = {whole_pool: 'qavgpool', permuted: 'gather'}
# Weights of few bits stay so, but where flash is the smaller worry; how many there are, and bytes
# that they are more then.
FEW_BITS = {
    weights_of_four_bits: (5, 219),
    weights_of_microsoft: (2, 132),
    weights_of_two_bits: (3, 110),
    groups_of_few_bits: (1, 3402),
    panels_of_few_bits: (2, 2997),
    lines_of_few_bits: (2, 2697),
}


def widened(inlay, model, flags):
    """How many constants are wider than in the file, and by how much, as the report says."""
    _, text = host.run([inlay, 'analyze', model, *flags])
    found = re.search(
        r'^ +(\d+) of fewer than 8 bits are bytes for the products of integers: (\d+) more$',
        text,
        re.M,
    )
    return found and tuple(map(int, found.groups()))


def check_few_bits(inlay, work, model, x, got, case):
    """Weights are as narrow as in the file, and results those of weights that are not, in each
    layout, in any order."""
    steps = steps_of(inlay, work, model, [])
    assert (
        sum(s['kernel'].endswith('_narrow') for s in steps) == FEW_BITS[case][0]
    ), 'weights are stored as bytes'
    stored = host.manifest(os.path.join(work, 'made'), 'm')['weights']['size']
    assert widened(inlay, model, []) is None, 'the report says that weights are wider'
    assert widened(inlay, model, ['--optimize=speed']) == FEW_BITS[case], 'speed: %s' % (
        widened(inlay, model, ['--optimize=speed']),
    )
    for flags in (
        ['--optimize=speed'],
        ['--weights-type=float32'],
        ['--plan=simple'],
        ['--plan=order'],
        ['--code-weights'],
        ['--threads=2'],
        *(
            ['--target=%s' % target]
            for target in (
                'portable',
                'cortex-m0',
                'cortex-m4',
                'cortex-m55',
                'x86-64',
                'aarch64',
                'rv32',
            )
        ),
    ):
        assert answer(inlay, work, model, x, *flags) == got, 'other results with %s' % flags[0]
    steps_of(inlay, work, model, ['--optimize=speed'])
    wide = host.manifest(os.path.join(work, 'made'), 'm')['weights']['size']
    assert wide - stored > 0.85 * FEW_BITS[case][1], '%d bytes of weights, %d as bytes' % (
        stored,
        wide,
    )


def check(inlay, case, floats, kind, seed):
    m = Island(seed, kind)
    dims, y = case(m)
    with host.Work() as work:
        model, x = written(work, m, dims, y, 5)
        got, want = answer(inlay, work, model, x), answer(
            inlay, work, model, x, '--without=quantize'
        )
        assert len(got) == len(want) and len(set(want)) > 2, 'the model says nothing'
        levels = sorted(set(want))
        step = min(b - a for a, b in zip(levels, levels[1:]))
        far = max(abs(a - b) for a, b in zip(got, want))
        assert far < 1.01 * step, 'differs by %.2f steps' % (far / step)
        off = sum(abs(a - b) > step / 2 for a, b in zip(got, want))
        assert off * 50 <= len(got), '%d of %d numbers are one step away' % (off, len(got))
        steps = steps_of(inlay, work, model, [])
        assert floats_of(steps) == set(floats), 'float: %s' % floats_of(steps)
        assert not any(s['kernel'] == WHOLE.get(case) for s in steps), 'the image stays whole'
        assert case is not paddings or not any(
            s['op'] == 'Pad' for s in steps
        ), 'a padding is a step'
        assert case is not scores or all(
            s['units'] > 1 for s in steps if s['kernel'] == 'qmatmul'
        ), 'scores stay whole'
        if case in FEW_BITS:
            check_few_bits(inlay, work, model, x, got, case)
        assert case not in NO_TABLES or not any(
            s['kernel'].startswith('table') for s in steps
        ), 'a clip, or codes of the other sign, are a step'


def wide(m, kind):
    """Codes of 16 bits between functions that have no integer form: a padding, a window, an image
    that is turned."""
    code, zero = onnx.CODES[kind], {'int16': -300, 'uint16': 33000}[kind]

    def q(x, step=0.0003):
        by = [m.number(step), m.const(code, [], 'h' if kind == 'int16' else 'H', [zero])]
        return m.node('DequantizeLinear', m.node('QuantizeLinear', x, *by), *by)

    m.opset = 21
    y = q(m.node('Exp', q(m.node('Tanh', q('x')))), 0.0002)
    padded = q(m.node('Pad', y, m.ints(0, 0, 1, 1, 0, 0, 1, 1)), 0.0002)
    z = q(m.node('LpPool', padded, kernel_shape=[3, 3]))
    return IMAGE, q(m.node('Transpose', q(m.node('Sigmoid', z), 0.0004), perm=[0, 2, 3, 1]), 0.0004)


def check_wide(inlay, kind):
    """The same numbers as with codes, which are not there."""
    m = Island(1, I8)
    dims, y = wide(m, kind)
    with host.Work() as work:
        model, x = written(work, m, dims, y, 12)
        got = answer(inlay, work, model, x)
        want = answer(inlay, work, model, x, '--without=quantize')
        assert got == want and len(set(want)) > 30, 'other numbers'
        ops = [s['op'] for s in steps_of(inlay, work, model, [])]
        assert not {'QuantizeLinear', 'DequantizeLinear'} & set(ops), ops


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    t = tap.Tap()
    for case, floats in CASES:
        for kind, name in ((I8, 'int8'), (U8, 'uint8')):
            try:
                check(inlay, case, floats, kind, 1)
                t.ok('%s of %s' % (case.__name__, name))
            except AssertionError as e:
                t.fail('%s of %s' % (case.__name__, name), e)
    for kind in ('int16', 'uint16'):
        try:
            check_wide(inlay, kind)
            t.ok('codes of ' + kind)
        except AssertionError as e:
            t.fail('codes of ' + kind, e)
    t.done()


if __name__ == '__main__':
    main()
