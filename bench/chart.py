#!/usr/bin/env python3
"""Draws docs/performance.svg, the README's figure, from a run of the socket benchmark.

    ./dev bench socket_bench --json run.json
    bench/chart.py run.json [--svg docs/performance.svg] [--readme README.md]

Bars: messages a second of engine and client as multiples of Proton-C's in the same run, one link. The README gets
the image behind its line `<!-- figure of bench/chart.py -->`, unless it is there. Standard library only.
"""
import argparse
import json
import pathlib
import sys
from xml.sax.saxutils import escape

MARK = '<!-- figure of bench/chart.py -->'
OTHER = 'Proton-C, proactor'
COLOURS = {'engine, poll(2)': '#2a6f97', 'client': '#61a5c2'}
LABEL, WIDTH, BAR, GAP, TOP = 190, 720, 16, 14, 64


def fail(text):
    sys.exit(f'chart.py: {text}')


def read(path):
    """[(case, {who: ratio})] in the order of the run; rows without a ratio (latency) are not for this figure."""
    groups = {}
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError as e:
        fail(f'{path}: {e.strerror}')
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as e:
            fail(f'{path}:{number}: no JSON ({e}); give it what socket_bench --json has written')
        if 'ratio' not in row or row.get('links', 1) != 1 or row['who'] == OTHER:
            continue
        size = row['size']
        name = f"{row['case']}, {size // 1024} KiB" if size % 1024 == 0 else f"{row['case']}, {size} B"
        groups.setdefault(name, {})[row['who']] = row['ratio']
    if not groups:
        fail(f'{path}: no row with a ratio; it takes a run without --through')
    return list(groups.items())


def draw(groups):
    most = max(1.0, max(ratio for _, bars in groups for ratio in bars.values()))
    scale = (WIDTH - LABEL - 60) / most
    out, y = [], TOP
    for name, bars in groups:
        height = len(bars) * BAR
        out.append(f'<text x="{LABEL - 10}" y="{y + height / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for who, ratio in bars.items():
            width = ratio * scale
            out.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR - 2}" '
                       f'fill="{COLOURS.get(who, "#888888")}"/>')
            out.append(f'<text x="{LABEL + width + 6:.1f}" y="{y + BAR - 5}">{ratio:.1f}</text>')
            y += BAR
        y += GAP
    at_one = LABEL + scale
    bottom = y - GAP
    legend, x = [], LABEL
    for who in dict.fromkeys(who for _, bars in groups for who in bars):
        legend.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{COLOURS.get(who, "#888888")}"/>')
        legend.append(f'<text x="{x + 18}" y="41">{escape(who)}</text>')
        x += 40 + 7 * len(who)
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 30}" '
        f'viewBox="0 0 {WIDTH} {bottom + 30}" font-family="sans-serif" font-size="12" fill="#333333">',
        f'<rect width="{WIDTH}" height="{bottom + 30}" fill="#ffffff"/>',
        '<text x="10" y="18" font-size="14">Messages a second over loopback, times Qpid Proton-C in the same run</text>',
    ]
    line = [f'<line x1="{at_one:.1f}" y1="{TOP - 6}" x2="{at_one:.1f}" y2="{bottom + 4}" stroke="#c1121f" '
            'stroke-dasharray="4 3"/>',
            f'<text x="{at_one:.1f}" y="{bottom + 20}" text-anchor="middle" fill="#c1121f">Proton-C</text>']
    return '\n'.join(head + legend + out + line + ['</svg>', ''])


def show(readme, svg):
    text = readme.read_text()
    if text.count(MARK) != 1:
        fail(f'{readme}: the line "{MARK}" must be there once, where the figure belongs')
    image = f'![Messages a second, times Proton-C]({svg})'
    if image not in text:
        readme.write_text(text.replace(MARK, f'{MARK}\n{image}'))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description='Draws the figure of the README from a run of socket_bench.')
    parser.add_argument('run', help='what socket_bench --json has written')
    parser.add_argument('--svg', type=pathlib.Path, default=root / 'docs/performance.svg')
    parser.add_argument('--readme', type=pathlib.Path, default=root / 'README.md')
    given = parser.parse_args()
    figure = draw(read(given.run))
    given.svg.write_text(figure)
    show(given.readme, 'docs/performance.svg' if given.svg == root / 'docs/performance.svg' else str(given.svg))
    print(f'{given.svg}: written')


if __name__ == '__main__':
    main()
