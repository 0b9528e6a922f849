# SPDX-License-Identifier: Apache-2.0
"""CPU time of generated code against ONNX Runtime and OpenVINO, one thread each, interleaved:
peer.py --inlay BIN MODEL_DIR...

Needs Python with numpy and the peers' packages (not part of the test suite); --peers takes one of
the two. Each MODEL_DIR holds model.onnx and test_data_set_0. Per model: medians of --rounds rounds,
each the median of many inferences, all taking turns; `ratio` is the median of the rounds' ratios to
the faster peer. --memory adds the most that each process has in memory for one inference.

PyTorch (--peers torch,torch-compiled) knows the two models of article.py.
"""
import argparse
import glob
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import article  # noqa: E402
import host  # noqa: E402
import onnx  # noqa: E402

# Memory that is aligned, and what a file has in it.
LOADER = r'''static void *take(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, n ? n : 64)) exit(90);
    return memset(p, 0, n);
}
static void load(const char *file, void *p, size_t n)
{
    FILE *stream = fopen(file, "rb");
    if (!stream || fread(p, 1, n, stream) != n) exit(91);
    fclose(stream);
}
'''
BENCH = (
    r'''#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "m.h"
'''
    + LOADER
    + r'''static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static int order(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}
int main(void)
{
    unsigned char *arena = take(M_ARENA_SIZE);
    m_inputs in;
    m_outputs out;
    int line;
    static double t[4096];
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
%(load)s
    while ((line = getchar()) != EOF) {     /* one round for each line on standard input */
        double first = now(), each;
        int n, i;
        if (m_run(arena, &in, &out)) return 93;
        each = now() - first;
        n = each > 30000 ? 5 : each > 3000 ? 20 : each > 100 ? 100 : 1000;
        for (i = 0; i < n; i++) {
            const double a = now();
            m_run(arena, &in, &out);
            t[i] = now() - a;
        }
        qsort(t, (size_t)n, sizeof *t, order);
        printf("%%.3f\n", t[n / 2]);
        fflush(stdout);
    }
    return 0;
}
'''
)


def build(opt, model, work):
    data, _ = host.test_data(model)
    out = os.path.join(work, 'out')
    file = os.path.join(model, 'model.onnx')
    status, text = host.run(
        [opt.inlay, 'compile', file, '-o', out, '--name', 'm']
        + host.shape_flags(file, data)
        + shlex.split(opt.options)
    )
    if status:
        return None, text.strip().splitlines()[0]
    man, load = host.manifest(out, 'm'), []
    for i, io in enumerate(man['inputs']):
        with open(os.path.join(work, 'in%d' % i), 'wb') as f:
            f.write(data[i][1].raw)
        load.append(
            '    { void *p = take(%d); load("in%d", p, %d); in.in%d = p; }'
            % (io['bytes'], i, io['bytes'], i)
        )
    load += ['    out.out%d = take(%d);' % (i, io['bytes']) for i, io in enumerate(man['outputs'])]
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(BENCH % dict(load='\n'.join(load)))
    status, text = host.run(
        shlex.split(opt.cc)
        + ['-I', os.path.join(out, 'src'), '-o', 'a.out', 'main.c']
        + host.sources(out)
        + ['-lm'],
        work,
    )
    return (man, None) if not status else (None, text)


KINDS = {
    'float32': 'f4',
    'int64': 'i8',
    'int32': 'i4',
    'uint8': 'u1',
    'int8': 'i1',
    'bool': '?',
    'float16': 'f2',
    'float64': 'f8',
}


def arrays(model):
    """The inputs in the order of the model."""
    import numpy

    names = {onnx.CODES[name]: kind for name, kind in KINDS.items()}
    return [
        numpy.frombuffer(t.raw, names[t.code]).reshape(t.dims).copy()
        for _, t in host.test_data(model)[0]
    ]


class Peer:
    """What infer() takes, in microseconds of CPU: a peer may compute in a thread of its own."""

    def round(self):
        def once():
            a = time.process_time_ns()
            self.infer()
            return (time.process_time_ns() - a) / 1000

        each = once()
        n = 5 if each > 30000 else 20 if each > 3000 else 100 if each > 100 else 1000
        return statistics.median(once() for _ in range(n))


class OnnxRuntime(Peer):
    def __init__(self, model):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.path.join(model, 'model.onnx'), options, ['CPUExecutionProvider']
        )
        names = [value.name for value in self.session.get_inputs()]
        self.feed = {
            k: onnxruntime.OrtValue.ortvalue_from_numpy(v) for k, v in zip(names, arrays(model))
        }
        self.binding = self.session.io_binding()
        for k, v in self.feed.items():
            self.binding.bind_ortvalue_input(k, v)
        for o in self.session.get_outputs():
            self.binding.bind_output(o.name)

    def infer(self):
        self.session.run_with_iobinding(self.binding)


class OpenVino(Peer):
    def __init__(self, model):
        import openvino

        core = openvino.Core()
        network = core.read_model(os.path.join(model, 'model.onnx'))
        given = arrays(model)
        network.reshape(
            {own.any_name: list(value.shape) for own, value in zip(network.inputs, given)}
        )
        options = {'INFERENCE_NUM_THREADS': 1, 'NUM_STREAMS': 1, 'INFERENCE_PRECISION_HINT': 'f32'}
        self.request = core.compile_model(network, 'CPU', options).create_infer_request()
        for i, value in enumerate(given):
            self.request.set_input_tensor(i, openvino.Tensor(value))

    def infer(self):
        self.request.infer()


class Torch(Peer):
    """Operator by operator."""

    def __init__(self, model):
        import torch

        torch.set_num_threads(1)
        self.mode = torch.inference_mode
        self.function, self.x = article.in_torch(os.path.basename(model))

    def infer(self):
        with self.mode():
            self.function(self.x)


class TorchCompiled(Torch):
    def __init__(self, model):
        super().__init__(model)
        import torch

        self.function = torch.compile(self.function)


PEERS = {
    'onnxruntime': OnnxRuntime,
    'openvino': OpenVino,
    'torch': Torch,
    'torch-compiled': TorchCompiled,
}
USUAL = ['onnxruntime', 'openvino']


def peer_of(name, model):
    """None where it cannot run the model."""
    try:
        return PEERS[name](model)
    except Exception as e:  # whatever a peer raises
        print(
            '%s: %s: %s' % (os.path.basename(model), name, str(e).strip().splitlines()[0]),
            file=sys.stderr,
        )
        return None


def peak(pid):
    """MiB, of its whole life."""
    with open('/proc/%s/status' % pid) as f:
        return int(re.search(r'VmHWM:\s*(\d+)', f.read()).group(1)) / 1024


def peak_alone(name, model):
    """Of a process that has a peer do one inference."""
    status, text = host.run([sys.executable, os.path.abspath(__file__), '--alone', name, model])
    return float(text.split()[-1]) if status == 0 else float('nan')


def measure(opt, model):
    with host.Work() as work:
        man, why = build(opt, model, work)
        if not man:
            return '%-40s %s' % (os.path.basename(model), why[:100])
        peers = {name: peer_of(name, model) for name in opt.peers.split(',')}
        peers = {name: peer for name, peer in peers.items() if peer}
        ours, theirs = [], {name: [] for name in peers}
        with subprocess.Popen(
            ['./a.out'], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as p:
            for _ in range(opt.rounds):
                p.stdin.write('\n')
                p.stdin.flush()
                ours.append(float(p.stdout.readline()))
                for name, peer in peers.items():
                    theirs[name].append(peer.round())
            memory = peak(p.pid)
            p.stdin.close()
        text = line(os.path.basename(model), man, ours, theirs)
        if opt.memory:
            text += '\n  at most in memory, MiB: %.0f' % memory + ''.join(
                ', %s %.0f' % (name, peak_alone(name, model)) for name in peers
            )
        return text


def line(name, man, ours, theirs):
    ratio = {
        peer: statistics.median(a / b for a, b in zip(ours, times))
        for peer, times in theirs.items()
    }
    text = '%-32s %10.1f us' % (name, statistics.median(ours))
    for peer, times in theirs.items():
        text += '  %s %10.1f us %6.3f' % (peer, statistics.median(times), ratio[peer])
    return text + '  ratio %6.3f  arena %9d  weights %10d' % (
        max(ratio.values(), default=0),
        man['arena']['size'],
        man['weights']['size'],
    )


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument('models', nargs='+')
    p.add_argument('--inlay')
    p.add_argument('--cc', default='cc -std=gnu99 -O3 -march=native')
    p.add_argument('--options', default='')
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--peers', default=','.join(USUAL), help='of %s' % ', '.join(PEERS))
    p.add_argument('--memory', action='store_true')
    p.add_argument('--alone', help='a peer, for one inference: prints the MiB that it had')
    opt = p.parse_args()
    if opt.alone:
        PEERS[opt.alone](opt.models[0]).infer()
        print('%.1f' % peak('self'))
        return
    opt.inlay = os.path.abspath(opt.inlay)
    for folder in opt.models:
        for model in sorted(
            os.path.dirname(f)
            for f in glob.glob(os.path.join(folder, '**', 'model.onnx'), recursive=True)
        ):
            print(measure(opt, os.path.abspath(model)), flush=True)


if __name__ == '__main__':
    main()
