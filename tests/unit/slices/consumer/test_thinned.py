"""What was left out up to a position: as publishers tell it, whatever is lost or told again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ids import Position
from evenflow.model.messages import EpochClose
from evenflow.slices.consumer.thinned import MOST_OVER, ThinnedCounts


def close(writer: int, epoch: int, thinned: int) -> EpochClose:
    return EpochClose(writer, "items", epoch, 4, (), (), False, thinned=thinned)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.booleans(), min_size=20, max_size=20),
    st.integers(0, 20),
)
def test_it_is_exact_up_to_an_epoch_that_was_heard(
    steps: list[int], heard: list[bool], upto: int
) -> None:
    counts, total, told = ThinnedCounts(), 0, {0: 0}
    for epoch, step in enumerate(steps, 1):
        total += step
        if heard[epoch - 1]:
            told[epoch] = total
            counts.on_close(close(1, epoch, total))
            counts.on_close(close(1, epoch, total))  # closes are repeated
    counts.settle(Position({1: upto}))
    assert counts.settled == told[max(epoch for epoch in told if epoch <= upto)]
    assert counts.heard == max(told.values())


def test_a_goodbye_has_what_no_epoch_has_told() -> None:
    counts = ThinnedCounts()
    counts.on_close(close(1, 5, 10))
    counts.settle(Position({1: 5}))
    counts.on_close(close(1, 5, 14))
    assert (counts.heard, counts.settled) == (14, 10)
    counts.settle(Position({1: 5}))
    assert counts.settled == 14
    counts.forget(1)
    assert (counts.heard, counts.settled) == (14, 14)


def test_a_former_writer_that_repeats_its_end_changes_nothing() -> None:
    counts = ThinnedCounts()
    counts.on_close(close(1, 5, 10))
    counts.on_close(close(1, 4, 0))
    counts.settle(Position({1: 5}))
    counts.forget(1)
    counts.on_close(close(2, 1, 3))
    assert (counts.heard, counts.settled) == (13, 10)


def test_writers_that_leave_nothing_out_cost_nothing() -> None:
    counts = ThinnedCounts()
    for epoch in range(100):
        counts.on_close(close(1, epoch, 0))
    assert not counts._writers


def test_one_that_has_ended_and_is_heard_once_more_counts_once() -> None:
    counts = ThinnedCounts()
    for writer in range(1, 2 * MOST_OVER):
        counts.on_close(close(writer, 5, 1))
        counts.forget(writer)
        counts.on_close(close(writer, 4, 0))
        counts.on_close(close(writer, 5, 2))
    assert counts.heard == counts.settled == sum(counts.up_to(Position()).values())
    assert counts.heard == 2 * (2 * MOST_OVER - 1)
    assert len(counts._over) == MOST_OVER


CLOSES = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 5)), max_size=30)


@given(CLOSES, st.lists(st.integers(0, 30), max_size=4, unique=True).map(sorted))
def test_what_is_noted_with_positions_never_falls_and_survives_restarts(
    steps: list[tuple[int, int]], restarts: list[int]
) -> None:
    """As a query notes it in its log: each batch has a start and an end."""
    counts, totals, epochs = ThinnedCounts(), {1: 0, 2: 0}, {1: 0, 2: 0}
    position, noted = Position(), {0: 0}
    for number, (writer, step) in enumerate(steps):
        epochs[writer] += 1
        totals[writer] += step
        counts.on_close(close(writer, epochs[writer], totals[writer]))
        if number in restarts:
            counts = ThinnedCounts()
            if number % 2:  # heard before it is recalled
                counts.on_close(close(writer, epochs[writer], totals[writer]))
            counts.recall(noted, position)
            counts.on_close(close(writer, epochs[writer], totals[writer]))
        before, position = sum(noted.values()), Position(epochs)
        noted = counts.up_to(position)
        assert sum(noted.values()) >= before
        counts.settle(position)
    for writer, epoch in epochs.items():
        counts.on_close(close(writer, epoch, totals[writer]))  # closes are repeated
    assert sum(counts.up_to(position).values()) == sum(totals.values())
