# SPDX-License-Identifier: Apache-2.0
"""Models through the C compiler: the generated C builds without a warning under gcc and clang, and gives the
reference answer, and the same bytes as `inlay run`, under the sanitizers.

    generated.py --inlay INLAY --models MODELS [--nodes FOLDER]"""
import argparse
import os
import shutil

import host
import onnx
import tap

SANITIZE = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-ffp-contract=off']
NODES = ['test_add_bcast', 'test_averagepool_2d_pads', 'test_basic_conv_with_padding', 'test_concat_2d_axis_1', 'test_conv_with_strides_and_asymmetric_padding',
         'test_convtranspose_2d', 'test_gather_0', 'test_gemm_all_attributes', 'test_matmul_3d', 'test_maxpool_2d_same_upper',
         'test_reduce_mean_keepdims_random', 'test_resize_upsample_scales_nearest', 'test_slice', 'test_softmax_axis_1', 'test_transpose_all_permutations_3',
         'test_where_example', 'test_nonzero_example', 'test_nonmaxsuppression_two_batches', 'test_compress_1', 'test_dft', 'test_loop11']


def model_of(folder):
    return next(os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith('.onnx'))


class Build:
    """One model compiled to C in `work`."""
    def __init__(self, o, work, folder, name, *flags):
        self.o, self.work, self.name, self.out = o, work, name, os.path.join(work, 'out-' + name)
        self.model = model_of(folder)
        self.data, self.want = host.test_data(folder)
        shutil.rmtree(self.out, ignore_errors=True)
        self.shape = host.shape_flags(self.model, self.data)
        self.status, self.text = host.run([o.inlay, 'compile', self.model, '-o', self.out, '--name', name] + self.shape + list(flags))
        if not self.status:
            self.manifest = host.manifest(self.out, name)
            host.write_main(work, [(name, self.manifest, [t for _, t in self.data])])

    def cc(self, compiler, flags, program='a.out'):
        return host.run([compiler] + flags + ['-I', os.path.join(self.out, 'src'), '-o', program, 'main.c'] + host.sources(self.out) + ['-lm'], self.work)

    def reference(self):
        """What `inlay run` answers."""
        command = [self.o.inlay, 'run', self.model, '-o', self.work] + self.shape
        for path, _ in self.data:
            command += ['--input', path]
        status, text = host.run(command)
        if status:
            raise RuntimeError(text)
        return [onnx.read_tensor(os.path.join(self.work, 'output_%d.pb' % i)) for i in range(len(self.want))]

    def compare(self, exact):
        got = host.results(self.work, self.name, self.manifest)
        against = self.reference() if exact else self.want
        for i, (g, w) in enumerate(zip(got, against)):
            bad = ('differs from inlay run: ' + onnx.difference(g, w, 0, 0) if g.raw != w.raw else '') if exact else onnx.difference(g, w)
            if bad:
                return 'output %d %s' % (i, bad)
        return ''


def sanitizing(compiler):
    """The flags with which it builds a program under the sanitizers; without them where their library is not installed."""
    with host.Work() as work:
        with open(os.path.join(work, 'x.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        return SANITIZE if host.run([compiler] + SANITIZE + ['x.c'], work)[0] == 0 else [f for f in SANITIZE if 'sanitize' not in f]


def whole(t, o, folder, name, compilers):
    """Strict build, sanitized run, comparison, by each compiler."""
    with host.Work() as work:
        b = Build(o, work, folder, name)
        if not t.ok(name + ': compiles to C', b.status == 0, b.text):
            return
        for cc, flags in compilers.items():
            status, text = b.cc(cc, host.STRICT + flags)
            if not t.ok('%s: %s, no warning' % (name, cc), status == 0, text[:2000]):
                continue
            status, text = host.run(['./a.out'], work)
            if not t.ok('%s: %s, %s' % (name, cc, 'sanitizers find nothing' if flags is SANITIZE else 'runs'), status == 0, 'exit %d\n%s' % (status, text[:2000])):
                continue
            bad = b.compare(False)
            t.ok('%s: %s, reference answer' % (name, cc), not bad, bad)


def same_bits(t, o, folder, name):
    """The C built as the compiler itself is built answers the same bytes as `inlay run`."""
    with host.Work() as work:
        b = Build(o, work, folder, name)
        if b.status:
            return t.fail(name + ': compiles to C', b.text)
        status, text = b.cc('gcc', ['-std=c99', '-O2', '-ffp-contract=off'])
        status, text = host.run(['./a.out'], work) if not status else (status, text)
        bad = text if status else b.compare(True)
        t.ok(name + ': same bytes as inlay run', not bad, bad)


def forms(t, o, folder, name):
    """Each form of the weights gives the same answer."""
    for form in ('c', 'incbin', 'obj', 'bin'):
        with host.Work() as work:
            b = Build(o, work, folder, name, '--weights', form)
            if not t.ok('%s: --weights %s' % (name, form), b.status == 0, b.text):
                continue
            if form == 'bin':
                shutil.copy(os.path.join(b.out, 'src', name + '_weights.bin'), work)
            status, text = b.cc('gcc', host.STRICT + ['-O1'])
            status, text = host.run(['./a.out'], work) if not status else (status, text)
            bad = 'exit %d\n%s' % (status, text[:2000]) if status else b.compare(False)
            t.ok('%s: --weights %s, reference answer' % (name, form), not bad, bad)


def together(t, o):
    """Two models in one program."""
    with host.Work() as work:
        builds = [Build(o, work, os.path.join(o.models, n), n) for n in ('digits', 'sine')]
        if any(b.status for b in builds):
            return t.fail('two models in one program', builds[0].text + builds[1].text)
        host.write_main(work, [(b.name, b.manifest, [x for _, x in b.data]) for b in builds])
        command = ['gcc'] + host.STRICT + ['-O1', 'main.c', '-o', 'both']
        for b in builds:
            command += ['-I', os.path.join(b.out, 'src')] + host.sources(b.out)
        status, text = host.run(command + ['-lm'], work)
        status, text = host.run(['./both'], work) if not status else (status, text)
        bad = text if status else '; '.join(filter(None, (b.compare(False) for b in builds)))
        t.ok('two models in one program', not bad, bad)


def tree(folder):
    found = {}
    for path, _, files in os.walk(folder):
        for f in files:
            with open(os.path.join(path, f), 'rb') as file:
                found[os.path.relpath(os.path.join(path, f), folder)] = file.read()
    return found


def repeated(t, o, folder, name):
    with host.Work() as work:
        trees = []
        for i in '12':
            out = os.path.join(work, i)
            host.run([o.inlay, 'compile', model_of(folder), '-o', out])
            trees.append(tree(out) if os.path.isdir(out) else {})
        t.ok(name + ': two compiles are byte-identical', bool(trees[0]) and trees[0] == trees[1],
             [f for f in trees[0] if trees[0].get(f) != trees[1].get(f)])


def objects(t, o, folder, name):
    """No allocator, no stdio, nothing writable."""
    with host.Work() as work:
        b = Build(o, work, folder, name)
        bad, undefined = [], set()
        for source in host.sources(b.out) if not b.status else []:
            status, text = host.run(['gcc', '-std=c99', '-Os', '-I', os.path.join(b.out, 'src'), '-c', source, '-o', 'x.o'], work)
            if status:
                return t.fail(name + ': objects', text)
            sizes = host.run(['size', '-A', 'x.o'], work)[1].split('\n')
            bad += [os.path.basename(source) + ': ' + s for s in sizes if s.split() and s.split()[0].startswith(('.data', '.bss')) and
                    not s.startswith('.data.rel.ro') and s.split()[1] != '0']
            undefined |= {s.split()[-1] for s in host.run(['nm', '-u', 'x.o'], work)[1].splitlines() if s.split()}
        t.ok(name + ': .data and .bss are empty', not b.status and not bad, bad or b.text)
        forbidden = {s for s in undefined if s.strip('_') in ('malloc', 'calloc', 'realloc', 'free', 'alloca', 'printf', 'fprintf', 'puts', 'putchar',
                     'fopen', 'fwrite', 'fread', 'stderr', 'stdout', 'exit', 'abort', 'sbrk', 'mmap', 'pthread_create')}
        t.ok(name + ': no allocator, no stdio', not b.status and not forbidden, forbidden or b.text)


def valgrind(t, o, folder, name):
    if not shutil.which('valgrind'):
        return t.skip(name + ': valgrind', 'valgrind is not installed')
    with host.Work() as work:
        b = Build(o, work, folder, name)
        if b.status:
            return t.fail(name + ': compiles to C', b.text)
        status, text = b.cc('gcc', ['-std=c99', '-O1', '-g'])
        status, text = host.run(['valgrind', '-q', '--error-exitcode=99', './a.out'], work) if not status else (status, text)
        t.ok(name + ': valgrind finds nothing', status == 0, text[:2000])


def cxx(t, o, folder, name):
    """The header serves C++ as well."""
    if not shutil.which('g++'):
        return t.skip(name + ': C++', 'g++ is not installed')
    with host.Work() as work:
        b = Build(o, work, folder, name)
        with open(os.path.join(work, 'use.cc'), 'w') as f:
            f.write('#include "%s.h"\nint use(void *a, const %s_inputs *i, const %s_outputs *o) { return %s_run(a, i, o); }\n' % ((name,) * 4))
        status, text = host.run(['g++', '-Wall', '-Wextra', '-Werror', '-I', os.path.join(b.out, 'src'), '-c', 'use.cc'], work)
        t.ok(name + ': header in C++', status == 0, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--nodes', default='')
    o = p.parse_args()
    t = tap.Tap()
    compilers = {c: sanitizing(c) for c in ('gcc', 'clang') if shutil.which(c)}
    for c in compilers:
        if compilers[c] is not SANITIZE:
            t.skip(c + ': sanitizers', 'their library is not installed')
    for c in {'gcc', 'clang'} - set(compilers):
        t.skip(c, 'not installed')
    for name in ('digits', 'sine'):
        folder = os.path.join(o.models, name)
        for check in (same_bits, forms, repeated, objects, valgrind, cxx):
            check(t, o, folder, name)
        whole(t, o, folder, name, compilers)
    together(t, o)
    for name in NODES:
        if os.path.isdir(os.path.join(o.nodes, name)):
            whole(t, o, os.path.join(o.nodes, name), name[5:], compilers)
        else:
            t.skip(name, 'libonnx-testdata is not installed')
    t.done()


main()
