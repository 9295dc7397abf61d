"""Which items ``evenflow tail`` shows, and how."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import rich_click as click

from evenflow.cli import main
from evenflow.cli.topics import tail as tailing
from evenflow.cli.topics.tail import Wanted, line_of, moment
from evenflow.config import Config
from evenflow.model.batch import Item
from evenflow.slices.consumer.row_numbers import NUMBERED

ITEM = Item("car-7", 12, 1_700_000_000_000_000, b'{"speed": 1}')


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Wanted(), True),
        (Wanted(sender="car-7", slice=3), True),
        (Wanted(sender="car-8"), False),
        (Wanted(slice=4), False),
        (Wanted(since=1_700_000_000), True),
        (Wanted(since=1_700_000_001), False),
    ],
)
def test_items_are_chosen_by_sender_slice_and_time(wanted: Wanted, fits: bool) -> None:
    assert wanted.fits(3, ITEM) is fits


def test_a_moment_is_some_time_ago_or_a_date() -> None:
    assert moment("2023-11-14T22:13:20+00:00") == 1_700_000_000
    assert moment("2023-11-14T22:13:20") == 1_700_000_000
    assert moment("10m") == pytest.approx(time.time() - 600, abs=60)
    with pytest.raises(click.BadParameter):
        moment("yesterday")


def test_an_item_is_a_line_whatever_is_in_it() -> None:
    assert line_of(3, ITEM, as_json=False).endswith(' 3 car-7 12 {"speed": 1}')
    odd = ITEM._replace(payload=b"\xff\n")
    assert "\n" not in line_of(3, odd, as_json=False)
    assert "\n" not in line_of(3, ITEM._replace(payload=b"a\nb"), as_json=False)
    row = json.loads(line_of(3, odd, as_json=True))
    assert (row["slice"], row["sender"], row["payload"]) == (3, "car-7", "b'\\xff\\n'")
    assert row["headers"] == {}


@pytest.mark.parametrize("time_us", [1_700_000_000_000_000_000, -(1 << 63), (1 << 63) - 1])
def test_a_time_that_is_in_no_calendar_is_shown_as_a_number(time_us: int) -> None:
    assert line_of(3, ITEM._replace(time=time_us), as_json=False).startswith(f"{time_us}us 3 car-7")


def test_headers_are_shown() -> None:
    headed = ITEM._replace(headers={"type": b"json", "raw": b"\xff"})
    line = line_of(3, headed, as_json=False)
    assert line.endswith(""" 12 [type=json, raw=b'\\xff'] {"speed": 1}""")
    row = json.loads(line_of(3, headed, as_json=True))
    assert row["headers"] == {"type": "json", "raw": "b'\\xff'"}


def test_of_a_topic_that_nobody_keeps_there_is_no_past(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", "items", "--from", "10m"]) == 2
    assert "not served" in capsys.readouterr().err


def test_a_time_in_the_future_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    served = ("--set", "topics.items.served=true")
    assert main(["tail", "items", "--from", "2130-05-01", *served]) == 2
    assert "--from 2130-05-01 00:00:00 UTC is in the future" in capsys.readouterr().err


class Backlog:
    """A watcher of a topic of which much is kept."""

    overtaken = 0
    given = 0

    def __enter__(self) -> Backlog:
        return self

    def __exit__(self, *_: object) -> None: ...

    def look(self, _: float) -> Iterator[pa.RecordBatch]:
        row = {"writer": 5, "number": 1, "slice": 3, "sender": "s", "id": 1, "time": 0}
        for _ in range(1_000):
            self.given += 1
            yield pa.RecordBatch.from_pylist([{**row, "payload": b""}], schema=NUMBERED)


def test_what_is_kept_need_not_be_shown_to_the_end_when_it_is_time_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backlog, stop = Backlog(), SimpleNamespace(given=False, wait=lambda _: stop.given)
    monkeypatch.setattr(tailing, "Watcher", lambda *_, **__: backlog)
    found: Iterator[Any] = tailing._kept("fleet", Config(), 0.0, stop)  # type: ignore[arg-type]
    next(found)
    stop.given = True
    assert list(found) == []
    assert backlog.given == 1
