from __future__ import annotations

import numpy as np
import pytest

from hale.evaluation.calibration.standing import FEATURES, LISTED, Standings
from tests.line_run import line_run


def standings() -> Standings:
    """Points 0 to 29; train has 'next' of 12 to 28 and 'twice' of 3 to 27."""
    return Standings(line_run(30))


def test_lists_leave_out_what_train_knows() -> None:
    found = standings()
    mine = found.lists(np.array([14]), np.array([0]))
    # (p14, next, ?): p15 is known, and p14 itself no candidate: 16, then 13 or 17 at 2 places
    assert mine.known.tolist() == [1]
    assert mine.entities[0, 0] == 16
    assert 15 not in mine.entities[0]
    assert 14 not in mine.entities[0]
    # activated as in training: Hanon of the squared distance, every scale being one
    listed = mine.scores[0] > -np.inf
    away = (mine.entities[0, listed] - 15.0) ** 2
    beta, gamma = found.scoring.activation.beta, found.scoring.activation.gamma  # type: ignore[attr-defined]
    expected = 1 / (1 / gamma + np.exp(-beta * (away - 0.5)))
    np.testing.assert_allclose(mine.scores[0, listed], -expected, rtol=1e-5)


def test_features_by_hand() -> None:
    found = standings()
    lists = found.lists(np.array([14, 2]), np.array([0, 0]))
    stand = found.stand(lists, np.array([0, 0, 1]), np.array([16, 15, 13]))
    by_name = dict(zip(FEATURES, stand.features.T, strict=True))
    assert by_name["one"].tolist() == [1, 1, 1]
    assert stand.ranks.tolist()[:2] == [1, 1]
    assert stand.places.tolist()[:2] == [0, -1], "train knows p15, so it is in no list"
    assert stand.held.tolist() == [False, True, False]
    # p14 has one 'next' in train; hidden for the claim that train holds
    assert by_name["given has none"].tolist() == [0, 1, 1]
    # p16 follows p15 in train; p15 follows only p14, the fact that is judged; p13 follows p12
    assert by_name["answer has none"].tolist() == [0, 1, 0]
    scores = lists.scores[0][lists.scores[0] > -np.inf][:LISTED]
    assert by_name["score"][0] == scores[0]
    assert by_name["gap"][0] == pytest.approx(scores[0] - scores[1])
    assert by_name["log odds"][0] == pytest.approx(scores[0] - np.log(np.exp(scores[1:]).sum()))
    others = np.append(scores[: LISTED - 1], [])
    assert by_name["log odds"][1] == pytest.approx(
        by_name["score"][1] - np.log(np.exp(others).sum())
    )
    assert by_name["turned"].tolist() == [0, 0, 0]
    back = found.stand(found.lists(np.array([15]), np.array([0])), np.zeros(1, int), np.array([14]))
    assert back.features[0, FEATURES.index("turned")] == 1


def test_what_stands_beyond_the_list_is_counted() -> None:
    """Of thirty points on a line, the candidates above a far one: all that are nearer."""
    found = standings()
    far = np.array([29, 27, 2])
    nearer = [
        [e for e in found.candidates.of(0) if abs(e - 15) < abs(one - 15) and e not in (14, 15)]
        for one in far
    ]
    counts = [len(some) for some in nearer]
    assert len(set(counts)) == 3
    asked = np.full(3, 14), np.zeros(3, int)
    assert found.num_above(*asked, far).tolist() == counts
    other = found.num_above(np.array([14, 20, 14]), np.array([0, 0, 0]), np.array([29, 21, 2]))
    assert other.tolist()[::2] == counts[::2], "several answers to a question, among others"
    shallow = found.lists(np.array([14]), np.array([0]), depth=3)
    stand = found.stand(shallow, np.zeros(3, int), far)
    assert stand.ranks.tolist() == [1 + count for count in counts]


def test_answers_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = standings()
    lists = found.lists(np.array([14, 20]), np.array([0, 1]))
    rows, answers = np.repeat([0, 1], 10), np.tile(np.arange(15, 25), 2)
    whole = found.stand(lists, rows, answers)
    monkeypatch.setattr("hale.evaluation.calibration.standing.chunk_size", lambda _: 3)
    parts = found.stand(lists, rows, answers)
    np.testing.assert_array_equal(whole.features, parts.features)
    np.testing.assert_array_equal(whole.ranks, parts.ranks)
