#!/usr/bin/env python3
"""Plants one breach after the other in a small project, and sees to it that tidy.py names each."""
import pathlib
import tempfile
import unittest

import tidy

HEADER = '#pragma once\n'


class Tidy(unittest.TestCase):
    def breaches(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return tidy.check(root)[0]

    def expect(self, name, text, line, *words):
        """Exactly one breach, at this file and line, that says these words."""
        found = self.breaches({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith('%s:%d: ' % (name, line)), found[0])
        for word in words:
            self.assertIn(word, found[0])

    def expect_clean(self, name, text):
        self.assertEqual(self.breaches({name: text}), [])

    def test_a_layer_may_use_what_its_row_names_and_what_those_use(self):
        self.expect_clean('src/client/a.cpp', '#include <sluice/client/a.hpp>\n#include <sluice/codec/b.hpp>\n'
                                              '#include <sluice/error.hpp>\n#include <boost/asio.hpp>\n#include <mutex>\n')
        self.expect_clean('src/engine/a.cpp', '#include <sluice/engine/a.hpp>\n#include <vector>\n#include "b.hpp"\n'
                                              '#include "detail/b.hpp"\n#include "codec/b.hpp"\n')
        self.expect_clean('src/channel/a.cpp', '#include <boost/json.hpp>\n')

    def test_a_layer_may_not_use_one_above_or_beside_it(self):
        self.expect('src/codec/a.cpp', '\n#include <sluice/engine/b.hpp>\n', 2, 'codec may not use engine')
        self.expect('src/engine/a.cpp', '#include <sluice/audit/b.hpp>\n', 1, 'engine may not use audit')
        self.expect('src/engine/a.cpp', '#include "audit/b.hpp"\n', 1, 'engine may not use audit')
        self.expect('src/engine/a.cpp', '#include "../audit/b.hpp"\n', 1, 'engine may not use audit')
        self.expect('src/net/a.cpp', '#include <sluice/engine/b.hpp>\n', 1, 'net may not use engine')
        self.expect('include/sluice/error.hpp', HEADER + '#include <sluice/client/b.hpp>\n', 2, 'codec may not use client')
        self.expect('src/client/a.cpp', '#include <sluice/node/b.hpp>\n', 1, 'client may not use node')

    def test_a_layer_may_not_use_the_inside_of_another(self):
        self.expect('src/client/a.cpp', '#include <sluice/engine/detail/b.hpp>\n', 1, 'the inside of engine')
        self.expect_clean('src/engine/a.cpp', '#include <sluice/engine/detail/b.hpp>\n')

    def test_a_layer_may_not_be_made_up(self):
        self.expect('src/shortcut/a.cpp', '\n', 1, 'no layer shortcut')
        self.expect('src/client/a.cpp', '#include <sluice/shortcut/b.hpp>\n', 1, 'no layer shortcut')

    def test_the_pure_layers_may_not_include_what_is_impure(self):
        for layer in tidy.PURE:
            for header in ('boost/asio.hpp', 'thread', 'mutex', 'atomic', 'iostream', 'sstream', 'random', 'ctime',
                           'sys/socket.h', 'future', 'condition_variable', 'openssl/ssl.h'):
                self.expect('src/%s/a.cpp' % layer, '#include <%s>\n' % header, 1, header)

    def test_the_pure_layers_may_not_contain_what_is_impure(self):
        for line in ('auto t = std::chrono::steady_clock::time_point{};', 'auto t = clock::now();', 'std::mutex m;',
                     'std::atomic<int> a;', 'std::thread t;', 'thread_local int i;', 'std::random_device r;',
                     'std::cerr << 1;', 'printf("x");', 'boost::asio::io_context c;', 'std::scoped_lock l{m};'):
            self.expect('src/engine/a.cpp', '// one\n\n' + line + '\n', 3, 'engine may not contain')

    def test_comments_and_literals_are_not_code(self):
        self.expect_clean('src/engine/a.cpp', '// no std::mutex, no clock::now()\n/* std::thread\n std::atomic */\n'
                                              'auto a = "std::cout";\nauto n = 1\'000\'000;\n')
        self.expect('src/engine/a.cpp', "auto n = 1'000; std::mutex m; auto k = 2'000;\n", 1, 'a lock')
        self.expect_clean('src/engine/a.cpp', '// #include <mutex>\n')

    def test_layers_above_may_have_threads(self):
        self.expect_clean('src/net/a.cpp', '#include <thread>\nstd::mutex m; auto t = clock::now();\n')

    def test_libraries_belong_to_their_layers(self):
        self.expect('src/client/a.cpp', '#include <boost/json.hpp>\n', 1, 'client may not use boost/json.hpp')
        self.expect('src/client/a.cpp', '#include <fmt/format.h>\n', 1, 'client may not use fmt/format.h')

    def test_a_file_has_a_limit(self):
        self.expect_clean('src/codec/a.cpp', '\n' * tidy.LINES_MAX)
        self.expect('src/codec/a.cpp', '\n' * (tidy.LINES_MAX + 1), tidy.LINES_MAX + 1, 'lines')
        self.expect_clean('tests/codec/a_test.cpp', '\n' * (tidy.LINES_MAX + 1))

    def test_a_function_has_a_limit(self):
        def member_with(lines):
            return 'struct s {\n    int f()\n    {\n' + '        g({\n});\n' * (lines // 2 - 1) + '    }\n};\n' + '\n' * 90

        self.expect_clean('src/codec/a.cpp', member_with(tidy.FUNCTION_LINES_MAX) * 2)
        self.expect('src/codec/a.cpp', member_with(tidy.FUNCTION_LINES_MAX + 2), 3, 'a function of 62 lines')
        self.expect_clean('tests/codec/a_test.cpp', member_with(tidy.FUNCTION_LINES_MAX + 2))

    def test_a_header_says_pragma_once(self):
        self.expect('include/sluice/codec/a.hpp', '\n', 1, '#pragma once')

    def test_unfinished_work_is_found_everywhere(self):
        for word in ('TO' 'DO', 'FIX' 'ME', 'XX' 'X'):
            for name in ('src/codec/a.cpp', 'cmake/a.cmake', 'README.md', 'dev'):
                self.expect(name, 'x\n// %s: later\n' % word, 2, 'unfinished')

    def test_what_only_its_writer_understands_is_found_everywhere(self):
        self.expect('README.md', 'see /home' '/someone/notes\n', 1, 'machine')
        self.expect('src/codec/a.cpp', '// as issue' ' 12 says\n', 1, 'says nothing to a reader')
        self.expect('src/codec/a.cpp', '// R' '07\n', 1, 'says nothing to a reader')

    def test_built_files_are_not_looked_at(self):
        self.expect_clean('build/src/a.cpp', '// TO' 'DO\n')


if __name__ == '__main__':
    unittest.main()
