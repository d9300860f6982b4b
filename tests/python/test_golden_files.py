import json
import unittest
from pathlib import Path

from protocol_reader import read_events

GOLDEN = Path(__file__).resolve().parents[1] / "protocol"


class GoldenFiles(unittest.TestCase):
    """The same files are read by src/measure/events.test.ts."""

    def test_every_file_is_read_as_written_down(self) -> None:
        expected = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
        files = sorted(str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.jsonl"))
        self.assertEqual(files, sorted(expected))
        for name in files:
            with self.subTest(file=name):
                self.assertEqual(read_events((GOLDEN / name).read_text(encoding="utf-8")), expected[name])


if __name__ == "__main__":
    unittest.main()
