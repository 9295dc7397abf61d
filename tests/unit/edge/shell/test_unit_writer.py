"""Units on their way to the disk: marks first, and no word before everything is synced."""

from __future__ import annotations

import subprocess
import sys
from queue import Queue
from typing import Any

import pytest
from tests.unit.edge.harness import RUN

from evenflow.clock import SystemClock
from evenflow.edge.actions import Accept, Chunk, Mark
from evenflow.edge.shell.unit_writer import UnitWriter
from evenflow.errors import PublishTimeout, StorageError

FIRST_UNIT = """
import sys
from types import SimpleNamespace
from evenflow.edge.actions import Chunk
from evenflow.edge.shell.unit_writer import UnitWriter, columns_of

with UnitWriter(SimpleNamespace(topic="items"), None, None, print, print):
    loaded = set(sys.modules)
    columns_of((Chunk("car-1", "run", "car-1", 1, 1, (5,), (b"a",), 10),))
    print(*sorted(set(sys.modules) - loaded))
"""
UNIT = Accept(
    "items",
    3,
    (Chunk("car-1", RUN, "car-1", 1, 1, (5,), (b"a",), 10),),
    {("car-1", RUN): Mark(1, 0)},
)


class Disk:
    """Marks and a publisher that note what is done, and fail as they are told."""

    topic = "items"

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.full = self.slow = 0
        self.fault: Exception | None = None

    def write(self, topic: str, unit: int, marks: object, wall: float) -> None:
        del topic, marks, wall
        if self.fault is not None:
            raise self.fault
        self.steps.append(("marks", unit))

    def publish_unit(self, unit: int, timeout: float, **columns: Any) -> bool:
        del timeout
        if self.full:
            self.full -= 1
            raise PublishTimeout("items", 1.0, 1, 1)
        self.steps.append(("unit", unit, columns["payloads"].to_pylist()))
        return True

    def wait_for_unit(self, unit: int, timeout: float) -> bool:
        del timeout
        self.slow -= 1
        if self.slow < 0:
            self.steps.append(("synced", unit))
        return self.slow < 0


@pytest.fixture
def told() -> Queue[Any]:
    return Queue()


def write(disk: Any, told: Queue[Any]) -> Any:
    with UnitWriter(disk, disk, SystemClock(), lambda *what: told.put(what), told.put) as writer:
        writer.write(UNIT)
        return told.get(timeout=10.0)


def test_marks_then_unit_then_synced_then_told(told):
    disk = Disk()
    disk.slow = 2
    assert write(disk, told) == ("items", 3)
    assert disk.steps == [("marks", 3), ("unit", 3, [b"a"]), ("synced", 3)]


def test_a_full_outbox_is_tried_again_and_the_marks_are_not_written_twice(told):
    disk = Disk()
    disk.full = 3
    assert write(disk, told) == ("items", 3)
    assert [step[0] for step in disk.steps] == ["marks", "unit", "synced"]


def test_a_disk_that_fails_ends_it_and_nothing_is_safe(told, caplog):
    disk = Disk()
    disk.fault = StorageError("marks", "cannot be written")
    assert write(disk, told) is disk.fault
    assert disk.steps == []
    assert not caplog.records  # who is told says it, in one line


def test_closing_while_the_outbox_is_full_says_nothing_is_safe(told):
    disk = Disk()
    disk.full = 1 << 60
    writer = UnitWriter(disk, disk, SystemClock(), lambda *what: told.put(what), told.put)
    writer.write(UNIT)
    writer.close()
    assert told.empty()


def test_the_first_unit_loads_nothing():
    """Arrow loads pandas by itself, for half a second in which nodes would wait."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_UNIT], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
