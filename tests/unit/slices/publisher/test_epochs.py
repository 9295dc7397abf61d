"""When an epoch ends, and when it is announced."""

from __future__ import annotations

import pytest

from evenflow.slices.publisher.batching import Batching
from evenflow.slices.publisher.epochs import ACK_WAIT_S, Epochs

from .items import AT_ONCE, item

EPOCH_S = 0.1


def batching_and_epochs() -> tuple[Batching, Epochs]:
    batching = Batching(1, 4, AT_ONCE)
    return batching, Epochs("items", 1, 4, batching, EPOCH_S)


def ended_epoch(*slices: int) -> tuple[Batching, Epochs]:
    """An epoch with an item in each of these slices that has ended and waits for its readers."""
    batching, epochs = batching_and_epochs()
    for slice_id in slices:
        batching.add(slice_id, item(), 0.0)
        epochs.item_accepted(0.0)
    epochs.end(len(slices))
    epochs.await_acks(slices, EPOCH_S)
    return batching, epochs


def test_an_epoch_lasts_from_its_first_item() -> None:
    _, epochs = batching_and_epochs()
    assert (epochs.deadline(), epochs.is_due(1e9)) == (None, False)
    epochs.item_accepted(5.0)
    epochs.item_accepted(5.05)
    assert epochs.deadline() == pytest.approx(5.1)
    assert not epochs.is_due(5.09)
    assert epochs.is_due(5.11)


def test_who_waits_for_an_epoch_ends_it_once() -> None:
    _, epochs = batching_and_epochs()
    epochs.hurry()
    assert epochs.is_due(0.0)
    epochs.end(0)
    assert not epochs.is_due(0.0)


def test_the_newest_epoch_is_the_one_with_items() -> None:
    batching, epochs = batching_and_epochs()
    assert (epochs.newest, epochs.ended) == (0, 0)
    batching.add(1, item(), 0.0)
    assert (epochs.newest, epochs.ended) == (1, 0)
    epochs.end(1)
    assert (epochs.newest, epochs.ended) == (1, 1)


def test_is_announced_as_soon_as_every_slice_has_acknowledged() -> None:
    _, epochs = ended_epoch(0, 2, 3)
    acknowledged = {3, 0}
    assert not epochs.is_announceable(EPOCH_S, acknowledged.__contains__)
    acknowledged.add(2)
    assert epochs.is_announceable(EPOCH_S, acknowledged.__contains__)


def test_a_slice_that_has_acknowledged_is_not_asked_again() -> None:
    _, epochs = ended_epoch(0, 2)
    asked: list[int] = []

    def only_two(slice_id: int) -> bool:
        asked.append(slice_id)
        return slice_id == 2

    epochs.is_announceable(EPOCH_S, only_two)
    epochs.is_announceable(EPOCH_S, only_two)
    assert asked == [2, 0, 0]


def test_is_announced_in_any_case_when_the_time_is_over() -> None:
    _, epochs = ended_epoch(0)
    late = EPOCH_S + ACK_WAIT_S
    assert not epochs.is_announceable(late - 0.001, lambda _: False)
    assert epochs.is_announceable(late, lambda _: False)


def test_no_epoch_ends_while_another_waits_to_be_announced() -> None:
    batching, epochs = ended_epoch(0)
    batching.add(1, item(), EPOCH_S)
    epochs.item_accepted(EPOCH_S)
    epochs.hurry()
    assert (epochs.is_ending, epochs.is_due(9.0), epochs.deadline()) == (True, False, None)
    close = epochs.close(0.15)
    assert close is not None
    assert (close.epoch, close.slices) == (1, (0,))
    assert (epochs.is_ending, epochs.is_due(0.15)) == (False, True)


def test_nothing_is_announceable_before_an_epoch_has_ended() -> None:
    _, epochs = batching_and_epochs()
    assert not epochs.is_announceable(1e9, lambda _: True)


def test_a_commit_of_consumers_is_news() -> None:
    batching, epochs = ended_epoch(0)
    batching.retention.commit(0, 1)
    assert epochs.close(0.15) is not None
    assert epochs.close(0.25) is None
    epochs.committed = 1
    close = epochs.close(0.35, committed_items=1)
    assert close is not None
    assert (close.committed, close.committed_items, close.items) == (1, 1, 1)
