from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/fuzz"))
fuzz_page = importlib.import_module("fuzz_page")


def test_counts_of_several_seeds_are_one_table(tmp_path: Path) -> None:
    fault = {"number": 4, "argv": ["train"], "faults": ["status 1"]}
    one = {"calls": 3, "ends": {"train": {"0": 1, "2": 2}}, "broken": []}
    two = {"calls": 2, "ends": {"train": {"1": 1}, "why": {"130": 1}}, "broken": [fault]}
    row = {"inputs": 1000, "refused": 900, "led": 300, "longest_s": 0.2, "peak_mb": 300}
    fuzz_page.write_result("commands", "0", one, tmp_path)
    fuzz_page.write_result("commands", "1", two, tmp_path)
    fuzz_page.write_result("readers", "zip", row | {"broken": []}, tmp_path)
    assert set(fuzz_page.read_results(tmp_path)) == {"commands", "readers"}
    text = (tmp_path / "fuzz.md").read_text()
    assert "| train | 4 | 1 | 2 | 0 | 1 |" in text
    assert "| why | 1 | 0 | 0 | 1 | 0 |" in text
    assert "5 calls, 1 broke a rule." in text
    assert "- seed 1, 4: status 1" in text
    assert "| zip | 1,000 | 300 | 900 | 0.2 | 300 | 0 |" in text
    assert "1,000 inputs, 0 places broke." in text
