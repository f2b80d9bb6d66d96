"""Names written by every writer come back by every reader, whatever they hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hale.answers.arrays import tables
from hale.answers.discovery import discover, facts_frame
from hale.answers.predictor import find_answers
from hale.answers.queries import read_queries
from hale.data.graph import Graph, Vocabulary
from hale.data.sources import graph_from_tables, read_graph, read_triples
from hale.data.sources.labelled import read_labelled
from hale.data.sources.triples import read_labels
from hale.data.vocabulary import BREAKS
from hale.errors import HaleWarning, InputError
from hale.evaluation.calibration import calibrate
from hale.evaluation.classification import classify
from hale.export import export_run, open_index
from hale.export.table_file import table_file
from hale.models import make_model
from hale.runs.run import Run, Summary, load_run
from hale.settings import make_settings
from hale.training.trainer import Trainer

# Everything that text can hold but surrogates, and what parts names in files.
letters = st.characters(exclude_categories=["Cs"], exclude_characters=f"\0{BREAKS}")
# A reader strips space around a name; '?' asks, and header words in a first line are a header.
ASKS = ("?",)


# Unicode's White_Space, what a line cannot hold aside, and the byte order mark.
SPACE = (
    " \x0b\x0c\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000\ufeff"
)


def is_name(text: str) -> bool:
    return bool(text) and text.strip(SPACE) == text and text not in ASKS


names = st.text(letters, min_size=1, max_size=8).filter(is_name)
vocabularies = st.lists(names, min_size=3, max_size=6, unique=True)

ODD = [
    'a "b"',
    '"',
    "'",
    ",",
    "a,b",
    "\x1f",
    "\x1b[31m",
    "é\u0301",
    "a  b",
    "\u200b",
    "NULL",
    "1.0",
]


def made(entities: list[str], relations: list[str], labels: list[str]) -> Graph:
    """Each entity leads to the next by every relation, and the last to itself."""
    count = len(entities)
    triples = np.array(
        [[i, r, min(i + 1, count - 1)] for i in range(count) for r in range(len(relations))]
    )
    return Graph(
        "drawn",
        Vocabulary(entities, "entity"),
        Vocabulary(relations, "relation"),
        train=triples,
        valid=triples[:1],
        test=triples[:0],
        labels=dict(zip(entities, labels, strict=False)),
    )


def run_of(graph: Graph) -> Run:
    settings = make_settings(model="transe", dim=2, epochs=1)
    model = make_model("transe", graph.size, 2).eval()
    return Run(settings, graph, model, Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu"))


def rows_of(graph: Graph) -> list[tuple[str, str, str]]:
    return [
        (graph.entities[h], graph.relations[r], graph.entities[t])
        for h, r, t in graph.train.tolist()
    ]


def frame_of(rows: list[tuple[str, ...]]) -> pl.DataFrame:
    schema = dict.fromkeys(("head", "relation", "tail"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


@settings(max_examples=25, deadline=None)
@given(
    vocabularies,
    st.lists(names, min_size=1, max_size=3, unique=True),
    st.lists(st.text(letters, max_size=8), max_size=6),
)
@example(ODD, ['"r"', "s,s"], ['the "first"', "x, y"])
@example(["head", "relation", "tail"], ["relation", "label"], [])
@example(['"a"', '"b"', '""c""'], ['"r"'], ['"x"', '"y"'])
@example(["a", "b", "c"], ["# r", "\x85r".strip("\x85")], ["\u3000wide"])
def test_every_writer_and_every_reader(
    entities: list[str], relations: list[str], labels: list[str]
) -> None:
    graph = made(entities, relations, labels)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        check_tables(graph, place)
        check_run(graph, place)
        check_exports(graph, place)


def check_tables(graph: Graph, place: Path) -> None:
    """Tables of triples, of answers and of verdicts, as text and Parquet, also packed."""
    run, rows = run_of(graph), rows_of(graph)
    asked = [(h, r, "?") for h, r, _ in rows]
    for suffix in (".tsv", ".csv", ".parquet"):
        path = place / f"triples{suffix}"
        with table_file(path) as file:
            file.add(frame_of(rows))
        assert read_triples(path).rows.rows() == rows
        assert read_labelled(path, graph).triples.tolist() == graph.train.tolist()
        read = read_graph(path, holdout=0)
        assert sorted(read.entities.names) == sorted(graph.entities.names)
        packed = place / f"packed{suffix}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert read_triples(packed).rows.rows() == rows

        queries = place / f"queries{suffix}"
        with table_file(queries) as file:
            file.add(frame_of(asked))
        found = read_queries(queries, graph).queries
        assert found[:, :2].tolist() == graph.train[:, :2].tolist()
        assert (found[:, 2] == -1).all()

        answers = place / f"answers{suffix}"
        expected = []
        with table_file(answers) as file:
            for table in tables(graph, find_answers(run, found, k=2)):
                file.add(table)
                expected += table.select("head", "relation", "tail").rows()
        assert read_triples(answers).rows.rows() == expected

        facts = discover(run, k=3)
        missing = place / f"missing{suffix}"
        with table_file(missing) as file:
            file.add(facts_frame(facts))
        if facts:
            listed = [(fact.head, fact.relation, fact.tail) for fact in facts]
            assert read_triples(missing).rows.rows() == listed

        verdicts = place / f"verdicts{suffix}"
        truth = np.arange(len(rows)) % 2 == 0
        sure = calibrate(run, negatives=graph.train, save=False)
        table = classify(run, graph.train, calibration=sure).to_polars()
        table = table.with_columns(pl.Series("label", truth))
        with table_file(verdicts) as file:
            file.add(table)
        judged = read_labelled(verdicts, graph)
        assert judged.triples.tolist() == graph.train.tolist()
        assert judged.labels is not None
        assert judged.labels.tolist() == truth.tolist()
    for source in (rows, np.array(rows, dtype=object), frame_of(rows)):
        assert rows_of(graph_from_tables(source, holdout=0)) == rows


def check_run(graph: Graph, place: Path) -> None:
    """A run's folder."""
    trainer = Trainer(graph, make_settings(model="transe", dim=2, epochs=1, threads=1))
    trainer.begin(place / "run")
    with pytest.warns(HaleWarning, match="is not trained"):
        loaded = load_run(place / "run").graph
    assert loaded.entities.names == graph.entities.names
    assert loaded.relations.names == graph.relations.names
    assert loaded.train.tolist() == graph.train.tolist()
    plain = {name: " ".join(label.split()) for name, label in graph.labels.items()}
    assert dict(loaded.labels) == plain
    if plain:
        read = read_labels(place / "run" / "labels.tsv")
        assert read == {name: label for name, label in plain.items() if label}


def check_exports(graph: Graph, place: Path) -> None:
    """Vectors with their names, in every format that has them."""
    run = run_of(graph)
    found: dict[str, Any] = {}
    for form in ("npy", "parquet", "csv", "word2vec", "tensorboard", "index"):
        export_run(run, place / form, form=form)
    lines = (place / "npy" / "entities.txt").read_bytes().decode().removesuffix("\n").split("\n")
    found["npy"] = lines
    found["parquet"] = pl.read_parquet(place / "parquet" / "entities.parquet")["name"].to_list()
    csv = pl.read_csv(place / "csv" / "entities.csv", infer_schema=False)
    found["csv"] = csv["name"].to_list()
    words = (place / "word2vec" / "entities.words.tsv").read_bytes().decode()
    found["word2vec"] = [line.split("\t")[1] for line in words.removesuffix("\n").split("\n")]
    metadata = (place / "tensorboard" / "metadata.tsv").read_bytes().decode()
    shown = metadata.removesuffix("\n").split("\n")[1:]
    found["tensorboard"] = [line.split("\t")[0] for line in shown]
    found["index"] = list(open_index(place / "index").names)
    about = json.loads((place / "npy" / "about.json").read_text(encoding="utf-8"))
    assert about["graph"] == "drawn"
    for form, read in found.items():
        assert read == list(graph.entities.names), form


def test_a_name_that_no_file_can_hold_is_refused_at_the_door() -> None:
    with pytest.raises(InputError, match="line break"):
        made(["a\nb", "c", "d"], ["r"], [])
    with pytest.raises(InputError, match="line break"):
        graph_from_tables([("a", "r", "b\rc")])
