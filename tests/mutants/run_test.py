"""The tools of this folder: what they refuse, and what they plant."""
import pathlib
import tempfile
import unittest

import mechanical
import mutant
from mutant import Unusable

TEXT = '''wrong: counts twice
caught by: engine Counter.CountsOnce
--- src/engine/counter.cpp
void count() { ++n; }
--- becomes
void count() { n += 2; }
--- end
'''


class Mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write('src/engine/counter.cpp', 'int n;\nvoid count()\n{\n    ++n;\n}\n'.replace('()\n{\n    ++n;\n}', '() { ++n; }'))
        self.write('tests/engine/counter_test.cpp', 'TEST(Counter, CountsOnce) {}\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self, text=TEXT):
        return mutant.check(self.root, {'double': mutant.parse('double', text)})

    def test_one_that_fits_changes_its_file(self):
        self.assertEqual(self.problems(), [])
        texts = mutant.parse('double', TEXT).apply(self.root)
        self.assertEqual(texts['src/engine/counter.cpp'], 'int n;\nvoid count() { n += 2; }\n')

    def test_how_lines_are_broken_does_not_matter(self):
        self.write('src/engine/counter.cpp', 'void count() {\n    ++n;\n}\n')
        self.assertEqual(self.problems(), [])

    def test_one_whose_text_is_gone_says_so(self):
        self.write('src/engine/counter.cpp', 'void count() { n++; }\n')
        self.assertIn('not in src/engine/counter.cpp; the code moved on', self.problems()[0])

    def test_one_whose_text_is_there_twice_says_so(self):
        self.write('src/engine/counter.cpp', 'void count() { ++n; }\n' * 2)
        self.assertIn('there 2 times', self.problems()[0])

    def test_one_whose_file_or_test_is_gone_says_so(self):
        self.assertIn('no test of engine is called Counter.CountsTwice',
                      self.problems(TEXT.replace('CountsOnce', 'CountsTwice'))[0])
        (self.root / 'src/engine/counter.cpp').unlink()
        self.assertIn('there is no file', self.problems()[0])

    def test_what_is_half_written_is_refused(self):
        for text, part in ((TEXT.replace('--- end\n', ''), 'a change is'), (TEXT.replace('engine', 'motor', 1), 'names no program'),
                           (TEXT.replace('wrong: counts twice\n', ''), 'says not what is wrong'),
                           ('colour: red\n' + TEXT, 'is none of')):
            with self.assertRaisesRegex(Unusable, part):
                mutant.parse('double', text)

    def test_parameters_of_a_test_do_not_matter(self):
        self.assertTrue(mutant.matches('*Counter.Counts*', 'Counter', 'CountsOnce'))
        self.assertFalse(mutant.matches('Counter.Count', 'Counter', 'CountsOnce'))


class Mechanical(unittest.TestCase):
    def switches(self, text):
        found, planted = mechanical.switches_of('x.cpp', text, 1)
        return [one.what for one in found], planted

    def test_each_comparison_of_a_line_is_a_switch(self):
        found, planted = self.switches('    if (a < b && c == d)  // e < f\n')
        self.assertEqual(found, ['< -> <=', '== -> !='])
        self.assertIn('a < sluice::mutation::at<1> < b && c == sluice::mutation::at<2> == d)  // e < f', planted)

    def test_each_step_is_a_switch(self):
        found, planted = self.switches('    ++a->b;\n    if (c)\n        --d;  // why\n    e += f - g;\n')
        self.assertEqual(found, ['without ++a->b', 'without --d', 'without e += f - g'])
        self.assertIn('if (!sluice::mutation::on(2)) { --d; }  // why', planted)

    def test_assertions_texts_and_templates_are_left_alone(self):
        self.assertEqual(self.switches('    assert(a == b\n           || c == d);\n    say("a < b");\n    std::max<int>(a, b);\n')[0], [])

    def test_a_survivor_whose_line_is_gone_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file in mechanical.FILES:
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text('')
            (root / 'survivors.txt').write_text('src/engine/sender.cpp: if (a < b) [< -> <=]\n  never equal\n')
            self.assertIn('no mechanical mutant is', mechanical.check(root, root / 'survivors.txt')[0])


if __name__ == '__main__':
    unittest.main()
