"""What the tests share: the sample's teacher, and a folder of their own."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEACHER = ROOT / "sample" / "teacher"

# The package of this tree, unless one that is installed is to be tested.
if not os.environ.get("CALQUE_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))

SENTENCES = ["A cat sleeps.", "The train is late.", "", "Ein Hund läuft.", "猫が寝ている。", "a" * 5000]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="calque-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


def pairs(n: int) -> str:
    """The first rows of the sample's English and German."""
    with gzip.open(ROOT / "sample" / "train" / "en-de.tsv.gz", "rt", encoding="utf-8") as f:
        return "".join(line for _, line in zip(range(n), f))
