# SPDX-License-Identifier: Apache-2.0
"""The arena is one of the model, not of how its file lists the nodes: each model is listed anew in
topological orders (at random, depth first, breadth first), and no listing may need more than
another. Several listings are planned by `inlay analyze`.

    listings.py --inlay INLAY [--count N] [--most PERCENT] [--but NAME=PERCENT].. FOLDER..

Folders have model.onnx or NAME.onnx; those that are not there are skipped. --but: a model
whose steps jump, so that they stay in the order of the file."""
import argparse
import json
import os
import random

import host
import onnx
import tap

WAYS = ('random', 'depth', 'breadth')


def reads(node):
    """Names that a node reads, in its subgraphs too; those that they make themselves do no harm."""
    found = set()
    for number, wire, value in onnx.fields(node):
        if number == 1 and wire == 2:
            found.add(value)
        if number == 5:
            for part, _, body in onnx.fields(value):
                for inner in (
                    [v for n, _, v in onnx.fields(body) if n == 1] if part in (6, 11) else []
                ):
                    found |= reads(inner)
    return found


def relist(nodes, way, seed):
    """The nodes in another topological order; None where the file is not sorted, or defines a name
    twice."""
    choose = random.Random(seed)
    made = [(v, k) for k, node in enumerate(nodes) for n, w, v in onnx.fields(node) if n == 2 and v]
    maker = dict(made)
    if len(maker) < len(made):
        return None
    before = [
        {maker[v] for v in reads(node) if v in maker and maker[v] != k}
        for k, node in enumerate(nodes)
    ]
    users = [[] for _ in nodes]
    for k, some in enumerate(before):
        for b in some:
            users[b].append(k)
    left = [len(some) for some in before]
    ready, order = [k for k in range(len(nodes)) if not left[k]], []
    while ready:
        k = ready.pop({'random': choose.randrange(len(ready)), 'depth': -1, 'breadth': 0}[way])
        order.append(nodes[k])
        choose.shuffle(users[k])
        for u in users[k]:
            left[u] -= 1
            if not left[u]:
                ready.append(u)
    return order if len(order) == len(nodes) else None


def rewritten(model, way, seed):
    """The bytes of the model, its nodes listed anew; None where they cannot be."""
    out = b''
    for number, wire, value in onnx.fields(model):
        if number == 7:
            graph = list(onnx.fields(value))
            order = relist([v for n, _, v in graph if n == 1], way, seed)
            if order is None:
                return None
            value = b''.join(onnx.put(1, v) for v in order) + b''.join(
                onnx.put(n, v) for n, _, v in graph if n != 1
            )
        out += onnx.put(number, value)
    return out


def files(folders):
    for folder in folders:
        for path, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith('.onnx'):
                    yield os.path.relpath(
                        os.path.join(path, name), os.path.dirname(folder.rstrip('/'))
                    ), os.path.join(path, name)


def arena(inlay, file, flags):
    status, text = host.run([inlay, 'analyze', '--json', file] + flags)
    return None if status else json.loads(text[text.index('{') :])['arena']['size']


def arenas(o, path):
    """[arena] of the file as it is and of its listings, [] where it is not planned."""
    try:
        data, _ = host.test_data(os.path.dirname(path))
    except onnx.Unreadable:
        return []
    # The listings lie elsewhere than the data of their weights.
    flags = host.shape_flags(path, data) + ['--external-data-dir', os.path.dirname(path)]
    found = [arena(o.inlay, path, flags)]
    if found[0] is None:
        return []
    with open(path, 'rb') as f:
        model = f.read()
    other = os.path.join(o.work, 'listing.onnx')
    for k in range(o.count):
        listing = rewritten(model, WAYS[k % len(WAYS)], k // len(WAYS))
        if listing is None:
            return []
        with open(other, 'wb') as f:
            f.write(listing)
        found.append(arena(o.inlay, other, flags))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--count', type=int, default=6, help='listings of each model')
    parser.add_argument('--most', type=float, default=0.0, help='percent')
    parser.add_argument('--but', action='append', default=[], help='NAME=PERCENT')
    parser.add_argument('--only', default='')
    parser.add_argument('folder', nargs='+')
    o = parser.parse_args()
    more = {name: float(percent) for name, percent in (text.split('=') for text in o.but)}
    t = tap.Tap()
    with host.Work() as o.work:
        for name, path in files([f for f in o.folder if os.path.isdir(f)]):
            if o.only not in name:
                continue
            found = arenas(o, path)
            if not found:
                t.skip(name, 'not planned')
                continue
            most = more.get(os.path.basename(os.path.dirname(path)), o.most)
            t.ok(
                name,
                None not in found and max(found) <= min(found) * (1 + most / 100),
                'arenas %s' % found,
            )
    t.done()


if __name__ == '__main__':
    main()
