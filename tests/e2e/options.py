# SPDX-License-Identifier: Apache-2.0
"""Every option with every command, by the table that the binary prints (`inlay help --json`): where
the table says that the option is for the command, one experiment shows that it changes the outcome
(status, standard output or the output folder); everywhere else the status is 64, the message names
the option and nothing is printed. Values: enumerated ones are all accepted, a misspelt one is
refused and the right one is suggested; numbers are digits and nothing else.

    options.py --inlay INLAY --models MODELS [--every N]

Every N-th of the refusals, which are more than a thousand and all one line of the compiler's."""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess

import host
import onnx
import tap
import worst
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
PACKED_SEED = 1
LARGE = 1 << 18  # floats of a weight that --load=eager holds in memory


def write(path, data):
    with open(path, 'wb' if isinstance(data, bytes) else 'w') as f:
        f.write(data)
    return path


def tree(folder):
    return {
        os.path.relpath(os.path.join(path, name), folder): open(
            os.path.join(path, name), 'rb'
        ).read()
        for path, _, names in os.walk(folder)
        for name in names
    }


def packed(pieces, steps, bytes, seed):
    """A rectangle cut at random, as rows of a CSV: hard to put together again."""
    rng, cut = random.Random(seed), [(0, steps, 0, bytes)]
    while len(cut) < pieces:
        i = rng.randrange(len(cut))
        begin, end, low, high = cut[i]
        if (end - begin) * 3 > (high - low) * 2 and end - begin > 1:
            middle = rng.randrange(begin + 1, end)
            cut[i : i + 1] = [(begin, middle, low, high), (middle, end, low, high)]
        elif high - low > 1:
            middle = rng.randrange(low + 1, high)
            cut[i : i + 1] = [(begin, end, low, middle), (begin, end, middle, high)]
    rng.shuffle(cut)
    return 'id,lower,upper,size\n' + ''.join(
        'b%d,%d,%d,%d\n' % (k, c[0], c[1], c[3] - c[2]) for k, c in enumerate(cut)
    )


class Bench:
    """The files of all experiments, and one way to run."""

    def __init__(self, inlay, digits, work):
        self.inlay, self.work, self.digits, self.known = inlay, work, digits, {}
        self.out = os.path.join(work, 'out')
        add = [make_node('Add', ['a', 'b'], ['y'], 'add')]
        eight = lambda name: make_value(name, F32, [1, 8])
        self.two = self.model('two', make_model(add, [eight('a'), eight('b')], [eight('y')]))
        self.open = self.model(
            'open',
            make_model(
                [make_node('Relu', ['x'], ['y'], 'relu')],
                [make_value('x', F32, ['N', 'T'])],
                [make_value('y', F32, ['N', 'T'])],
            ),
        )
        soft = [
            make_node('Softmax', ['x'], ['t'], 'first'),
            make_node('Softmax', ['t'], ['y'], 'second'),
        ]
        self.batched = self.model(
            'batched',
            make_model(soft, [make_value('x', F32, ['N', 8])], [make_value('y', F32, ['N', 8])]),
        )
        weight = [make_node('Add', ['a', 'w'], ['y'], 'add')]
        self.far = self.model(
            'far',
            make_model(
                weight,
                [eight('a')],
                [eight('y')],
                [onnx.make_external('w', F32, [1, 8], 'w.bin', 0, 32)],
            ),
        )
        self.near = self.model(
            'near',
            make_model(
                weight,
                [eight('a')],
                [eight('y')],
                [onnx.make_external('w', F32, [1, 8], 'here.bin', 0, 32)],
            ),
        )
        os.mkdir(os.path.join(work, 'elsewhere'))
        write(os.path.join(work, 'elsewhere', 'w.bin'), bytes(32))
        write(os.path.join(work, 'here.bin'), bytes(32))
        large = make_tensor('w', F32, [1, LARGE], struct.pack('<2f', 1, 2) * (LARGE // 2))
        wide = lambda name: make_value(name, F32, [1, LARGE])
        self.large = self.model(
            'large',
            make_model(
                [make_node('Add', ['a', 'w'], ['y'], 'add')], [wide('a')], [wide('y')], [large]
            ),
        )
        half = [
            make_node('Cast', ['h'], ['w'], 'cast', to=F32),
            make_node('MatMul', ['x', 'w'], ['y'], 'product'),
        ]
        self.half = self.model(
            'half',
            make_model(
                half,
                [eight('x')],
                [eight('y')],
                [make_tensor('h', onnx.CODES['float16'], [8, 8], bytes(128))],
            ),
        )
        conv = make_node('Conv', ['x', 'k'], ['y'], 'conv', kernel_shape=[3, 3])
        kernel = make_tensor('k', F32, [4, 3, 3, 3], struct.pack('<108f', *range(108)))
        self.image_model = self.model(
            'image',
            make_model(
                [conv],
                [make_value('x', F32, [1, 3, 8, 8])],
                [make_value('y', F32, [1, 4, 6, 6])],
                [kernel],
            ),
        )
        self.small_image = write(
            os.path.join(work, 'image.pb'), make_tensor('x', F32, [1, 3, 8, 8], bytes(768))
        )
        self.x = write(os.path.join(work, 'x.pb'), make_tensor('x', F32, [1, 8], bytes(32)))
        self.wide_x = write(
            os.path.join(work, 'wide.pb'), make_tensor('a', F32, [1, LARGE], bytes(4 * LARGE))
        )
        self.image = os.path.join(os.path.dirname(digits), 'test_data_set_0', 'input_0.pb')
        self.csv = write(
            os.path.join(work, 'p.csv'),
            'id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n',
        )
        self.hard_csv = write(os.path.join(work, 'hard.csv'), packed(400, 100, 100000, PACKED_SEED))
        self.hard = self.model('hard', worst.FORMS['crossed'](300))
        self.signal = write(
            os.path.join(work, 'signal.pb'),
            make_tensor('t0', F32, [1, worst.SIGNAL], bytes(4 * worst.SIGNAL)),
        )
        self.old, self.new = (
            shutil.copy(self.manifest(m), os.path.join(work, n))
            for m, n in [(self.near, 'old.json'), (digits, 'new.json')]
        )
        self.summed = shutil.copy(
            self.manifest(self.near, ['--emit', 'selftest']), os.path.join(work, 'summed.json')
        )
        with open(self.summed) as f:
            self.step_words = write(
                os.path.join(work, 'words.txt'),
                ''.join('%08x\n' % s['sum']['word'] for s in json.load(f)['steps']),
            )
        self.arena = json.loads(self.run(['analyze', digits, '--json'])[1])['arena']['size']
        self.region = json.loads(self.run(['analyze', digits, '--json', '--region', 'a:1M'])[1])[
            'regions'
        ][0]['size']

    def model(self, name, data):
        return write(os.path.join(self.work, name + '.onnx'), data)

    def run(self, words, env=None):
        """(status, standard output, messages, the output folder's files)"""
        shutil.rmtree(self.out, ignore_errors=True)
        p = subprocess.run(
            [self.inlay] + words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            timeout=120,
            env=dict(os.environ, **env) if env else None,
        )
        return p.returncode, p.stdout.decode(), p.stderr.decode(), tree(self.out)

    def once(self, words):
        """run(), remembered for commands that read nothing that an experiment writes."""
        if words[0] in ('prove', 'test', 'weights'):
            return self.run(words)
        key = tuple(words)
        if key not in self.known:
            self.known[key] = self.run(words)
        return self.known[key]

    def manifest(self, model, options=()):
        out = os.path.join(self.work, 'made')
        shutil.rmtree(out, ignore_errors=True)
        assert (
            host.run([self.inlay, 'compile', model, '-o', out, '--name', 'm'] + list(options))[0]
            == 0
        )
        return os.path.join(out, 'm.json')

    def words(self, command, model=None, inputs=None):
        """A command line that works, with nothing in it that need not be."""
        model = model or self.digits
        inputs = [self.image] if inputs is None else inputs
        if command == 'weights':
            return [
                'weights',
                'pack',
                model,
                '--for',
                self.field(model),
                '-o',
                os.path.join(self.work, 'packed'),
            ]
        return {
            'compile': ['compile', model, '-o', self.out],
            'analyze': ['analyze', model],
            'check': ['check', model, '--max-weights', '64M', '--json'],
            'diff': ['diff', self.old, self.new],
            'steps': ['steps', self.summed, self.step_words],
            'run': ['run', model] + [w for i in inputs for w in ('--input', i)],
            'test': ['test', model],
            'dump': ['dump', model],
            'prove': ['prove', os.path.join(self.work, 'made', 'm.json'), model],
            'place': ['place', self.csv],
            'ops': ['ops'],
            'passes': ['passes'],
            'explain': ['explain'],
            'help': ['help'],
            'version': ['version'],
        }[command]

    def field(self, model):
        """The manifest of code for that model that opens blobs."""
        options = {
            self.far: ['--external-data-dir', os.path.join(self.work, 'elsewhere')],
            self.two: ['--const', 'a=' + self.x],
        }
        return self.manifest(model, ['--weights', 'blob'] + options.get(model, []))

    def packed(self):
        """A blob of weights."""
        host.run([self.inlay] + self.words('weights'))
        return os.path.join(self.work, 'packed')

    def as_test(self, words):
        """The words of `run` for `test`: the model in a folder of its own, with its inputs as a
        data set, and any result."""
        folder = os.path.join(self.work, 'tested')
        shutil.rmtree(folder, ignore_errors=True)
        data = os.path.join(folder, 'test_data_set_0')
        os.makedirs(data)
        model = shutil.copy(words[1], folder)
        shutil.copy(os.path.join(self.work, 'here.bin'), folder)
        inputs = [words[i + 1] for i, w in enumerate(words) if w == '--input']
        for i, path in enumerate(inputs):
            shutil.copy(path, os.path.join(data, 'input_%d.pb' % i))
        shutil.copy(inputs[0] if inputs else self.x, os.path.join(data, 'output_0.pb'))
        options = [w for i, w in enumerate(words) if w != '--input' and words[i - 1] != '--input']
        return ['test', model] + options[2:]


def always(value):
    return lambda b, c: (b.words(c), value)


def on_open(value, other):
    """On the model whose dimension is open; files say what it is, and do not fit another."""
    return lambda b, c: (b.words(c, b.open, [b.x]), other if c in ('run', 'test') else value)


def batch(b, c):
    """Twice the arena; the graph once shapes are known; an input that does not fit any more."""
    more = {'check': ['--max-arena', '1M'], 'dump': ['--after', 'fuse_act']}
    return b.words(c, b.batched, [b.x]) + more.get(c, []), ['--batch', '2']


def constant(b, c):
    if c == 'prove':
        b.manifest(b.two, ['--const', 'a=' + b.x])
    return b.words(c, b.two, [b.x, b.x]), ['--const', 'a=' + b.x]


def layout(b, c):
    """An image whose channels come last in the arena, where its values take more room than without
    them."""
    arena = json.loads(b.once(['analyze', b.image_model, '--json'])[1])['arena']['size']
    base = {
        'run': ['--arena-limit', str(arena)],
        'check': ['--max-arena', '1M'],
        'dump': ['--after', 'io_layout'],
    }
    return b.words(c, b.image_model, [b.small_image]) + base.get(c, []), ['--io', 'arena']


def preserve(b, c):
    size = json.loads(b.once(['analyze', b.digits, '--io', 'arena', '--json'])[1])['arena']['size']
    return b.words(c) + ['--io', 'arena'] + (
        ['--arena-limit', str(size)] if c in ('run', 'check') else []
    ), ['--preserve-input']


def slices(b, c):
    """The run needs no memory but for the place where it stands."""
    limit = {'run': ['--arena-limit', '0'], 'check': ['--max-arena', '0']}.get(c, [])
    return b.words(c, b.two, [b.x, b.x]) + limit, ['--slices']


def threads(b, c):
    """No result lies over what another thread still reads."""
    size = str(
        json.loads(b.once(['analyze', b.digits, '--plan=overlap', '--json'])[1])['arena']['size']
    )
    limit = (
        ['--max-arena' if c == 'check' else '--arena-limit', size]
        if c in ('check', 'run', 'test')
        else []
    )
    return b.words(c) + ['--plan=overlap'] + limit, ['--threads', '2:1']


def streamed(c):
    """What goes with a window, which is too small for the weights of digits."""
    return ['--weights', 'stream'] if c == 'compile' else []


def coded(b, c):
    """Weights that are few enough when they are coded."""
    size = json.loads(b.once(['analyze', b.digits, '--json', '--code-weights'])[1])['weights'][
        'size'
    ]
    return ['check', b.digits, '--max-weights', str(size)] if c == 'check' else b.words(c), [
        '--code-weights'
    ]


def palettes(b, c):
    """Weights that are few enough when they are rounded."""
    size = json.loads(
        b.run(['analyze', b.digits, '--json', '--code-weights', '--window=16K', '--palette=4'])[1]
    )['weights']['size']
    words = ['check', b.digits, '--max-weights', str(size)] if c == 'check' else b.words(c)
    return words + ['--code-weights', '--window=16K'], ['--palette', '4']


def pin(b, c):
    step = json.loads(b.once(['analyze', b.digits, '--json'])[1])['peak']['tensors'][0]['name']
    return b.words(c) + ['--region', 'a:1M', '--region', 'b:16'], ['--pin', step + '=b']


def goal(b, c):
    return b.words(c) + (['--region', 'a:%d' % b.region] if c in ('run', 'check') else []), [
        '--optimize',
        'speed',
    ]


def effort(b, c):
    """A problem for which a tenth of the work is not enough."""
    if c == 'place':
        return ['place', b.hard_csv], ['--effort', '0']
    size = json.loads(b.once(['analyze', b.hard, '--json'])[1])['arena']['size']
    limit = {'run': ['--arena-limit', str(size)], 'check': ['--max-arena', str(size)]}.get(c, [])
    return b.words(c, b.hard, [b.signal]) + limit, ['--effort', '0']


def without(b, c):
    found = json.loads(b.once(['help', '--json'])[1])['passes']
    value = [w for p in found if not p['required'] for w in ('--without', p['name'])]
    return (
        b.words(c)
        + {
            'run': ['--arena-limit', str(b.arena)],
            'check': ['--max-arena', '1M'],
            'dump': ['--after', 'clean'],
        }.get(c, []),
        value,
    )


def load(b, c):
    """A memory that is enough for windows, and not for the whole file."""
    if c == 'prove':
        b.manifest(b.large)
    base = b.words(c, b.large, [b.wide_x])
    budget = lambda k: ['--max-memory', '%dK' % (256 * k)]
    low, high = 0, 64  # too little, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if b.run(base + budget(middle))[0] == 0 else (middle, high)
    return base + budget(high), ['--load', 'eager']


def outside(b, c):
    if c == 'prove':
        b.manifest(b.far, ['--external-data-dir', os.path.join(b.work, 'elsewhere')])
    return b.words(c, b.far, [b.x]), ['--external-data-dir', os.path.join(b.work, 'elsewhere')]


def refused(b, c):
    if c == 'prove':
        b.manifest(b.near)
    return b.words(c, b.near, [b.x]), ['--no-external-data']


def memory(b, c):
    if c == 'prove':
        b.manifest(b.digits)
    return b.words(c), ['--max-memory', '2K']


def tolerance(option):
    """What is asked for without it does not hold."""

    def experiment(b, c):
        expected = (
            ['--expect', os.path.join(os.path.dirname(b.image), 'output_0.pb')]
            if c == 'run'
            else []
        )
        return b.words(c) + expected + [{'--rtol': '--atol', '--atol': '--rtol'}[option], '0'], [
            option,
            '1e-30',
        ]

    return experiment


def proof(b, c):
    if c == 'prove':
        b.manifest(b.digits)
    words = [w for w in b.words(c) if w != '--json']
    return words, ['--json']


# What shows that an option is used: (words without it, what it adds).
EXPERIMENTS = {
    'for': lambda b, c: (
        ['weights', 'pack', b.digits, '-o', os.path.join(b.work, 'packed')],
        ['--for', b.field(b.digits)],
    ),
    'counter': lambda b, c: (b.words(c), ['--counter', '7']),
    'golden': lambda b, c: (b.words(c), ['--golden', b.x]),
    'against': lambda b, c: (
        [
            'weights',
            'pack',
            b.digits,
            '--for',
            b.field(b.digits),
            '-o',
            os.path.join(b.work, 'delta'),
        ],
        ['--against', b.packed()],
    ),
    'key': lambda b, c: (
        ['weights', 'sign-request', b.packed(), '-o', os.path.join(b.work, 'message')],
        ['--key', '7'],
    ),
    'output': lambda b, c: (
        ['weights', 'pack', b.digits, '--for', b.field(b.digits)],
        ['-o', os.path.join(b.work, 'packed')],
    )
    if c == 'weights'
    else ([w for w in b.words(c) if w not in ('-o', b.out)], ['-o', b.out]),
    'name': always(['--name', 'other']),
    'shape': on_open(['--shape', 'x=1x8'], ['--shape', 'x=1x9']),
    'dim': on_open(['--dim', 'T=8'], ['--dim', 'T=9']),
    'batch': batch,
    'const': constant,
    'from': lambda b, c: (b.words(c), ['--from', 'conv1.relu']),
    'to': lambda b, c: (b.words(c), ['--to', 'conv2.relu']),
    'input': lambda b, c: (['run', b.digits], ['--input', b.image]),
    'expect': always(['--expect', 'none.npy']),
    'per-step': lambda b, c: (
        b.words(c) + ['--expect', os.path.join(os.path.dirname(b.image), 'output_0.pb')],
        ['--per-step'],
    ),
    'top': always(['--top', '2']),
    'labels': always(['--labels', 'none.txt']),
    'rtol': tolerance('--rtol'),
    'atol': tolerance('--atol'),
    'npy': lambda b, c: (b.words(c) + ['-o', b.out], ['--npy']),
    'io': layout,
    'preprocess': lambda b, c: (
        b.words(c) + {'check': ['--max-arena', '1M'], 'dump': ['--after', 'infer']}.get(c, []),
        ['--preprocess', 'uint8,scale=1/255'],
    ),
    'state': lambda b, c: (
        b.words(c, b.two, [b.x, b.x])
        + {'run': ['--arena-limit', '16'], 'check': ['--max-arena', '16']}.get(c, []),
        ['--state', 'y=a'],
    ),
    'stream': lambda b, c: (
        b.words(c, b.image_model, [b.small_image])
        + {'check': ['--max-arena', '1M'], 'dump': ['--after', 'widen']}.get(c, []),
        ['--stream', 'x:2:1'],
    ),
    'preserve-input': preserve,
    'slices': slices,
    'threads': threads,
    'region': always(['--region', 'a:100']),
    'pin': pin,
    'cache': always(['--cache', '/dev/null/cache']),
    'depfile': always(['--depfile', 'none/net.d']),
    'depfile-target': lambda b, c: (
        b.words(c) + ['--depfile', os.path.join(b.work, 'net.d')],
        ['--depfile-target', 'all'],
    ),
    'weights': always(['--weights', 'bin']),
    'emit': always(['--emit', 'src']),
    'weights-type': lambda b, c: (b.words(c, b.half, [b.x]), ['--weights-type', 'float32']),
    'target': lambda b, c: (
        b.words(c) + (['--json'] if c == 'analyze' else []),
        ['--target', 'cortex-m4'],
    ),
    'arena-limit': always(['--arena-limit', '100']),
    'curve': always(['--curve']),
    'plan': lambda b, c: (
        b.words(c)
        + {'run': ['--arena-limit', str(b.arena)], 'check': ['--max-arena', '1M']}.get(c, []),
        ['--plan', 'simple'],
    ),
    'optimize': goal,
    'effort': effort,
    'max-arena': always(['--max-arena', '100']),
    'max-weights': lambda b, c: (
        ['check', b.digits, '--max-arena', '1M'] if c == 'check' else b.words(c),
        ['--max-weights', '100'],
    ),
    'max-ram': always(['--max-ram', '100']),
    'max-stack': always(['--max-stack', '100']),
    'max-macs': always(['--max-macs', '100']),
    'max-traffic': always(['--max-traffic', '100']),
    'max-code': always(['--max-code', '100']),
    'cc': always(['--cc', 'false']),
    'baseline': lambda b, c: (b.words(c), ['--baseline', 'none.json']),
    'format': lambda b, c: ([w for w in b.words(c) if w != '--json'], ['--format', 'junit']),
    'max-memory': memory,
    'load': load,
    'external-data-dir': outside,
    'no-external-data': refused,
    'without': without,
    'after': always(['--after', 'fuse_act']),
    'initializers': always(['--initializers']),
    'markdown': always(['--markdown']),
    'capacity': always(['--capacity', '11']),
    'no-hash': always(['--no-hash']),
    'hash-model': lambda b, c: (
        b.words(c) + (['--json'] if c == 'analyze' else []),
        ['--hash-model'],
    ),
    'stats': always(['--stats']),
    'quiet': always(['--quiet']),
    'concurrent': lambda b, c: (
        ['compile', b.batched, b.image_model, '-o', b.out],
        ['--concurrent', 'batched,image'],
    ),
    'checks': always(['--checks']),
    'code-weights': coded,
    'palette': palettes,
    'window': lambda b, c: (b.words(c) + streamed(c), ['--window', '64']),
    'resident': lambda b, c: (b.words(c) + streamed(c) + ['--window', '64'], ['--resident', '1M']),
    'slots': lambda b, c: (b.words(c) + ['--weights', 'blob'], ['--slots']),
    'update': lambda b, c: (b.words(c) + ['--weights', 'blob'], ['--update', 'fence']),
    'advice': always(['--advice']),
    'csv': always(['--csv']),
    'html': always(['--html']),
    'json': proof,
    'help': lambda b, c: (b.words(c), ['--help']),
    'version': lambda b, c: (b.words(c), ['--version']),
}
OF_TEST = ('rtol', 'atol', 'help', 'version')
# `test` takes these as `run` does; its data sets hide the difference. Weights of another form give
# the same bits and pass the same gates.
SAME = {
    ('compile', 'depfile-target'),  # in the depfile: build_side.py
    ('test', 'const'),
    ('test', 'load'),
    ('run', 'code-weights'),
    ('test', 'code-weights'),
    ('test', 'palette'),
    ('run', 'weights-type'),
    ('test', 'weights-type'),
    ('check', 'target'),
    ('run', 'target'),
    ('test', 'target'),
    ('help', 'help'),
    ('version', 'version'),
}  # asks for what the command does
EXAMPLE = {'bytes': '1M', 'text': 'cse', 'list': 'x=1'}


def is_for(command, option):
    return command in option['commands']


def pair(t, b, command, option):
    name = '%s --%s' % (command, option['name'])
    if is_for(command, option):
        base, more = EXPERIMENTS[option['name']](
            b, 'run' if command == 'test' and option['name'] not in OF_TEST else command
        )
        if base[0] == 'run' and command == 'test':
            base = b.as_test(base)
        plain, given = b.once(base), b.run(base + more)
        used = plain[0] != given[0] or plain[1] != given[1] or plain[3] != given[3]
        good = given[0] != 64 or option['name'] in ('input', 'const')
        t.ok(
            name + ' has an effect',
            good and (used or (command, option['name']) in SAME),
            'status %d, then %d: %s' % (plain[0], given[0], ' '.join(base + more))
            + plain[2]
            + given[2],
        )
        if plain[0] == 0 and given[0] not in (0, 64):
            t.ok(name + ': a failure writes nothing', not given[3], sorted(given[3]))
        return
    values = {
        'target': 'cortex-m4',
        'without': 'cse',
        'shape': 'x=1x8',
        'dim': 'N=1',
        'batch': '2',
        'threads': '2',
        'region': 'a:1M',
        'effort': '2',
        'top': '2',
        'counter': '2',
        'key': '2',
        'rtol': '1',
        'atol': '1',
        'preprocess': 'uint8',
        'stream': '0:1',
    }
    value = values.get(option['name'], option.get('values', [EXAMPLE.get(option['kind'])])[0])
    words = ['--' + option['name']] + ([value] if 'value' in option else [])
    status, text, message, files = b.run(b.words(command) + words)
    t.ok(
        name + ' is refused',
        status == 64
        and '--%s is not for %s' % (option['name'], command) in message
        and not text
        and not files,
        'status %d\n%s' % (status, message),
    )


def pairs(t, b, table, every):
    refused = 0
    for c in table['commands']:
        for option in table['options']:
            refused += not is_for(c['name'], option)
            if is_for(c['name'], option) or refused % every == 0:
                pair(t, b, c['name'], option)
        text = b.run(['help', c['name']])[1]
        mine = {o['name'] for o in table['options'] if c['name'] in o['commands']}
        shown = {
            line.split('--')[1].split('=')[0].split(' ')[0]
            for line in text.splitlines()
            if line[:8].strip()[:2] in ('--', '-' + line[3:4]) and '--' in line[:8]
        }
        t.ok('help %s lists its own options' % c['name'], shown == mine, sorted(shown ^ mine))
    everything = b.run(['--help'])[1]
    t.ok(
        '--help lists all',
        all('--' + o['name'] in everything for o in table['options'])
        and all(c['name'] in everything for c in table['commands']),
    )


def misspelt(word):
    return word[:-1] + ('y' if word[-1] != 'y' else 'z')


def says(t, b, name, words, *parts):
    """A usage error whose message has all the parts, before any file is looked at."""
    status, text, message, files = b.run(words)
    t.ok(
        name,
        status == 64 and not text and not files and all(p in message for p in parts),
        'status %d\n%s' % (status, message),
    )


# What values are of no use without.
GO_WITH = {
    '--weights=stream': ['--window=64K'],
    **{'--update=' + policy: ['--weights=blob'] for policy in ('none', 'dirty-tag', 'fence')},
    **{'--palette=' + n: ['--code-weights'] for n in ('4', '16')},
}


def values(t, b, table):
    for option in table['options']:
        for value in option.get('values', ()):
            words = (
                [w for w in b.words(option['commands'][0]) if w != '--json']
                + GO_WITH.get('--%s=%s' % (option['name'], value), [])
                + ['--%s=%s' % (option['name'], value)]
            )
            status, _, message, _ = b.run(words)
            t.ok('--%s=%s' % (option['name'], value), status == 0, message)
            if len(value) > 3:
                says(
                    t,
                    b,
                    '--%s=%s' % (option['name'], misspelt(value)),
                    words[:-1] + ['--%s=%s' % (option['name'], misspelt(value))],
                    'did you mean %s?' % value,
                )
        says(
            t,
            b,
            'misspelt --' + option['name'],
            [option['commands'][0], 'x', '--' + misspelt(option['name'])],
            'unknown option',
            'did you mean --',
        )
    for c in table['commands']:
        says(
            t, b, 'misspelt ' + c['name'], [misspelt(c['name'])], 'unknown command', 'did you mean'
        )
    for p in table['passes']:
        says(
            t,
            b,
            'misspelt pass ' + p['name'],
            ['dump', 'none.onnx', '--after', p['name'] + 'q'],
            'there is no pass',
            'did you mean',
        )
        status = b.run(b.words('analyze') + ['--without', p['name']])[0]
        t.ok('--without ' + p['name'], status == (64 if p['required'] else 0), status)
    says(t, b, 'banana', b.words('compile') + ['--target', 'banana'], 'there is no target "banana"')
    says(
        t,
        b,
        'cortex-m44',
        b.words('compile') + ['--target', 'cortex-m44'],
        'did you mean cortex-m4?',
    )
    t.ok(
        '--target rv32imc',
        b.run(b.words('compile') + ['--target', 'rv32imc', '--weights', 'obj'])[0] == 0,
    )


NO_BYTES = [
    '',
    '64Kx',
    'x64',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '1.5',
    '1e3',
    '1..2',
    'K',
    '9999999G',
    '99999999999999999999',
    '1KK',
    '64 K',
]
NO_DIMENSION = [
    '',
    '40..1',
    '1..',
    '..4',
    '1..2..3',
    '1...4',
    '1..2147483648',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '1.5',
    '1e3',
    '2147483648',
    '99999999999999999999',
    '1x2',
    'N',
    '4K',
]
NO_SHAPE = [
    '',
    'x',
    '1x',
    'x1',
    '1xx2',
    '1x-2',
    '1x+2',
    '1x 2',
    '1*2',
    '1x2147483648',
    'scalarx',
    '1,2',
    '1x2y',
]
NO_REGION = [
    '',
    'a',
    'a:',
    ':1',
    'a:0',
    'a:1Q',
    'a:1:',
    'a:1:0',
    'a:1:-1',
    'a:1:+1',
    'a:1: 1',
    'a:1:1x',
    'a:1:1:1',
    'a:1:1000001',
    'a:1:99999999999999999999',
    '1a:1',
    'a-b:1',
]


def numbers(t, b, table):
    for option in table['options']:
        for text in NO_BYTES if option['kind'] == 'bytes' else ():
            says(
                t,
                b,
                '--%s "%s"' % (option['name'], text),
                b.words(option['commands'][0]) + ['--%s=%s' % (option['name'], text)],
                '--' + option['name'],
            )
    for name, texts, prefix in [
        ('dim', NO_DIMENSION, 'N='),
        ('shape', NO_SHAPE, 'x='),
        ('region', NO_REGION, ''),
    ]:
        for text in texts:
            says(
                t,
                b,
                '--%s "%s"' % (name, prefix + text),
                ['analyze', 'none.onnx', '--%s=%s' % (name, prefix + text)],
                'error',
            )
    for text in [
        'in=',
        'in0x=arena',
        'in-1=arena',
        'in+0=arena',
        'in 0=arena',
        'in0=arenas',
        'in99999999999999999999=arena',
        '=arena',
        'rowsy',
    ]:
        says(t, b, '--io "%s"' % text, b.words('analyze') + ['--io', text], '--io')


def forms(t, b):
    want = b.run(['analyze', b.digits, '--name', 'a1', '--json'])
    for words in [
        ['--json', 'analyze', '--name=a1', b.digits],
        ['-jna1', 'analyze', b.digits],
        ['analyze', '-n', 'a1', '-j', '--', b.digits],
        ['-n=a1', 'analyze', b.digits, '-j'],
    ]:
        t.ok('the same: ' + ' '.join(words[:3]), b.run(words)[:2] == want[:2] and want[0] == 0)
    got = b.run(['analyze', b.digits, '--name', 'a1', '--json'], {'POSIXLY_CORRECT': '1'})
    t.ok('POSIXLY_CORRECT changes nothing', got == want, got[2])
    digits = b.digits
    for words, part in [
        ([], 'no command'),
        (['compile'], 'missing operand'),
        (['compile', digits], 'output folder'),
        (['compile', digits, digits, '-o', b.out], 'both called digits'),
        (['ops', 'x'], 'too many'),
        (['prove', 'x.json'], 'missing operand'),
        (['prove', 'a', 'b', 'c'], 'too many'),
        (['version', 'x'], 'too many'),
        (['help', 'compil'], 'did you mean compile?'),
        (['help', 'a', 'b'], 'too many'),
        (['analyze', digits, '--json=1'], 'takes no value'),
        (['analyze', digits, '--arena-limit'], 'needs a value'),
        (['compile', digits, '-o', '--json'], 'needs a value'),
        (['compile', digits, '-o', ''], 'needs a value'),
        (['compile', digits, '-o', b.out, '--name=a', '--name=b'], 'given twice'),
        (['check', digits, '--max-arena=1', '--max-arena=1M'], 'given twice'),
        (['analyze', digits, '-x'], 'unknown option -x'),
        (['analyze', digits, '--html', '--csv'], 'not both'),
        (['analyze', digits, '--json', '--csv'], 'not both'),
        (['ops', '--json', '--markdown'], 'not both'),
        (['analyze', digits, '--hash-model'], 'without --json'),
        (['dump', digits, '--without', 'cse'], 'without --after'),
        (['analyze', digits, '--pin', 'x=a'], 'without --region'),
        (['analyze', digits, '--curve', '--plan', 'simple'], '--plan=stream'),
        (['dump', digits, '--external-data-dir', '.', '--no-external-data'], 'not both'),
        (['check', digits], 'check needs --max-arena'),
        (['check', digits, '--json', '--format=junit'], 'not both'),
        (['compile', digits, '-o', b.out, '--curve'], 'it is for analyze'),
    ]:
        says(t, b, 'misuse: ' + ' '.join(os.path.basename(w) for w in words), words, part)


def gates(t, b):
    size = json.loads(b.once(['analyze', b.digits, '--json'])[1])
    for option, bytes_ in [
        ('--max-arena', size['arena']['size']),
        ('--max-weights', size['weights']['size']),
    ]:
        fits, over = [option, str(bytes_)], [option, str(bytes_ - 1)]
        got = b.run(b.words('compile') + fits)
        t.ok('compile %s that holds' % option, got[0] == 0 and got[3], got[2])
        got = b.run(b.words('compile') + over)
        t.ok(
            'compile %s that does not' % option,
            got[0] == 1 and not got[3] and option[6:] in got[2],
            got[2],
        )
        for words, want in [(fits, True), (over, False)]:
            status, text, message, _ = b.run(['check', b.digits, '--json'] + words)
            verdict = json.loads(text)
            t.ok(
                'check --json %s: %s' % (option, want),
                status == (0 if want else 1)
                and verdict['holds'] is want
                and verdict[option[6:]] == {'bytes': bytes_, 'most': int(words[1]), 'holds': want}
                and bool(message) is not want,
                text + message,
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--every', type=int, default=1)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        b = Bench(o.inlay, os.path.join(o.models, 'digits', 'digits.onnx'), work)
        table = json.loads(b.once(['help', '--json'])[1])
        t.ok(
            'each option has an experiment',
            {x['name'] for x in table['options']} == set(EXPERIMENTS),
            {x['name'] for x in table['options']} ^ set(EXPERIMENTS),
        )
        b.manifest(b.digits)
        pairs(t, b, table, o.every)
        values(t, b, table)
        numbers(t, b, table)
        forms(t, b)
        gates(t, b)
    t.done()


main()
