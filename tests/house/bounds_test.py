"""bounds.py notices each breach."""
import pathlib
import tempfile
import unittest

import bounds


class Bounds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.project = pathlib.Path(self.folder.name)
        for folder in ('src/client', 'docs', 'tests/client'):
            (self.project / folder).mkdir(parents=True)
        (self.project / 'src/client/a.hpp').write_text('class a {\n    std::deque<int> grows_;\n};\n')
        (self.project / 'tests/client/a_test.cpp').write_text('TEST(Suite, Name)\n')
        self.page('`client/a.hpp:grows_` `Suite.Name`')

    def tearDown(self):
        self.folder.cleanup()

    def page(self, text):
        (self.project / 'docs/bounds.md').write_text(text)

    def breaches(self):
        return [b for b in bounds.check(self.project) if 'has the layout' not in b]

    def test_a_page_that_says_all_passes(self):
        self.assertEqual(self.breaches(), [])

    def test_a_container_that_is_not_named(self):
        self.page('`Suite.Name`')
        self.assertEqual(self.breaches(),
                         ['src/client/a.hpp:2: `client/a.hpp:grows_` can grow, and docs/bounds.md does not say up to where'])

    def test_a_container_that_is_not_there(self):
        self.page('`client/a.hpp:grows_` `client/a.hpp:gone_`')
        self.assertEqual(self.breaches(), ['docs/bounds.md: there is no container client/a.hpp:gone_'])

    def test_a_test_that_is_not_there(self):
        self.page('`client/a.hpp:grows_` `Suite.Other`')
        self.assertEqual(self.breaches(), ['docs/bounds.md: there is no test Suite.Other'])


if __name__ == '__main__':
    unittest.main()
