"""Marks and outbox together: a crash at any point between mark, unit and Safe."""

from __future__ import annotations

import shutil
from threading import Lock
from typing import TYPE_CHECKING

import pytest
from tests.unit.edge.harness import OTHER_RUN, RUN

from evenflow.edge.actions import Accept, Chunk, Mark
from evenflow.edge.shell.marks import KEEP_S, Marks
from evenflow.edge.shell.unit_writer import columns_of
from evenflow.errors import StorageError
from evenflow.model.headers import headers_of
from evenflow.slices.outbox.outbox import Outbox
from evenflow.slices.outbox.state import Identity, Progress

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = "items"


def unit(number: int, last: int, before: int, node: str = "car-1") -> Accept:
    payloads = tuple(b"%d" % n for n in range(before + 1, last + 1))
    chunk = Chunk(node, RUN, node, 1, before + 1, tuple(range(len(payloads))), payloads, 100)
    return Accept(TOPIC, number, (chunk,), {(node, RUN): Mark(last, before)})


def write(marks: Marks, one: Accept, wall: float = 0.0) -> None:
    marks.write(one.topic, one.unit, one.marks, wall)


class Disk:
    """Marks and an outbox of units in one folder, as a gateway has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outbox = Outbox(
            folder / "outbox", Identity(TOPIC, 4, 0), limit=1 << 24, memory=1 << 22
        )
        self._lock = Lock()
        self.outbox.start(
            self._lock, self._progress, lambda _: [], lambda _: None, lambda error: None
        )
        self.marks = Marks(folder / "marks.sqlite3")
        self.marks.recover(TOPIC, self.outbox.newest_unit)

    def _progress(self) -> Progress:
        state = self.outbox.state
        return Progress(0, 0, state.floors, state.terms, 0, state.serial + 1, 0)

    def append(self, one: Accept) -> None:
        """The outbox has a unit, synced; that it has its items too is tested elsewhere."""
        with self._lock:
            self.outbox.append((), one.unit)
            assert self.outbox.sync(10.0)
        assert self.outbox.state.unit == one.unit

    def close(self) -> None:
        self.outbox.close()
        self.marks.close()

    def crash(self, to: Path) -> Disk:
        """The process is killed: what is in the files is all there is."""
        shutil.copytree(self.folder, to)
        self.close()
        return Disk(to)


@pytest.mark.parametrize("survives", range(7))
def test_after_a_crash_at_any_point_marks_and_outbox_agree(tmp_path, survives):
    """Two units of two steps each; the process is killed after so many steps."""
    disk = Disk(tmp_path / "before")
    first, second = unit(0, last=3, before=0), unit(1, last=5, before=3)
    steps = [
        lambda: write(disk.marks, first),
        lambda: disk.append(first),
        lambda: None,  # Safe goes out
        lambda: write(disk.marks, second),
        lambda: disk.append(second),
        lambda: None,
    ]
    for step in steps[:survives]:
        step()
    safe = 5 if survives == 6 else 3 if survives >= 3 else 0
    after = disk.crash(tmp_path / "after")
    units = after.outbox.newest_unit
    accepted = after.marks.of("car-1", RUN).get(TOPIC, 0)
    assert accepted == {-1: 0, 0: 3, 1: 5}[units]
    assert accepted >= safe
    # What the node sends again gets the same unit, and the marks before it are right.
    again = unit(units + 1, last=9, before=accepted)
    write(after.marks, again)
    twice = after.crash(tmp_path / "again")
    assert twice.marks.of("car-1", RUN).get(TOPIC, 0) == accepted
    twice.outbox._files.close()
    twice.marks.close()


def test_marks_of_a_unit_that_never_was_do_not_come_back_with_a_later_one(tmp_path):
    """The unit's number is used again, by others: who was in the first one is not in it."""
    with Marks(tmp_path / "marks.sqlite3") as marks:
        write(marks, unit(0, last=4, before=0, node="car-1"))
        assert marks.recover(TOPIC, -1) == 1
        write(marks, unit(0, last=2, before=0, node="car-2"))
        assert marks.recover(TOPIC, 0) == 0
        assert marks.of("car-1", RUN) == {}
        assert marks.of("car-2", RUN) == {TOPIC: 2}


def test_marks_that_are_far_ahead_of_the_outbox_are_refused(tmp_path):
    with Marks(tmp_path / "marks.sqlite3") as marks:
        write(marks, unit(7, last=4, before=0))
        with pytest.raises(StorageError, match="do not belong together"):
            marks.recover(TOPIC, 5)


def test_topics_and_runs_are_apart(tmp_path):
    with Marks(tmp_path / "marks.sqlite3") as marks:
        write(marks, unit(0, last=4, before=0))
        marks.write("logs", 3, {("car-1", RUN): Mark(9, 8)}, 0.0)
        assert marks.of("car-1", RUN) == {TOPIC: 4, "logs": 9}
        assert marks.of("car-1", OTHER_RUN) == {}
        marks.recover("logs", 2)
        assert marks.of("car-1", RUN) == {TOPIC: 4, "logs": 8}


def test_a_former_run_is_deleted_when_it_is_old_and_the_node_has_another(tmp_path):
    with Marks(tmp_path / "marks.sqlite3") as marks:
        write(marks, unit(0, last=4, before=0), wall=0.0)
        write(marks, unit(1, last=4, before=0, node="car-2"), wall=0.0)
        marks.write(TOPIC, 2, {("car-1", OTHER_RUN): Mark(1, 0)}, 10.0)
        assert marks.tidy(KEEP_S - 1) == 0
        assert marks.tidy(KEEP_S + 1) == 1
        assert marks.of("car-1", RUN) == {}
        assert marks.of("car-2", RUN) == {TOPIC: 4}


def test_given_up_gateways_are_remembered(tmp_path):
    with Marks(tmp_path / "marks.sqlite3") as marks:
        marks.forget(("g2", "g3"))
        marks.forget(("g2",))
    with Marks(tmp_path / "marks.sqlite3") as marks:
        assert sorted(marks.forgotten()) == ["g2", "g3"]


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path):
    file = tmp_path / "marks.sqlite3"
    file.write_bytes(b"no database" * 1_000)
    with pytest.raises(StorageError, match="marks cannot be kept here"):
        Marks(file)


def test_columns_of_a_unit_name_sender_number_time_and_payload_of_each_item():
    chunks = (
        Chunk("guid-1", RUN, "car-1", 1, 5, (10, 11), (b"a", b"b"), 0),
        Chunk("guid-2", RUN, "car-2", 2, 1, (20,), (b"c",), 0),
        Chunk("guid-1", RUN, "car-1", 1, 7, (12,), (b"",), 0),
    )
    columns = columns_of(chunks)
    assert columns["payloads"].to_pylist() == [b"a", b"b", b"c", b""]
    assert columns["senders"].to_pylist() == ["car-1", "car-1", "car-2", "car-1"]
    assert columns["ids"].tolist() == [5, 6, 1, 7]
    assert columns["times"].tolist() == [10, 11, 20, 12]
    assert columns["headers"] is None


def test_columns_of_a_unit_have_the_headers_of_its_items():
    block = headers_of([((b"type", b"json"),)]).encode()
    chunks = (
        Chunk("guid-1", RUN, "car-1", 1, 5, (10, 11), (b"a", b"b"), 0),
        Chunk("guid-2", RUN, "car-2", 2, 1, (20, 21), (b"c", b"d"), 0, (b"", block)),
        Chunk("guid-1", RUN, "car-1", 1, 7, (12,), (b"",), 0, (block,)),
    )
    headers = columns_of(chunks)["headers"]
    assert list(headers.maps()) == [(3, {"type": b"json"}), (4, {"type": b"json"})]
