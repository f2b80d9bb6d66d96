from __future__ import annotations

import numpy as np
import pytest

from hale.errors import InputError, UnknownNameError
from hale.export import query_vectors
from tests.line_run import line_run


def test_by_hand() -> None:
    run = line_run()
    found = query_vectors(run, head="p3", relation="next")
    assert found.dtype == np.float32
    assert found.tolist() == [[4.0, 0.0]]
    assert query_vectors(run, relation="twice", tail="p9").tolist() == [[7.0, 0.0]]
    many = query_vectors(run, head=["p1", "two words"], relation="twice")
    assert many[:, 0].tolist() == [3, 4]
    both = query_vectors(run, head=["p1", "p2"], relation=["next", "twice"])
    assert both[:, 0].tolist() == [2, 4]
    relations = query_vectors(run, head="p1", relation=["next", "twice"])
    assert relations[:, 0].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"head": "p0"}, InputError, "either a head or a tail"),
        ({"relation": "next"}, InputError, "either a head or a tail"),
        ({"head": "P1", "relation": "next"}, UnknownNameError, "Did you mean 'p1'"),
        ({"head": ["p0", "p1", "p2"], "relation": ["next", "next"]}, InputError, "3 entities"),
    ],
)
def test_faults(query: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        query_vectors(line_run(), **query)
