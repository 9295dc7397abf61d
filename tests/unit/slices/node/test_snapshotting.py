"""What the thread at the store does for a node: jobs, reading on, and trimming now and then."""

from __future__ import annotations

from threading import Condition, Event
from typing import Any

import pytest

from evenflow.errors import ConfigError, StoreTimeout
from evenflow.slices.node.application.snapshots import Claim, Fetch, Row
from evenflow.slices.node.application.snapshotting import Snapshotting
from evenflow.slices.node.application.state_log import StateRecord, Superseded

RECORD = StateRecord("other~1", 4, (3,), (5,), "other~1/4", 10, 20, 30)
ROW = Row(3, 5, {1: 9}, b"state")


class Paper:
    """A store and a core that write down what they are told, in order."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.told: list[Any] = []
        self.trimmed: list[Superseded] = []

    def append(self, record: StateRecord, _rows: object) -> None:
        self.told.append(record.number)

    def read_on(self) -> list[StateRecord]:
        return [RECORD]

    def fetch(self, _record: StateRecord, _slices: object) -> list[Row]:
        return self.rows

    def trim(self, superseded: Superseded) -> None:
        self.trimmed.append(superseded)

    def close(self) -> None:
        """Nothing is open."""

    def on_records(self, records: list[StateRecord], _now: float) -> None:
        self.told.append(records)

    def on_states(self, _fetch: Fetch, rows: list[Row], _now: float) -> None:
        self.told.append(rows)

    def superseded(self) -> Superseded | None:
        return Superseded(5, 6)


def at(paper: Paper) -> Snapshotting:
    keeping: Any = paper
    return Snapshotting("me~1", keeping, paper, Condition(), Event())


def test_what_nobody_needs_is_trimmed_but_not_with_every_job() -> None:
    paper = Paper([])
    thread = at(paper)
    for number in (1, 2):
        assert thread._try(Claim(number, (3,), (7,)))
    assert paper.told == [1, [RECORD], 2, [RECORD]]
    assert paper.trimmed == [Superseded(5, 6)]


def test_when_states_are_not_there_the_log_is_read_before_they_are_called_lost() -> None:
    fetch = Fetch(RECORD, (3,), (7,))
    there, gone = Paper([ROW]), Paper([])
    assert at(there)._try(fetch)
    assert there.told == [[], [ROW]]
    assert at(gone)._try(fetch)
    assert gone.told == [[RECORD], []]


class OfOtherSlices(Paper):
    """A store that cannot be reached at first, and has the states of other slices."""

    jobs = 0
    reads = 0

    def read_on(self) -> list[StateRecord]:
        self.reads += 1
        if self.reads == 1:
            raise StoreTimeout("read", 30.0, "no broker answers")
        raise ConfigError("topics.items.slices", 4, "they were 8")

    def next_job(self) -> Claim:
        self.jobs += 1
        return Claim(1, (3,), (7,))


def test_the_log_is_read_before_anything_is_written_and_one_of_other_slices_ends_it() -> None:
    paper = OfOtherSlices([])
    with pytest.raises(ConfigError):
        at(paper).run()
    assert paper.reads == 2, "a store that cannot be reached is tried again"
    assert (paper.jobs, paper.told) == (0, []), "who is started rightly finds the log as it was"
