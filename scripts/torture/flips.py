"""One wrong byte in a run's files: noticed, or harmless.

Of a small run with every file that a run can have (weights, checkpoint, lessons, calibration,
path rules, review, map, ...) one byte at a time is changed. Whoever loads, evaluates, asks and
resumes then gets one error of hale's own, or a warning that names the file, or all that it got
before. Two things it has not: shards of ranks, whose digests have tests of their own, and what
trackers write, which is theirs. ``accepted.tsv`` is for one update and is not read again.
"""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

# A byte is changed by one bit of it: the lowest makes a digit of another digit, a letter of another
# letter; the fifth a small letter of a capital one; the highest what is no text any more.
BITS = (0x01, 0x20, 0x80)


@dataclass(frozen=True)
class Flip:
    """The byte of a file that is changed, by which bit, and what came of it."""

    file: str
    place: int
    bit: int
    outcome: str  # 'error', 'warning', 'same', or what is wrong

    @property
    def lost(self) -> str | None:
        """What is wrong, if anything is."""
        return None if self.outcome in ("error", "warning", "same") else self.outcome


def make_run(folder: Path) -> Path:
    """A run with every file a run can have, beside its teacher -> its folder."""
    import numpy as np

    from hale import calibrate, evaluate, load_run, train, update, with_paths
    from hale.data.graph import Graph
    from hale.data.types import Types
    from hale.data.vocabulary import Vocabulary
    from hale.serve.map.map_file import Layout, write_map
    from hale.serve.review import Review
    from hale.serve.upgrade import write_accepted

    ids = np.arange(12)
    rows = np.concatenate([np.stack([ids, ids * 0, (ids + 1) % 12], 1) for _ in "x"])
    more = np.stack([ids, ids * 0 + 1, (ids + 3) % 12], 1)
    graph = Graph(
        "small",
        Vocabulary([f"e{i}" for i in ids], "entity"),
        Vocabulary(["next", "far"], "relation"),
        train=np.concatenate([rows[:9], more[:9]]),
        valid=np.concatenate([rows[9:11], more[9:11]]),
        test=np.concatenate([rows[11:], more[11:]]),
        labels={"e0": "the first", "e1": "one"},
        weights=np.linspace(1, 2, 18, dtype=np.float32),
        types=Types(Vocabulary(["odd", "even"], "type"), ids, 1 - ids % 2),
    )
    few: dict[str, Any] = {"dim": 4, "batch_size": 8, "queries": 4, "validate_every": 1}
    train(graph, epochs=1, **few, out=folder / "teacher")
    train(graph, epochs=2, **few, teacher=[str(folder / "teacher")], out=folder / "taught")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        update(folder / "taught", add=[("new", "next", "e3")], epochs=1, out=folder / "run")
    for name in ("teachers.json", "lessons.safetensors"):  # an update has none
        shutil.copy(folder / "taught" / name, folder / "run" / name)
    run = load_run(folder / "run")
    _own_lessons(folder)
    run.save_metrics("test", evaluate(run, "test").as_dict())
    calibrate(run)
    with_paths(run)
    review = Review(folder / "run")
    review.decide(("e0", "next", "e5"), "accept", who="ada", probability=0.5)
    review.decide(("e1", "next", "e6"), "reject", who="bob")
    write_accepted(folder / "run", review.facts("accept"))
    places = np.linspace(-0.9, 0.9, 26, dtype=np.float32).reshape(13, 2)
    write_map(folder / "run", run.graph, Layout.of("tsne", places, run.graph), "weights")
    return folder / "run"


def _own_lessons(folder: Path) -> None:
    """Let the lessons of the run that was taught be the run's own."""
    from hale.runs.file_names import LESSONS
    from hale.runs.folder import RunFolder

    tensors, about = RunFolder(folder / "taught").read_tensors(LESSONS)
    RunFolder(folder / "run").write_tensors(LESSONS, tensors, about)


def answers(run: Path, *, with_map: bool = True) -> dict[str, Any]:
    """All that a run's files tell, by who asks; perhaps without the map, which takes longest."""
    from hale import evaluate, load_calibration, load_run, predict, with_paths
    from hale.runs.file_names import CHECKPOINT, LESSONS, TEACHERS
    from hale.runs.folder import RunFolder
    from hale.serve.map.map_file import read_map
    from hale.serve.review import Review

    folder, loaded = RunFolder(run), load_run(run)
    told = predict(loaded, head="e0", relation="next", k=3)
    calibration = load_calibration(loaded)
    layout = read_map(run, loaded.graph, "weights") if with_map else None
    advised: Any = with_paths(loaded, keep=False).model
    tensors = {name: folder.read_tensors(name) for name in (CHECKPOINT, LESSONS)}
    return {
        "run": loaded.as_dict(),
        "origin": loaded.origin,
        "stamp": folder.read_extensions(),
        "graph": [
            *(loaded.graph.split(split).tolist() for split in ("train", "valid", "test")),
            loaded.graph.entities.names,
            loaded.graph.relations.names,
            loaded.graph.labels,
            None if loaded.graph.weights is None else loaded.graph.weights.tolist(),
        ],
        "evaluated": {k: v for k, v in evaluate(loaded).as_dict().items() if k != "seconds"},
        "predicted": [repr(answer) for answer in told],
        "calibration": calibration and calibration.as_dict(loaded.graph),
        "paths": [advised.weight, advised.rules.as_dict()],
        "review": [repr(entry) for entry in Review(run).entries],
        # A map that cannot be read is made again, so that it is no other one.
        "map": None if layout is None else [layout.kind, layout.xy.tolist(), repr(layout.clusters)],
        "teachers": folder.read_json(TEACHERS),
        "tensors": {
            name: [{key: value.tolist() for key, value in kept.items()}, about]
            for name, (kept, about) in tensors.items()
        },
    }


def flips(
    run: Path, *, most: int | None = None, seed: int = 0, only: str | None = None
) -> Iterator[Flip]:
    """Change every byte of a run's files once, each by a bit in turn, or ``most`` of them."""
    found = [
        (path, place, BITS[place % len(BITS)])
        for path in sorted(run.iterdir())
        if only in (None, path.name)
        for place in range(path.stat().st_size)
    ]
    draw = random.Random(seed)  # noqa: S311
    if most is not None and most < len(found):
        found = sorted(draw.sample(found, most))
    before, said = _told(lambda: answers(run))
    assert not said, said
    for path, place, bit in found:
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[place] ^= bit
        path.write_bytes(changed)
        try:
            asked = partial(answers, run, with_map=path.name.startswith("map."))
            yield Flip(path.name, place, bit, _outcome(asked, before))
        finally:
            path.write_bytes(whole)


def _outcome(asked: Callable[[], dict[str, Any]], before: dict[str, Any]) -> str:
    from hale.errors import HaleError

    try:
        now, said = _told(asked)
    except HaleError as error:
        return "error" if len(str(error)) < 600 else f"too long an error: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if said:
        return "warning"
    if now["map"] is None:
        now["map"] = before["map"]
    differing = [part for part in before if _text(now[part]) != _text(before[part])]
    return f"not noticed: {', '.join(differing)}" if differing else "same"


def _told(asked: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return asked(), [str(one.message) for one in caught]


def _text(value: object) -> str:
    return json.dumps(value, default=str, sort_keys=True)
