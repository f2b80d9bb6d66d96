"""Queries of one moment share a pass, and get what each would get alone."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hale.errors import HaleError
from hale.serve import gathering
from hale.serve.asking import Bounds
from hale.serve.gathering import Gatherer, Waiting, answers_together
from hale.serve.problems import Problem
from hale.serve.service import Asked, Json, Service
from tests.serve.conftest import NAMES

names = st.sampled_from([None, "nobody", "twin", "one", *NAMES])
asked = st.tuples(
    st.tuples(names, st.sampled_from([None, "next", "is <b>", "nxt"]), names),
    st.sampled_from([0, 1, 3, 10, 1000, 1001]),
    st.sampled_from(["mark", "drop", "hide"]),
)


def alone(service: Service, query: Asked, k: int, known: str) -> Json | None:
    head, relation, tail = query
    try:
        return service.predict(head=head, relation=relation, tail=tail, k=k, known=known)
    except HaleError:
        return None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(batch=st.lists(asked, max_size=8))
def test_together_is_as_each_alone(service: Service, batch: list[Any]) -> None:
    loop = asyncio.new_event_loop()
    waiting = [Waiting(*one, told=loop.create_future()) for one in batch]
    loop.close()
    assert answers_together(service, waiting) == [alone(service, *one) for one in batch]


def test_who_comes_while_others_are_computed_goes_together(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    first = threading.Event()

    def noted(given: Service, batch: list[Waiting]) -> list[Json | None]:
        passes.append(len(batch))
        if len(passes) == 1:
            assert first.wait(10)
        return answers_together(given, batch)

    monkeypatch.setattr(gathering, "answers_together", noted)
    monkeypatch.setattr(gathering, "MOST_TOGETHER", 4)

    async def ask_all() -> list[Json | None]:
        gatherer = Gatherer(service, Bounds())
        asks = [
            asyncio.ensure_future(gatherer.ask((name, "next", None), 1, "mark"))
            for name in NAMES[:7]
        ]
        await asyncio.sleep(0)  # the first has begun, six wait
        asks[2].cancel()  # hangs up
        first.set()
        found = await asyncio.gather(*asks, return_exceptions=True)
        gatherer.close()
        return [None if isinstance(one, BaseException) else one for one in found]

    found = asyncio.run(ask_all())
    assert passes == [1, 4, 1]
    expected = [alone(service, (name, "next", None), 1, "mark") for name in NAMES[:7]]
    expected[2] = None
    assert found == expected


def test_too_many_wait_and_too_long(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def held(_service: Service, batch: list[Waiting]) -> list[Json | None]:
        assert go_on.wait(10)
        return [{} for _ in batch]

    monkeypatch.setattr(gathering, "answers_together", held)

    async def ask_all() -> list[Any]:
        gatherer = Gatherer(service, Bounds(waiting=2, seconds=0.2))
        asks = [gatherer.ask(("p1", "next", None), 1, "mark") for _ in range(4)]
        found = await asyncio.gather(*asks, return_exceptions=True)
        go_on.set()
        gatherer.close()
        return found

    found = asyncio.run(ask_all())
    assert all(isinstance(one, Problem) and one.status == 503 for one in found)
    assert "longer than 0.2 s" in str(found[0])
    assert "2 questions are waiting already" in str(found[3])


def test_a_failure_reaches_who_waits(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> list[Json | None]:
        raise ZeroDivisionError

    monkeypatch.setattr(gathering, "answers_together", broken)

    async def ask() -> None:
        gatherer = Gatherer(service, Bounds())
        with pytest.raises(ZeroDivisionError):
            await gatherer.ask(("p1", "next", None), 1, "mark")
        with pytest.raises(ZeroDivisionError):  # and the next is computed all the same
            await gatherer.ask(("p1", "next", None), 1, "mark")
        gatherer.close()

    asyncio.run(ask())


def test_who_was_answered_together_is_waited_for_a_moment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ask again and again, a third is gone: the two go together, and do not wait for ever."""
    passes: list[list[Asked]] = []

    def noted(_service: Service, batch: list[Waiting]) -> list[Json | None]:
        passes.append([one.query for one in batch])
        time.sleep(0.1)
        return [{} for _ in batch]

    monkeypatch.setattr(gathering, "answers_together", noted)
    monkeypatch.setattr(gathering, "PAUSE", 10.0)  # a second: enough on any machine
    first, one, other, gone = ((name, "next", None) for name in NAMES[:4])

    async def again(gatherer: Gatherer, query: Asked, times: int, wait: float) -> None:
        for _ in range(times):
            await gatherer.ask(query, 1, "mark")
            await asyncio.sleep(wait)

    async def ask_all() -> None:
        gatherer = Gatherer(service, Bounds())
        asks = [again(gatherer, first, 1, 0), again(gatherer, one, 3, 0)]
        asks += [again(gatherer, other, 3, 0.01), again(gatherer, gone, 1, 0)]
        await asyncio.gather(*asks)
        gatherer.close()

    asyncio.run(ask_all())
    assert passes == [[first], [one, other, gone], [one, other], [one, other]]


def test_a_pass_leaves_a_core(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """To who reads requests and writes answers, however many passes there are."""
    threads: list[int] = []

    def noted(_service: Service, batch: list[Waiting]) -> list[Json | None]:
        threads.append(torch.get_num_threads())
        return [{} for _ in batch]

    monkeypatch.setattr(gathering, "answers_together", noted)

    async def ask_twice() -> None:
        gatherer = Gatherer(service, Bounds())
        for _ in range(2):
            await gatherer.ask(("p1", "next", None), 1, "mark")
        gatherer.close()

    with ThreadPoolExecutor(1) as pool:  # what a new thread starts with
        before = pool.submit(torch.get_num_threads).result()
    asyncio.run(ask_twice())
    assert threads == [max(1, before - 1)] * 2
