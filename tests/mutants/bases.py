# SPDX-License-Identifier: Apache-2.0
"""The valid models that are changed: ONNX's node tests, the repository's own models, small
networks; by operator, so that each is met as often; chains of random operators, where they are
asked for. And what they hold that can be put elsewhere."""
import glob
import os
import random

import cases
import networks
import onnx
import random_chains
import tree

LARGEST = 100000  # bytes of a file that is worth bending


def chain(seed):
    """A few random layers on a small image: what the planner streams, overlaps and shares."""
    rng = random.Random(seed)
    net = networks.Net(rng.choice([1, 2, 3]), rng.choice([6, 9, 12]), rng.choice([5, 8, 12]))
    x = known = net.input
    for _ in range(rng.randint(3, 9)):
        how = rng.randrange(7)
        if how == 0:
            x = net.conv(x, rng.choice([2, 4, 6]), rng.choice([1, 3]), rng.choice([1, 2]))
        elif how == 1:
            x = net.conv(x, x[1], 3, rng.choice([1, 2]), True)
        elif how == 2:
            x = net.pool(
                rng.choice(['MaxPool', 'AveragePool']), x, rng.choice([2, 3]), rng.choice([1, 2])
            )
        elif how == 3 and x[2] * x[3] < 400:
            x = net.resize(x, 2)
        elif how == 4 and known[1:] == x[1:]:
            x = net.add(x, known)
        elif how == 5 and known[2:] == x[2:]:
            x = net.concat([x, known])
        else:
            x = net.relu(x)
        known = rng.choice([x, known])
    return written(net, [x] if rng.random() < 0.6 else [net.classify(x, 5)])


def written(net, outputs):
    named = [o if isinstance(o[0], tuple) else (o, [1] + list(o[1:])) for o in outputs]
    return onnx.make_model(
        net.nodes,
        [onnx.make_value('in', 1, [1] + list(net.input[1:]))],
        [onnx.make_value(t[0], 1, dims) for t, dims in named],
        net.weights,
        opset=13,
    )


def small_networks():
    made = {'net/chain%d' % i: chain(i) for i in range(24)}
    for name, build in (
        ('unet', lambda: networks.unet(12, 3, 2)),
        ('pyramid', lambda: networks.pyramid(32, 2)),
        ('mobilenet', lambda: networks.mobilenet_v2(0.1, 16, 16)),
    ):
        made['net/' + name] = written(*build())
    return made


def group_of(name, model):
    """For choosing evenly: a model's first operator, but for networks and chains."""
    kind = name.split('/')[0]
    return kind if kind in ('net', 'chain') else operator_of(model)


def operator_of(model):
    node = next(iter(model.get(7).all(1)), None) if model.get(7) else None
    return node.text(7) + '.' + node.text(4) if node else ''


class Stock:
    def __init__(self, paths, models, scratch, chains=0):
        self.blobs = small_networks()
        for seed in range(chains):
            self.blobs['chain/%d' % seed] = random_chains.chain(seed).blob
        for path in glob.glob(os.path.join(models, '*', '*.onnx')):
            self.blobs['models/' + os.path.basename(path)] = read(path)
        for name, folder in cases.find([p for p in paths if os.path.exists(p)], scratch):
            path = os.path.join(folder, 'model.onnx')
            if os.path.getsize(path) <= LARGEST:
                self.blobs[name] = read(path)
        self.attributes, self.by_arity, self.groups, words = {}, {}, {}, set()
        for name in sorted(self.blobs):
            model = tree.decode('model', self.blobs[name])
            self.groups.setdefault(group_of(name, model), []).append(name)
            for node in [n for g in tree.graphs(model) for n in g.all(1)]:
                self.learn(node, words)
        self.words = sorted(words)
        for row in list(self.attributes.values()) + list(self.by_arity.values()):
            row.sort()

    def learn(self, node, words):
        names = self.by_arity.setdefault((node.text(7), len(node.all(1))), [])
        if node.text(4) not in names:
            names.append(node.text(4))
        row = self.attributes.setdefault(node.text(4), [])
        for a in node.all(5):
            blob = tree.encode(a)
            if len(blob) < 2000 and blob not in row:
                row.append(blob)
            if a.get(20) == 3 and len(a.text(4)) < 40:
                words.add(a.text(4))

    def choose(self, rng):
        if 'chain' in self.groups and rng.random() < 0.5:
            return rng.choice(self.groups['chain'])
        group = 'net' if rng.random() < 0.1 else rng.choice(sorted(self.groups))
        return rng.choice(self.groups[group])


def read(path):
    with open(path, 'rb') as f:
        return f.read()
