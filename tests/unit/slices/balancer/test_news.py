from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from evenflow.model.messages import NodeReport, Receipt, Refusal
from evenflow.slices.balancer.membership.news import News

PLAIN = NodeReport("items", "a~1", 1, 0, False, (), (), (), 0, 0, 0, 0, 0, 0, 0, 0.0, "", 7)
BUSY = replace(PLAIN, slices=(1, 2, 3), states=(1, 1, 1), terms=(1, 1, 1))
MOVED = Receipt("items", 5, "takeover", "a~1", "b~2", (1, 2), "done", 0.0, 1.5, 3, 4, 0, "died")


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def told(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, getattr(record, "event", "")) for record in log.records]


def test_a_death_is_one_warning_with_its_name_and_what_it_held(
    log: pytest.LogCaptureFixture,
) -> None:
    news = News()
    news.look("items", {"a~1": BUSY}, leads=True)
    news.look("items", {}, leads=True)
    news.look("items", {}, leads=True)
    [record] = log.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "node a~1 of topic items died or is not heard any more; it had 3 slices"
    )
    assert news.deaths == {("items",): 1}


def test_who_leaves_has_not_died(log: pytest.LogCaptureFixture) -> None:
    news = News()
    news.look("items", {"a~1": replace(PLAIN, leaving=True)}, leads=True)
    news.look("items", {}, leads=True)
    assert told(log) == [("INFO", "node-left")]
    assert not news.deaths


def test_who_stands_by_tells_nothing(log: pytest.LogCaptureFixture) -> None:
    news = News()
    news.look("items", {"a~1": BUSY}, leads=False)
    news.look("items", {}, leads=False)
    assert told(log) == []


@pytest.mark.parametrize(
    ("receipt", "expected"),
    [
        (MOVED, ("WARNING", "takeover-done")),
        (replace(MOVED, cause="return"), ("WARNING", "return-done")),
        (replace(MOVED, cause="assign"), ("INFO", "assign-done")),
        (replace(MOVED, cause="plan items-1"), ("INFO", "plan-done")),
        (replace(MOVED, cause="handover", outcome="overdue"), ("WARNING", "handover-failed")),
    ],
)
def test_takeovers_and_failures_are_warnings_the_rest_is_for_who_asks(
    receipt: Receipt, expected: tuple[str, str], log: pytest.LogCaptureFixture
) -> None:
    News().on_receipt(receipt)
    assert told(log) == [expected]
    assert "slices of items from a to b" in log.records[0].getMessage()


def test_moves_are_counted_by_what_they_are(log: pytest.LogCaptureFixture) -> None:
    news = News()
    for receipt in (MOVED, MOVED, replace(MOVED, cause="plan x", outcome="no answer")):
        news.on_receipt(receipt)
    assert news.moves == {("items", "takeover", "done"): 2, ("items", "plan", "failed"): 1}
    assert news.moved == {("items",): 4}


def test_a_refusal_is_told_once_until_the_node_is_gone(log: pytest.LogCaptureFixture) -> None:
    news = News()
    refusal = Refusal("items", "a~1", "other slices")
    news.on_refusal(refusal)
    news.on_refusal(refusal)
    assert told(log) == [("ERROR", "node-refused")]
