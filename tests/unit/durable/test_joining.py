"""From the archive into the live stream: each item once, whatever is forgotten when."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.durable.stores import Store
from tests.unit.durable.test_archive import WRITER, bundle, up_to

from evenflow.durable.archive import Archive
from evenflow.durable.joining import Joining, place_of
from evenflow.errors import DecodeError
from evenflow.model.ids import Position

TEXT = f"{WRITER:016x}"


class Domain:
    """A topic with one writer and an item in each epoch; what all have committed is forgotten."""

    def __init__(self) -> None:
        self.closed = 0
        self.forgotten = 0
        self.committed = {"archive": 0}

    def forget(self) -> None:
        self.forgotten = min(self.committed.values())

    def read(self, start: int, end: int) -> list[int]:
        assert start >= self.forgotten, "items that are forgotten"
        return list(range(start + 1, end + 1))


class Live:
    """The live stream of a query, as the domain knows it."""

    def __init__(self, domain: Domain, meanwhile: Callable[[], None]) -> None:
        self.domain, self.meanwhile = domain, meanwhile

    def register(self) -> None:
        self.meanwhile()
        self.domain.committed["query"] = self.domain.forgotten
        self.meanwhile()

    def end(self, start: dict[str, Any]) -> dict[str, Any]:
        assert "query" in self.domain.committed
        return start if start.get(TEXT, 0) == self.domain.closed else {TEXT: self.domain.closed}


class Query:
    """A query with a checkpoint: when it is started again it knows its offset and nothing else."""

    def __init__(self, domain: Domain, store: Any, meanwhile: Callable[[], None]) -> None:
        self.domain, self.store, self.meanwhile = domain, store, meanwhile
        self.found: list[int] = []
        self.start_again()
        self.offset = self.joining.begin()

    def start_again(self) -> None:
        self.joining = Joining(Archive(self.store, "fleet", 2), Live(self.domain, self.meanwhile))

    def step(self, most: int | None) -> None:
        end = self.joining.end(self.offset, most)
        begin, finish = place_of(self.offset), place_of(end)
        if finish is not None:
            assert begin is not None
            archive = Archive(self.store, "fleet", 0)
            for one in archive.counted(begin.time, finish.time, begin.tip):
                rows = archive.rows(one.entry)
                assert rows is not None
                self.found += rows.column("number").to_pylist()
        else:
            start = self.offset if begin is None else begin.position
            self.found += self.domain.read(start.get(TEXT, 0), end[TEXT])
            self.domain.committed["query"] = start.get(TEXT, 0)
        self.offset = end


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 5]))
@example(14019824, 1)  # all of it is in the archive when the query has read the archive
def test_each_item_comes_once(seed: int, most: int | None) -> None:
    rng = random.Random(seed)
    domain, store = Domain(), Store()
    archive = Archive(store, "fleet", 2)  # type: ignore[arg-type]
    archive.open()
    archived = 0

    def work() -> None:
        nonlocal archived
        kind = rng.random()
        if kind < 0.4:
            domain.closed += rng.randint(1, 4)
        elif kind < 0.7 and archived < domain.closed:
            end = rng.randint(archived + 1, domain.closed)
            archive.add(bundle(archived, end), up_to(end))
            archived = end
        elif kind < 0.85:
            domain.committed["archive"] = archived
        else:
            domain.forget()

    def work_on(most: int) -> None:
        for _ in range(rng.randint(0, most)):
            work()

    work_on(30)
    query = Query(domain, store, lambda: work_on(9))  # things go on while it is being registered
    for _ in range(40):
        work_on(3)
        if rng.random() < 0.2:
            query.start_again()
        query.step(most)
    while query.found != list(range(1, domain.closed + 1)):
        before = query.offset
        query.step(most)
        assert query.offset != before, "it stands still before it has everything"
    domain.closed += 1  # all may have come from the archive: what is new does not
    query.step(most)
    assert place_of(query.offset) is None
    assert query.found == list(range(1, domain.closed + 1))


def test_a_query_that_begins_at_a_time_has_all_bundles_with_items_of_it() -> None:
    store: Any = Store()
    archive = Archive(store, "fleet", 2)
    archive.open()
    for number in range(3):  # the times of these items are 0
        archive.add(bundle(2 * number, 2 * number + 2), up_to(2 * number + 2))
    joining = Joining(archive, Live(Domain(), lambda: None))
    assert joining.begin(0) == joining.begin()
    later = place_of(joining.begin(1))
    assert later is not None
    assert Position.of_texts(later.position) == up_to(6)


@pytest.mark.parametrize("found", [{}, {TEXT: 5}, {"archive": {TEXT: 5}}, {"fleet": {TEXT: 5}}])
def test_a_live_offset_is_told_from_one_in_the_archive(found: Any) -> None:
    assert place_of(found) is None


def test_a_damaged_offset_is_refused() -> None:
    with pytest.raises(DecodeError):
        place_of({"archive": {"time": -1}})
