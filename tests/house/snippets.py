#!/usr/bin/env python3
"""Holds the C++ blocks of README and docs against the examples, which are compiled and run.

    snippets.py PROJECT_FOLDER [--write]

A block stands behind a line `<!-- examples/FILE.cpp: NAME -->` and is what lies in that file between two lines
`// [NAME]`. With --write, blocks that differ are replaced. Prints `file:line: what is wrong` and exits with 1.
"""
import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r'(?:<!-- (?P<file>examples/[\w./]+): (?P<name>[^>]+?) -->\n)?```(?:cpp|c\+\+)\n(?P<text>.*?)^```$',
                   re.S | re.M)


def region(root, file, name):
    """The text between the marks, without their indentation; an error as text in the second place."""
    path = root / file
    if not path.is_file():
        return None, 'there is no file ' + file
    parts = re.split(r'^[ \t]*// \[%s\]\n' % re.escape(name), path.read_text(encoding='utf-8'), flags=re.M)
    if len(parts) != 3:
        return None, '%s has %d lines `// [%s]`, not two' % (file, len(parts) - 1, name)
    return textwrap.dedent(parts[1]).strip('\n') + '\n', None


def check(root, path, write=False):
    text = path.read_text(encoding='utf-8')
    found, out, last = [], [], 0
    for block in BLOCK.finditer(text):
        line = text.count('\n', 0, block.start()) + 1
        if not block['file']:
            found.append((line, 'a C++ block that names no example: put `<!-- examples/FILE.cpp: NAME -->` in front'))
            continue
        wanted, wrong = region(root, block['file'], block['name'])
        if wrong:
            found.append((line, wrong))
        elif wanted != block['text']:
            if write:
                out += [text[last:block.start('text')], wanted]
                last = block.end('text')
            else:
                found.append((line, 'differs from %s, [%s]; run tests/house/snippets.py . --write'
                              % (block['file'], block['name'])))
    if out:
        path.write_text(''.join(out) + text[last:], encoding='utf-8')
    return found


def documents(root):
    return [root / 'README.md'] + sorted((root / 'docs').rglob('*.md'))


def main():
    root = pathlib.Path(sys.argv[1])
    write = '--write' in sys.argv
    blocks = wrong = 0
    for path in documents(root):
        blocks += len(BLOCK.findall(path.read_text(encoding='utf-8')))
        for line, what in check(root, path, write):
            print('%s:%d: %s' % (path.relative_to(root), line, what))
            wrong += 1
    print('%d blocks, %d wrong' % (blocks, wrong))
    return 1 if wrong or blocks == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
