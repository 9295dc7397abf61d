"""When an epoch ends, and when it is announced."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.epochs import ACK_WAIT_S, Epochs

from .items import AT_ONCE, SLICES, add, core_with, item

EPOCH_S = AT_ONCE.epoch_s


def core_and_epochs() -> tuple[PublisherCore, Epochs]:
    core = core_with()
    return core, core.epochs


def ended_epoch(*nodes: str) -> tuple[PublisherCore, Epochs]:
    """An epoch with an item that was written to these nodes, has ended, and waits for them."""
    core, epochs = core_and_epochs()
    add(core, 0, item())
    core.end_epoch(EPOCH_S)
    epochs.await_acks(nodes, EPOCH_S)
    return core, epochs


def test_an_epoch_lasts_from_its_first_item() -> None:
    _, epochs = core_and_epochs()
    assert (epochs.deadline(), epochs.is_due(1e9)) == (None, False)
    epochs.item_accepted(5.0)
    epochs.item_accepted(5.05)
    assert epochs.deadline() == pytest.approx(5.1)
    assert not epochs.is_due(5.09)
    assert epochs.is_due(5.11)


def test_who_waits_for_an_epoch_ends_it_once() -> None:
    _, epochs = core_and_epochs()
    epochs.hurry()
    assert epochs.is_due(0.0)
    assert epochs.deadline() == -math.inf
    epochs.end(0)
    assert (epochs.is_due(0.0), epochs.deadline()) == (False, None)


def test_who_waits_while_an_epoch_is_announced_need_not_wait_another_one() -> None:
    core, epochs = ended_epoch("a")
    epochs.hurry()
    assert epochs.deadline() is None
    core.close_epoch(0.15)
    assert epochs.deadline() == -math.inf


def test_the_newest_epoch_is_the_one_with_items() -> None:
    core, epochs = core_and_epochs()
    assert (epochs.newest, epochs.ended) == (0, 0)
    add(core, 1, item())
    assert (epochs.newest, epochs.ended) == (1, 0)
    core.end_epoch(EPOCH_S)
    assert (epochs.newest, epochs.ended) == (1, 1)


def test_is_announced_as_soon_as_every_node_has_acknowledged() -> None:
    _, epochs = ended_epoch("a", "b", "c")
    acknowledged = {"c", "a"}
    assert not epochs.is_announceable(EPOCH_S, acknowledged.__contains__)
    acknowledged.add("b")
    assert epochs.is_announceable(EPOCH_S, acknowledged.__contains__)


def test_what_was_written_to_nobody_is_announced_at_once() -> None:
    _, epochs = ended_epoch()
    assert epochs.is_announceable(EPOCH_S, lambda _: False)


def test_a_node_that_has_acknowledged_is_not_asked_again() -> None:
    _, epochs = ended_epoch("a", "b")
    asked: list[str] = []

    def only_b(node: str) -> bool:
        asked.append(node)
        return node == "b"

    epochs.is_announceable(EPOCH_S, only_b)
    epochs.is_announceable(EPOCH_S, only_b)
    assert asked == ["b", "a", "a"]


def test_is_announced_in_any_case_when_the_time_is_over() -> None:
    _, epochs = ended_epoch("a")
    late = EPOCH_S + ACK_WAIT_S
    assert not epochs.is_announceable(late - 0.001, lambda _: False)
    assert epochs.is_announceable(late, lambda _: False)


def test_no_epoch_ends_while_another_waits_to_be_announced() -> None:
    core, epochs = ended_epoch("a")
    add(core, 1, item(), EPOCH_S)
    epochs.hurry()
    assert (epochs.is_ending, epochs.is_due(9.0), epochs.deadline()) == (True, False, None)
    close = epochs.close(0.15)
    assert close is not None
    assert (close.epoch, close.slices) == (1, (0,))
    assert (epochs.is_ending, epochs.is_due(0.15)) == (False, True)


def test_nothing_is_announceable_before_an_epoch_has_ended() -> None:
    _, epochs = core_and_epochs()
    assert not epochs.is_announceable(1e9, lambda _: True)


def test_a_commit_of_consumers_is_news() -> None:
    core, epochs = ended_epoch("a")
    core.retention.commit([0], [1])
    assert epochs.close(0.15) is not None
    assert epochs.close(0.25) is None
    epochs.committed = 1
    close = epochs.close(0.35, committed_items=1)
    assert close is not None
    assert (close.committed, close.committed_items, close.items) == (1, 1, 1)


def test_what_was_thinned_is_told_up_to_the_end_of_an_epoch_and_of_each_writer() -> None:
    core, epochs = core_and_epochs()
    add(core, 0, item())
    core.counts.thinned = 3
    core.end_epoch(0.1)
    core.counts.thinned = 5
    first = core.close_epoch(0.1)
    assert first is not None
    assert first.thinned == 3
    add(core, 0, item(), 0.2)
    core.end_epoch(0.3)
    second = core.close_epoch(0.3)
    assert second is not None
    assert second.thinned == 5
    # What a writer has told, the one that takes its place does not tell again.
    epochs.renew(2, np.zeros(SLICES, np.int64), 0, 0.3)
    core.counts.thinned = 9
    add(core, 0, item(), 0.3)
    core.end_epoch(0.4)
    third = core.close_epoch(0.4)
    assert third is not None
    assert (third.writer, third.thinned) == (2, 4)
