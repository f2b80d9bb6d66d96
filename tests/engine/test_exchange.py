from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.engine.exchange import Exchange
from hale.engine.group import Group
from tests.ranks import Ranks

# By hand: place 0 is rank 0's and rank 1 wants it, and so on.
ASKERS, OWNERS = np.array([1, 0, 1, 1, 0, 0]), np.array([0, 1, 1, 0, 0, 1])


def there_and_back(group: Group) -> tuple[Tensor, Tensor]:
    exchange = Exchange(group, ASKERS, OWNERS)
    fetched = exchange.fetch(10.0 * torch.from_numpy(exchange.owned)[:, None])()
    return fetched, exchange.home(fetched + 1 + group.rank)()


def test_two_ranks_fetch_rows_and_bring_gradients_home(ranks: Ranks) -> None:
    (first, home), (second, back) = ranks(2, there_and_back)
    assert first.squeeze().tolist() == [10, 40, 50]  # places 1, 4, 5
    assert second.squeeze().tolist() == [0, 20, 30]  # places 0, 2, 3
    assert home.squeeze().tolist() == [2, 32, 41]  # owned: 0, 3, 4, whoever asked
    assert back.squeeze().tolist() == [11, 22, 51]  # owned: 1, 2, 5


def test_alone_rows_stay_as_they_are() -> None:
    exchange = Exchange(Group(), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    rows = torch.arange(6.0).view(3, 2)
    assert torch.equal(exchange.fetch(rows)(), rows)
    assert torch.equal(exchange.home(rows)(), rows)
