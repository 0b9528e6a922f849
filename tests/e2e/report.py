# SPDX-License-Identifier: Apache-2.0
"""The reports to look at: the HTML file in a real browser (Debian's chromium), and the arena's map
as CSV.

    report.py --inlay INLAY --models MODELS"""
import argparse
import csv
import html.parser
import io
import json
import os
import re
import shutil
import struct

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
KERAS_NAME = 'batch_normalization/FusedBatchNormV3/activation/Relu'
HOSTILE = '"></title><script>document.title="taken"</script><img src=x onerror=alert(1)>&amp;\u202e'


def chain(nodes, name):
    """Of convolutions, each with weights of its own, and sums, every name made with name(i)."""
    made, names, weights = [], ['x'], []
    for i in range(nodes):
        out = name(i)
        if i % 3 == 0:
            weights.append(
                make_tensor(
                    name(i) + '.w',
                    F32,
                    [2, 2, 3, 3],
                    struct.pack('<36f', *[i + k / 36 for k in range(36)]),
                )
            )
        made.append(
            make_node('Conv', [names[-1], name(i) + '.w'], [out], 'n' + out, pads=[1, 1, 1, 1])
            if i % 3 == 0
            else make_node('Softmax', [names[-1]], [out], 'n' + out)
            if i % 3 == 1
            else make_node('Add', [names[-1], names[-2]], [out], 'n' + out)
        )
        names.append(out)
    return make_model(
        made,
        [make_value('x', F32, [1, 2, 8, 8])],
        [make_value(names[-1], F32, [1, 2, 8, 8])],
        weights,
    )


class Page(html.parser.HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.marked = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.marked.setdefault((tag, dict(attributes).get('class')), 0)
        self.marked[tag, dict(attributes).get('class')] += 1


def compiled(inlay, work, model, name, *flags):
    path = os.path.join(work, name + '.onnx')
    with open(path, 'wb') as f:
        f.write(model)
    return host.run(
        [inlay, 'compile', path, '-o', os.path.join(work, name), '--name', name, *flags]
    ) + (
        os.path.join(work, name),
    )


def read(path):
    with open(path, encoding='utf8') as f:
        return f.read()


def browse(work, page, picture=None):
    """The document as it is once its script has run, and what the browser complained of."""
    flags = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--user-data-dir=' + os.path.join(work, 'profile'),
        '--virtual-time-budget=4000',
        '--enable-logging=stderr',
    ]
    what = ['--screenshot=' + picture, '--window-size=1200,1600'] if picture else ['--dump-dom']
    return host.run(['chromium', *flags, *what, 'file://' + page], limit=120)


def check_page(t, name, text, steps, blocks):
    page = Page(text)
    outward = [
        v
        for k, v in page.attributes
        if k in ('src', 'href', 'action', 'data') or k.startswith('on')
    ]
    t.ok(
        name + ': nothing is fetched and no attribute is code',
        not outward and 'http' not in re.sub(r'http-equiv', '', text),
        outward,
    )
    t.ok(
        name + ': one script, under a policy that names its hash',
        page.tags.count('script') == 1
        and re.search(r"default-src 'none'.*script-src 'sha256-[\w+/]{43}='", text),
    )
    t.ok(
        name + ': a line per step, a rectangle per block',
        len(re.search('<table id="steps">.*?</table>', text, re.S).group(0).split('<tr><td>'))
        == steps + 1
        and re.search('<svg id="map".*?</svg>', text, re.S).group(0).count('<rect class=')
        == blocks,
    )


def png_size(path):
    with open(path, 'rb') as f:
        head = f.read(24)
    return struct.unpack('>II', head[16:24]) if head[:8] == b'\x89PNG\r\n\x1a\n' else None


def check_csv(t, name, folder, manifest):
    rows = list(csv.DictReader(io.StringIO(read(os.path.join(folder, name + '.csv')))))
    inside = all(
        0 <= int(r['lower']) < int(r['upper']) <= manifest['totals']['steps']
        and int(r['offset']) + int(r['size']) <= manifest['arena']['size']
        for r in rows
    )
    top = max((int(r['offset']) + int(r['size']) for r in rows), default=0)
    t.ok(
        name + ': CSV blocks fill the arena and lie in it',
        inside and -(-top // 16) * 16 == manifest['arena']['size'],
        (top, manifest['arena']),
    )
    return rows


def check_model(t, args, work, name, model):
    status, text, folder = compiled(args.inlay, work, model, name, '--html', '--csv')
    if not t.ok(name + ': compiles with --html --csv', status == 0, text):
        return None
    manifest = json.loads(read(os.path.join(folder, name + '.json')))
    rows = check_csv(t, name, folder, manifest)
    text = read(os.path.join(folder, name + '.html'))
    check_page(t, name, text, manifest['totals']['steps'], len(rows))
    kept = [[r['id'], r['lower'], r['upper'], r['size']] for r in rows]
    with open(os.path.join(work, name + '.csv'), 'w') as f:
        csv.writer(f).writerows([['id', 'lower', 'upper', 'size'], *kept])
    status, text = host.run([args.inlay, 'place', os.path.join(work, name + '.csv')])
    t.ok(name + ': `inlay place` takes the CSV without its offsets', status == 0, text)
    return os.path.join(folder, name + '.html')


def check_text(t, args, work, name):
    """What people read in a terminal: 80 columns, whatever the names; regions and the curve are in
    the page."""
    path = os.path.join(work, name + '.onnx')
    for what, flags in (
        ('', []),
        (', a limit', ['--arena-limit', '1M']),
        (', regions', ['--region', 'near:1K:1', '--region', 'far:1M:5']),
    ):
        status, text = host.run([args.inlay, 'analyze', path, *flags])
        wide = [line for line in text.splitlines() if len(line) > 80]
        t.ok(
            '%s%s: the report keeps to 80 columns' % (name, what),
            status == 0 and not wide,
            wide[:3] or text[:300],
        )
        status, page = host.run([args.inlay, 'analyze', path, '--html', *flags])
        t.ok(
            '%s%s: the page tells of it' % (name, what),
            status == 0
            and ('Arena against work' in page) == ('limit' in what)
            and ('far' in page) == ('regions' in what),
            status,
        )


def check_search(t, work, name, page):
    """A link with words to find hides the other lines, goes to the first of them, and the map shows
    the steps about it."""
    whole = read(page)
    steps = re.search('<table id="steps">.*?</table>', whole, re.S).group(0).split('<tr><td>')[1:]
    wanted = [i for i, line in enumerate(steps) if '11' in re.sub('<[^>]*>', '', line)]
    if not wanted:
        return
    status, dom = browse(work, page + '#find=11&zoom=8')
    table = re.search('<table id="steps">.*?</table>', dom, re.S).group(0)
    lines = [line for line in re.findall('<tr[^>]*><td', table)]
    shown = [i for i, line in enumerate(lines) if 'hidden' not in line]
    at = re.search(r'id="here" x="(\d+)"', dom)
    box = re.search(r'<svg id="map" viewBox="([\d.]+) 0 ([\d.]+) ', dom)
    t.ok(name + ': the lines that are found', status == 0 and shown == wanted, (shown, wanted))
    t.ok(
        name + ': the first of them is chosen, and in view',
        at
        and box
        and int(at.group(1)) == wanted[0]
        and float(box.group(1)) <= wanted[0] < float(box.group(1)) + float(box.group(2))
        and float(box.group(2)) == min(len(steps), max(8, -(-len(steps) // 256))),
        (at and at.group(0), box and box.group(0)),
    )


def check_browser(t, work, name, page):
    status, dom = browse(work, page)
    running = Page(dom).marked.get(('tr', 'on'), 0)
    t.ok(
        name + ': the script runs in a browser and marks the step of the peak',
        status == 0 and running == 1,
        dom[-2000:],
    )
    t.ok(
        name + ': names of the model stay names',
        re.search('<title>([^<]*)', dom).group(1) == name + ': memory plan'
        and 'img' not in Page(dom).tags,
    )
    t.ok(name + ': the policy is not broken', 'Content Security Policy' not in dom, dom[:2000])
    titles = re.findall(
        r'<rect class[^>]*><title>[^<]*\n([\d,]+) bytes at ([\d,]+), steps (\d+) to (\d+)</title>',
        dom,
    )
    told = sorted(
        (int(first), int(last) + 1, int(size.replace(',', '')), int(at.replace(',', '')))
        for size, at, first, last in titles
    )
    blocks = [line.split(',') for line in read(page[: -len('html')] + 'csv').split()[1:]]
    t.ok(
        name + ': each block says where it lies',
        told == sorted(tuple(map(int, b[1:5])) for b in blocks),
        (told[:3], blocks[:3]),
    )
    check_search(t, work, name, page)
    picture = os.path.join(work, name + '.png')
    status, text = browse(work, page, picture)
    t.ok(name + ': it can be drawn', status == 0 and png_size(picture) == (1200, 1600), text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--models', required=True)
    args = parser.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        pages = {}
        with open(os.path.join(args.models, 'digits', 'digits.onnx'), 'rb') as f:
            pages['digits'] = check_model(t, args, work, 'digits', f.read())
        pages['hostile'] = check_model(
            t, args, work, 'hostile', chain(12, lambda i: HOSTILE + str(i))
        )
        pages['large'] = check_model(
            t,
            args,
            work,
            'large',
            chain(1500, lambda i: 'features.stage%d.block%d.result' % (i // 100, i)),
        )
        for name, model in (
            ('text', chain(7, lambda i: HOSTILE + str(i))),
            ('named', chain(7, lambda i: 'model/stage/block%d/' % i + KERAS_NAME)),
        ):
            with open(os.path.join(work, name + '.onnx'), 'wb') as f:
                f.write(model)
            check_text(t, args, work, name)
        t.ok(
            '1,500 nodes: at most 300 KB',
            os.path.getsize(pages['large']) <= 300000,
            os.path.getsize(pages['large']),
        )
        for name, page in pages.items():
            if shutil.which('chromium'):
                check_browser(t, work, name, page)
            else:
                t.skip(name + ': in a browser', 'chromium is not installed')
    t.done()


main()
