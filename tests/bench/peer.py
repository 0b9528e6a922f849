# SPDX-License-Identifier: Apache-2.0
"""Thread CPU time of generated code against ONNX Runtime, one thread, interleaved: peer.py --inlay BIN MODEL_DIR...

Needs Python with onnxruntime and numpy (not part of the test suite). Each MODEL_DIR holds model.onnx and
test_data_set_0. Per model: medians of --rounds rounds, each the median of many inferences, the two taking turns.
"""
import argparse
import glob
import os
import shlex
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import host  # noqa: E402

BENCH = r'''#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "m.h"
static void *take(size_t n) { void *p = NULL; if (posix_memalign(&p, 64, n ? n : 64)) exit(90); memset(p, 0, n); return p; }
static void load(const char *f, void *p, size_t n) { FILE *s = fopen(f, "rb"); if (!s || fread(p, 1, n, s) != n) exit(91); fclose(s); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3; }
static int order(const void *a, const void *b) { const double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
int main(void)
{
    unsigned char *arena = take(M_ARENA_SIZE);
    m_inputs in; m_outputs out; int line;
    static double t[4096];
    memset(&in, 0, sizeof in); memset(&out, 0, sizeof out);
%(load)s
    while ((line = getchar()) != EOF) {     /* one round for each line on standard input */
        double first = now(), each;
        int n, i;
        if (m_run(arena, &in, &out)) return 93;
        each = now() - first;
        n = each > 30000 ? 5 : each > 3000 ? 20 : each > 100 ? 100 : 1000;
        for (i = 0; i < n; i++) { const double a = now(); m_run(arena, &in, &out); t[i] = now() - a; }
        qsort(t, (size_t)n, sizeof *t, order);
        printf("%%.3f\n", t[n / 2]); fflush(stdout);
    }
    return 0;
}
'''


def build(opt, model, work):
    data, _ = host.test_data(model)
    out = os.path.join(work, 'out')
    onnx = os.path.join(model, 'model.onnx')
    status, text = host.run([opt.inlay, 'compile', onnx, '-o', out, '--name', 'm'] + host.shape_flags(onnx, data) + shlex.split(opt.options))
    if status:
        return None, text.strip().splitlines()[0]
    man, load = host.manifest(out, 'm'), []
    for i, io in enumerate(man['inputs']):
        with open(os.path.join(work, 'in%d' % i), 'wb') as f:
            f.write(data[i][1].raw)
        load.append('    { void *p = take(%d); load("in%d", p, %d); in.in%d = p; }' % (io['bytes'], i, io['bytes'], i))
    load += ['    out.out%d = take(%d);' % (i, io['bytes']) for i, io in enumerate(man['outputs'])]
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(BENCH % dict(load='\n'.join(load)))
    status, text = host.run(shlex.split(opt.cc) + ['-I', os.path.join(out, 'src'), '-o', 'a.out', 'main.c'] + host.sources(out) + ['-lm'], work)
    return (man, None) if not status else (None, text)


class Peer:
    def __init__(self, model):
        import numpy
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(model, 'model.onnx'), options, ['CPUExecutionProvider'])
        values, (data, _) = {}, (host.test_data(model))
        for value, (_, t) in zip(self.session.get_inputs(), data):
            kind = {'tensor(float)': 'f4', 'tensor(int64)': 'i8', 'tensor(int32)': 'i4', 'tensor(uint8)': 'u1', 'tensor(int8)': 'i1',
                    'tensor(bool)': '?', 'tensor(float16)': 'f2', 'tensor(double)': 'f8'}[value.type]
            values[value.name] = numpy.frombuffer(t.raw, kind).reshape(t.dims).copy()
        self.feed = {k: onnxruntime.OrtValue.ortvalue_from_numpy(v) for k, v in values.items()}
        self.binding = self.session.io_binding()
        for k, v in self.feed.items():
            self.binding.bind_ortvalue_input(k, v)
        for o in self.session.get_outputs():
            self.binding.bind_output(o.name)

    def round(self):
        def once():
            a = time.thread_time_ns()
            self.session.run_with_iobinding(self.binding)
            return (time.thread_time_ns() - a) / 1000
        each = once()
        n = 5 if each > 30000 else 20 if each > 3000 else 100 if each > 100 else 1000
        return statistics.median(once() for _ in range(n))


def measure(opt, model):
    with host.Work() as work:
        man, why = build(opt, model, work)
        if not man:
            return '%-40s %s' % (os.path.basename(model), why[:100])
        peer, ours, theirs = Peer(model), [], []
        with subprocess.Popen(['./a.out'], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            for _ in range(opt.rounds):
                p.stdin.write('\n')
                p.stdin.flush()
                ours.append(float(p.stdout.readline()))
                theirs.append(peer.round())
            p.stdin.close()
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        return '%-32s %10.1f us %10.1f us  ratio %6.3f  arena %9d  weights %10d' % (
            os.path.basename(model), statistics.median(ours), statistics.median(theirs), ratio, man['arena']['size'], man['weights']['size'])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('models', nargs='+')
    p.add_argument('--inlay', required=True)
    p.add_argument('--cc', default='cc -std=gnu99 -O3 -march=native')
    p.add_argument('--options', default='')
    p.add_argument('--rounds', type=int, default=5)
    opt = p.parse_args()
    opt.inlay = os.path.abspath(opt.inlay)
    print('%-32s %13s %13s' % ('model', 'inlay', 'onnxruntime'))
    for folder in opt.models:
        for model in sorted(os.path.dirname(f) for f in glob.glob(os.path.join(folder, '**', 'model.onnx'), recursive=True)):
            print(measure(opt, os.path.abspath(model)), flush=True)


if __name__ == '__main__':
    main()
