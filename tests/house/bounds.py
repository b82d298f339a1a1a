#!/usr/bin/env python3
"""Holds docs/bounds.md against the sources.

    bounds.py PROJECT_FOLDER

Each container that is a member of something in client, node or engine has to stand in the page, as `layer/file.hpp:member`,
for each of them can grow: the page says by what, up to where, and what happens then. What the page names has to be there,
and so have the tests that it refers to. Prints each breach; exit status 1 if there is one.
"""
import pathlib
import re
import sys

LAYERS = ('client', 'node', 'engine')
CONTAINER = re.compile(
    r'^\s+(?:mutable\s+)?(?:std::|detail::)?'
    r'(?:deque|vector|map|multimap|set|multiset|list|forward_list|queue|priority_queue|unordered_\w+|ring)'
    r'<.+>\s+(\w+)\s*(?:\{.*\}|=.*)?;')
# Locals of inline functions are indented deeper than members and named without a trailing underscore.
LEAST = 50  # containers that the expression has to find: it would find none if it were broken


def members(project):
    found = {}
    for layer in LAYERS:
        for root in (project / 'src' / layer, project / 'include' / 'sluice' / layer):
            for path in sorted(root.rglob('*.hpp')):
                if layer in ('client', 'node') and 'include' in path.parts and 'detail' not in path.parts:
                    continue  # plain settings and values of the user's
                name = f'{layer}/{path.relative_to(root).as_posix()}'
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    match = CONTAINER.match(line)
                    if not match:
                        continue
                    local = not match[1].endswith('_') and len(line) - len(line.lstrip()) > 4
                    if not local:
                        found[f'{name}:{match[1]}'] = f'{path.relative_to(project)}:{number}'
    return found


def tests(project):
    found = set()
    for path in (project / 'tests').rglob('*_test.cpp'):
        for suite, name in re.findall(r'^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)', path.read_text(), re.MULTILINE):
            found.add(f'{suite}.{name}')
    return found


def check(project):
    page = (project / 'docs' / 'bounds.md').read_text()
    named = set(re.findall(r'`((?:%s)/[\w/.]+:\w+)`' % '|'.join(LAYERS), page))
    there = members(project)
    breaches = [f'{place}: `{name}` can grow, and docs/bounds.md does not say up to where'
                for name, place in there.items() if name not in named]
    files = {name.split(':')[0] for name in there}
    breaches += [f'docs/bounds.md: there is no container {name}' for name in sorted(named - set(there))
                 if name.split(':')[0] in files]
    known = tests(project)
    breaches += [f'docs/bounds.md: there is no test {name}'
                 for name in sorted(set(re.findall(r'`([A-Z]\w+\.[A-Z]\w+)`', page)) - known)]
    if len(there) < LEAST:
        breaches.append(f'tests/house/bounds.py: only {len(there)} containers found: has the layout of the sources changed?')
    return breaches


if __name__ == '__main__':
    result = check(pathlib.Path(sys.argv[1]))
    print('\n'.join(result) or 'all bounds are told')
    sys.exit(1 if result else 0)
