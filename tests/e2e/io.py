# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on where inputs and results do not lie in his buffers: places and sizes as
the manifest states them, pointers that are refused, an input that survives; options that cannot be.
That answers are the same is the matter of forms.py.

    io.py --inlay INLAY --models MODELS [--corpus FOLDER]"""
import argparse
import os

import host
import onnx
import tap
import trial

BY_ROWS = [
    'cnn/mlperf-tiny-vww',
    'cnn/mlperf-tiny-resnet8',
    'audio/mlperf-tiny-kws',
    'cnn/mobilenet-v2-035-128',
]
REGIONS = {
    'cnn/mlperf-tiny-vww': 16384,
    'cnn/mlperf-tiny-resnet8': 16384,
    'audio/mlperf-tiny-kws': 4096,
    'cnn/mobilenet-v2-035-128': 65536,
    'detector/ultraface-rfb-320': 65536,
}


def check(t, what, make):
    """make() says what is wrong."""
    try:
        bad = make()
    except trial.Refused as e:
        bad = str(e)
    t.ok(what, not bad, bad)


def misplaced(manifest, which):
    """Are the inputs and results in the arena that --io names, and only those?"""
    for kind, short in (('inputs', 'in'), ('outputs', 'out')):
        for i, io in enumerate(manifest[kind]):
            named = which in ('arena', short, '%s%d' % (short, i))
            if named != host.in_arena(io):
                return '%s %d lies in the %s' % (kind, i, io['place'])
            if named and io['offset'] + io['bytes'] > manifest['arena']['size']:
                return '%s %d leaves the arena' % (kind, i)
    return ''


def places(t, name, model):
    for which in ('arena', 'in', 'in0', 'out', 'out0'):
        check(
            t,
            '%s: --io=%s: places' % (name, which),
            lambda: misplaced(
                model.analyze('--io=' + which if which == 'arena' else '--io=%s=arena' % which),
                which,
            ),
        )


def rows_held(t, name, model):
    """The arena by rows is that of the caller's buffers and a ring of the input."""

    def figures():
        by_rows, size = model.analyze('--io=in0=rows'), model.analyze()['arena']['size']
        io = next(i for i in by_rows['inputs'] if i['place'] == 'rows')
        most = size + io['rows_held'] * io['row_bytes'] + 64
        return (
            ''
            if by_rows['arena']['size'] <= most
            else '%d bytes of arena, at most %d expected' % (by_rows['arena']['size'], most)
        )

    check(t, name + ': --io=in0=rows: arena', figures)


def regions(t, name, model, sizes, *more):
    """None is larger than it may be, none is empty, and the stated cost is not below its bound."""

    def figures():
        manifest = model.analyze(
            *[f for place in sizes for f in ('--region', ':'.join(map(str, place)))], *more
        )
        for r, place in zip(manifest['regions'], sizes):
            if not r['lower_bound'] <= r['size'] <= place[1] or not r['size']:
                return '%s: %d bytes of %d, bound %d' % (
                    r['name'],
                    r['size'],
                    place[1],
                    r['lower_bound'],
                )
        if sum(r['size'] for r in manifest['regions']) != manifest['arena']['size']:
            return 'the sizes are not those of the sum'
        cost = manifest['regions_cost']
        return '' if cost['cost'] >= cost['lower_bound'] else 'it costs less than the bound'

    check(t, '%s: %s %s' % (name, sizes, ' '.join(more)), figures)


def refused(t, model, want, says, *flags):
    with host.Work() as work:
        status, text = host.run(
            [model.inlay, 'compile', model.file, '-o', os.path.join(work, 'out')]
            + model.shape
            + list(flags)
        )
        t.ok(
            '%s: status %d' % (' '.join(flags), want),
            status == want and says in text and not os.listdir(work),
            '%d %s' % (status, text),
        )


def answers(model, flags, main):
    """The results of a program whose main.c was changed."""
    with host.Work() as work:
        made = model.compiled(work, *flags)
        trial.build(work, [made], flags=trial.STRICT, main=main)
        trial.execute(work)
        return made.results()


def edited(old, new):
    def change(path):
        with open(path) as f:
            text = f.read()
        assert old in text
        with open(path, 'w') as f:
            f.write(text.replace(old, new))

    return change


CALL = '    r = m_run(arena, &in, &out);\n'
POINTERS = '''    {
        m_inputs wrong = in;
        wrong.in0 = (const void *)arena;
        if (m_run(arena, &wrong, &out) != M_E_ARG) return 95;
    }
    if (m_run(NULL, &in, &out) != M_E_ARG) return 96;
    r = m_run(arena, NULL, NULL);
'''


def programs(t, name, model):
    def same(main, *flags):
        return lambda: '' if answers(model, flags, main) == model.answer() else 'other bytes'

    check(
        t,
        name + ': the input is there for a second run',
        same(edited(CALL, CALL + CALL), '--io=arena', '--preserve-input'),
    )
    check(
        t,
        name + ': pointers beside the arena are refused, none are needed',
        same(edited(CALL, POINTERS), '--io=arena'),
    )


def pinned(t, model):
    def lies():
        flags = ['--io=arena', '--region', 'fast:4K', '--region', 'slow:64K', '--pin', 'image=slow']
        if model.analyze(*flags)['inputs'][0]['region'] != 1:
            return 'it lies elsewhere'
        return '' if model.answer(*flags) == model.answer() else 'other bytes'

    check(t, '--pin', lies)


def own_models(t, digits, sine):
    for name, model in (('digits', digits), ('sine', sine)):
        places(t, name, model)
        programs(t, name, model)
    refused(t, sine, 69, 'reads it as a whole', '--io', 'rows')
    refused(t, digits, 78, 'only an input', '--io', 'out0=rows')
    for more in ([], ['--io=arena'], ['--io=rows']):
        regions(t, 'digits', digits, (('DTCM', 4096), ('sram', 1 << 20)), *more)
    regions(t, 'digits', digits, (('a', 3000), ('b', 5000), ('c', 8000)), '--io=arena')
    refused(t, digits, 64, 'no size', '--region', 'dtcm')
    refused(t, digits, 64, 'no number of bytes', '--region', 'dtcm:x')
    refused(t, digits, 64, 'is taken', '--region', 'a:1K', '--region', 'A:1K')
    refused(t, digits, 64, 'no name', '--region', '7a:1K')
    refused(t, digits, 64, 'no such region', '--region', 'a:64K', '--pin', 'image=b')
    refused(t, digits, 78, 'does not lie in the arena', '--region', 'a:64K', '--pin', 'nothing=a')
    refused(t, digits, 1, 'bytes are missing', '--region', 'a:1K', '--region', 'b:2K')
    for form in ('inside', 'in9=arena', 'nowhere=arena', 'in0=there', '=arena', 'in0x=arena'):
        refused(t, digits, 64, '', '--io', form)
    pinned(t, digits)


def two_inputs(t, inlay):
    """Rows of which input?"""
    with host.Work() as work:
        values = [onnx.make_value(name, onnx.CODES['float32'], [4, 4]) for name in 'abc']
        with open(os.path.join(work, 'add.onnx'), 'wb') as f:
            f.write(
                onnx.make_model([onnx.make_node('Add', ['a', 'b'], ['c'])], values[:2], values[2:])
            )
        refused(t, trial.Trial(inlay, work, shape=[]), 78, 'name it', '--io', 'rows')


def corpus(t, o):
    for name in sorted(set(BY_ROWS) | set(REGIONS)):
        if not os.path.isdir(os.path.join(o.corpus, name)):
            t.skip(name, 'its data is not here')
            continue
        model = trial.Trial(o.inlay, os.path.join(o.corpus, name))
        if name in BY_ROWS:
            rows_held(t, name, model)
        if name in REGIONS:
            regions(t, name, model, (('dtcm', REGIONS[name]), ('sram', 1 << 24)))
            regions(
                t, name, model, (('sram', 1 << 24, 4), ('dtcm', REGIONS[name], 1)), '--io=arena'
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--corpus', default='')
    o = p.parse_args()
    t = tap.Tap()
    digits, sine = (trial.Trial(o.inlay, os.path.join(o.models, n)) for n in ('digits', 'sine'))
    own_models(t, digits, sine)
    two_inputs(t, o.inlay)
    rows_held(t, 'digits', digits)
    corpus(t, o)
    t.done()


main()
