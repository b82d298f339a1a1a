#!/usr/bin/env python3
"""Sees to it that the verdict of `./dev test` cannot be better than its tests."""
import contextlib
import io
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as ET

import sum_results

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message=""/></testcase>'
SKIPPED = '<testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
MISSING = '<testcase name="d_NOT_BUILT" status="notrun"><skipped message="Unable to find executable: d"/></testcase>'
DISABLED = '<testcase name="e" status="disabled"><skipped message="Disabled"/></testcase>'


class Verdict(unittest.TestCase):
    def verdict(self, results, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            for preset, cases in results.items():
                (build / preset).mkdir()
                (build / preset / 'junit.xml').write_text('<testsuite>%s</testsuite>' % ''.join(cases))
            with contextlib.redirect_stdout(io.StringIO()) as out:
                status = sum_results.main(arguments, build)
        return out.getvalue().splitlines()[-1], status

    def test_numbers_of_all_presets_are_added(self):
        self.assertEqual(
            self.verdict({'release': [PASSED, PASSED, SKIPPED, DISABLED], 'asan': [PASSED]},
                         'release-build=0', 'release-test=0', 'asan-build=0', 'asan-test=0'),
            ('3 passed, 0 failed, 2 skipped', 0))

    def test_a_failed_test_fails(self):
        self.assertEqual(self.verdict({'asan': [PASSED, FAILED]}, 'asan-build=0', 'asan-test=8'),
                         ('1 passed, 1 failed, 0 skipped', 1))

    def test_a_failed_test_says_why(self):
        case = ET.fromstring('<testcase><system-out>a\n==7== ERROR: libFuzzer: timeout\nb</system-out></testcase>')
        self.assertEqual(sum_results.reason(case), ['==7== ERROR: libFuzzer: timeout'])
        case = ET.fromstring('<testcase><system-out>%s</system-out></testcase>' % '\n'.join('abcdef'))
        self.assertEqual(sum_results.reason(case), ['c', 'd', 'e', 'f'])

    def test_a_program_that_was_not_built_fails(self):
        self.assertEqual(self.verdict({'asan': [PASSED, MISSING]}, 'asan-build=0', 'asan-test=8'),
                         ('1 passed, 1 failed, 0 skipped', 1))

    def test_a_build_that_fails_fails_though_its_tests_pass(self):
        self.assertEqual(self.verdict({'asan': [PASSED]}, 'asan-build=1', 'asan-test=0'),
                         ('1 passed, 1 failed, 0 skipped', 1))

    def test_missing_results_fail(self):
        self.assertEqual(self.verdict({}, 'tsan-build=0', 'tsan-test=0'), ('0 passed, 1 failed, 0 skipped', 1))

    def test_an_exit_status_without_a_failed_test_fails(self):
        self.assertEqual(self.verdict({'asan': [PASSED]}, 'asan-build=0', 'asan-test=8'),
                         ('1 passed, 1 failed, 0 skipped', 1))


if __name__ == '__main__':
    unittest.main()
