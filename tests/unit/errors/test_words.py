"""Sentences of commands count in words that fit."""

from __future__ import annotations

import pytest

from evenflow.cli.publish import show
from evenflow.errors import DeliveryTimeout, ReadFailed, WriterFull
from evenflow.errors.words import are, counted, have


def test_one_is_singular() -> None:
    assert [counted(n, "item") for n in (0, 1, 2)] == ["0 items", "1 item", "2 items"]


@pytest.mark.parametrize(("published", "told"), [(1, "published 1 item in"), (2, "2 items in")])
def test_the_summary_of_publish(
    published: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = {"published": published, "seconds": 1.0, "items_per_s": 1.0, "committed": 1}
    show(summary | {"uncommitted": 0, "refused": 0}, as_json=False)
    assert told in capsys.readouterr().err


def test_verbs_go_with_the_number() -> None:
    assert [f"{n} {are(n)}" for n in (0, 1, 2)] == ["0 are", "1 is", "2 are"]
    assert [f"{n} {have(n)}" for n in (0, 1, 2)] == ["0 have", "1 has", "2 have"]


def test_errors_of_one_thing_are_singular() -> None:
    late = DeliveryTimeout("items", "flush", 1.0, items=1, slices=[3], cause="why")
    assert "1 item is unacknowledged in 1 slice (3)" in str(late)
    assert "1 sample is unacknowledged" in str(WriterFull("items", 1.0, 1, 0))
    assert "1 of 1 samples is" in str(WriterFull("items", 1.0, 1, 1))
    assert (
        str(ReadFailed("items", [3], "why"))
        == "topic 'items': 1 slice (first 3) cannot be read: why"
    )


def test_of_a_read_that_names_no_slice_none_is_told() -> None:
    assert str(ReadFailed("items", (), "why")) == "topic 'items': cannot be read: why"
