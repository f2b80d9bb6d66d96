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
    assert "5 calls. 1 of them broke a rule when first made; 1 break one still." in text
    assert "- seed 1, 4: status 1" in text
    assert "| zip | 1,000 | 300 | 900 | 0.2 | 300 | 0 |" in text
    assert "1,000 inputs, 0 places broke." in text


def test_calls_that_are_mended_are_told_beside_those_whose_words_are_lost(tmp_path: Path) -> None:
    """The column of other ends and the sentence below it tell the same calls."""
    ends = {"find": {"0": 7, "70": 2, "-6": 1}}
    mended = [
        {"number": 3, "argv": ["find", "run"], "faults": ["status 70", "a traceback"]},
        {"number": 5, "argv": ["find", "x"], "faults": ["a.tsv has come"]},
    ]
    row = {"calls": 10, "ends": ends, "broken": [], "mended": mended}
    fuzz_page.write_result("commands", "0", row, tmp_path)
    text = (tmp_path / "fuzz.md").read_text()
    assert "| find | 10 | 7 | 0 | 0 | 3 |" in text
    assert (
        "10 calls. At least 4 of them broke a rule when first made; 2 were mended and the same "
        "call repeated, which breaks none; of 2, whose words were not kept, it is not known "
        "whether the same call was repeated; 0 break one still."
    ) in text
    clean = {"calls": 1, "ends": {"find": {"2": 1}}, "broken": [], "mended": []}
    fuzz_page.write_result("commands", "0", clean, tmp_path)
    assert "1 calls. None broke a rule." in (tmp_path / "fuzz.md").read_text()
