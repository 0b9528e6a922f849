# SPDX-License-Identifier: Apache-2.0
"""No file hangs the compiler or eats the memory: graphs of many nodes in every form, and small
files that ask for much, each under a limit of CPU time and of memory; other files likewise. Both
are the process's own, so that a busy machine fails nothing.

    exhaust.py --inlay INLAY [--nodes N,N..] [--compile N] [--every N] [--slack FACTOR]
    [--sanitized]"""
import argparse
import os
import resource
import subprocess
import sys

import host
import tap
import worst

MIB = 1 << 20
AS_C = (
    'spins',
    'counting',
    'looks',
    'grams',  # C comes with results of a run, which ends
    'inputs',
    'vectorized',
    'many_values',
    'many_weights',
    'computed',
    'summands',
)  # and with a text for each operand
LARGER = 'joined', 'operands_'  # whose tables as texts are held besides the plan
MOST = 100  # seconds of CPU after which a run is ended


def measured(command, error, sanitized):
    """(status, seconds of CPU, peak bytes). A peak below this process's own is 0: the child had
    that before it began."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST + 1))
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_DATA, (8192 * MIB, 8192 * MIB))

    p = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=error, preexec_fn=limit
    )
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss if usage.ru_maxrss > own else 0
    return p.returncode, usage.ru_utime + usage.ru_stime, peak * 1024


def judge(t, o, name, path, seconds, memory, statuses, command=('analyze',)):
    with open(path + '.err', 'w+') as error:
        status, cpu, peak = measured([o.inlay, *command, path], error, o.sanitized)
        error.seek(0)
        text = error.read()[-500:]
    said = 'status %d, %.2f s of CPU (limit %.2f), %.1f MiB (limit %.1f)\n%s' % (
        status,
        cpu,
        seconds * o.slack,
        peak / MIB,
        memory / MIB,
        text,
    )
    t.ok(
        name,
        status in statuses and cpu <= seconds * o.slack and (o.sanitized or peak <= memory),
        said,
    )
    if o.print:
        print('# %-28s %3d %7.2f s %8.1f MiB' % (name, status, cpu, peak / MIB), flush=True)


def script(name):
    return os.path.join(os.path.dirname(os.path.abspath(worst.__file__)), name)


def graph(t, o, work, form, nodes, command, text=0):
    """text: bytes a node of the largest file that is written, which is held until it is whole."""
    path = os.path.join(work, '%s_%d.onnx' % (form, nodes))
    subprocess.run([sys.executable, script('worst.py'), form, str(nodes), path], check=True)
    judge(
        t,
        o,
        '%s: %s of %d' % (command[0], form, nodes),
        path,
        1 + 50e-6 * nodes,
        (32 * MIB + 3200 * nodes) * worst.weight(form) + text * nodes,
        {0},
        command,
    )
    os.remove(path)


def graphs(t, o, work):
    for nodes in [int(n) for n in o.nodes.split(',') if n]:
        for form in worst.FORMS:
            graph(t, o, work, form, nodes, ['analyze'])
    if o.compile:  # as many results and constants as steps
        graph(
            t,
            o,
            work,
            'fan_out',
            o.compile,
            ['compile', '-q', '-o', os.path.join(work, 'out')],
            1200,
        )


def hostile(t, o, work):
    subprocess.run([sys.executable, script('hostile.py'), work, str(o.every)], check=True)
    for name in sorted(n for n in os.listdir(work) if n.endswith('.onnx')):
        path = os.path.join(work, name)
        for command in ('analyze', 'dump'):
            judge(
                t,
                o,
                '%s: %s' % (command, name[:-5]),
                path,
                1,
                32 * MIB + 4 * os.path.getsize(path),
                host.DOCUMENTED,
                (command,),
            )
        if name.startswith(AS_C) or (o.every == 1 and not name.startswith(LARGER)):
            judge(
                t,
                o,
                'compile: ' + name[:-5],
                path,
                1,
                32 * MIB + 4 * os.path.getsize(path),
                host.DOCUMENTED,
                ('compile', '-q', '-o', os.path.join(work, 'out')),
            )


def others(t, o, work):
    """Files that are no models."""
    gaps = ' '.join('%d-%d' % (2 * k, 2 * k + 1) for k in range(1000))
    for name, text, command in (
        (
            'gaps',
            'id,lower,upper,size,gaps\n'
            + ''.join('%d,0,100000,4,%s\n' % (i, gaps) for i in range(80)),
            ('place',),
        ),
        ('same', 'id,lower,upper,size\n' + 'a,0,1000,4\n' * 60000, ('place',)),
        ('objects', '[' + ','.join(['{}'] * 300000) + ']', ('diff',)),
        ('objects', '[' + ','.join(['{}'] * 300000) + ']', ('prove',)),
        ('deep', '[' * 400000, ('diff',)),
        ('words', 'a=1 ' * 200000, ('words',)),
    ):
        path = os.path.join(work, name)
        with open(path, 'w') as f:
            f.write(text)
        more = {
            'diff': ('diff', path),
            'prove': ('prove', path),
            'words': ('check', '@' + path),
        }.get(command[0], command)
        judge(
            t,
            o,
            '%s: %s' % (command[0], name),
            path,
            1,
            32 * MIB + 4 * len(text),
            host.DOCUMENTED,
            more,
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--nodes', default='500,3000')
    p.add_argument('--compile', type=int, default=0, help='nodes of a graph that becomes C as well')
    p.add_argument('--every', type=int, default=5)
    p.add_argument('--slack', type=float, default=3, help='times the CPU time that is promised')
    p.add_argument(
        '--sanitized',
        action='store_true',
        help='memory is not judged: shadow and quarantine are the sanitizer\'s',
    )
    p.add_argument('--print', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        graphs(t, o, work)
        hostile(t, o, work)
        others(t, o, work)
    t.done()


main()
