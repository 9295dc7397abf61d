"""Which items ``evenflow tail`` shows, and how."""

from __future__ import annotations

import json
import time

import pytest
import rich_click as click

from evenflow.cli import main
from evenflow.cli.topics.tail import Wanted, line_of, moment
from evenflow.model.batch import Item

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
