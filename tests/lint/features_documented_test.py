"""Checks that docs/features.md describes every feature of costmodel/features.cc, in its order.

Run as `features_documented_test.py ROOT`; ctest does.
"""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def names_in_source(text, array):
    body = re.search(array + r"\[\w+\] = \{(.*?)\n\};", text, re.S).group(1)
    return re.findall(r'"(\w+)"', re.sub(r"//.*", "", body))


def names_in_section(text, heading):
    """The names of the table below the heading; a row may describe several."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", section, re.M)
    return [name for row in rows if row not in ("name", "---") for name in row.split(", ")]


class FeaturesDocumented(unittest.TestCase):
    def setUp(self):
        with open(f"{ROOT}/costmodel/features.cc", encoding="utf-8") as file:
            self.source = file.read()
        with open(f"{ROOT}/docs/features.md", encoding="utf-8") as file:
            self.page = file.read()

    def test_each_feature_has_its_row(self):
        for array, heading in [("kStoreNames", "Of the store"), ("kBufferNames", "Of a buffer")]:
            names = names_in_source(self.source, array)
            self.assertGreater(len(names), 10)
            self.assertEqual(names_in_section(self.page, heading), names)

    def test_the_page_counts_them(self):
        store = len(names_in_source(self.source, "kStoreNames"))
        buffer = len(names_in_source(self.source, "kBufferNames"))
        self.assertIn(f"{store} of the store itself, then {buffer} of each of the four buffers",
                      " ".join(self.page.split()))
        self.assertIn(f"a vector of {store + 4 * buffer} numbers", " ".join(self.page.split()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ROOT = sys.argv.pop()
    unittest.main()
