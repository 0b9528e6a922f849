# SPDX-License-Identifier: Apache-2.0
"""A model file as a tree of messages that can be edited and written again. What the tables do not
name stays bytes."""
import struct

import onnx

# Which fields of a message are messages themselves, and of which kind.
PARTS = {
    'model': {7: 'graph', 8: 'opset', 25: 'function'},
    'graph': {1: 'node', 5: 'tensor', 11: 'value', 12: 'value', 13: 'value'},
    'node': {5: 'attr'},
    'attr': {5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph'},
    'value': {2: 'type'},
    'type': {1: 'tensor_type', 4: 'wrapped', 9: 'wrapped'},
    'wrapped': {1: 'type'},
    'tensor_type': {2: 'shape'},
    'shape': {1: 'dim'},
    'function': {7: 'node', 9: 'opset'},
}


class Message:
    """Fields in the order of the file: [number, wire type, value]."""

    def __init__(self, kind, fields=()):
        self.kind, self.fields = kind, list(fields)

    def all(self, number):
        return [f[2] for f in self.fields if f[0] == number]

    def get(self, number, default=None):
        return next((f[2] for f in self.fields if f[0] == number), default)

    def text(self, number):
        return self.get(number, b'').decode('utf8', 'replace')

    def texts(self, number):
        return [v.decode('utf8', 'replace') for v in self.all(number)]

    def drop(self, number):
        self.fields = [f for f in self.fields if f[0] != number]

    def set_all(self, number, values):
        self.drop(number)
        for v in values:
            self.add(number, v)

    def set(self, number, value):
        self.set_all(number, [value])

    def add(self, number, value):
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, int):
            self.fields.append([number, 0, value & (1 << 64) - 1])
        elif isinstance(value, float):
            self.fields.append([number, 5, struct.pack('<f', value)])
        else:
            self.fields.append([number, 2, value])

    def ints(self, number):
        """A repeated integer, packed or not."""
        return [
            v for n, wire, value in self.fields if n == number for v in onnx.packed(wire, value)
        ]

    def floats(self, number):
        raw = b''.join(v for v in self.all(number))
        return list(struct.unpack('<%df' % (len(raw) // 4), raw))


def decode(kind, blob):
    parts = PARTS.get(kind, {})
    return Message(
        kind,
        (
            [n, wire, decode(parts[n], value) if wire == 2 and n in parts else value]
            for n, wire, value in onnx.fields(blob)
        ),
    )


def encode(message):
    out = []
    for number, wire, value in message.fields:
        out.append(onnx.varint(number << 3 | wire))
        if wire == 0:
            out.append(onnx.varint(value))
            continue
        body = encode(value) if isinstance(value, Message) else value
        if wire == 2:
            out.append(onnx.varint(len(body)))
        out.append(body)
    return b''.join(out)


def graphs(model):
    """The model's graph and all subgraphs, outer ones first."""
    found = model.all(7)[:1]
    for graph in found:
        for node in graph.all(1):
            for attr in node.all(5):
                found.extend(attr.all(6) + attr.all(11))
    return found


def tensor_type(value):
    """The part of a ValueInfo that holds element type and shape; None where it is no tensor."""
    kind = value.get(2)
    return kind.get(1) if kind else None


def dims(value):
    """The dim messages of a ValueInfo."""
    inner = tensor_type(value)
    shape = inner.get(2) if inner else None
    return shape.all(1) if shape else []
