# SPDX-License-Identifier: Apache-2.0
"""Runs one libFuzzer target for a while: its seeds and its corpus first, then new inputs.

    fuzz.py --target FUZZ-NAME --inlay INLAY --models MODELS [--seconds N] [--seed N] [--keep
    FOLDER]

The short run of CI has always the same seed, so that it fails for what was changed; --seed 0 is
another one each time.

A finding is kept as fuzz-NAME-... in the working directory; `FUZZ-NAME FILE` replays it. With
--keep what was learnt is added to FOLDER, as files; `fuzz.py --pack FOLDER TAR` makes a corpus of
such a folder."""
import argparse
import os
import re
import shutil
import tarfile

import host
import seeds
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
# Most bytes of an input, and options of libFuzzer.
LENGTHS = {
    'model': 4096,
    'prove': 24000,
    'place': 2048,
    'tensor': 1024,
    'external': 1024,
    'options': 1024,
}


def pack(folder, path):
    """The same files give the same bytes."""
    with tarfile.open(path, 'w:xz') as tar:
        for name in sorted(os.listdir(folder)):
            info = tarfile.TarInfo(name)
            with open(os.path.join(folder, name), 'rb') as f:
                info.size = os.fstat(f.fileno()).st_size
                tar.addfile(info, f)


def gather(o, name, folder):
    seeds.seeds(name, folder, o.inlay, o.models)
    packed = os.path.join(HERE, 'corpus', name + '.tar.xz')
    if os.path.exists(packed):
        with tarfile.open(packed) as tar:
            tar.extractall(folder)
    if o.keep and os.path.isdir(o.keep):
        shutil.copytree(o.keep, folder, dirs_exist_ok=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--target', required=False)
    p.add_argument('--inlay')
    p.add_argument('--models')
    p.add_argument('--seconds', type=int, default=int(os.environ.get('INLAY_FUZZ_SECONDS', '20')))
    p.add_argument('--seed', type=int, default=int(os.environ.get('INLAY_FUZZ_SEED', '1')))
    p.add_argument('--keep', default='')
    p.add_argument('--pack', nargs=2)
    o = p.parse_args()
    if o.pack:
        pack(*o.pack)
        return
    t = tap.Tap()
    name = os.path.basename(o.target).split('-', 1)[1]
    with host.Work() as work:
        corpus = os.path.join(work, 'corpus')
        os.environ['INLAY_FUZZ_MODELS'] = os.path.join(work, 'models')
        seeds.proved_models(os.environ['INLAY_FUZZ_MODELS'], o.models)
        os.environ['INLAY_FUZZ_MODEL'] = os.path.join(os.environ['INLAY_FUZZ_MODELS'], 'Conv.onnx')
        os.environ['INLAY_FUZZ_VALUE'] = os.path.join(work, 'value.pb')
        with open(os.environ['INLAY_FUZZ_VALUE'], 'wb') as f:
            f.write(seeds.floats('x', 1, 2, 5, 6))
        gather(o, name, corpus)
        status, text = host.run(
            [
                o.target,
                corpus,
                '-max_total_time=%d' % o.seconds,
                '-seed=%d' % o.seed,
                '-max_len=%d' % LENGTHS[name],
                '-timeout=60',
                '-rss_limit_mb=3000',
                '-print_final_stats=1',
                '-artifact_prefix=' + os.path.join(os.getcwd(), 'fuzz-%s-' % name),
                '-use_value_profile=1',
            ],
            limit=o.seconds + 600,
            env={'ASAN_OPTIONS': 'allocator_may_return_null=1:handle_abort=1'},
        )
        if o.keep:
            shutil.copytree(corpus, o.keep, dirs_exist_ok=True)
    count = lambda what: int((re.search(r'stat::%s: +(\d+)' % what, text) or [0, 0])[1])
    t.ok(
        '%s: %d executions, %d a second, %d files'
        % (
            name,
            count('number_of_executed_units'),
            count('average_exec_per_sec'),
            len(re.findall(r'NEW', text)),
        ),
        not status,
        text[-6000:],
    )
    t.done()


if __name__ == '__main__':
    main()
