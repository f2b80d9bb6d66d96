from __future__ import annotations

import numpy as np
import torch

from hale.data.graph import GraphSize
from hale.export.vectors import tables_of
from hale.models import MODELS, make_model
from hale.models.tables import Table
from hale.runs.run import Run
from tests.line_run import line_run


def with_model(run: Run, name: str, dim: int = 4) -> Run:
    run.model = make_model(name, run.graph.size, dim)
    run.model.see(torch.tensor(run.graph.train))
    run.model.eval()
    return run


def test_a_query_can_be_computed_from_the_tables_alone() -> None:
    """RotE in plain scalars: q = Rot(r) e_h + r'."""
    run = with_model(line_run(), "rote")
    found = tables_of(run)
    assert set(found.relations) == {"turn", "shift", "free_scale"}
    head, relation = 3, 2 + 1  # the reciprocal of 'twice'
    e, turn, shift = (
        rows.tolist()
        for rows in (
            found.entities[head],
            found.relations["turn"][relation],
            found.relations["shift"][relation],
        )
    )
    expected = []
    for i in (0, 2):
        a, b = turn[i], turn[i + 1]
        expected += [a * e[i] - b * e[i + 1] + shift[i], b * e[i] + a * e[i + 1] + shift[i + 1]]
    query = run.model.query(torch.tensor([head]), torch.tensor([relation]))[0]
    np.testing.assert_allclose(query.tolist(), expected, rtol=1e-5)


def test_every_parameter_of_every_model_is_there() -> None:
    for name in MODELS:
        run = with_model(line_run(), name, dim=8)
        found = tables_of(run)
        rows = [found.entities, *found.of_entities.values()]
        rows += [*found.relations.values(), *found.others.values()]
        assert sum(r.size for r in rows) == sum(p.numel() for p in run.model.parameters()), name
        assert all(len(r) == 4 for r in found.relations.values())
        assert all(r.dtype == np.float32 for r in rows)


def test_names() -> None:
    found = tables_of(line_run(5, num_valid=1))
    assert found.names == ("p0", "p1", "p2", "p3", "p4")
    assert found.labels == (None, "one", "two words", None, None)
    assert found.row_names == ("next", "twice", "next^-1", "twice^-1")


def test_biases_and_shared_weights_find_their_place() -> None:
    """Also where there are as many entities as relation rows, and only the name tells."""
    run = line_run(4, num_valid=1)
    assert run.graph.size == GraphSize(4, 2)
    run.model.tail_bias = Table(4, 1)
    with torch.no_grad():
        run.model.tail_bias.weight[:, 0] = torch.arange(4.0)
    run.model.core = torch.nn.Parameter(torch.zeros(3, 5))
    found = tables_of(run)
    assert found.of_entities["tail_bias"].tolist() == [[0.0], [1.0], [2.0], [3.0]]
    assert found.others["core"].shape == (3, 5)
    assert set(found.relations) == {"shift", "free_scale"}


def test_a_core_of_as_many_rows_as_relations_is_no_relation_vector() -> None:
    """TuckER's core has min(d, 2R) rows: with d >= 2R as many as there are relation rows."""
    run = with_model(line_run(), "tucker", dim=6)
    found = tables_of(run)
    assert set(found.relations) == {"relation", "free_scale"}
    assert found.relations["relation"].shape == (4, 4)
    assert found.others["core"].shape == (4, 36)
