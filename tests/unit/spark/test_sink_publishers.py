"""The sinks' publishers of one process: outboxes that others want are given up, each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenflow.config import Config
from evenflow.errors import StorageError
from evenflow.spark import sink_publishers
from evenflow.spark.options import SinkOptions
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


@pytest.mark.parametrize(
    ("error", "opened"), [(StorageError("disk", "a test"), 2), (ZeroDivisionError(), 1)]
)
def test_one_that_has_failed_for_good_is_opened_anew_by_the_next_commit(
    error: Exception, opened: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Publisher] = []

    def begin(*_: object) -> Publisher:
        made.append(Publisher(error))
        return made[-1]

    monkeypatch.setattr(sink_publishers, "_opened", begin)
    publishers = SinkPublishers()
    options = SinkOptions("items", Config(), tmp_path)
    with pytest.raises(type(error)), publishers.of(options):
        raise error
    with publishers.of(options) as publisher:
        assert (publisher, len(made)) == (made[-1], opened)
    assert [one.closed for one in made] == ([1, 0] if opened == 2 else [0])
