"""What an operator sees of writers: why a cut waits, since when, and who is absent."""

from __future__ import annotations

from typing import Any

from evenflow.model.messages import (
    ConsumerCommit,
    CutStage,
    EpochClose,
    Ledger,
    PendingCuts,
    WriterSilence,
)
from evenflow.slices.ending.writers_view import WritersView

WRITER, OTHER = 7, 8


def seen(*messages: Any) -> dict[str, dict[str, Any]]:
    view = WritersView("items")
    for message in messages:
        view.see(message)
    return {row["writer"][-1]: row for row in view.rows()}


def close(writer: int) -> EpochClose:
    return EpochClose(writer, "items", 0, 4, (), (), False)


def ledger(version: int, *writers: int, stage: CutStage = CutStage.PREPARING) -> Ledger:
    rows = (writers, (1,) * len(writers), (int(stage),) * len(writers))
    return Ledger("items", version, *rows, (), ())


def silence(*writers: int) -> WriterSilence:
    return WriterSilence("items", "n1~1", writers, ())


def test_a_cut_that_waits_says_why_and_since_when() -> None:
    pending = PendingCuts("items", 3, (WRITER,), (42.04,), ("consumer audit is away",))
    rows = seen(close(OTHER), silence(WRITER), ledger(3), pending)
    assert rows["8"]["state"] == "heard"
    assert rows["8"]["silent_s"] is None
    assert rows["7"]["state"] == "silent"
    assert rows["7"]["silent_at"] == "n1"
    assert rows["7"]["silent_s"] == 42.0
    assert rows["7"]["waits"] == "consumer audit is away"


def test_the_word_of_a_balancer_that_leads_no_more_is_not_shown() -> None:
    old = PendingCuts("items", 3, (WRITER,), (42.0,), ("a node is gone",))
    new = PendingCuts("items", 9, (WRITER,), (1.0,), ("",))
    assert seen(silence(WRITER), old, ledger(9, WRITER))["7"]["silent_s"] is None
    for told in ((old, new), (new, old)):
        row = seen(silence(WRITER), *told, ledger(9, WRITER))["7"]
        assert (row["state"], row["silent_s"], row["waits"]) == ("preparing", 1.0, "")


def test_a_writer_that_only_a_position_names_is_absent() -> None:
    commit = ConsumerCommit("items", "audit", 1, (WRITER,), (4,), False, (OTHER,), (5,))
    rows = seen(commit, close(OTHER))
    assert rows["7"]["state"] == "absent"
    assert rows["7"]["consumers"] == ["audit"]
    assert rows["8"]["state"] == "heard"
    assert seen(commit, ledger(1, WRITER, OTHER, stage=CutStage.CLEARED)) == {}


def test_a_released_consumer_names_nobody() -> None:
    assert seen(ConsumerCommit("items", "audit", 2, (WRITER,), (4,), True)) == {}
