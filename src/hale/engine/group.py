"""Group: the processes that train one model together, and what travels between them.

Over torch.distributed: gloo between CPUs, nccl between GPUs (written, not yet tried on any). One
process alone is a group of one, in which nothing travels; whoever calls it need not know.

A rank that dies or hangs ends every collective with a GroupError that names it: a rank that waits
too long says so in the group's store, and whoever has not said so after a moment is missing.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from hale.errors import GroupError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

TIMEOUT = 60.0  # seconds that a collective waits for the slowest rank
MOMENT = 5.0  # seconds in which ranks that waited for another say that they are there

SMALL = 1 << 16  # bytes that a rank sends rather than make a round of its own of them

Op = Literal["sum", "max", "min"]
# What the columns (P, c, w) from a first one on are together, (c, w), by what ranks say (P, b).
Merge = Callable[[Tensor, Tensor, int], Tensor]


class Group:
    """``size`` processes, of which this is the one numbered ``rank``.

    All that travels does so by torch's all-to-all, in which each rank sends to each other directly:
    an all-gather sends to all the same, an all-reduce to each rank its part of the values, and then
    what has become of it to all; a small one, or one of two, at once, all to all. Between two
    processes gloo's all-to-all took 0.25 ms for 128 KB, its own all-reduce 0.8 ms for 56 KB and
    1.6 ms for 3 KB.
    Largest, smallest and sums of whole numbers are the same in any order. ``sent`` counts the bytes
    that this rank has handed to others, and ``calls`` how often, by collective.
    """

    def __init__(self, rank: int = 0, size: int = 1, timeout: float = TIMEOUT) -> None:
        self.rank = rank
        self.size = size
        self.timeout = timeout
        self.device = torch.device("cpu")  # of the tensors that travel
        self.sent: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._store: Store | None = None

    @classmethod
    def join(cls, timeout: float = TIMEOUT, device: str = "cpu") -> Group:
        """The group that torchrun started this process in; one alone where it did not.

        Ranks on GPUs (``device`` cuda) talk by nccl, each on the GPU of its number on its host.
        """
        if os.environ.get("WORLD_SIZE", "1") == "1":
            return cls(timeout=timeout)
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d
        from torch.distributed.rendezvous import rendezvous

        group = cls(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), timeout)
        if device == "cuda":
            group.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(group.device)
        wait = timedelta(seconds=timeout)
        try:
            store, _, _ = next(rendezvous("env://", timeout=wait))
            store.set_timeout(wait)
            backend = "nccl" if device == "cuda" else "gloo"
            dist.init_process_group(
                backend, store=store, rank=group.rank, world_size=group.size, timeout=wait
            )
        except (RuntimeError, ValueError) as error:
            raise GroupError(
                f"Rank {group.rank} of {group.size} did not meet the others within {timeout:g} s "
                f"at {os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}. Start all "
                f"ranks, and let them reach each other. ({_first_line(error)})"
            ) from None
        group._store = c10d.PrefixStore("hale", store)
        return group

    def leave(self) -> None:
        """End the group; nothing travels any more."""
        if self._store is not None:
            import torch.distributed as dist

            self._store = None
            with suppress(RuntimeError):
                dist.destroy_process_group()

    @property
    def leads(self) -> bool:
        """Whether this is rank 0, the one that prints, writes and keeps time."""
        return self.rank == 0

    # -- what travels ----------------------------------------------------------

    def all_to_all(
        self, rows: Tensor, counts: Sequence[int], wanted: Sequence[int]
    ) -> Callable[[], Tensor]:
        """Rows (n, ...) to their ranks: the first ``counts[0]`` to rank 0, and so on.

        ``wanted`` says how many come from each rank. They travel while other work is done; what is
        returned waits for them and hands them over, in the order of ranks.
        """
        if self._store is None:
            return lambda: rows
        return self._exchange(rows, counts, wanted, "all_to_all")

    def _exchange(
        self, rows: Tensor, counts: Sequence[int], wanted: Sequence[int], what: str
    ) -> Callable[[], Tensor]:
        """Rows to their ranks, counted under a name."""
        import torch.distributed as dist

        rows = rows.to(self.device).contiguous()
        found = rows.new_empty(sum(wanted), *rows.shape[1:])
        self.calls[what] += 1
        self.sent[what] += (len(rows) - counts[self.rank]) * _row_bytes(rows)
        with self.waiting(what):
            going = dist.all_to_all_single(found, rows, list(wanted), list(counts), async_op=True)

        def arrived() -> Tensor:
            with self.waiting(f"{what} of {len(rows)} rows"):  # which are held until here
                going.wait()
            return found

        return arrived

    def all_gather(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        """The rows of all ranks, in their order; rank p has ``counts[p]`` of them."""
        if self._store is None:
            return rows
        return self._to_all(rows, counts, "all_gather")()

    def _to_all(self, rows: Tensor, counts: Sequence[int], what: str) -> Callable[[], Tensor]:
        """The same rows to each rank."""
        copies = rows.repeat(self.size, *[1] * (rows.dim() - 1))
        return self._exchange(copies, [len(rows)] * self.size, counts, what)

    def all_reduce(self, values: Tensor, op: Op = "sum") -> Tensor:
        """The sum, or the largest or smallest, of all ranks' values; any shape, kept.

        Sums are of whole numbers: of others they would depend on who adds to whom (engine.exact).
        """
        if op == "sum" and values.is_floating_point():
            raise TypeError("sums of a group are of whole numbers; see engine.exact")
        if self._store is None:
            return values
        flat = values.flatten()
        found, _ = self.merged(
            flat[None], flat[:0], lambda parts, _said, _first: _reduced(parts[:, 0], op)[None]
        )
        return found.view_as(values)

    def merged(self, values: Tensor, said: Tensor, merge: Merge) -> tuple[Tensor, Tensor]:
        """Columns (c, n) of all ranks made one by ``merge``, and what each says beside them.

        ``said`` (b,) of a rank goes whole to all: -> (c, n), (P, b).
        """
        if self._store is None:
            return values, said[None]
        (c, n), (b,), p = values.shape, said.shape, self.size
        whole = torch.cat((said, values.flatten()))
        if p == 2 or (p - 1) * _row_bytes(whole[None]) <= SMALL:
            found = self._to_all(whole[None], [1] * p, "all_reduce")().to(values.device)
            return merge(found[:, b:].view(p, c, n), found[:, :b], 0), found[:, :b]
        w = -(-n // p)
        shares = torch.nn.functional.pad(values, (0, w * p - n)).view(c, p, w).transpose(0, 1)
        each = torch.cat((said.expand(p, b), shares.reshape(p, c * w)), dim=1)
        found = self._exchange(each, [1] * p, [1] * p, "all_reduce")().to(values.device)
        mine = merge(found[:, b:].view(p, c, w), found[:, :b], self.rank * w)
        parts = self._to_all(mine.reshape(1, c * w), [1] * p, "all_reduce")().to(values.device)
        return parts.view(p, c, w).transpose(0, 1).reshape(c, p * w)[:, :n], found[:, :b]

    def broadcast(self, text: str = "") -> str:
        """What rank 0 says, to all: a text, such as JSON."""
        if self._store is None:
            return text
        said = torch.tensor(list(text.encode()), dtype=torch.uint8)
        length = int(self.all_reduce(torch.tensor(len(said) if self.leads else 0), "max"))
        values = torch.zeros(length, dtype=torch.uint8)
        if self.leads:
            values.copy_(said)
        return bytes(self.all_reduce(values, "max").tolist()).decode()

    def prepared(self, work: Callable[[], str]) -> str:
        """What rank 0 makes of some work, for all, however long it takes: others wait."""
        if not self.leads:
            assert self._store is not None
            with self.waiting("prepared"):
                while not self._store.check(["prepared"]):
                    time.sleep(0.1)
                text: str = self._store.get("prepared").decode()
        else:
            text = work()
            if self._store is not None:
                self._store.set("prepared", text)
        self.barrier()
        if self.leads and self._store is not None:
            self._store.delete_key("prepared")
        return text

    def lead(self, value: float) -> float:
        """What rank 0 has of a number, for all."""
        mine = value if self.leads else -torch.inf
        return float(self.all_reduce(torch.tensor(mine, dtype=torch.float64), "max"))

    def any(self, flag: bool) -> bool:
        """Whether any rank says so."""
        return bool(self.all_reduce(torch.tensor(int(flag)), "max"))

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.all_reduce(torch.zeros((), dtype=torch.int64), "max")

    # -- who is missing --------------------------------------------------------

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Turn the end of a collective that did not come into an error that names a rank."""
        try:
            yield
        except RuntimeError as error:
            number = sum(self.calls.values())
            missing = self._missing()
            who = " and ".join(str(rank) for rank in missing) or "none that can be told"
            raise GroupError(
                f"Rank {self.rank} of {self.size} waited in {what} (collective {number:,}) and got "
                f"no answer; missing: rank {who}. It died, or took longer than {self.timeout:g} s. "
                f"Start again with --resume, or give a longer --timeout. ({_first_line(error)})"
            ) from None

    def _missing(self) -> list[int]:
        """The ranks that do not say, within a moment, that they waited too."""
        assert self._store is not None
        others = {rank for rank in range(self.size) if rank != self.rank}
        try:
            self._store.set(f"waited/{self.rank}", "yes")
            late = time.monotonic() + MOMENT
            while others and time.monotonic() < late:
                others = {rank for rank in others if not self._store.check([f"waited/{rank}"])}
                time.sleep(0.05)
        except RuntimeError:  # the store is gone, and with it the process that kept it
            return sorted(others)
        return sorted(others)


ALONE = Group()  # one process by itself


def _reduced(parts: Tensor, op: Op) -> Tensor:
    """What the rows of all ranks come to: (P, n) -> (n,)."""
    if op == "sum":
        return parts.sum(dim=0).to(parts.dtype)
    return parts.amax(dim=0) if op == "max" else parts.amin(dim=0)


def _row_bytes(rows: Tensor) -> int:
    return rows.element_size() * (rows[0].numel() if len(rows) else 0)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:200]
