# SPDX-License-Identifier: Apache-2.0
"""The page in use, in a real browser (Debian's chromium): three widths, dark, clicks and keys, on
paper; the page of two compiles.

    page.py --inlay INLAY --models MODELS"""
import argparse
import json
import os
import re
import shutil
import struct

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
WIDTHS = (360, 800, 1400)

# What is done with a page, and what comes of it, as JSON in its last element. In a copy without the
# policy, which lets no other script run.
PROBE = '''<pre id="probe"></pre><script>
addEventListener('load', () => {
  const said = {};
  const box = id => {
    const r = document.getElementById(id).getBoundingClientRect();
    return [r.left, r.right, r.width, r.height];
  };
  const key = (where, name) => where.dispatchEvent(
    new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
  said.inner = innerWidth;
  said.scroll = document.documentElement.scrollWidth;
  const drawn = ['map', 'live', 'ram', 'flash', 'curve'].filter($);
  said.boxes = Object.fromEntries(drawn.map(id => [id, box(id)]));
  said.ground = getComputedStyle(document.body).backgroundColor;
  said.blocks = blocks.map(b => [b.first, b.end, b.bytes, b.by, b.readers]);
  said.who = blocks.map(b => {
    b.r.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    const marked = document.querySelectorAll('#steps tr.made, #steps tr.read');
    return [who.textContent, [...marked].map(r => r.rowIndex - 1)];
  });
  go(0);
  key(map, 'ArrowRight');
  said.step = +cursor.value;
  key(map, 'ArrowDown');
  said.down = picked && [picked.first, picked.end];
  key(alive.rows[alive.rows.length - 1], 'Enter');
  said.entered = picked && picked.bytes;
  said.least = Math.min(...blocks.filter(b => b.first <= 1 && 1 < b.end).map(b => b.bytes));
  key(map, 'Escape');
  said.none = who.textContent;
  const ram = [...document.querySelectorAll('#ram rect')].map(r => r.width.baseVal.value);
  const flash = [...document.querySelectorAll('#flash rect:not(.node)')];
  said.ram = ram.reduce((a, b) => a + b, 0);
  said.area = flash.reduce((a, r) => a + r.width.baseVal.value * r.height.baseVal.value, 0);
  said.tiles = flash.map(r => [r.textContent, r.classList.contains('twice')]);
  said.curve = [...document.querySelectorAll('#curve circle')].map(
    c => [c.cx.baseVal.value, c.cy.baseVal.value, c.classList.contains('taken'), c.textContent]);
  document.getElementById('probe').textContent = JSON.stringify(said);
});
</script>
'''


def browse(work, page, *flags):
    common = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--user-data-dir=' + os.path.join(work, 'profile'),
        '--virtual-time-budget=4000',
    ]
    return host.run(['chromium', *common, *flags, 'file://' + page], limit=120)


def read(path):
    with open(path, encoding='utf8') as f:
        return f.read()


def write(path, text):
    with open(path, 'w', encoding='utf8') as f:
        f.write(text)
    return path


def two_equal():
    """Two products by equal weights, and one by others."""

    def matrix(name, first):
        return make_tensor(
            name, F32, [16, 16], struct.pack('<256f', *[first + i / 256 for i in range(256)])
        )

    nodes = [
        make_node('MatMul', ['x', 'a'], ['p'], 'first'),
        make_node('MatMul', ['p', 'b'], ['q'], 'second'),
        make_node('MatMul', ['q', 'c'], ['y'], 'third'),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 16])],
        [make_value('y', F32, [1, 16])],
        [matrix('a', 1), matrix('b', 1), matrix('c', 2)],
    )


# Windows have a least width, frames have not.
FRAME = '''<iframe src="probe.html" style="width: %dpx; height: 900px; border: 0"></iframe>
<pre id="probe"></pre><script>
addEventListener('load', () => {
  const framed = document.querySelector('iframe').contentDocument.getElementById('probe');
  document.getElementById('probe').textContent = framed.textContent;
});
</script>
'''


def probed(work, page, *flags, width=1000):
    write(
        os.path.join(work, 'probe.html'), re.sub(r'<meta http-equiv[^>]*>', '', read(page)) + PROBE
    )
    status, dom = browse(
        work,
        write(os.path.join(work, 'frame.html'), FRAME % width),
        '--dump-dom',
        '--allow-file-access-from-files',
        '--window-size=1600,1000',
        *flags
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    return (
        json.loads(found.group(1).replace('&amp;', '&').replace('&gt;', '>').replace('&lt;', '<'))
        if status == 0 and found and found.group(1)
        else None
    )


def check_widths(t, work, page):
    """Nothing is cut off at the right; wide tables scroll by themselves."""
    said, page_name = None, os.path.basename(os.path.dirname(page))
    for width in WIDTHS:
        said = probed(work, page, width=width)
        fits = said and said['inner'] == width and said['scroll'] <= width
        t.ok(
            '%s, %d pixels wide: all of it is in view' % (page_name, width),
            fits,
            said and (said['inner'], said['scroll']),
        )
        seen = said and all(
            0 <= left < right <= width and w > width / 2 and h > 15
            for left, right, w, h in said['boxes'].values()
        )
        t.ok(
            '%s, %d pixels wide: each picture has its room' % (page_name, width),
            seen,
            said and said['boxes'],
        )
    return said


def links_of(manifest):
    """[(first, end, bytes, maker, readers)] of the arena's tensors by the operands of the steps."""
    made, readers = {}, {}
    for step in manifest['steps']:
        for operand in [o for o in step['operands'] if o and 'tensor' in o]:
            if operand['access'] == 'write':
                made.setdefault(operand['tensor'], step['index'])
            else:
                readers.setdefault(operand['tensor'], set()).add(step['index'])
    return [
        [
            x['first'],
            x['last'] + 1,
            x['extent'],
            made[x['index']],
            sorted(readers.get(x['index'], [])),
        ]
        for x in manifest['tensors']
        if x['storage'] == 'arena'
    ]


def check_use(t, said, manifest):
    found, wanted = (
        [[first, end, -(-size // 16), *links] for first, end, size, *links in sorted(all_)]
        for all_ in (said['blocks'], links_of(manifest))
    )
    t.ok('each block: who makes it, and who reads it', found == wanted, (found, wanted))
    told = all(
        str(by) in text and sorted(marked) == sorted({by, *readers})
        for (_, _, _, by, readers), (text, marked) in zip(said['blocks'], said['who'])
    )
    t.ok('a click on a block says so, and marks their lines', told, said['who'])
    t.ok(
        'keys on the map: a step on, a block that is alive, none',
        said['step'] == 1
        and said['down']
        and said['down'][0] <= 1 < said['down'][1]
        and said['none'] == '',
        said,
    )
    t.ok('Enter on a line of what is alive', said['entered'] == said['least'], said)
    t.ok(
        'the bar is all RAM',
        said['ram'] == manifest['ram']['total'],
        (said['ram'], manifest['ram']),
    )


def check_curve(t, said, manifest):
    """A point for each plan: the more work, the further to the right, the more bytes, the
    higher."""
    points, plans = said['curve'], manifest['curve']
    taken = [i for i, p in enumerate(points) if p[2]]
    t.ok(
        'the curve: a point for each plan, with its bytes',
        len(points) > 1
        and [p[3].split(' ')[0] for p in points] == ['{:,}'.format(c['arena']) for c in plans],
        points,
    )
    t.ok(
        'the curve: the plan that was taken',
        taken == [i for i, c in enumerate(plans) if c.get('chosen')],
        points,
    )
    t.ok(
        'the curve: bytes upwards, work to the right',
        all(a[0] <= b[0] and a[1] < b[1] for a, b in zip(points, points[1:])),
        points,
    )


def check_flash(t, said, manifest):
    titles = [title for title, _ in said['tiles']]
    sizes = [
        int(re.search(r', ([\d,]+) bytes', title).group(1).replace(',', '')) for title in titles
    ]
    t.ok(
        'flash: a tile for each constant, with its bytes',
        0 <= manifest['weights']['size'] - sum(sizes) < 64 * (len(sizes) + 1),
        (sizes, manifest['weights']),
    )
    t.ok(
        'flash: the tiles fill the picture',
        abs(said['area'] - 1000 * 380) < 10 * 1380,
        said['area'],
    )


def check_equal(t, work, page):
    said = probed(work, page)
    marks = [
        (int(re.search(r'; (\d+) more', title + '; 0 more').group(1)), twice)
        for title, twice in said['tiles']
    ]
    t.ok(
        'flash: equal constants are one tile, marked',
        marks == [(1, True), (2, True), (0, False)],
        said['tiles'],
    )  # weights, the zeros that are all biases, other weights
    t.ok(
        'flash: and what that saves',
        '3 more are equal to one of these and lie there once: 1,152 bytes' in read(page),
    )


def pages_of(path):
    with open(path, 'rb') as f:
        return len(re.findall(rb'/Type\s*/Page\b', f.read()))


def check_paper(t, work, page):
    """What a search hides, or a zoom, is printed all the same."""
    sheets = []
    for name, link in (('all', ''), ('some', '#find=fc&zoom=3')):
        path = os.path.join(work, name + '.pdf')
        status, text = browse(work, page + link, '--print-to-pdf=' + path)
        sheets.append(pages_of(path) if status == 0 and os.path.exists(path) else text)
    t.ok(
        'print: as many sheets with a search as without',
        sheets[0] == sheets[1] and sheets[0] > 1,
        sheets,
    )


def check_dark(t, work, page):
    said = probed(work, page, '--blink-settings=preferredColorScheme=0')
    t.ok(
        'dark where the reader prefers it',
        said and said['ground'] == 'rgb(18, 22, 28)',
        said and said['ground'],
    )


def check_diff(t, inlay, work, folders):
    """Names are escaped, no script runs, and the figures are those of `inlay diff --json`."""
    names = [os.path.join(folder, 'm.json') for folder in folders]
    status, page = host.run([inlay, 'diff', *names, '--html'])
    changes = json.loads(host.run([inlay, 'diff', *names, '--json'])[1])
    t.ok(
        'diff --html',
        status == 0 and '<script' not in page and 'http' not in page.replace('http-equiv', ''),
        page[:300],
    )
    rows = re.findall(
        r'<tr><td>(.*?)<td class="n">([\d,]+)<td class="n">([\d,]+)<td class="n[^"]*">', page
    )
    shown = {
        (name, int(old.replace(',', '')), int(new.replace(',', ''))) for name, old, new in rows
    }
    wanted = {(c['name'], c['before'], c['after']) for part in changes.values() for c in part}
    t.ok('diff --html: all that differs', wanted and wanted <= shown, wanted - shown)
    picture = os.path.join(work, 'diff.png')
    t.ok(
        'diff --html: it can be drawn',
        browse(
            work,
            write(os.path.join(work, 'diff.html'), page),
            '--screenshot=' + picture,
            '--window-size=800,900',
        )[0]
        == 0
        and os.path.getsize(picture) > 10000,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--models', required=True)
    o = parser.parse_args()
    t = tap.Tap()
    if not shutil.which('chromium'):
        t.skip('the page in a browser', 'chromium is not installed')
        return t.done()
    with host.Work() as work:

        def compiled(name, model, *flags):
            folder = os.path.join(work, name)
            status, text = host.run(
                [o.inlay, 'compile', model, '-o', folder, '--name', 'm', '--html', *flags]
            )
            t.ok(name + ': compiles', status == 0, text)
            return folder

        digits = os.path.join(o.models, 'digits', 'digits.onnx')
        with open(os.path.join(work, 'equal.onnx'), 'wb') as f:
            f.write(two_equal())
        plain, streamed = compiled('plain', digits, '--plan=overlap'), compiled(
            'streamed', digits, '--advice'
        )
        page, manifest = os.path.join(plain, 'm.html'), json.loads(
            read(os.path.join(plain, 'm.json'))
        )
        said = check_widths(t, work, page)
        if said:
            check_use(t, said, manifest)
            check_flash(t, said, manifest)
        said = check_widths(t, work, os.path.join(streamed, 'm.html'))
        if said:
            check_curve(t, said, json.loads(read(os.path.join(streamed, 'm.json'))))
        check_equal(
            t, work, os.path.join(compiled('equal', os.path.join(work, 'equal.onnx')), 'm.html')
        )
        check_dark(t, work, page)
        check_paper(t, work, page)
        check_diff(t, o.inlay, work, (plain, streamed))
    t.done()


main()
