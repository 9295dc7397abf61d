"""Reading along with the nodes: a bounded look at a time, every item once, whatever the backlog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.durable.test_archive import WRITER, bundle, up_to
from tests.unit.durable.test_merging import rows

from evenflow.durable import live
from evenflow.durable.live import read_along
from evenflow.durable.merging import Merging
from evenflow.errors import ReadFailed
from evenflow.model.ids import NOWHERE, Position


class Nodes:
    """One writer, an item in each epoch."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.forgotten = 0
        self.most = 0
        """Items read in one go."""

    def latest(self, start: Position, wait_s: float) -> Position:
        return start.merged(up_to(self.newest)) if self.newest else start

    def limited(self, start: Position, end: Position, items: int) -> Position:
        return end.capped(up_to(start[WRITER] + items))

    def read(self, start: Position, end: Position) -> Iterator[pa.RecordBatch]:
        if start[WRITER] < self.forgotten:
            raise ReadFailed("fleet", [0], "a test", forgotten=True)
        self.most = max(self.most, end[WRITER] - start[WRITER])
        yield from bundle(start[WRITER], end[WRITER])


def read_on(nodes: Any, merging: Merging, looks: int = 10) -> list[int]:
    found: list[int] = []
    for _ in range(looks):
        end, parts = read_along(nodes, merging.position, 0.0)
        table = merging.live(parts, end)
        found += [] if table is None else table.column("number").to_pylist()
    return found


def test_a_backlog_is_read_bit_by_bit_and_every_item_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_ITEMS", 10)
    nodes = Nodes(95)
    assert read_on(nodes, Merging()) == list(range(1, 96))
    assert nodes.most == 10


def test_what_was_forgotten_meanwhile_is_left_to_the_archive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "MOST_ITEMS", 10)
    nodes, merging = Nodes(95), Merging()
    nodes.forgotten = 20
    merging.archived(pa.Table.from_batches(bundle(0, 4)), up_to(4))
    assert read_on(nodes, merging) == [], "all behind it is too early"
    assert merging.position == up_to(24)
    archived = merging.archived(pa.Table.from_batches(bundle(4, 95)), up_to(95))
    assert archived.column("number").to_pylist() == list(range(5, 96))


def test_nothing_new_is_nothing() -> None:
    nodes: Any = Nodes(0)
    assert read_along(nodes, NOWHERE, 0.0) == (NOWHERE, [])


def test_a_writer_of_which_something_is_lacking_does_not_hold_up_another() -> None:
    merging = Merging()
    merging.live([rows([(0, 7, 1), (0, 7, 2), (0, WRITER, 6)])], Position({7: 2, WRITER: 6}))
    assert merging.position == {7: 2}
