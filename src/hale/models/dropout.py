"""Dropout, by draws that cost a fraction of PyTorch's."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from hale.engine import library as kernel
from hale.engine.permutation import mixed
from hale.engine.randomness import drawn_key
from hale.engine.structures import Mask

STEPS = 1 << 16  # shares are kept to one part in so many


class Dropout(nn.Module):
    """In training, zero that share of the entries and stretch the others by 1 / (1 - share).

    The mask is a function of the place of an entry and of a key that PyTorch's generator draws, so
    a seeded run repeats.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    @property
    def lost(self) -> int:
        """Of 65,536 entries, those that are zeroed."""
        return min(STEPS - 1, round(self.share * STEPS))

    def forward(self, vectors: Tensor) -> Tensor:
        """Any shape, kept."""
        if not self.training or not self.share:
            return vectors
        mask = drawn_mask(vectors.numel(), self.lost, drawn_key())
        return vectors * mask.to(vectors.device, vectors.dtype).view(vectors.shape)


def drawn_mask(count: int, lost: int, key: int) -> Tensor:
    """Factors of so many entries, 0 for the lost ones: (count,)."""
    if kernel.current().name != "native":
        return plain_mask(count, lost, key)
    mask = torch.empty(count)
    problem = Mask(
        lost=lost,
        key=key,
        count=count,
        mask=mask.data_ptr(),
        threads=torch.get_num_threads(),
    )
    kernel.call("hale_mask", problem)
    return mask


def plain_mask(count: int, lost: int, key: int) -> Tensor:
    """The same in numpy, the reference: two entries share 32 bits, each takes half of them."""
    pairs = np.arange((count + 1) // 2, dtype=np.uint32)
    drawn = mixed(mixed(pairs) ^ np.uint32(key))
    halves = np.stack((drawn & np.uint32(0xFFFF), drawn >> np.uint32(16)), axis=1).reshape(-1)
    kept = np.where(halves[:count] >= lost, STEPS / (STEPS - lost), 0.0)
    return torch.from_numpy(kept.astype(np.float32))
