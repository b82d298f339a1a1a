"""snippets.py finds each kind of fault."""
import pathlib
import tempfile
import unittest

import snippets


class Snippets(unittest.TestCase):
    def check(self, document, example='int main()\n{\n    // [a]\n    x();\n    // [a]\n}\n', write=False):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'examples').mkdir()
            (root / 'examples/e.cpp').write_text(example)
            self.path = root / 'd.md'
            self.path.write_text(document)
            found = snippets.check(root, self.path, write)
            self.text = self.path.read_text()
            return [what for _, what in found]

    def test_takes_what_is_the_same(self):
        self.assertEqual(self.check('<!-- examples/e.cpp: a -->\n```cpp\nx();\n```\n'), [])

    def test_finds_a_difference_and_mends_it(self):
        wrong = '<!-- examples/e.cpp: a -->\n```cpp\ny();\n```\nend\n'
        self.assertIn('differs', self.check(wrong)[0])
        self.check(wrong, write=True)
        self.assertEqual(self.text, wrong.replace('y', 'x'))

    def test_finds_a_block_without_an_example(self):
        self.assertIn('names no example', self.check('```cpp\nx();\n```\n')[0])

    def test_finds_a_region_that_is_not_there(self):
        self.assertIn('not two', self.check('<!-- examples/e.cpp: b -->\n```cpp\nx();\n```\n')[0])
        self.assertIn('no file', self.check('<!-- examples/f.cpp: a -->\n```cpp\nx();\n```\n')[0])
