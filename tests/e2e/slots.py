# SPDX-License-Identifier: Apache-2.0
"""compile --slots: the Linux example that comes with it takes downloads of `inlay weights pack`,
tries them, keeps or refuses them; without --slots nothing changes; size and stack of the code on
Cortex-M4.

    slots.py --inlay INLAY --page docs/UPDATES.md --runtime runtime"""
import argparse
import hashlib
import os
import re
import shutil
import struct

import blobs
import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

ROWS, COLUMNS = 40, 72
MOST_CODE, MOST_DELTA_CODE, MOST_STACK = 3072, 1024, 256
MOST_SIGNED_CODE, MOST_SIGNED_STACK = 1024, 512
M4 = [
    '-std=c99',
    '-Os',
    '-mcpu=cortex-m4',
    '-mthumb',
    '-Wall',
    '-Wextra',
    '-Wpedantic',
    '-Wconversion',
    '-Wshadow',
    '-Werror',
]


def model(seed):
    """One product; its first result is the number that a run prints."""
    values = [seed + i % 7 for i in range(ROWS * COLUMNS)]
    w = make_tensor('w', 1, [ROWS, COLUMNS], struct.pack('<%df' % len(values), *values))
    return make_model(
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [make_value('x', 1, [1, ROWS])],
        [make_value('y', 1, [1, COLUMNS])],
        [w],
    )


def listing(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), 'rb') as f:
                found[os.path.relpath(os.path.join(path, name), folder)] = f.read()
    return found


class Device:
    def __init__(self, t, o, work):
        self.t, self.inlay, self.work = t, o.inlay, work
        self.out = os.path.join(work, 'kws')
        self.flash = os.path.join(work, 'flash')
        with open(o.page) as f:
            (self.verify,) = re.findall(r'^```c\n(/\* verify.h.*?)^```', f.read(), re.S | re.M)

    def write_model(self, seed):
        path = os.path.join(self.work, 'model%d.onnx' % seed)
        with open(path, 'wb') as f:
            f.write(model(seed))
        return path

    def build(self, options=(), libraries=()):
        status, text = host.run(
            [
                self.inlay,
                'compile',
                self.write_model(1),
                '-o',
                self.out,
                '-n',
                'kws',
                '--weights=blob',
                '--slots',
            ]
        )
        if not self.t.ok('compile --slots', status == 0, text):
            return False
        with open(os.path.join(self.work, 'verify.h'), 'w') as f:
            f.write(self.verify)
        flags = host.STRICT + host.SANITIZERS + ['-O2', '-I.'] + list(options)
        files = (
            [os.path.join(self.out, 'examples', 'device', 'linux.c')]
            + host.sources(self.out)
            + ['-lm']
            + list(libraries)
        )
        status, text = host.run(
            ['gcc'] + flags + ['-I', os.path.join(self.out, 'src'), '-o', 'device'] + files,
            self.work,
        )
        return self.t.ok('the device compiles', status == 0, text)

    def blob(self, seed, *options):
        path = os.path.join(
            self.work, '%d.%s' % (seed, 'delta' if '--against' in options else 'blob')
        )
        words = [
            self.inlay,
            'weights',
            'pack',
            self.write_model(seed),
            '--for',
            os.path.join(self.out, 'kws.json'),
            '-o',
            path,
        ]
        status, text = host.run(words + list(options))
        self.t.ok('pack %d' % seed, status == 0, text)
        return path

    def changed(self, blob, name, value):
        """The blob with another first number, and right sums."""
        with open(blob, 'rb') as f:
            whole = f.read()
        values = bytearray(blobs.weights(whole)[: -blobs.SEAL])
        values[:4] = struct.pack('<f', value)
        path = os.path.join(self.work, name)
        with open(path, 'wb') as f:
            f.write(blobs.sealed(whole, bytes(values)))
        return path

    def cut(self, blob):
        """All but its last bytes."""
        path = os.path.join(self.work, 'cut.blob')
        with open(blob, 'rb') as f, open(path, 'wb') as to:
            to.write(f.read()[:-20])
        return path

    def delta(self, old, new):
        path = new.replace('.blob', '.delta')
        status, text = host.run([self.inlay, 'weights', 'delta', new, '--against', old, '-o', path])
        self.t.ok('delta of %s' % os.path.basename(new), status == 0, text)
        return path

    def run(self, *words):
        return host.run(['./device', self.flash] + list(words), self.work)

    def says(self, what, expected, *words, status=0):
        done, text = self.run(*words)
        self.t.ok(what, done == status and text.strip() == expected, '%d %s' % (done, text))


def line(slot, trial, seed):
    """What a run on inputs of 1 says."""
    return 'slot %d, trial %d, error 0: %d' % (
        slot,
        trial,
        sum(seed + r * COLUMNS % 7 for r in range(ROWS)),
    )


def check_updates(t, o, work):
    device = Device(t, o, work)
    if not device.build():
        return
    own = 'no weights yet'
    blob = {seed: device.blob(seed) for seed in (2, 3, 4)}
    device.says('an empty flash', own, blob[2])
    device.says('the first weights are on trial', line(0, 1, 2))
    device.says('and refused, where nobody confirms them', own, blob[2])
    device.says('the same again', line(1, 1, 2), 'good')
    device.says('they are kept', line(1, 0, 2), blob[3])
    device.says('others are on trial', line(0, 1, 3))
    device.says('a cut, and the old ones are back', line(1, 0, 2))
    device.says('for good', line(1, 0, 2), blob[4])
    device.says('the next ones are on trial', line(0, 1, 4), 'good')
    device.says('and are kept', line(0, 0, 4))
    check_bad_downloads(t, device, blob[2])


def check_bad_downloads(t, device, good):
    """Nothing of them is ever used."""
    with open(good, 'rb') as f:
        whole = f.read()
    foreign = bytearray(whole)
    foreign[9] ^= 1
    damaged = bytearray(whole)
    damaged[blobs.begin(whole) + 100] ^= 4
    path = os.path.join(device.work, 'bad.blob')
    before = listing(device.work)['flash']
    for what, bytes_, erased in (
        ('of other code', bytes(foreign), False),
        ('cut off', whole[:-1], True),
        ('damaged', bytes(damaged), True),
        ('empty', b'', True),
    ):
        with open(path, 'wb') as f:
            f.write(bytes_)
        device.says('a download %s is refused' % what, line(0, 0, 4), path, status=3)
        device.says('and never used', line(0, 0, 4))
        if not erased:
            t.ok('nothing was erased for it', listing(device.work)['flash'] == before)
    device.says('one that is cut off far behind', line(0, 0, 4), device.cut(good), status=3)
    device.says('goes on', line(0, 0, 4), good, 'again')
    device.says('on trial', line(1, 1, 2), 'good')
    device.says('and kept', line(1, 0, 2))


def golden(work, seed, off=0):
    """A file of an input and what comes of it."""
    x = [float(i % 3) for i in range(ROWS)]
    y = [
        sum(x[r] * (seed + (r * COLUMNS + i) % 7) for r in range(ROWS)) + off
        for i in range(COLUMNS)
    ]
    path = os.path.join(work, 'golden')
    with open(path, 'wb') as f:
        f.write(struct.pack('<%df' % len(x + y), *x, *y))
    return path


def check_golden(t, o, work):
    device = Device(t, o, work)
    if not device.build():
        return
    own = 'no weights yet'
    device.says('an empty flash', own, device.blob(5, '--golden', golden(work, 5, 1)))
    device.says('the golden bytes say that these are bad', line(0, 1, 5))
    device.says('they are refused', own, device.blob(2, '--golden', golden(work, 2)))
    device.says('the golden bytes say that these are good', line(1, 1, 2))
    device.says('they are kept', line(1, 0, 2))


def check_deltas(t, o, work):
    device = Device(t, o, work)
    if not device.build():
        return
    own = 'no weights yet'
    blob = {seed: device.blob(seed) for seed in (2, 3, 4)}
    small = device.delta(blob[2], device.changed(blob[2], 'few.blob', 9))
    t.ok('a delta of one number is small', os.path.getsize(small) < 150, os.path.getsize(small))
    first = device.blob(3, '--against', blob[2])
    with_notes = device.delta(
        blob[3], device.blob(4, '--counter', '5', '--golden', golden(work, 4))
    )
    device.says('no base, no delta', own, first, status=6)
    device.says('the whole blob', own, blob[2])
    device.says('is on trial', line(0, 1, 2), 'good')
    before = listing(work)['flash']
    device.says('a delta for other weights is refused', line(0, 0, 2), with_notes, status=6)
    t.ok('and nothing is erased for it', listing(work)['flash'] == before)
    device.says('the one for these', line(0, 0, 2), first)
    device.says('is on trial', line(1, 1, 3), 'good')
    made = listing(work)['flash'][len(before) // 2 :]
    with open(blob[3], 'rb') as f:
        whole = f.read()
    t.ok('the slot has the new blob, byte for byte', made[: len(whole)] == whole)
    device.says('one with counter and golden bytes', line(1, 0, 3), with_notes)
    device.says('is on trial, and good', line(0, 1, 4))
    device.says('and kept', line(0, 0, 4))
    check_delta_files(t, device, blob, first)


def check_delta_files(t, device, blob, delta):
    """verify and info of deltas, and damaged ones."""

    def asked(what, status, *words):
        done, text = host.run([device.inlay, 'weights'] + list(words), device.work)
        t.ok(what, done == status, '%d %s' % (done, text))
        return text

    manifest = os.path.join(device.out, 'kws.json')
    asked('verify: a delta', 0, 'verify', delta, '--for', manifest, '--against', blob[2])
    asked('verify: of other weights', 78, 'verify', delta, '--against', blob[4])
    asked('verify: a blob against another', 64, 'verify', blob[3], '--against', blob[2])
    text = asked('info: a delta', 0, 'info', delta)
    sectors = (os.path.getsize(blob[3]) + 1024 + 4095) // 4096
    t.ok(
        'info: size and wear',
        'makes    a blob of %d bytes' % os.path.getsize(blob[3]) in text
        and 'at least %d sectors of 4096 bytes' % sectors in text,
        text,
    )
    asked('delta onto the old blob', 64, 'delta', blob[3], '--against', blob[2], '-o', blob[2])
    asked('delta onto the new blob', 64, 'delta', blob[3], '--against', blob[2], '-o', blob[3])
    asked('delta of nothing', 64, 'delta', blob[3], '-o', 'x')
    with open(delta, 'rb') as f:
        whole = f.read()
    found = 0
    for at in range(48):
        for bad in (
            whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :],
            whole[: len(whole) - 1 - at],
        ):
            with open(os.path.join(device.work, 'bad'), 'wb') as f:
                f.write(bad)
            found += host.run([device.inlay, 'weights', 'verify', 'bad'], device.work)[0] == 65
    t.ok('verify: damaged deltas are found', found == 96, found)


class Signer:
    """Keys of OpenSSL's program."""

    def __init__(self, t, inlay, work):
        self.t, self.inlay, self.work = t, inlay, work

    def made(self, name):
        pem = os.path.join(self.work, name)
        host.run(['openssl', 'genpkey', '-algorithm', 'ed25519', '-out', pem])
        status, text = host.run(
            ['openssl', 'pkey', '-in', pem, '-pubout', '-outform', 'DER', '-out', pem + '.der']
        )
        if status:
            return None, text
        with open(pem + '.der', 'rb') as f:
            return pem, f.read()[-32:]

    def signed(self, blob, pem, key=1):
        message, signature, path = (
            os.path.join(self.work, name)
            for name in ('message', 'signature', os.path.basename(blob) + '.signed')
        )
        steps = [
            [self.inlay, 'weights', 'sign-request', blob, '--key', str(key), '-o', message],
            [
                'openssl',
                'pkeyutl',
                '-sign',
                '-rawin',
                '-inkey',
                pem,
                '-in',
                message,
                '-out',
                signature,
            ],
            [
                self.inlay,
                'weights',
                'attach-signature',
                blob,
                signature,
                '--key',
                str(key),
                '-o',
                path,
            ],
        ]
        results = [host.run(step) for step in steps]
        self.t.ok(
            'sign %s with key %d' % (os.path.basename(blob), key),
            not any(status for status, _ in results),
            results,
        )
        return path


def check_message(t, blob, work):
    """The message is what docs/UPDATES.md says it is."""
    with open(blob, 'rb') as f:
        whole = f.read()
    with open(os.path.join(work, 'message'), 'rb') as f:
        message = f.read()
    layout = struct.unpack_from('<Q', whole, 8)[0]
    wanted = (
        b'INLAYSG\1'
        + struct.pack('<QIIQ', layout, 1, 7, len(whole))
        + hashlib.sha256(whole).digest()
    )
    t.ok('the message to be signed', message == wanted, message)


def check_notes(t, o, blob, work):
    """Each bit of the notes, and each length of the file."""
    with open(blob, 'rb') as f:
        whole = f.read()
    path, begin = (
        os.path.join(work, 'damaged.blob'),
        blobs.begin(whole) + struct.unpack_from('<Q', whole, 16)[0],
    )
    found = 0
    for at in range(begin, len(whole)):
        for bad in (
            whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :],
            whole[:at] if at > begin else whole + b'\0',
        ):
            with open(path, 'wb') as f:
                f.write(bad)
            found += host.run([o.inlay, 'weights', 'verify', path])[0] == 65
    cut = whole[: begin + 16]
    with open(path, 'wb') as f:
        f.write(cut)
    t.ok('a blob may end behind a note', host.run([o.inlay, 'weights', 'verify', path])[0] == 0)
    t.ok(
        'verify: damaged notes are found',
        found == 2 * (len(whole) - begin) - 1,
        '%d of %d' % (found, 2 * (len(whole) - begin) - 1),
    )


def check_signed(t, o, work):
    signer = Signer(t, o.inlay, work)
    pem, raw = signer.made('key.pem')
    if not pem:
        t.skip('signatures', 'openssl makes no keys of Ed25519: %s' % raw)
        return
    device = Device(t, o, work)
    key = '-DKEY=%s' % ','.join(map(str, raw))
    if not device.build(['-DKWS_DEVICE_SIGNED', key], ['-lcrypto']):
        return
    own = 'no weights yet'
    first, second = device.blob(2, '--counter', '7'), device.blob(3, '--counter', '8')
    device.says('an unsigned download is refused', own, first, status=3)
    good = signer.signed(first, pem)
    check_message(t, first, work)
    device.says(
        'one that is signed with another key',
        own,
        signer.signed(second, signer.made('other.pem')[0]),
        status=3,
    )
    device.says(
        'one that says another number of the key', own, signer.signed(second, pem, 2), status=3
    )
    forge(second, good)
    device.says('one with the signature of another blob', own, second, status=3)
    device.says('a signed one is taken', own, good)
    device.says('and on trial', line(0, 1, 2), 'good')
    status, text = host.run([o.inlay, 'weights', 'info', good])
    t.ok(
        'info: counter and signature',
        status == 0 and 'counter  7' in text and 'with key 1, 64 bytes' in text,
        text,
    )
    again = signer.signed(good, pem)
    with open(good, 'rb') as f, open(again, 'rb') as g:
        t.ok('a signature takes the place of an older one', f.read() == g.read())
    check_lengths(t, device, signer, pem, os.path.getsize(first))
    check_notes(t, o, good, work)
    check_words(t, o, good)


def check_lengths(t, device, signer, pem, length):
    """SHA-256 of all lengths that its last block knows."""
    path = os.path.join(device.work, 'golden')
    for slot, end in enumerate((0, 1, 55, 56, 57, 63)):
        with open(path, 'wb') as f:
            f.write(bytes((end - length - 16) % 64))
        blob = signer.signed(device.blob(4, '--counter', str(8 + slot), '--golden', path), pem)
        device.run(blob)
        device.says(
            'a signed one, of %d bytes more than whole blocks' % end,
            line((1 + slot) % 2, 1, 4),
            'good',
        )


def forge(blob, signed):
    """The blob with the signature of another one."""
    with open(signed, 'rb') as f:
        note = f.read()[-64 - 16 :]
    with open(blob, 'ab') as f:
        f.write(note)


def check_words(t, o, good):
    before = open(good, 'rb').read()
    for words in (
        ['verify', good, '--key', '1'],
        ['info', good, '--counter', '1'],
        ['sign-request', good, '-o', good],
        ['sign-request', good],
        ['attach-signature', good, good],
        ['sign-request', good, '--key', '4294967296', '-o', good + '.m'],
    ):
        status, text = host.run([o.inlay, 'weights'] + words)
        t.ok('usage: ' + ' '.join(words[:1] + words[2:]), status == 64, text)
    status, text = host.run([o.inlay, 'weights', 'attach-signature', good, good, '-o', good + '.x'])
    t.ok('what is too long for a signature', status == 65, text)
    t.ok('the file that is read stays', open(good, 'rb').read() == before)


def check_others(t, o, work):
    path = os.path.join(work, 'a.onnx')
    with open(path, 'wb') as f:
        f.write(model(1))

    def compiled(name, *options):
        out = os.path.join(work, name)
        status, text = host.run([o.inlay, 'compile', path, '-o', out, '-n', 'm'] + list(options))
        t.ok('compile ' + ' '.join(options), status == 0, text)
        return listing(out)

    plain, slots = compiled('plain', '--weights=blob'), compiled(
        'slots', '--weights=blob', '--slots'
    )
    more = set(slots) - set(plain)
    t.ok(
        '--slots adds its files',
        more
        == {
            'src/inlay_%s' % name
            for name in (
                'slots.c',
                'slots.h',
                'signed.c',
                'signed.h',
                'delta.c',
                'delta.h',
                'notes.h',
            )
        }
        | {'examples/device/%s' % name for name in ('linux.c', 'flash_file.h', 'm_device.h')},
        more,
    )
    builds = {name for name in plain if plain[name] != slots[name]}
    t.ok(
        'and names them in build files and manifest alone',
        builds == {'CMakeLists.txt', 'meson.build', 'README.md', 'm.json'},
        builds,
    )
    t.ok(
        'without it nobody speaks of slots',
        not any(b'inlay_slots' in text for text in plain.values()),
    )
    for words in ([], ['--weights=c']):
        status, text = host.run(
            [o.inlay, 'compile', path, '-o', os.path.join(work, 'no'), '--slots'] + words
        )
        t.ok('--slots %s: usage' % ' '.join(words), status == 64 and '--weights=blob' in text, text)
    weightless = os.path.join(work, 'none.onnx')
    with open(weightless, 'wb') as f:
        f.write(
            make_model(
                [make_node('Relu', ['x'], ['y'], 'relu')],
                [make_value('x', 1, [4])],
                [make_value('y', 1, [4])],
            )
        )
    out = os.path.join(work, 'none')
    status, text = host.run(
        [o.inlay, 'compile', weightless, '-o', out, '--weights=blob', '--slots']
    )
    t.ok(
        'a model without weights needs no slots',
        status == 0 and not os.path.exists(out + '/src/inlay_slots.c'),
        text,
    )


def deepest(description, skip):
    """Bytes of stack from each function down, by gcc's description of an object."""
    frame = {
        name: int(size)
        for name, size in re.findall(
            r'title: "(?:[^"]*:)?([^":]+)" label: "[^"]*?(\d+) bytes \(static', description
        )
    }
    calls = {}
    for caller, called in re.findall(
        r'^edge: \{ sourcename: "(?:[^"]*:)?([^":]+)" targetname: "(?:[^"]*:)?([^":]+)"',
        description,
        re.M,
    ):
        calls.setdefault(caller, set()).add(called)

    def down(name, trail):
        assert name not in trail, 'recursion'
        return frame.get(name, 0) + max(
            [down(called, trail + (name,)) for called in calls.get(name, ()) if called not in skip]
            or [0]
        )

    return {name: down(name, ()) for name in frame}


def check_size(t, o, work, sources, most_stack):
    """Stack is that of a source and those before it, which it calls."""
    cc = 'arm-none-eabi-gcc'
    if not shutil.which(cc):
        t.skip('size and stack', cc + ' is not installed')
        return
    descriptions = ''
    for source, most_code in sources:
        status, text = host.run(
            [cc]
            + M4
            + [
                '-fcallgraph-info=su',
                '-I',
                o.runtime,
                '-c',
                os.path.join(o.runtime, source + '.c'),
                '-o',
                source + '.o',
            ],
            work,
        )
        if not t.ok(source + ': compiles', status == 0, text):
            continue
        text = host.run(['arm-none-eabi-size', source + '.o'], work)[1]
        code, data, zero = map(int, text.splitlines()[1].split()[:3])
        t.ok(
            '%s: %d bytes of code, at most %d; no data' % (source, code, most_code),
            code <= most_code and not data and not zero,
            text,
        )
        with open(os.path.join(work, source + '.ci')) as f:
            descriptions += f.read()
        stack = deepest(descriptions, {'__indirect_call'})
        most = max(stack.values())
        t.ok(
            '%s: %d bytes of stack, at most %d' % (source, most, most_stack),
            64 < most <= most_stack,
            stack,
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--page', required=True)
    p.add_argument('--runtime', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for check in (check_updates, check_deltas, check_golden, check_signed, check_others):
        with host.Work() as work:
            check(t, o, work)
    with host.Work() as work:
        check_size(
            t, o, work, [('inlay_slots', MOST_CODE), ('inlay_delta', MOST_DELTA_CODE)], MOST_STACK
        )
        check_size(t, o, work, [('inlay_signed', MOST_SIGNED_CODE)], MOST_SIGNED_STACK)
    t.done()


main()
