"""A run on disk: whole or not at all, and damage is named."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hale.data.files import free_folder
from hale.data.graph import Graph, Vocabulary
from hale.data.types import Types
from hale.errors import HaleWarning, RunError
from hale.models import make_model
from hale.runs import replacing, tensor_file
from hale.runs.file_names import REVIEW
from hale.runs.folder import RunFolder
from hale.runs.run import load_run
from hale.runs.tensor_file import write_tensor_file
from hale.serve import review
from hale.settings import make_settings


@pytest.fixture
def folder(tmp_path: Path, graph: Graph) -> RunFolder:
    settings = make_settings(model="transe", dim=4, epochs=1)
    weights = make_model("transe", graph.size, 4).state_dict()
    return RunFolder.create(tmp_path / "run", settings, graph, weights)


def test_a_new_folder_is_a_loadable_run(folder: RunFolder, graph: Graph) -> None:
    names = sorted(path.name for path in folder.path.iterdir())
    assert names == [
        "entities.txt",
        "labels.tsv",
        "model.safetensors",
        "relations.txt",
        "settings.json",
        "triples.safetensors",
    ]
    run = load_run(folder.path)
    assert run.summary.stopped_by == "unfinished"
    assert run.graph.entities.names == graph.entities.names
    assert run.graph.labels == dict(graph.labels)
    for split in ("train", "valid", "test"):
        assert np.array_equal(run.graph.split(split), graph.split(split))
    assert (folder.path / "entities.txt").read_text().splitlines()[:2] == ["e000", "e001"]


def test_types_are_kept_with_the_run(tmp_path: Path, graph: Graph) -> None:
    pairs = np.array([(3, 0), (3, 1), (5, 1)])
    types = Types(Vocabulary(["odd", "prime"], "type"), pairs[:, 0], pairs[:, 1])
    weights = make_model("transe", graph.size, 4).state_dict()
    settings = make_settings(model="transe", dim=4, epochs=1)
    made = RunFolder.create(tmp_path / "run", settings, replace(graph, types=types), weights)
    assert (made.path / "types.tsv").read_text() == "e003\todd\ne003\tprime\ne005\tprime\n"
    kept = load_run(made.path).graph.types
    assert kept is not None
    assert kept.members(kept.names.ids(["prime"])).tolist() == [3, 5]
    (made.path / "types.tsv").write_text("nobody\tprime\n")
    with pytest.raises(RunError, match=r"types\.tsv is not the file that it was made with"):
        load_run(made.path)


def test_what_is_there_is_not_replaced_by_accident(
    folder: RunFolder, graph: Graph, tmp_path: Path
) -> None:
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    with pytest.raises(RunError, match=r"exists\. Choose another folder, continue that run"):
        RunFolder.create(folder.path, settings, graph, weights)
    RunFolder.create(folder.path, settings, graph, weights, overwrite=True)
    assert folder.read_settings().epochs == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run.review.lock", "run"]

    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="is not a run, so it is not overwritten"):
        RunFolder.create(precious, settings, graph, weights, overwrite=True)
    assert (precious / "thesis.txt").read_text() == "years of work"


def test_what_is_no_part_of_a_run_does_not_go_with_it(folder: RunFolder, graph: Graph) -> None:
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    (folder.path / "notes.txt").write_text("thoughts")
    (folder.path / "another run").mkdir()
    with pytest.raises(RunError, match=r"no part of a run.*: another run, notes\.txt\. Move"):
        RunFolder.create(folder.path, settings, graph, weights, overwrite=True)
    assert (folder.path / "notes.txt").read_text() == "thoughts"


def test_a_decision_as_a_run_is_replaced_is_not_lost(folder: RunFolder, graph: Graph) -> None:
    """It waits until the new folder is there: the old one is copied, and gone."""
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    made = review.Review(folder.path)
    made.decide(("e0", "r0", "e1"), "accept", who="ada")
    told: list[threading.Thread] = []

    def decide() -> None:
        made.decide(("e0", "r0", "e2"), "reject", who="ada")

    keep_review = replacing.keep_review

    def kept_and_decided(replaced: Path, fresh: Path) -> None:
        keep_review(replaced, fresh)
        told.append(threading.Thread(target=decide))
        told[0].start()
        time.sleep(0.2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replacing, "keep_review", kept_and_decided)
        RunFolder.create(folder.path, settings, graph, weights, overwrite=True)
    told[0].join()
    assert [entry.fact[2] for entry in review.Review(folder.path).entries] == ["e1", "e2"]


def test_nobody_who_decides_waits_while_a_run_is_filled(folder: RunFolder, graph: Graph) -> None:
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    made = review.Review(folder.path)
    waiting: list[bool] = []

    def fill(_: RunFolder) -> None:
        fact = ("e0", "r0", "e1")
        one = threading.Thread(target=lambda: made.decide(fact, "accept", who="ada"), daemon=True)
        one.start()
        one.join(timeout=10)
        waiting.append(one.is_alive())

    RunFolder.create(folder.path, settings, graph, weights, overwrite=True, fill=fill)
    assert waiting == [False]
    assert [entry.fact[2] for entry in review.Review(folder.path).entries] == ["e1"]


def test_of_rows_the_bytes_of_the_whole_file_are_checked(folder: RunFolder) -> None:
    """A process that reads its rows alone would take a wrong byte of them."""
    folder.check_bytes("model.safetensors")
    path = folder.path / "model.safetensors"
    data = bytearray(path.read_bytes())
    for place in (data.index(b"step"), len(data) - 3):  # of the header, of a number
        data[place] ^= 1
        path.write_bytes(data)
        with pytest.raises(RunError, match="damaged"):
            folder.check_bytes("model.safetensors")
        data[place] ^= 1
    path.write_bytes(data)
    folder.check_bytes("model.safetensors")


def test_what_people_decided_outlives_an_overwrite(
    folder: RunFolder, graph: Graph, tmp_path: Path
) -> None:
    (folder.path / REVIEW).write_text("a decision\n")
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    RunFolder.create(folder.path, settings, graph, weights, overwrite=True)
    assert folder.read_settings().epochs == 2
    assert (folder.path / REVIEW).read_text() == "a decision\n"

    other = RunFolder.create(tmp_path / "other", settings, graph, weights)
    (other.path / REVIEW).write_text("another\n")
    load_run(other.path).save(folder.path, overwrite=True)
    assert (folder.path / REVIEW).read_text() == "a decision\n"


def test_loading_draws_no_weights_only_to_replace_them(folder: RunFolder) -> None:
    before = torch.get_rng_state()
    model = load_run(folder.path).model
    assert torch.equal(torch.get_rng_state(), before)
    stored, _ = folder.read_tensors("model.safetensors")
    assert stored.keys() == model.state_dict().keys()
    for name, value in model.state_dict().items():
        assert torch.equal(value, stored[name])


def test_labels_are_kept_in_id_order(tmp_path: Path, graph: Graph) -> None:
    labels = {"e003": " the\tthird ", "nobody": "x", "e001": "one"}
    named = replace(graph, labels=labels)
    weights = make_model("transe", graph.size, 4).state_dict()
    run = RunFolder.create(tmp_path / "x", make_settings(model="transe", dim=4), named, weights)
    assert (run.path / "labels.tsv").read_text() == "e001\tone\ne003\tthe third\n"
    assert run.read_graph().labels == {"e001": "one", "e003": "the third"}


def test_an_empty_folder_may_be_used(tmp_path: Path, graph: Graph) -> None:
    (tmp_path / "empty").mkdir()
    settings = make_settings(model="transe", dim=4)
    weights = make_model("transe", graph.size, 4).state_dict()
    RunFolder.create(tmp_path / "empty", settings, graph, weights)
    assert load_run(tmp_path / "empty").settings.dim == 4


@pytest.mark.parametrize(
    "name",
    ["settings.json", "entities.txt", "relations.txt", "model.safetensors", "triples.safetensors"],
)
def test_missing_files_are_named(folder: RunFolder, name: str) -> None:
    (folder.path / name).unlink()
    with pytest.raises(RunError, match=name):
        load_run(folder.path)


@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "triples.safetensors"])
def test_damaged_files_are_named(folder: RunFolder, name: str) -> None:
    whole = (folder.path / name).read_bytes()
    for damage in (whole[: len(whole) // 2], b"\x80\x04junk", b""):
        (folder.path / name).write_bytes(damage)
        with pytest.raises(RunError, match=name):
            load_run(folder.path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("settings.json", '{"format": 1, "settings": {}}'),
        ("settings.json", '{"format": 1, "settings": {"dim": "many"}, "graph": {}}'),
        ("entities.txt", "e000\ne001\n"),
        ("entities.txt", "e000\n" * 24),
        ("relations.txt", "next\n\n"),
        ("relations.txt", "next\nskip\nback\n"),
        ("labels.tsv", "no tab here\n"),
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_files_with_other_content_are_named(
    folder: RunFolder, name: str, content: str, sealed: bool
) -> None:
    """By their checksums, and in a run that has none by what they hold."""
    if not sealed:
        unseal(folder)
    (folder.path / name).write_text(content)
    with pytest.raises(RunError, match=name) as caught:
        load_run(folder.path)
    assert ("is not the file that it was made with" in str(caught.value)) == (
        sealed and name != "settings.json"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", "[]"),
        ("metrics.json", "null"),
        ("metrics.json", '{"training": {"steps": 1}}'),
        ("metrics.json", '{"training"'),
        ("history.jsonl", "5"),
        ("history.jsonl", "{}"),
        ("origin.json", "{"),
    ],
)
def test_a_damaged_report_is_told_and_left_out(folder: RunFolder, name: str, content: str) -> None:
    (folder.path / name).write_text(content)
    with pytest.warns(HaleWarning, match=f"{name} cannot be read .* left out") as told:
        run = load_run(folder.path)
    assert len(told) == 1
    assert (run.history, run.metrics, run.origin) == ([], {}, [])
    assert run.summary.stopped_by == "unfinished"


def test_swapped_names_are_noticed(folder: RunFolder) -> None:
    """Same length, same names, same count: only the order is another."""
    names = (folder.path / "entities.txt").read_text().splitlines(keepends=True)
    names[3], names[4] = names[4], names[3]
    (folder.path / "entities.txt").write_text("".join(names))
    with pytest.raises(RunError, match=r"entities\.txt is not the file that it was made with"):
        load_run(folder.path)


def test_checksums_are_those_of_sha256sum(folder: RunFolder) -> None:
    header = json.loads((folder.path / "settings.json").read_text())
    written_once = {"entities.txt", "relations.txt", "labels.tsv", "triples.safetensors"}
    assert set(header["files"]) == written_once
    for name, digest in header["files"].items():
        assert digest == hashlib.sha256((folder.path / name).read_bytes()).hexdigest()


def test_weights_of_another_run_are_noticed(
    folder: RunFolder, graph: Graph, tmp_path: Path
) -> None:
    """On the same graph, of the same shape: the seed is another."""
    settings = make_settings(model="transe", dim=4, epochs=1, seed=1)
    weights = make_model("transe", graph.size, 4).state_dict()
    other = RunFolder.create(tmp_path / "other", settings, graph, weights)
    own = (folder.path / "model.safetensors").read_bytes()
    shutil.copy(other.path / "model.safetensors", folder.path)
    with pytest.raises(RunError, match=r"model\.safetensors .*belongs to another run"):
        load_run(folder.path)
    bare = folder.read_json("settings.json")
    (folder.path / "model.safetensors").write_bytes(own)
    load_run(folder.path)
    write_tensor_file(folder.path / "model.safetensors", weights, {"step": 0})  # of nobody
    with pytest.raises(RunError, match="another run"):
        load_run(folder.path)
    folder.write_json("settings.json", {key: bare[key] for key in bare if key != "id"})
    load_run(folder.path)  # a run of an earlier version has no id


def test_one_wrong_bit_of_the_weights_is_noticed(folder: RunFolder) -> None:
    path = folder.path / "model.safetensors"
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RunError, match=r"model\.safetensors .*the checksum differs"):
        load_run(folder.path)


def test_the_same_run_has_the_same_bytes(folder: RunFolder, graph: Graph, tmp_path: Path) -> None:
    """Nothing random or of the clock goes into the files."""
    weights, about = folder.read_tensors("model.safetensors")
    again = RunFolder.create(tmp_path / "again", folder.read_settings(), graph, weights)
    assert about == {"step": 0}
    for path in folder.path.iterdir():
        assert path.read_bytes() == (again.path / path.name).read_bytes(), path.name


def test_untrained_weights_are_told(graph: Graph, tmp_path: Path) -> None:
    weights = make_model("transe", graph.size, 4).state_dict()
    settings = make_settings(model="transe", dim=4)
    run = RunFolder.create(tmp_path / "run", settings, graph, weights, trained=False)
    with pytest.warns(HaleWarning, match="is not trained: it was killed before its first save"):
        load_run(run.path)
    run.write_tensors("model.safetensors", weights, {"step": 1})
    load_run(run.path)


def unseal(folder: RunFolder) -> None:
    """Let it be a run of an earlier version, without checksums."""
    header = json.loads((folder.path / "settings.json").read_text())
    del header["files"], header["id"], header["checksum"]
    (folder.path / "settings.json").write_text(json.dumps(header | {"format": 1}))


def test_tensors_of_other_content_are_named(folder: RunFolder) -> None:
    unseal(folder)
    folder.write_tensors("triples.safetensors", {"train": torch.zeros(4, 2)}, {})
    with pytest.raises(RunError, match=r"triples\.safetensors"):
        load_run(folder.path)
    halves = {split: torch.full((1, 3), 0.5) for split in ("train", "valid", "test")}
    folder.write_tensors("triples.safetensors", halves, {})
    with pytest.raises(RunError, match=r"triples\.safetensors .* whole numbers"):
        load_run(folder.path)


@pytest.mark.parametrize("change", [{"model": "of tomorrow"}, {"model": "rotl", "dim": 5}])
def test_a_model_that_cannot_be_made_is_named(folder: RunFolder, change: dict[str, object]) -> None:
    header = json.loads((folder.path / "settings.json").read_text())
    header["settings"] |= change
    folder.write_json("settings.json", header)
    with pytest.raises(RunError, match=r"settings\.json names a model that this hale cannot make"):
        load_run(folder.path)


def test_an_overwrite_killed_between_its_renames_is_completed(
    folder: RunFolder, graph: Graph, tmp_path: Path
) -> None:
    settings = make_settings(model="transe", dim=4, epochs=2)
    weights = make_model("transe", graph.size, 4).state_dict()
    RunFolder.create(tmp_path / "other", settings, graph, weights)
    folder.path.rename(tmp_path / ".run.old")
    (tmp_path / "other").rename(tmp_path / ".run.new")
    assert load_run(tmp_path / "run").settings.epochs == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_old_run_without_its_successor_is_not_lost(folder: RunFolder, tmp_path: Path) -> None:
    folder.path.rename(tmp_path / ".run.old")
    assert load_run(tmp_path / "run").settings.epochs == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_working_folder_is_not_replaced(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    settings = make_settings(model="transe", dim=4)
    weights = make_model("transe", graph.size, 4).state_dict()
    with pytest.raises(RunError, match="the folder that you are in"):
        RunFolder.create(".", settings, graph, weights)
    RunFolder.create("../run", settings, graph, weights)
    monkeypatch.chdir(tmp_path / "run")
    assert load_run(".").settings.dim == 4


def test_weights_of_another_shape(folder: RunFolder) -> None:
    folder.write_tensors("model.safetensors", {"entity.weight": torch.zeros(2, 2)}, {"step": 0})
    with pytest.raises(RunError, match="does not fit"):
        load_run(folder.path)


def test_another_format(folder: RunFolder) -> None:
    header = json.loads((folder.path / "settings.json").read_text())
    (folder.path / "settings.json").write_text(json.dumps(header | {"format": 99}))
    with pytest.raises(RunError, match=r"has format 99; this hale \(.*\) reads formats 1 and 2"):
        load_run(folder.path)


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There is no run"):
        load_run(tmp_path / "nothing")
    with pytest.raises(RunError, match=r"is not a run: it has no settings\.json"):
        load_run(tmp_path)


def test_a_failed_write_leaves_the_old_file(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder.path / "model.safetensors").read_bytes()

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tensor_file, "_write", full)
    with pytest.raises(RunError, match="cannot be written: No space left"):
        folder.write_tensors("model.safetensors", {"x": torch.zeros(2)}, {})
    assert (folder.path / "model.safetensors").read_bytes() == before
    assert not list(folder.path.glob(".*"))


def test_free_folder(tmp_path: Path) -> None:
    assert free_folder(tmp_path, "x") == tmp_path / "x"
    (tmp_path / "x").mkdir()
    (tmp_path / "x-2").mkdir()
    assert free_folder(tmp_path, "x") == tmp_path / "x-3"


def test_a_setting_of_another_version_is_told_as_such(folder: RunFolder) -> None:
    path = folder.path / "settings.json"
    header = json.loads(path.read_text())
    header["hale"] = "9.1"
    header["settings"] |= {"wings": 2, "tail_fin": "long"}
    folder.write_json("settings.json", header)
    with pytest.raises(RunError) as caught:
        folder.read_settings()
    assert "is of another version of hale (9.1; this is" in str(caught.value)
    assert "wings, tail_fin" in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_bytes_are_on_disk_before_a_file_gets_its_name(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename can outlive its content when the power fails, unless the content was synced."""
    events: list[tuple[str, int]] = []  # what happened to which file, by its number on the disk
    sync, rename, replace = os.fsync, os.rename, os.replace

    def synced(descriptor: int) -> None:
        events.append(("sync", os.fstat(descriptor).st_ino))
        sync(descriptor)

    def renamed(source: str | Path, target: str | Path, **options: int) -> None:
        events.append(("rename", Path(source).stat().st_ino))
        rename(source, target, **options)

    def replaced(source: str | Path, target: str | Path, **options: int) -> None:
        events.append(("rename", Path(source).stat().st_ino))
        replace(source, target, **options)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(os, "replace", replaced)
    writers: dict[str, Callable[[str], None]] = {
        "metrics.json": lambda name: folder.write_json(name, {"a": 1}),
        "history.jsonl": lambda name: folder.write_lines(name, [{"a": 1}]),
        "model.safetensors": lambda name: folder.write_tensors(name, {"a": torch.ones(2)}, {}),
    }
    for name, write in writers.items():
        events.clear()
        write(name)
        number = (folder.path / name).stat().st_ino
        mine = [what for what, file in events if file == number]
        assert mine == ["sync", "rename"], name


def test_weights_of_facts_come_back(tmp_path: Path, graph: Graph) -> None:
    settings, model = make_settings(dim=4, epochs=1), make_model("rotl", graph.size, 4)
    weighted = replace(graph, weights=np.arange(1, len(graph.train) + 1) / 3)
    for name, one in (("plain", graph), ("weighted", weighted)):
        RunFolder.create(tmp_path / name, settings, one, model.state_dict())
    found = RunFolder(tmp_path / "weighted").read_graph().weights
    assert found is not None
    assert weighted.weights is not None
    assert found.tolist() == weighted.weights.tolist()
    assert RunFolder(tmp_path / "plain").read_graph().weights is None
    assert "weights" not in RunFolder(tmp_path / "plain").read_tensors("triples.safetensors")[0]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(folder: RunFolder, number: float) -> None:
    """Also of a run that was written so, with the right checksum."""
    weights, about = folder.read_tensors("model.safetensors")
    weights["entity.weight"][3, 1] = number
    folder.write_tensors("model.safetensors", weights, about)
    with pytest.raises(
        RunError, match=r"model\.safetensors .*entity\.weight has 1 numbers"
    ) as told:
        load_run(folder.path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_settings_that_are_no_numbers_are_named(folder: RunFolder, number: str) -> None:
    header = folder.read_json("settings.json")
    header["settings"]["gamma"] = float(number)
    folder.write_json("settings.json", header)
    with pytest.raises(RunError, match=r"settings\.json cannot be read .*gamma") as told:
        load_run(folder.path)
    assert "\n" not in str(told.value)
