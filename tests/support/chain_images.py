# SPDX-License-Identifier: Apache-2.0
"""Links of chains that look at signals, images and volumes: windows, norms, changes of size."""
import math

from chain_net import need


def image(net, least=3, most=5):
    return net.number(least, most)


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


# --- windows ---


class Window:
    """Taps, strides, dilations and padding of a window over the dimensions behind the channels."""

    def __init__(self, net, x, pooled=False):
        n = x.rank - 2
        self.sizes = x.dims[2:]
        self.taps = [net.one(1, 1, 2, 3, 3, 3, 4, 5) for _ in range(n)]
        self.strides = [net.one(1, 1, 2, 3) for _ in range(n)] if net.maybe(0.5) else [1] * n
        self.dilations = [net.one(1, 2, 3) for _ in range(n)] if net.maybe(0.3) else [1] * n
        self.auto = net.one('SAME_UPPER', 'SAME_LOWER', 'VALID') if net.maybe(0.2) else ''
        self.pads = [0] * 2 * n
        if self.same():
            self.dilations = [1] * n
        elif not self.auto and net.maybe(0.6):
            self.pads = [self.padding(net, self.taps[i % n], pooled) for i in range(2 * n)]

    @staticmethod
    def padding(net, taps, pooled):
        most = taps - 1 if pooled else max(taps - 1, 1)
        return min(net.one(0, 0, 1, 2, most), most)

    def same(self):
        return self.auto.startswith('SAME')

    def extents(self):
        return [(k - 1) * d + 1 for k, d in zip(self.taps, self.dilations)]

    def attributes(self, net, shaped=False):
        """What is said; what is as it is by default, not always."""
        n, attrs = len(self.taps), {}
        if shaped or net.maybe(0.8):
            attrs['kernel_shape'] = self.taps
        said = [
            ('strides', self.strides, 1),
            ('dilations', self.dilations, 1),
            ('pads', self.pads, 0),
        ]
        for name, values, usual in said:
            if any(v != usual for v in values) or not self.auto and net.maybe(0.2):
                attrs[name] = values
        if self.auto or net.maybe(0.1):
            attrs['auto_pad'] = self.auto or 'NOTSET'
        return attrs

    def results(self, ceiling=False):
        """Sizes of what the window leaves."""
        if self.same():
            return [-(-d // s) for d, s in zip(self.sizes, self.strides)]
        return [self.places(i, ceiling) for i in range(len(self.taps))]

    def places(self, i, ceiling):
        before, after = self.pads[i], self.pads[len(self.taps) + i]
        room, stride = self.sizes[i] + before + after - self.extents()[i], self.strides[i]
        need(room >= 0)
        if not ceiling:
            return room // stride + 1
        n = -(-room // stride) + 1
        beyond = (n - 1) * stride >= self.sizes[i] + before  # it begins in the padding behind
        return n - 1 if beyond else n


def biased(net, ins, kind, channels):
    return ins + [net.weight(kind, [channels])] if net.maybe(0.6) else ins


def grouped(net, groups):
    return {'group': groups} if groups > 1 or net.maybe(0.3) else {}


def conv(net):
    x = image(net)
    w, channels = Window(net, x), x.dims[1]
    groups = net.one(1, 1, 1, channels, channels, *divisors(channels))
    out = groups * net.one(1, 1, 2, 3, net.int(1, 8))
    out = out if out <= 60 else groups
    ins = biased(
        net, [x, net.weight(x.kind, [out, channels // groups] + w.taps, -0.7, 0.7)], x.kind, out
    )
    return net.node(
        'Conv', ins, x.dims[:1] + [out] + w.results(), **w.attributes(net), **grouped(net, groups)
    )


def deconv(net):
    x = image(net)
    w, channels = Window(net, x), x.dims[1]
    groups, out = net.one(1, 1, channels, *divisors(channels)), net.one(1, 2, 3, 5)
    need(not w.same() or all(k >= s for k, s in zip(w.taps, w.strides)))
    attrs, n = dict(w.attributes(net), **grouped(net, groups)), len(w.taps)
    more = [0] * n
    if not w.same() and net.maybe(0.4):
        more = attrs['output_padding'] = [
            net.int(0, max(s, d) - 1) for s, d in zip(w.strides, w.dilations)
        ]
    sizes = (
        [s * d for s, d in zip(w.strides, w.sizes)]
        if w.same()
        else [
            s * (d - 1) + m + e - w.pads[i] - w.pads[n + i]
            for i, (s, d, m, e) in enumerate(zip(w.strides, w.sizes, more, w.extents()))
        ]
    )
    ins = biased(
        net, [x, net.weight(x.kind, [channels, out] + w.taps, -0.7, 0.7)], x.kind, out * groups
    )
    return net.node('ConvTranspose', ins, x.dims[:1] + [out * groups] + sizes, **attrs)


# Pools, and the first opset in which they have dilations and ceil_mode.
POOLS = {'MaxPool': (10, 10), 'AveragePool': (19, 10), 'LpPool': (18, 18)}


def pool(net):
    x, op = image(net), net.one('MaxPool', 'MaxPool', 'AveragePool', 'AveragePool', 'LpPool')
    w, (dilated, rounded) = Window(net, x, True), POOLS[op]
    if net.opset < dilated:
        w.dilations = [1] * len(w.taps)
    attrs = w.attributes(net, True)
    if net.opset < dilated:
        attrs.pop('dilations', None)
    ceiling = net.opset >= rounded and not w.auto and net.maybe(0.3)
    if ceiling:
        attrs['ceil_mode'] = 1
    if op == 'AveragePool' and net.maybe(0.6):
        attrs['count_include_pad'] = net.one(0, 1, 1)
    if op == 'LpPool' and net.maybe(0.5):
        attrs['p'] = net.one(1, 2, 3)
    dims = x.dims[:2] + w.results(ceiling)
    if op != 'MaxPool' or net.maybe(0.85):
        return net.node(op, [x], dims, **attrs)
    order = {'storage_order': net.one(0, 1)} if net.opset >= 8 and net.maybe(0.3) else {}
    need(net.opset >= 8)
    return net.nodes_of(op, [x], [(x.kind, dims), ('int64', dims)], **attrs, **order)[::-1]


def global_pool(net):
    x = image(net)
    op = net.one('GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool')
    return net.node(op, [x], x.dims[:2] + [1] * (x.rank - 2))


# --- norms ---


def vectors(net, x, count):
    """Numbers of each channel."""
    return [net.weight(x.kind, x.dims[1:2]) for _ in range(count)]


def batch_norm(net):
    x = net.number(2)
    attrs = {'epsilon': net.one(1e-5, 1e-3, 0.1)} if net.maybe(0.5) else {}
    ins = [x] + vectors(net, x, 3) + [net.weight(x.kind, x.dims[1:2], 0.2, 2)]
    return net.node('BatchNormalization', ins, **attrs)


def instance_norm(net):
    x = image(net)
    need(math.prod(x.dims[2:]) > 1)
    return net.node('InstanceNormalization', [x] + vectors(net, x, 2))


def group_norm(net):
    x = image(net)
    groups = net.one(*divisors(x.dims[1]))
    need(math.prod(x.dims[1:]) > groups)
    return net.node('GroupNormalization', [x] + vectors(net, x, 2), num_groups=groups)


def layer_norm(net):
    need(net.opset >= 17)
    x = net.number(1)
    at = net.int(-x.rank, x.rank - 1)
    dims = x.dims[at:]
    need(math.prod(dims) > 1)
    ins = [x, net.weight(x.kind, dims), net.weight(x.kind, dims) if net.maybe(0.6) else None]
    return net.node('LayerNormalization', ins, axis=at, epsilon=net.one(1e-5, 1e-2))


def rms_norm(net):
    x = net.number(1)
    at, least = net.int(-x.rank, x.rank - 1), net.one(1e-5, 1e-2)
    return net.node(
        'RMSNormalization', [x, net.weight(x.kind, x.dims[at:])], axis=at, epsilon=least
    )


def response_norm(net):
    x = image(net, 4, 4)
    attrs = {'alpha': net.one(1e-4, 0.5), 'beta': net.one(0.75, 0.5), 'bias': net.one(1.0, 2.0)}
    return net.node('LRN', [x], size=net.one(1, 3, 5), **attrs)


def length_norm(net):
    """Of an input alone: what rounding leaves of zeros has a length, too."""
    x = net.number(1, fits=lambda v: v.name.startswith('x'))
    return net.node('LpNormalization', [x], axis=net.int(-x.rank, x.rank - 1), p=net.one(1, 2))


def variance_norm(net):
    """Of an input alone, for the same reason."""
    x = net.number(4, 4, lambda v: v.name.startswith('x') and v.dims[2] * v.dims[3] > 1)
    return net.node('MeanVarianceNormalization', [x], axes=net.one([0, 2, 3], [2, 3], [1, 2, 3]))


# --- sizes ---


def upsample(net):
    x = image(net)
    times = [1, 1] + [net.one(1, 2, 3) for _ in x.dims[2:]]
    dims = [d * t for d, t in zip(x.dims, times)]
    if net.opset >= 9:
        scales = net.const(times, 'float32', [x.rank])
        return net.node('Upsample', [x, scales], dims, mode='nearest')
    return net.node('Upsample', [x], dims, mode='nearest', scales=[float(t) for t in times])


PLACES = ('half_pixel', 'pytorch_half_pixel', 'align_corners', 'asymmetric')


def resize_mode(net, x):
    """What says where numbers come from."""
    cubic = x.rank == 4 and min(x.dims[2:]) > 3
    mode = net.one('nearest', 'nearest', 'linear', 'cubic' if cubic else 'linear')
    attrs = {'mode': mode}
    if net.maybe(0.8):
        attrs['coordinate_transformation_mode'] = net.one(*PLACES)
    if mode == 'nearest' and net.maybe(0.8):
        attrs['nearest_mode'] = net.one('round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil')
    if mode == 'cubic':
        attrs.update(cubic_coeff_a=net.one(-0.5, -0.75), exclude_outside=net.one(0, 1))
    if net.opset >= 18 and mode != 'nearest' and net.maybe(0.25):
        attrs['antialias'] = 1
    return attrs


def resize(net):
    if net.opset < 10:
        return upsample(net)
    x = net.take('float32', 3, 5)
    by = [net.one(1.0, 2.0, 2.0, 0.5, 1.5, 3.0, 0.625, 1.25) for _ in x.dims[2:]]
    sizes = [int(d * b) for d, b in zip(x.dims[2:], by)]
    need(
        all(b == 1 or s != d for s, d, b in zip(sizes, x.dims[2:], by))
    )  # peers take that for no change
    if net.opset == 10:
        scales, mode = net.const([1, 1] + by, 'float32', [x.rank]), net.one('nearest', 'linear')
        return net.node('Resize', [x, scales], x.dims[:2] + sizes, mode=mode)
    attrs = resize_mode(net, x)
    some = net.opset >= 18 and net.maybe(0.4)
    if some:
        attrs['axes'] = [net.axis(a, x.rank) for a in range(2, x.rank)]
    roi = None if net.opset >= 13 else net.const([], 'float32', [0])
    whole = all(float(d * b).is_integer() for d, b in zip(x.dims[2:], by))
    aligned = attrs.get('coordinate_transformation_mode') == 'align_corners'
    if (whole or not aligned) and net.maybe(0.5):  # else lengths are said in two ways
        by = by if some else [1, 1] + by
        scales = net.const(by, 'float32', [len(by)])
        return net.node('Resize', [x, roi, scales], x.dims[:2] + sizes, **attrs)
    none = None if net.opset >= 13 else net.const([], 'float32', [0])
    sizes = [max(1, s + net.one(0, 0, 1, -1)) for s in sizes]
    dims = x.dims[:2] + sizes
    return net.node('Resize', [x, roi, none, net.ints(*sizes if some else dims)], dims, **attrs)


def depth_to_space(net):
    n = net.one(2, 2, 3)
    x = net.number(4, 4, lambda v: v.dims[1] % (n * n) == 0)
    b, c, h, w = x.dims
    attrs = {'mode': net.one('DCR', 'CRD')} if net.opset >= 11 and net.maybe(0.7) else {}
    return net.node('DepthToSpace', [x], [b, c // (n * n), h * n, w * n], blocksize=n, **attrs)


def space_to_depth(net):
    x = net.number(4, 4, lambda v: v.dims[2] % 2 == v.dims[3] % 2 == 0)
    b, c, h, w = x.dims
    return net.node('SpaceToDepth', [x], [b, 4 * c, h // 2, w // 2], blocksize=2)


# --- blocks that networks are built of ---


def excite(net):
    """Each channel times a number that all its pixels give."""
    x = image(net, 4, 4)
    b, c = x.dims[:2]
    if net.maybe(0.5):
        y = net.node('GlobalAveragePool', [x], [b, c, 1, 1])
    else:
        ins, attrs = net.axes([2, 3], 4, 18)
        y = net.node('ReduceMean', [x] + ins, [b, c, 1, 1], keepdims=1, **attrs)
    for to, op in ((2, 'Relu'), (c, net.one('Sigmoid', 'HardSigmoid'))):
        ins = [y, net.weight(x.kind, [to, y.dims[1], 1, 1]), net.weight(x.kind, [to])]
        y = net.node(op, [net.node('Conv', ins, [b, to, 1, 1])])
    return net.both('Mul', *net.shuffled([x, y]))


def residual(net):
    """One or two convolutions, and what they began with."""
    x = y = image(net)
    for _ in range(net.int(1, 2)):
        taps = [net.one(1, 3) for _ in x.dims[2:]]
        ins = [y, net.weight(x.kind, x.dims[1:2] * 2 + taps, -0.5, 0.5)]
        y = net.node('Conv', biased(net, ins, x.kind, x.dims[1]), pads=[k // 2 for k in taps] * 2)
        y = net.node(net.one('Relu', 'Sigmoid', 'LeakyRelu'), [y]) if net.maybe(0.5) else y
    y = net.both('Add', *net.shuffled([x, y]))
    return net.node('Relu', [y]) if net.maybe(0.6) else y


def shuffle(net):
    """Channels of groups, mixed."""
    x = net.number(4, 4, lambda v: len(divisors(v.dims[1])) > 2)
    b, c, h, w = x.dims
    groups = net.one(*divisors(c)[1:-1])
    dims = [b, groups, c // groups, h, w]
    y = net.node('Reshape', [x, net.ints(*dims)], dims)
    y = net.node('Transpose', [y], [b, c // groups, groups, h, w], perm=[0, 2, 1, 3, 4])
    return net.node('Reshape', [y, net.ints(b, c, h, w)], x.dims)
