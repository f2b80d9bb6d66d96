"""Names of 64 kB and a hundred thousand relations, from a file to an answer, as a user asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoke import as_json, hale

pytestmark = pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
LONG = "é" * 32_768  # 65,536 bytes
QUICK = ["--dim", "4", "--epochs", "1", "--queries", "8", "--block", "all", "--threads", "1"]


def test_names_of_64_kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{LONG[:-2]}{i:02}" for i in range(20)]
    assert len(names[0].encode()) == 65_534
    facts = [f"{names[i]}\t{LONG}\t{names[(i + 1) % 20]}\n" for i in range(20)]
    Path("facts.tsv").write_text("".join(facts), encoding="utf-8")
    trained = hale("train", "facts.tsv", *QUICK, "--out", "run")
    assert trained.exit_code == 0, trained.stderr[-500:]
    assert hale("show", "run").exit_code == 0
    asked = ["predict", "run", "--head", names[3], "--relation", LONG, "-k", 20]
    assert hale(*asked).exit_code == 0
    told = {answer["entity"] for answer in as_json(hale(*asked, "--json"))["answers"]}
    assert told <= {*names}
    assert names[4] in told
    refused = hale("predict", "run", "--head", LONG, "--relation", LONG)
    assert refused.exit_code == 2
    assert "Unknown entity" in refused.stderr
    assert "Traceback" not in refused.output


def test_a_hundred_thousand_relations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    count = 100_000
    facts = "".join(f"e{i % 500}\tr{i}\te{(i * 7 + 1) % 500}\n" for i in range(count))
    Path("facts.tsv").write_text(facts)
    trained = hale("train", "facts.tsv", *QUICK, "--batch-size", "20000", "--out", "run")
    assert trained.exit_code == 0, trained.stderr[-500:]
    shown = hale("show", "run")
    assert shown.exit_code == 0
    assert "100,000" in shown.stdout
    found = as_json(hale("predict", "run", "--head", "e7", "--relation", "r99999", "--json"))
    # the one tail that the relation has: 7 x 99,999 + 1 = 699,994
    assert [answer["entity"] for answer in found["answers"]] == ["e494"]
    refused = hale("predict", "run", "--head", "e7", "--relation", "r100000")
    assert refused.exit_code == 2
    assert "Unknown relation 'r100000'" in refused.stderr
