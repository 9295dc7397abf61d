"""What a subscriber gives out of samples that come in any order, again, or not at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Item
from evenflow.model.messages import CutStage, EpochClose, Ledger, WriterCut
from evenflow.model.sample import Sample
from evenflow.slices.subscriber.core import MOST_GONE, MOST_LEFT, SubscriberCore
from evenflow.slices.subscriber.numbers_seen import MOST_HOLES, NumbersSeen
from evenflow.slices.subscriber.waiting_items import WaitingItems
from evenflow.testing.samples import encode_items

WRITER = 7
BEGIN = EpochClose(WRITER, "items", 0, 4, (), (), closing=False)


def sample(first: int, count: int, slice_id: int = 1, writer: int = WRITER) -> Sample:
    """Items whose ids are their numbers, of two senders in turn."""
    items = [Item(f"car-{n % 2}", n, 0, b"x") for n in range(first, first + count)]
    return Sample(encode_items(writer, first, 1, {slice_id: (first, items)}))


def ids(core: SubscriberCore, one: Sample) -> list[int]:
    return [item.id for batch in core.receive(one) for item in batch]


RUNS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 12)), max_size=40)


@given(RUNS, st.integers(0, 80))
def test_each_item_at_most_once_and_all_that_came_and_the_rest_is_missing(
    runs: list[tuple[int, int]], announced: int
) -> None:
    core = SubscriberCore("items")
    core.on_epoch_closed(BEGIN)
    given_out: Counter[int] = Counter()
    came: set[int] = set()
    for first, count in runs:
        given_out.update(ids(core, sample(first, count)))
        came.update(range(first, first + count))
    core.on_epoch_closed(replace(BEGIN, epoch=1, slices=(1,), last=(announced,)))
    assert given_out == Counter(came)
    assert core.missing == max(announced, *came, 0) - len(came)
    assert core.repeated == sum(count for _, count in runs) - len(came)


def test_of_a_writer_that_was_there_before_the_first_that_comes_is_the_first_that_counts() -> None:
    core = SubscriberCore("items")
    assert ids(core, sample(10, 2)) == [10, 11]
    assert ids(core, sample(8, 3)) == []
    assert core.missing == 0
    core.on_epoch_closed(replace(BEGIN, epoch=5, slices=(1, 2), last=(14, 9)))
    assert core.missing == 3, "slice 2 may have had its items before this began"


def test_items_that_overtake_the_beginning_of_their_writer_hide_none_before_them() -> None:
    core = SubscriberCore("items")
    assert ids(core, sample(5, 2)) == [5, 6]
    core.on_epoch_closed(BEGIN)
    assert core.missing == 4
    assert ids(core, sample(1, 6)) == [1, 2, 3, 4]
    assert (core.missing, core.repeated) == (0, 2)


def test_what_lies_beyond_the_cut_of_its_writer_is_another_ones_and_not_missing() -> None:
    core = SubscriberCore("items")
    core.on_epoch_closed(BEGIN)
    core.receive(sample(3, 2))
    core.receive(sample(8, 1))
    core.on_epoch_closed(replace(BEGIN, epoch=1, slices=(1, 2), last=(12, 5)))
    assert core.missing == 2 + 3 + 4 + 5
    core.on_ledger(WriterCut("items", WRITER, 5, 0, (1,), (6,), (), 0))
    decided = Ledger("items", 9, (WRITER,), (5,), (CutStage.DECIDED,), (), ())
    core.on_ledger(decided)
    assert core.missing == 2 + 3 + 4 + 5, "it may be taken back"
    core.on_ledger(replace(decided, topic="others", version=10, stages=(CutStage.COMPLETE,)))
    core.on_ledger(replace(decided, version=10, stages=(CutStage.COMPLETE,)))
    assert core.missing == 2 + 2
    core.on_epoch_closed(replace(BEGIN, epoch=2, closing=True))
    assert core.missing == 2 + 2


def test_slices_and_senders_that_are_not_wanted_are_left_out() -> None:
    core = SubscriberCore("items", slices=[1], senders=["car-1", "nobody"])
    core.on_epoch_closed(BEGIN)
    assert ids(core, sample(1, 6)) == [1, 3, 5]
    assert ids(core, sample(1, 6, slice_id=2)) == []
    core.on_epoch_closed(replace(BEGIN, epoch=1, slices=(1, 2), last=(8, 50)))
    assert core.missing == 2


def test_what_comes_after_the_goodbye_of_its_writer_is_given_once_and_not_missing() -> None:
    core = SubscriberCore("items")
    core.on_epoch_closed(BEGIN)
    assert ids(core, sample(3, 1)) == [3]
    core.on_epoch_closed(replace(BEGIN, epoch=2, closing=True))
    assert core.missing == 2
    core.on_writer_gone(WRITER)
    assert ids(core, sample(1, 3)) == [1, 2]
    assert ids(core, sample(1, 3)) == []
    assert core.missing == 0


def test_of_a_writer_that_left_long_ago_what_it_owed_stays_counted() -> None:
    core = SubscriberCore("items")
    for writer in range(WRITER, WRITER + MOST_LEFT + 1):
        core.on_epoch_closed(replace(BEGIN, writer=writer))
        core.receive(sample(3, 1, writer=writer))
        core.on_epoch_closed(replace(BEGIN, writer=writer, epoch=2, closing=True))
    assert WRITER not in core._seen
    assert core.missing == 2 * (MOST_LEFT + 1)


def test_a_silent_writer_goes_on_where_it_was_and_only_so_many_are_remembered() -> None:
    core = SubscriberCore("items")
    core.receive(sample(1, 3))
    core.on_writer_gone(WRITER)
    assert ids(core, sample(1, 4)) == [4]
    for writer in range(100, 100 + MOST_GONE + 10):
        core.receive(sample(1, 1, writer=writer))
        core.on_writer_gone(writer)
    assert len(core._seen) <= MOST_GONE + 1


def test_other_topics_are_not_heard() -> None:
    core = SubscriberCore("items")
    core.on_epoch_closed(replace(BEGIN, topic="others"))
    assert ids(core, sample(4, 1)) == [4]
    assert core.missing == 0


def test_holes_are_bounded_and_one_that_was_given_up_is_never_filled() -> None:
    seen = NumbersSeen(1)
    for number in range(2, 2 * MOST_HOLES + 4, 2):
        seen.offer(number, number)
    assert seen.given_up == 1
    assert seen.missing() == MOST_HOLES
    assert seen.offer(1, 1) == []
    assert seen.offer(3, 3) == [(3, 3)]


def test_when_too_much_waits_the_oldest_go_and_are_counted() -> None:
    waiting = WaitingItems(100)
    waiting.add(60, sample(1, 3).batches())
    waiting.add(60, sample(4, 2).batches())
    assert waiting.dropped == 3
    assert waiting.size == 60
    waiting.add(500, sample(6, 1).batches())
    assert (waiting.dropped, waiting.size) == (5, 500)
    batch = waiting.take()
    assert batch is not None
    assert batch.first == 6
    assert not waiting
    assert waiting.take() is None
