from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item
from evenflow.model.ids import Position
from evenflow.model.messages import (
    ConsumerCommit,
    CutStage,
    EpochClose,
    Ledger,
    Progress,
    SliceState,
    WriterCut,
)
from evenflow.model.sample import Sample
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.serving.rules import PROGRESS_EVERY, PROGRESS_REPEAT, ServingRules
from evenflow.slices.publisher.core import Committed, PublisherCore
from evenflow.slices.publisher.sealing import Limits
from evenflow.testing.publishers import no_assignment
from evenflow.testing.samples import encode_items
from evenflow.testing.schedules import random_serving_schedule

WRITER = 7


def sample(slice_id: int, epoch: int, first: int, count: int = 1) -> Sample:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Sample(encode_items(WRITER, first, epoch, {slice_id: (first, items)}))


def close(epoch: int, last: Mapping[int, int], committed: int = 0) -> EpochClose:
    return EpochClose(
        WRITER, "items", epoch, 4, tuple(last), tuple(last.values()), False, committed
    )


def asking(
    slices: tuple[int, ...],
    end: int,
    start: int = 0,
    after: Mapping[tuple[int, int], int] | None = None,
) -> Range:
    return Range(slices, Position({WRITER: start}), Position({WRITER: end}), after or {})


@pytest.fixture
def cache() -> SliceCache:
    cache = SliceCache(1 << 20, serving=True)
    for slice_id in (0, 1):
        cache.hold(slice_id, SliceState.AVAILABLE, 1)
    return cache


@pytest.fixture
def serving(cache: SliceCache) -> ServingRules:
    return ServingRules("items", "node-1", cache)


def numbers(answer: list[Batch] | Refusal) -> list[tuple[int, int, int]]:
    assert isinstance(answer, list)
    return [(one.slice, one.first, one.last) for one in answer]


def reason(answer: list[Batch] | Refusal) -> str:
    assert isinstance(answer, Refusal)
    return answer.reason


class TestWhole:
    def test_is_the_newest_close_that_lacks_nothing(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        serving.on_epoch_closed(close(1, {0: 1}))
        serving.on_epoch_closed(close(2, {0: 1, 1: 1}))
        assert serving.whole(WRITER, frozenset({0, 1})) == 1
        assert serving.whole(WRITER, frozenset({0})) == 2
        cache.offer(sample(1, 2, 1))
        assert serving.whole(WRITER, frozenset({0, 1})) == 2

    def test_a_gap_is_not_whole(self, serving: ServingRules, cache: SliceCache) -> None:
        cache.offer(sample(0, 1, 2))
        serving.on_epoch_closed(close(1, {0: 2}))
        assert serving.whole(WRITER, frozenset({0})) == 0
        cache.offer(sample(0, 1, 1))
        assert serving.whole(WRITER, frozenset({0})) == 1

    def test_slices_of_others_do_not_matter(self, serving: ServingRules) -> None:
        serving.on_epoch_closed(close(3, {2: 5, 3: 9}))
        assert serving.whole(WRITER, frozenset({0, 1})) == 3

    def test_is_remembered_however_many_closes_follow(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        for epoch in range(1, 500):
            serving.on_epoch_closed(close(epoch, {0: epoch}))
        assert serving.whole(WRITER, frozenset({0})) == 1

    def test_what_is_committed_is_whole_although_it_never_came(self, serving: ServingRules) -> None:
        serving.on_epoch_closed(close(1, {0: 1}))
        serving.on_epoch_closed(close(2, {0: 1, 1: 1}))
        assert serving.whole(WRITER, frozenset({0, 1})) == 0
        serving.on_epoch_closed(close(3, {1: 2}, committed=1))
        assert serving.whole(WRITER, frozenset({0, 1})) == 1
        assert serving.whole(WRITER, frozenset({0})) == 3

    def test_the_next_to_become_whole_is_urgent_when_all_before_was_given_out(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        for epoch in (1, 2, 3):
            serving.on_epoch_closed(close(epoch, {0: epoch}))
        serving.poll(0.0)
        assert not serving.is_urgent(sample(0, 2, 2))
        assert serving.wanted(WRITER) == 0
        serving.select(asking((0,), 1))
        serving.poll(1.0)
        assert serving.is_urgent(sample(0, 2, 2))
        assert not serving.is_urgent(sample(0, 3, 3))
        assert serving.wanted(WRITER) == 2

    def test_what_a_reader_was_refused_is_urgent(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        for epoch in (1, 2, 3, 4):
            serving.on_epoch_closed(close(epoch, {0: epoch}))
        assert reason(serving.select(asking((0,), 3))) == "later"
        serving.poll(0.0)
        assert serving.is_urgent(sample(0, 3, 3))
        assert not serving.is_urgent(sample(0, 4, 4))

    def test_a_cut_stands_for_the_newest_close(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        serving.on_epoch_closed(close(3, {0: 3}))
        serving.on_cut(WriterCut("items", WRITER, 7, 2, (0,), (1,), (), 0))
        assert serving.whole(WRITER, frozenset({0})) == 2
        serving.on_cut(WriterCut("items", WRITER, 7, 2, (0,), (2,), (), 0))
        assert serving.whole(WRITER, frozenset({0})) == 0


class TestSelect:
    def test_gives_what_lies_between_two_positions(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        for epoch, first in ((1, 1), (2, 3), (3, 5)):
            cache.offer(sample(0, epoch, first, 2))
            cache.offer(sample(1, epoch, first, 2))
        serving.on_epoch_closed(close(3, {0: 6, 1: 6}))
        assert numbers(serving.select(asking((0, 1), 2))) == [
            (0, 1, 2), (1, 1, 2), (0, 3, 4), (1, 3, 4),
        ]  # fmt: skip
        assert numbers(serving.select(asking((1,), 3, start=2))) == [(1, 5, 6)]
        assert numbers(serving.select(asking((1,), 2, start=2))) == []

    def test_goes_on_where_a_reader_broke_off(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1, 4))
        cache.offer(sample(0, 1, 5, 2))
        serving.on_epoch_closed(close(1, {0: 6}))
        after = {(0, WRITER): 3}
        assert numbers(serving.select(asking((0,), 1, after=after))) == [(0, 4, 4), (0, 5, 6)]

    def test_refuses_what_is_not_here_or_being_taken(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        assert reason(serving.select(asking((0, 3), 1))) == "moved"
        cache.hold(3, SliceState.TAKING, 2)
        assert reason(serving.select(asking((0, 3), 1))) == "moved"

    def test_a_giver_still_answers(self, serving: ServingRules, cache: SliceCache) -> None:
        cache.offer(sample(0, 1, 1))
        serving.on_epoch_closed(close(1, {0: 1}))
        cache.held[0].state = SliceState.GIVING
        assert numbers(serving.select(asking((0,), 1))) == [(0, 1, 1)]

    def test_asks_to_come_again_when_it_is_not_whole(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        assert reason(serving.select(asking((0,), 1))) == "later"
        serving.on_epoch_closed(close(1, {0: 1}))
        assert reason(serving.select(asking((0,), 1))) == "later"
        cache.offer(sample(0, 1, 1))
        assert numbers(serving.select(asking((0,), 1))) == [(0, 1, 1)]

    def test_says_so_when_it_was_told_to_forget(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        for epoch in (1, 2, 3):
            cache.offer(sample(0, epoch, epoch))
        serving.on_epoch_closed(close(3, {0: 3}, committed=2))
        assert reason(serving.select(asking((0,), 3, start=1))) == "forgotten"
        assert numbers(serving.select(asking((0,), 3, start=2))) == [(0, 3, 3)]
        assert numbers(serving.select(asking((0,), 3))) == [(0, 3, 3)]

    def test_of_a_writer_that_everybody_has_read_there_is_nothing(self, cache: SliceCache) -> None:
        ledger = LedgerView()
        serving = ServingRules("items", "node-1", cache, ledger)
        assert reason(serving.select(asking((0,), 4))) == "later"
        ledger.on_ledger(Ledger("items", 1, (WRITER,), (7,), (int(CutStage.CLEARED),), (), ()))
        assert numbers(serving.select(asking((0,), 4))) == []


class TestForgetting:
    def test_frees_the_cache(self, serving: ServingRules, cache: SliceCache) -> None:
        for epoch in (1, 2):
            cache.offer(sample(0, epoch, epoch))
        before = cache.size
        serving.on_epoch_closed(close(2, {0: 2}, committed=1))
        assert cache.size == before // 2
        serving.on_epoch_closed(close(2, {}, committed=2))
        assert cache.size == 0
        assert cache.backlog == 0

    def test_a_forgotten_batch_that_comes_again_is_dropped(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        cache.offer(sample(0, 1, 1))
        serving.on_epoch_closed(close(1, {}, committed=1))
        cache.offer(sample(0, 1, 1))
        assert cache.size == 0


class TestProgress:
    def test_a_close_right_behind_its_samples_is_told_when_the_next_look_is_due(
        self, serving: ServingRules
    ) -> None:
        """It comes within the pause after the look at the samples, and no event follows it."""
        serving.poll(10.0)
        assert serving.look_due is None
        serving.on_epoch_closed(close(1, {2: 5}))
        assert serving.poll(10.001) is None
        due = serving.look_due
        assert due == 10.0 + PROGRESS_EVERY
        told = serving.poll(due)
        assert told is not None
        assert told.epochs == (1,)
        assert serving.look_due is None

    def test_is_told_when_it_changes_and_now_and_then(
        self, serving: ServingRules, cache: SliceCache
    ) -> None:
        serving.address = "grpc://127.0.0.1:1"
        first = serving.poll(10.0)
        assert first == Progress("items", "node-1", "grpc://127.0.0.1:1", (), (), ())
        assert serving.poll(10.1) is None
        serving.on_epoch_closed(close(1, {2: 5}))
        serving.on_consumer_message(ConsumerCommit("items", "a", 1, (), (), False))
        told = serving.poll(10.2)
        assert told is not None
        assert (told.writers, told.epochs, told.consumers) == ((WRITER,), (1,), ("a",))
        assert serving.poll(10.3) is None
        assert serving.poll(10.2 + PROGRESS_REPEAT) == told

    def test_does_not_speak_of_what_is_not_whole(self, serving: ServingRules) -> None:
        serving.on_epoch_closed(close(1, {0: 1}))
        told = serving.poll(0.0)
        assert told is not None
        assert told.writers == ()

    def test_passes_on_consumers_that_it_knows_itself(self, serving: ServingRules) -> None:
        serving.on_consumer_message(Progress("items", "node-2", "", (), (), ("rumour",)))
        serving.on_consumer_message(ConsumerCommit("items", "spoke", 1, (), (), False))
        serving.on_listed(["listed"])
        told = serving.poll(0.0)
        assert told is not None
        assert told.consumers == ("listed", "spoke")


def test_a_full_node_still_takes_what_the_next_epoch_lacks() -> None:
    cache = SliceCache(sample(0, 2, 2).size, serving=True)
    cache.hold(0, SliceState.AVAILABLE, 1)
    serving = ServingRules("items", "node-1", cache)
    for epoch in (2, 3):
        cache.offer(sample(0, epoch, epoch))
    serving.on_epoch_closed(close(1, {0: 1}))
    serving.on_epoch_closed(close(4, {0: 4}))
    serving.poll(0.0)
    later, lacking = sample(0, 4, 4), sample(0, 1, 1)
    assert not serving.is_urgent(later)
    assert serving.is_urgent(lacking)
    cache.offer(later, urgent=serving.is_urgent(later))
    assert cache.refused == 1
    cache.offer(lacking, urgent=serving.is_urgent(lacking))
    assert serving.whole(WRITER, frozenset({0})) == 1


class TestPublisher:
    def core(self) -> PublisherCore:
        limits = Limits(
            batch_items=10, batch_bytes=10_000, linger_s=0.0, retention_bytes=10_000, epoch_s=0.1
        )
        core = PublisherCore("items", WRITER, 4, limits, assign=no_assignment, served=True)
        for epoch in range(3):
            for slice_id in (0, 2):
                core.add((b"x", "s", epoch, 0, slice_id), 50)
            core.opened(0.0)
            core.end_epoch(0.0)
        core.handle(Ledger("items", 1, (), (), (), (), ()), 0.0)
        return core

    def commit(self, name: str, number: int, epoch: int) -> ConsumerCommit:
        return ConsumerCommit("items", name, number, (WRITER,), (epoch,), False)

    def test_forgets_what_all_consumers_have_committed_and_tells_the_nodes(self) -> None:
        core = self.core()
        core.handle_consumer(ConsumerCommit("items", "b", 1, (), (), False), 0.0)
        assert core.handle_consumer(self.commit("a", 1, 2), 0.0) == []
        [done] = core.handle_consumer(self.commit("b", 2, 1), 0.0)
        assert isinstance(done, Committed)
        assert [column.tolist() for column in done.newly] == [[0, 2], [1, 1], [1, 1]]
        assert done.node == "b"
        told = core.close_epoch(0.1)
        assert told is not None
        assert (told.committed, told.items, told.last) == (1, 6, (3, 3))
        assert core.uncommitted == 4

    def test_keeps_everything_for_one_that_it_only_heard_of(self) -> None:
        core = self.core()
        core.handle_consumer(Progress("items", "node-1", "", (), (), ("a", "b")), 0.0)
        assert core.handle_consumer(self.commit("a", 1, 3), 0.0) == []
        assert core.uncommitted == 6

    def test_ignores_an_epoch_that_has_not_ended(self) -> None:
        core = self.core()
        assert core.handle_consumer(self.commit("a", 1, 4), 0.0) == []
        assert core.counts.impossible == 1
        assert core.uncommitted == 6

    def test_tells_the_last_commit_even_when_nothing_is_left(self) -> None:
        core = self.core()
        core.close_epoch(0.1)
        core.handle_consumer(self.commit("a", 1, 3), 0.0)
        told = core.close_epoch(0.2)
        assert told is not None
        assert (told.committed, told.slices) == (3, ())
        assert core.close_epoch(0.3) is None


@given(st.integers(0, 1 << 32), st.sampled_from([0, 300]))
def test_every_consumer_gets_everything_once(seed: int, cache: int) -> None:
    random_serving_schedule(seed, cache=cache)


def test_the_newest_commit_of_a_consumer_is_kept_while_it_is_away_and_passed_on_by_others() -> None:
    cache = SliceCache(1 << 20, serving=True)
    first, second = (ServingRules("items", node, cache) for node in ("n1", "n2"))
    said = ConsumerCommit("items", "audit", 7, (WRITER,), (5,), False, (WRITER,), (6,))
    assert first.on_consumer_message(said) is None
    kept = first.on_consumer_gone("audit")
    assert kept is not None
    assert (kept.node, kept.away, kept.number, kept.planned_epochs) == ("n1", True, 7, (6,))
    passed_on = second.on_copy(kept)
    assert passed_on == replace(kept, node="n2")
    assert second.on_copy(kept) is None, "no news, so it does not go round in circles"
    back = second.on_consumer_message(replace(said, number=8))
    assert back is not None
    assert (back.node, back.away, back.number) == ("n2", False, 8)
    assert second.on_consumer_message(replace(said, number=9)) is None


def test_nothing_is_kept_of_a_consumer_that_never_spoke() -> None:
    serving = ServingRules("items", "n1", SliceCache(1 << 20, serving=True))
    serving.consumers.learn(["audit"])
    assert serving.on_consumer_gone("audit") is None


def test_a_copy_of_a_consumer_that_is_here_is_contradicted_once() -> None:
    cache = SliceCache(1 << 20, serving=True)
    quick, slow = (ServingRules("items", node, cache) for node in ("n1", "n2"))
    said = ConsumerCommit("items", "audit", 7, (WRITER,), (5,), False)
    for node in (quick, slow):
        node.on_consumer_message(said)
    kept = slow.on_consumer_gone("audit")
    assert kept is not None
    quick.on_consumer_message(replace(said, number=8))
    here = quick.on_copy(kept)
    assert here is not None
    assert (here.away, here.number) == (False, 8)
    assert quick.on_copy(kept) is None
    gone = quick.on_consumer_gone("audit")
    assert gone == replace(here, away=True)
    assert slow.on_copy(gone) == replace(gone, node="n2")
