"""The publisher's rules together: gathering, epochs, commits, replay."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from evenflow.model.batch import Batch, Item
from evenflow.model.messages import Commit, EpochClose, ReplayAnswer, ReplayRequest
from evenflow.slices.actions import Resend, Send
from evenflow.slices.publisher.batching import Limits, SealedBatch
from evenflow.slices.publisher.core import Committed, PublisherCore, Reaction
from evenflow.slices.publisher.open_batches import item_size
from evenflow.slices.spill import Spill

from .items import AT_ONCE, LINGER, columns_of, ids_in, item, ranges, table_of

WRITER = 0xFEED
SLICES = 4


def core_with(limits: Limits = AT_ONCE) -> PublisherCore:
    return PublisherCore("items", WRITER, SLICES, limits)


def served_with(limits: Limits) -> PublisherCore:
    return PublisherCore("items", WRITER, SLICES, limits, served=True)


def commit(upto: dict[int, int], term: int = 1, **changes: object) -> Commit:
    slices = tuple(upto)
    message = Commit("items", WRITER, "a", "", slices, (term,) * len(slices), tuple(upto.values()))
    return replace(message, **changes)  # type: ignore[arg-type]


def request(have: dict[int, int], term: int = 1, node: str = "a") -> ReplayRequest:
    slices = tuple(have)
    terms = (term,) * len(slices)
    return ReplayRequest("items", WRITER, node, 7, slices, terms, tuple(have.values()))


def answer_in(reactions: list[Reaction]) -> ReplayAnswer:
    [send] = [one for one in reactions if isinstance(one, Send)]
    assert isinstance(send.message, ReplayAnswer)
    assert send.to == send.message.node
    return send.message


def resent(reactions: list[Reaction]) -> list[tuple[int, int, int]]:
    batches = [
        Batch(encoded) for one in reactions if isinstance(one, Resend) for encoded in one.batches
    ]
    return [(batch.slice, batch.first, batch.last) for batch in batches]


class TestGathering:
    """Of a served topic nothing can be read before its epoch is closed, so few items wait."""

    def test_single_items_wait_until_the_epoch_ends(self) -> None:
        core = served_with(LINGER)
        core.add(1, item(), 0.0)
        core.add(1, item(), 0.05)
        assert core.deadline() == 0.1
        assert core.seal_due(0.09) == []
        assert ranges(core.end_epoch()) == [(1, 1, 2)]

    def test_without_linger_nothing_waits(self) -> None:
        core = served_with(AT_ONCE)
        assert ranges(core.add(1, item(), 0.0)) == [(1, 1, 1)]
        assert not core.gathers(1, 10)

    def test_tables_wait_together_until_they_fill_a_batch(self) -> None:
        core = served_with(replace(LINGER, batch_items=6))
        assert core.add_table(*table_of([(0, 1), (1, 2)]), 0.0) == []
        assert core.add_table(*table_of([(1, 3)]), 0.0) == []
        assert (core.uncommitted, core.kept > 0) == (3, True)
        sealed = core.add_table(*table_of([(0, 4), (3, 5), (0, 6)]), 0.0)
        assert ranges(sealed) == [(0, 1, 3), (1, 1, 2), (3, 1, 1)]
        assert ids_in(sealed) == [1, 4, 6, 2, 3, 5]

    def test_tables_wait_until_the_epoch_ends(self) -> None:
        core = served_with(LINGER)
        core.add_table(*table_of([(2, 1)]), 0.0)
        assert core.deadline() == 0.1
        assert ranges(core.end_epoch()) == [(2, 1, 1)]
        close = core.close_epoch(0.1)
        assert close is not None
        assert (close.epoch, close.slices, close.items) == (1, (2,), 1)

    def test_what_comes_between_two_epochs_is_not_forgotten(self) -> None:
        core = served_with(LINGER)
        core.add(0, item(), 0.0)
        core.end_epoch()
        core.add_table(*table_of([(2, 1)]), 0.1)
        core.close_epoch(0.1)
        assert core.deadline() is not None
        assert ranges(core.end_epoch()) == [(2, 1, 1)]

    def test_many_or_large_items_do_not_wait(self) -> None:
        core = served_with(replace(LINGER, batch_items=10, batch_bytes=1_000))
        assert core.gathers(9, 999)
        assert not core.gathers(10, 10)
        assert not core.gathers(1, 1_000)

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["add", "columns", "table", "flush", "epoch"]),
                st.lists(st.integers(0, SLICES - 1), min_size=1, max_size=4),
            )
        )
    )
    def test_the_items_of_a_slice_stay_in_order_however_they_come(
        self, steps: list[tuple[str, list[int]]]
    ) -> None:
        core = served_with(replace(LINGER, batch_items=6, batch_bytes=600))
        accepted: dict[int, list[int]] = {slice_id: [] for slice_id in range(SLICES)}
        sealed: list[SealedBatch] = []
        numbers = count()
        for what, slices in [*steps, ("epoch", [])]:
            placed = [(slice_id, next(numbers)) for slice_id in slices]
            if what == "flush":
                sealed += core.flush()
            elif what == "epoch":
                sealed += core.end_epoch()
                assert core.kept == core.retention.size
            else:
                placed = placed if what == "table" else [(slices[0], n) for _, n in placed]
                for slice_id, number in placed:
                    accepted[slice_id].append(number)
                if what == "table":
                    sealed += core.add_table(*table_of(placed), 0.0)
                elif what == "columns":
                    items = [item(number) for _, number in placed]
                    sealed += core.add_columns(slices[0], columns_of(items), 0.0)
                else:
                    for slice_id, number in placed:
                        sealed += core.add(slice_id, item(number), 0.0)
        found: dict[int, list[int]] = {slice_id: [] for slice_id in range(SLICES)}
        for one in sealed:
            batch = Batch(one.encoded)
            assert batch.first == len(found[one.slice]) + 1
            found[one.slice] += batch.ids.tolist()
        assert found == accepted
        assert core.counts.published == sum(map(len, accepted.values()))


class TestRoom:
    def test_counts_open_and_retained_bytes(self) -> None:
        size = item_size(item())
        core = core_with(replace(LINGER, retention_bytes=2 * size))
        assert core.has_room(2 * size)
        core.add(1, item(), 0.0)
        assert not core.has_room(2 * size)
        assert core.has_room(size)
        core.flush()
        assert core.kept <= size
        core.handle(commit({1: 1}), 0.0)
        assert (core.kept, core.uncommitted) == (0, 0)


class TestEpochs:
    def test_silent_before_the_first_item(self) -> None:
        core = core_with()
        assert core.deadline() is None
        assert core.end_epoch() == []
        assert core.close_epoch(0.0) is None
        assert core.epoch == 1

    def test_due_one_epoch_after_the_first_item(self) -> None:
        core = core_with()
        core.add(1, item(), 5.0)
        assert core.deadline() == pytest.approx(5.1)
        assert not core.epoch_due(5.05)
        assert core.epoch_due(5.11)

    def test_says_the_newest_number_of_the_ended_epochs_only(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.add(3, item(), 0.0)
        core.end_epoch()
        core.add(1, item(), 0.0)
        core.add(2, item(), 0.0)
        close = core.close_epoch(0.1)
        assert close == EpochClose(
            WRITER, "items", 1, SLICES, (1, 3), (1, 1), closing=False, items=2
        )

    def test_is_repeated_while_items_are_uncommitted(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.end_epoch()
        first = core.close_epoch(0.1)
        assert core.deadline() == pytest.approx(0.2)
        core.end_epoch()
        assert core.close_epoch(0.2) == first

    def test_says_once_that_all_is_committed_then_is_silent(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.end_epoch()
        core.close_epoch(0.1)
        core.handle(commit({1: 1}), 0.15)
        core.end_epoch()
        clean = core.close_epoch(0.2)
        assert clean == EpochClose(WRITER, "items", 1, SLICES, (), (), closing=False, items=1)
        assert core.deadline() is None
        assert core.close_epoch(0.3) is None

    def test_an_epoch_committed_before_its_end_is_announced_all_the_same(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.handle(commit({1: 1}), 0.05)
        core.end_epoch()
        close = core.close_epoch(0.1)
        assert close is not None
        assert (close.epoch, close.slices) == (1, ())

    def test_closing_is_always_said(self) -> None:
        close = core_with().close_epoch(0.0, closing=True)
        assert close is not None
        assert close.closing


class TestCommits:
    def test_says_what_is_newly_committed(self) -> None:
        core = core_with()
        for n in range(5):
            core.add(1, item(n), 0.0)
        assert core.handle(commit({1: 3}), 1.0) == [Committed(1, 1, 3, "a")]
        assert core.handle(commit({1: 3}), 1.0) == []
        assert core.handle(commit({1: 2}), 1.0) == []
        assert core.handle(commit({1: 5}, term=9, node="b"), 1.0) == [Committed(1, 4, 5, "b")]
        assert core.counts.committed == 5

    def test_an_older_term_is_refused(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.handle(commit({1: 0}, term=5), 0.0)
        answer = answer_in(core.handle(commit({1: 1}, term=4), 0.0))
        assert (core.retention.floor(1), core.counts.stale_commits) == (0, 1)
        assert (answer.slices, answer.refused, answer.refused_terms) == ((), (1,), (5,))

    def test_a_request_shuts_out_the_former_owner(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        core.handle(commit({1: 1}, term=4), 0.0)
        assert (core.retention.floor(1), core.counts.stale_commits) == (0, 1)

    def test_beyond_what_was_published_is_ignored_and_raises_no_term(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.add(2, item(), 0.0)
        reactions = core.handle(commit({1: 2, 2: 1, SLICES: 1}, term=8), 0.0)
        assert reactions == [Committed(2, 1, 1, "a")]
        assert (core.term(1), core.term(2), core.counts.impossible) == (0, 8, 2)

    @pytest.mark.parametrize(
        "changes", [{"topic": "other"}, {"writer": 1}, {"terms": ()}, {"slices": (1, 2)}]
    )
    def test_foreign_or_malformed_is_ignored(self, changes: dict[str, object]) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        assert core.handle(commit({1: 1}, **changes), 0.0) == []
        assert (core.retention.floor(1), core.counts.foreign) == (0, 1)

    def test_another_consumer_does_not_let_the_publisher_forget(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        assert core.handle(commit({1: 1}, consumer="audit"), 0.0) == []
        assert (core.retention.floor(1), core.counts.other_consumer) == (0, 1)


class TestReplay:
    def test_from_nothing_known(self) -> None:
        core = core_with()
        for slice_id in (1, 1, 2):
            core.add(slice_id, item(), 0.0)
        reactions = core.handle(request({1: 0, 2: 0, 3: 0}), 0.0)
        answer = answer_in(reactions)
        assert (answer.slices, answer.floor, answer.last) == ((1, 2, 3), (0, 0, 0), (2, 1, 0))
        assert answer.request == 7
        assert resent(reactions) == [(1, 1, 1), (1, 2, 2), (2, 1, 1)]

    def test_only_what_is_neither_committed_nor_there(self) -> None:
        core = core_with()
        for n in range(6):
            core.add(1, item(n), 0.0)
        core.handle(commit({1: 2}), 0.0)
        assert resent(core.handle(request({1: 0}), 0.0)) == [(1, n, n) for n in (3, 4, 5, 6)]
        assert resent(core.handle(request({1: 4}), 0.0)) == [(1, 5, 5), (1, 6, 6)]
        assert resent(core.handle(request({1: 6}), 0.0)) == []

    def test_an_older_term_is_refused_with_the_newer(self) -> None:
        core = core_with()
        core.add(1, item(), 0.0)
        core.add(2, item(), 0.0)
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        reactions = core.handle(request({1: 0, 2: 0}, term=4), 0.0)
        answer = answer_in(reactions)
        assert (answer.slices, answer.refused, answer.refused_terms) == ((2,), (1,), (5,))
        assert resent(reactions) == [(2, 1, 1)]
        assert core.counts.stale_requests == 1

    def test_an_unknown_slice_is_ignored(self) -> None:
        core = core_with()
        answer = answer_in(core.handle(request({SLICES: 0, 0: 0}), 0.0))
        assert (answer.slices, answer.refused, core.counts.impossible) == ((0,), (), 1)


class PublisherModel(RuleBasedStateMachine):
    """Any schedule of items, commits and requests, against lists of items and committers."""

    slices = st.integers(0, SLICES - 1)
    terms = st.integers(0, 6)

    def __init__(self) -> None:
        super().__init__()
        self.core = core_with(replace(LINGER, batch_items=4, batch_bytes=400))
        self.now = 0.0
        self.next_id = 0
        self.accepted: list[list[int]] = [[] for _ in range(SLICES)]
        self.written: list[list[int]] = [[] for _ in range(SLICES)]
        self.encoded: dict[tuple[int, int], bytes] = {}
        self.term = [0] * SLICES
        self.floor = [0] * SLICES
        self.committers: list[list[str]] = [[] for _ in range(SLICES)]
        self.closed: EpochClose | None = None

    def write(self, sealed: list[SealedBatch]) -> None:
        for one in sealed:
            batch = Batch(one.encoded)
            assert batch.writer == WRITER
            assert batch.slice == one.slice
            assert batch.first == len(self.written[one.slice]) + 1, "numbers run on"
            self.written[one.slice] += batch.ids.tolist()
            self.encoded[one.slice, batch.first] = one.encoded

    def fresh_items(self, slice_id: int, count: int, size: int) -> list[Item]:
        ids = range(self.next_id, self.next_id + count)
        self.next_id += count
        self.accepted[slice_id] += ids
        return [item(n, size) for n in ids]

    @rule(slice_id=slices, size=st.integers(0, 500))
    def add(self, slice_id: int, size: int) -> None:
        [one] = self.fresh_items(slice_id, 1, size)
        self.write(self.core.add(slice_id, one, self.now))

    @rule(slice_id=slices, count=st.integers(1, 9), size=st.integers(0, 200))
    def add_columns(self, slice_id: int, count: int, size: int) -> None:
        items = self.fresh_items(slice_id, count, size)
        self.write(self.core.add_columns(slice_id, columns_of(items), self.now))

    @rule(seconds=st.sampled_from([0.001, 0.005, 0.1]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.write(self.core.seal_due(self.now))

    @rule()
    def end_epoch(self) -> None:
        self.write(self.core.end_epoch())
        assert self.written == self.accepted, "the end of an epoch leaves nothing open"
        close = self.core.close_epoch(self.now)
        uncommitted = {
            s: len(self.written[s]) for s in range(SLICES) if self.floor[s] < len(self.written[s])
        }
        if close is None:
            assert not uncommitted
            return
        assert dict(zip(close.slices, close.last, strict=True)) == uncommitted
        assert self.closed is None or close.epoch >= self.closed.epoch
        self.closed = close

    @rule(slice_id=slices, term=terms, upto=st.integers(0, 40), node=st.sampled_from("ab"))
    def commit(self, slice_id: int, term: int, upto: int, node: str) -> None:
        message = commit({slice_id: upto}, term=term, node=node)
        reactions = self.core.handle(message, self.now)
        possible = upto <= len(self.written[slice_id])
        valid = possible and term >= self.term[slice_id]
        before = self.floor[slice_id]
        if valid:
            self.term[slice_id] = term
        if valid and upto > before:
            assert reactions == [Committed(slice_id, before + 1, upto, node)]
            self.floor[slice_id] = upto
            self.committers[slice_id] += [node] * (upto - before)
        elif possible and not valid:
            answer = answer_in(reactions)
            assert (answer.node, answer.slices, answer.refused) == (node, (), (slice_id,))
            assert answer.refused_terms == (self.term[slice_id],)
        else:
            assert reactions == []

    @rule(
        entries=st.dictionaries(slices, st.tuples(terms, st.integers(0, 40)), min_size=1),
        node=st.sampled_from("ab"),
    )
    def replay(self, entries: dict[int, tuple[int, int]], node: str) -> None:
        message = ReplayRequest(
            "items", WRITER, node, 1, tuple(entries),
            tuple(term for term, _ in entries.values()),
            tuple(have for _, have in entries.values()),
        )  # fmt: skip
        reactions = self.core.handle(message, self.now)
        answer = answer_in(reactions)
        owned = [s for s, (term, _) in entries.items() if term >= self.term[s]]
        lost = [s for s in entries if s not in owned]
        assert (answer.slices, answer.refused) == (tuple(owned), tuple(lost))
        assert answer.refused_terms == tuple(self.term[s] for s in lost)
        assert answer.floor == tuple(self.floor[s] for s in owned)
        assert answer.last == tuple(len(self.written[s]) for s in owned)
        numbers = {
            (batch.slice, number)
            for one in reactions
            if isinstance(one, Resend)
            for batch in map(Batch, one.batches)
            for number in range(batch.first, batch.last + 1)
            if self.encoded[batch.slice, batch.first] == batch.encoded
        }
        for slice_id in owned:
            self.term[slice_id], have = entries[slice_id]
            for number in range(
                max(self.floor[slice_id], have) + 1, len(self.written[slice_id]) + 1
            ):
                assert (slice_id, number) in numbers, "what is lacking is resent"
        assert {slice_id for slice_id, _ in numbers} <= set(owned)

    @invariant()
    def every_number_is_committed_once(self) -> None:
        assert [len(nodes) for nodes in self.committers] == self.floor

    @invariant()
    def counts_add_up(self) -> None:
        assert self.core.counts.published == sum(map(len, self.accepted))
        assert self.core.counts.committed == sum(self.floor)
        assert self.core.uncommitted == sum(map(len, self.accepted)) - sum(self.floor)
        assert self.core.kept >= self.core.retention.size

    def teardown(self) -> None:
        self.write(self.core.flush())
        assert self.written == self.accepted
        assert self.core.kept == self.core.retention.size
        everything = {s: len(self.written[s]) for s in range(SLICES)}
        self.core.handle(commit(everything, term=9), self.now)
        assert (self.core.uncommitted, self.core.kept) == (0, 0)


TestPublisherModel = PublisherModel.TestCase
TestPublisherModel.settings = settings(
    max_examples=min(500, settings().max_examples), stateful_step_count=40
)


# -- more than memory holds ------------------------------------------------------------------------


def test_what_memory_has_no_room_for_is_kept_on_disk_and_replayed(tmp_path: Path) -> None:
    size = len(core_with().add(0, item(), 0.0)[0].encoded)
    limits = replace(AT_ONCE, retention_bytes=2 * size)
    spill = Spill(tmp_path, 3 * size, segment=size)
    core = PublisherCore("items", WRITER, SLICES, limits, spill=spill)
    published = []
    while core.has_room(size):
        published += core.add(0, item(len(published)), 0.0)
    assert (len(published), spill.size) == (5, 3 * size)
    [resend] = [r for r in core.handle(request({0: 0}), 0.0) if isinstance(r, Resend)]
    assert [bytes(encoded) for encoded in resend.batches] == [one.encoded for one in published]
    assert [isinstance(encoded, bytes) for encoded in resend.batches] == [True] * 2 + [False] * 3
    del resend
    core.handle(commit({0: 5}), 0.0)
    assert core.has_room(5 * size)
    assert spill.size <= size


def test_a_full_disk_stops_publishing_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(core_with().add(0, item(), 0.0)[0].encoded)
    spill = Spill(tmp_path, 100 * size, segment=size)
    limits = replace(AT_ONCE, retention_bytes=2 * size)
    core = PublisherCore("items", WRITER, SLICES, limits, spill=spill)
    monkeypatch.setattr(spill, "keep", lambda _: None)
    count = 0
    while core.has_room(size):
        core.add(0, item(count), 0.0)
        count += 1
    assert count == 3  # the one that found the disk full was accepted before
    core.handle(commit({0: 2}), 0.0)
    assert core.has_room(size)
    assert core.retention.uncommitted(0) == 1
