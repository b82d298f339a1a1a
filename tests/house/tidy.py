#!/usr/bin/env python3
"""Holds the sources against the rules of CONTRIBUTING.md that a program can check.

    tidy.py PROJECT_FOLDER

Prints `file:line: what is wrong and what to do` for each breach; exit status 1 if there is one.
"""
import os
import pathlib
import re
import sys

# What each layer may use directly; what those use comes with them. codec owns include/sluice/*.hpp.
USES = {
    'codec': [],
    'engine': ['codec'],
    'audit': ['codec'],
    'net': ['codec'],
    'client': ['engine', 'net', 'audit'],
    'dispatch': ['client'],
    'node': ['client'],
    'channel': ['client'],
    'test': ['client'],
    'tools': ['dispatch', 'node', 'channel'],
}
# Libraries, by the beginning of an include, and the layers from which on each may be used.
LIBRARIES = {
    'boost/json': ['channel'],
    'boost/describe': ['channel'],
    'boost/': ['net'],
    'openssl/': ['net'],
    'fmt/': ['tools'],
    'CLI/': ['tools'],
}
# The layers that know no socket, thread, lock, clock, randomness, stream or log.
PURE = ('codec', 'engine', 'audit')
# The standard headers that they may use: the others bring in one of these things.
PURE_HEADERS = set('''
    algorithm array bit cassert cctype charconv chrono climits cmath compare concepts coroutine cstddef cstdint cstdlib
    cstring deque exception functional initializer_list iterator limits list map memory memory_resource new numbers
    numeric optional queue ranges set source_location span stack stdexcept string string_view system_error tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility variant vector version
'''.split())
PURE_TOKENS = [(re.compile(pattern), what) for pattern, what in (
    (r'\bboost\s*::', 'Boost'),
    (r'\bstd\s*::\s*(jthread|thread|this_thread|async|future|promise)\b', 'a thread'),
    (r'\bstd\s*::\s*\w*(mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable\w*|semaphore)\b', 'a lock'),
    (r'\bstd\s*::\s*atomic\w*', 'an atomic'),
    (r'\bthread_local\b', 'a thread'),
    (r'(::|\.)\s*now\s*\(\s*\)', 'a clock reading; take the time as an argument'),
    (r'\b(system|steady|high_resolution)_clock\b', 'a clock; take the time as an argument'),
    (r'\b(gettimeofday|clock_gettime|localtime|gmtime)\s*\(', 'a clock reading; take the time as an argument'),
    (r'\bstd\s*::\s*(time|rand|srand|random_device|mt19937\w*)\b', 'time or randomness; take it as an argument'),
    (r'\bstd\s*::\s*(cout|cerr|clog|cin|ostream|istream|iostream|\w*stringstream|\w*fstream)\b', 'a stream'),
    (r'(?<!\w)(printf|fprintf|puts|fputs|perror|syslog)\s*\(', 'a log'),
    (r'(?<![\w.>:])(socket|connect|accept|recv|recvfrom|sendto|select|epoll_\w+)\s*\(\s*(AF_|fd\b)', 'a socket'),
    (r'\bgetenv\s*\(', 'the environment'),
)]
LINES_MAX = 400
FUNCTION_LINES_MAX = 60
CODE_FOLDERS = ('include', 'src', 'tests', 'proptests', 'interop', 'examples', 'bench', 'fuzz', 'tools')
TEXT_SUFFIXES = {'.hpp', '.cpp', '.py', '.md', '.cmake', '.txt', '.json', '.xml', '.in', '.sh', ''}
SKIPPED_FOLDERS = {'.git', 'build', '.cache', '__pycache__', 'corpus'}
# Unfinished work, and what only makes sense where the text was written. Spelled so that this file passes.
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X)\b')
OUTSIDE = [(re.compile(pattern), what) for pattern, what in (
    (r'(?<![\w./~-])/(work|home|root|Users)/', "a folder of somebody's machine"),
    (r'\.\./shared\b', 'a folder outside of the project'),
    (r'(?i)\bissue[ -]#?\d+', 'a number that says nothing to a reader; say what it is about'),
    (r'\bR[0-4]\d\b', 'a number that says nothing to a reader; say what it is about'),
)]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def closure(layer):
    """The layers that a layer may use, itself included."""
    found, ahead = set(), [layer]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += USES[one]
    return found


def layer_of(path):
    """The layer that a path below the project's folder belongs to, or None."""
    parts = path.parts
    if parts[0] == 'tools':
        return 'tools'
    if parts[0] == 'src' and len(parts) > 2:
        return parts[1]
    if parts[:2] == ('include', 'sluice'):
        return parts[2] if len(parts) > 3 else 'codec'
    return None


def layer_included(name):
    """The layer of which `name`, as it stands in an include, is a header; None if it is of no layer."""
    parts = name.split('/')
    if parts[0] == 'sluice':
        return parts[1] if len(parts) > 2 else 'codec'
    return None


def layer_quoted(path, name):
    """The same for an include in quotes, which stands relative to its file or to src/."""
    if name.split('/')[0] in USES or name.startswith('sluice/'):
        return layer_of(pathlib.PurePath('src', name)) or layer_included(name)
    return layer_of(pathlib.PurePath(os.path.normpath(path.parent / name)))


def without_comments(text):
    """The text with comments and literals blanked, line by line as long as before."""
    def blank(match):
        found = match.group(0)
        if found.startswith('#'):
            return found
        return re.sub(r'[^\n]', ' ', found)
    return re.sub(r'''^[ \t]*\#[ \t]*include[^\n]*|//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(\\.|[^"\\\n])*"|(?<![\w])'(\\.|[^'\\\n])+\'''',
                  blank, text, flags=re.S | re.M)


def check_include(path, kind, name):
    """What is wrong with an include in a file of a layer, or None."""
    layer = layer_of(path)
    other = layer_quoted(path, name) if kind == '"' else layer_included(name)
    if other is not None:
        if other not in USES:
            return 'includes %s: there is no layer %s' % (name, other)
        if other not in closure(layer):
            return '%s may not use %s (it may use: %s); includes %s' % (
                layer, other, ', '.join(sorted(closure(layer) - {layer})) or 'no other layer', name)
        if other != layer and 'detail' in name.split('/'):
            return '%s may not use the inside of %s; includes %s' % (layer, other, name)
        return None
    for prefix, layers in LIBRARIES.items():
        if name.startswith(prefix):
            if not any(one in closure(layer) for one in layers):
                return '%s may not use %s' % (layer, name)
            return None
    if layer in PURE and name not in PURE_HEADERS:
        return '%s may use the standard library only, and of it nothing with a socket, thread, lock, clock, ' \
               'randomness, stream or log; includes %s' % (layer, name)
    return None


def long_functions(code):
    """Yields (line number, lines) of each body that is too long.

    clang-format gives the braces of a function, and of nothing else outside of one, lines of their own in one column.
    """
    begin, column = None, None
    for number, line in enumerate(code.splitlines(), 1):
        brace = re.match(r'( *)([{}])', line)
        if begin is None:
            if brace and line.strip() == '{':
                begin, column = number, brace.group(1)
        elif brace and brace.groups() == (column, '}'):
            if number - begin + 1 > FUNCTION_LINES_MAX:
                yield begin, number - begin + 1
            begin = None


def check_code(path, text):
    """Yields (line number, what is wrong) for a C++ file."""
    layer = layer_of(path)
    lines = text.splitlines()
    if path.parts[0] in ('include', 'src'):
        if len(lines) > LINES_MAX:
            yield len(lines), '%d lines, more than %d; split it by responsibility' % (len(lines), LINES_MAX)
        for number, length in long_functions(without_comments(text)):
            yield number, 'a function of %d lines, more than %d; split it' % (length, FUNCTION_LINES_MAX)
    if path.suffix == '.hpp' and not re.search(r'^#pragma once$', text, re.M):
        yield 1, 'a header without #pragma once'
    if layer is None:
        return
    if layer not in USES:
        yield 1, 'there is no layer %s' % layer
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            wrong = check_include(path, *include.groups())
            if wrong:
                yield number, wrong
        elif layer in PURE:
            for token, what in PURE_TOKENS:
                if token.search(line):
                    yield number, '%s may not contain %s: %s' % (layer, what, line.strip())


def check_text(text):
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield number, 'unfinished work is not committed: ' + line.strip()
        for pattern, what in OUTSIDE:
            if pattern.search(line):
                yield number, 'names %s: %s' % (what, line.strip())


def files(root):
    for path in sorted(root.rglob('*')):
        below = path.relative_to(root)
        if path.is_file() and path.suffix in TEXT_SUFFIXES and not SKIPPED_FOLDERS & set(below.parts):
            yield path, below


def check(root):
    """Every breach in a project, as lines to print, and the number of files looked at."""
    found, looked_at = [], 0
    for path, below in files(root):
        looked_at += 1
        try:
            text = path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            if path.suffix:
                found.append('%s:1: not UTF-8' % below)
            continue
        breaches = list(check_text(text))
        if path.suffix in ('.hpp', '.cpp') and below.parts[0] in CODE_FOLDERS:
            breaches += check_code(below, text)
        found += ['%s:%d: %s' % (below, number, wrong) for number, wrong in sorted(breaches)]
    return found, looked_at


def main():
    root = pathlib.Path(sys.argv[1])
    found, looked_at = check(root)
    for line in found:
        print(line)
    if looked_at == 0:
        print('%s: no file to look at' % root)
    print('%d files, %d breaches' % (looked_at, len(found)))
    return 1 if found or looked_at == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
