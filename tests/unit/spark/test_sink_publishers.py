"""The sinks' publishers of one process: outboxes that others want are given up, each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenflow.errors import StorageError
from evenflow.spark.sink_publishers import WANTED, SinkPublishers


class Publisher:
    def __init__(self, error: Exception | None = None) -> None:
        self.closed = 0
        self._error = error

    def close(self, timeout: float) -> None:
        self.closed += 1
        if self._error is not None:
            raise self._error


def test_an_outbox_that_cannot_be_closed_well_does_not_keep_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found: Any = {
        tmp_path / "a": Publisher(StorageError("disk", "a test")),
        tmp_path / "b": Publisher(),
        tmp_path / "c": Publisher(),
    }
    for folder in found:
        folder.mkdir()
    for name in ("a", "b"):
        (tmp_path / name / WANTED).touch()
    publishers = SinkPublishers()
    publishers._open = dict(found)
    publishers.give_up_wanted()
    assert [one.closed for one in found.values()] == [1, 1, 0]
    assert "storage disk: a test" in caplog.text
