"""The publisher's rules together: waiting, epochs, commits, replay, routes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    EpochClose,
    Ledger,
    Progress,
    ReplayAnswer,
    ReplayRequest,
)
from evenflow.model.sample import Sample
from evenflow.slices.actions import Send
from evenflow.slices.publisher.core import Committed, PublisherCore, Reaction, Resend
from evenflow.slices.publisher.sealing import SAMPLE_BYTES, Limits, SealedSample
from evenflow.slices.spill import Spill

from .items import (
    AT_ONCE,
    LINGER,
    SLICES,
    WRITER,
    add,
    add_table,
    core_with,
    decoded,
    ids_in,
    item,
    map_page,
    ranges,
    size_of,
)

ENDLESS = (2**63 - 1, 2**63, 2**64 - 1)
"""Numbers that no slice ever has."""


def served_with(limits: Limits) -> PublisherCore:
    return core_with(limits, served=True)


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


def committed(reactions: list[Reaction]) -> list[tuple[int, int, int, str]]:
    """What is newly committed: slice, first, last, and by whom."""
    return [
        (slice_id, first, last, one.node)
        for one in reactions
        if isinstance(one, Committed)
        for slice_id, first, last in zip(*(c.tolist() for c in one.newly), strict=True)
    ]


def resent(reactions: list[Reaction]) -> list[tuple[int, int, int]]:
    """The runs that are wanted of the samples that are sent again: slice, first and last."""
    return [
        (batch.slice, batch.first, batch.last)
        for one in reactions
        if isinstance(one, Resend)
        for sample, wanted, _ in one.lacking
        for batch, is_wanted in zip(Sample(sample.encoded).batches(), wanted, strict=True)
        if is_wanted
    ]


def floors(core: PublisherCore) -> list[int]:
    found: list[int] = core.retention.floors.tolist()
    return found


class TestGathering:
    """Of a served topic nothing can be read before its epoch is closed, so few items wait."""

    def test_items_wait_until_the_epoch_ends(self) -> None:
        core = served_with(LINGER)
        add(core, 1, item(), 0.0)
        add(core, 1, item(), 0.05)
        assert core.deadline() == 0.1
        assert core.seal_due(0.09) == []
        assert ranges(core.end_epoch(0.1)) == [(1, 1, 2)]

    def test_without_linger_nothing_waits(self) -> None:
        core = served_with(AT_ONCE)
        assert ranges(add(core, 1, item())) == [(1, 1, 1)]
        assert ranges(add_table(core, [(1, 1)])) == [(1, 2, 2)]

    def test_tables_wait_together_until_they_fill_a_sample(self) -> None:
        core = served_with(replace(LINGER, batch_items=6))
        assert add_table(core, [(0, 1), (1, 2)]) == []
        assert add_table(core, [(1, 3)]) == []
        assert (core.uncommitted, core.kept > 0, core.is_empty) == (3, True, False)
        sealed = add_table(core, [(0, 4), (3, 5), (0, 6)])
        assert ranges(sealed) == [(0, 1, 3), (1, 1, 2), (3, 1, 1)]
        assert ids_in(sealed) == [1, 4, 6, 2, 3, 5]

    def test_tables_wait_until_the_epoch_ends(self) -> None:
        core = served_with(LINGER)
        add_table(core, [(2, 1)])
        assert core.deadline() == 0.1
        assert ranges(core.end_epoch(0.1)) == [(2, 1, 1)]
        close = core.close_epoch(0.1)
        assert close is not None
        assert (close.epoch, close.slices, close.items) == (1, (2,), 1)

    def test_what_comes_between_two_epochs_is_not_forgotten(self) -> None:
        core = served_with(LINGER)
        add(core, 0, item())
        core.end_epoch(0.1)
        add_table(core, [(2, 1)], 0.1)
        core.close_epoch(0.1)
        assert core.deadline() is not None
        assert ranges(core.end_epoch(0.2)) == [(2, 1, 1)]

    def test_many_or_large_items_do_not_wait(self) -> None:
        core = served_with(replace(LINGER, batch_items=10, batch_bytes=1_000))
        assert not core.sealing.fills(9, 999)
        assert core.sealing.fills(10, 10)
        assert core.sealing.fills(1, 1_000)


class TestRoom:
    def test_counts_open_and_retained_bytes(self) -> None:
        size = size_of(item())
        core = core_with(replace(LINGER, retention_bytes=2 * size))
        assert core.has_room(2 * size)
        add(core, 1, item())
        assert not core.has_room(2 * size)
        assert core.has_room(size)
        core.seal(0.0)
        assert core.kept <= size + SAMPLE_BYTES
        core.handle(commit({1: 1}), 0.0)
        assert (core.kept, core.uncommitted) == (0, 0)


class TestEpochs:
    def test_silent_before_the_first_item(self) -> None:
        core = core_with()
        assert core.deadline() is None
        assert core.end_epoch(0.1) == []
        assert core.close_epoch(0.0) is None
        assert core.epoch == 1

    def test_due_one_epoch_after_the_first_item(self) -> None:
        core = core_with()
        add(core, 1, item(), 5.0)
        assert core.deadline() == pytest.approx(5.1)
        assert not core.epoch_due(5.05)
        assert core.epoch_due(5.11)

    def test_says_the_newest_number_of_the_ended_epochs_only(self) -> None:
        core = core_with()
        add(core, 1, item())
        add(core, 3, item())
        core.end_epoch(0.1)
        add(core, 1, item())
        add(core, 2, item())
        close = core.close_epoch(0.1)
        assert close == EpochClose(
            WRITER, "items", 1, SLICES, (1, 3), (1, 1), closing=False, items=2
        )

    def test_is_repeated_while_items_are_uncommitted(self) -> None:
        core = core_with()
        add(core, 1, item())
        core.end_epoch(0.1)
        first = core.close_epoch(0.1)
        assert core.deadline() == pytest.approx(0.2)
        core.end_epoch(0.1)
        assert core.close_epoch(0.2) == first

    def test_says_once_that_all_is_committed_then_is_silent(self) -> None:
        core = core_with()
        add(core, 1, item())
        core.end_epoch(0.1)
        core.close_epoch(0.1)
        core.handle(commit({1: 1}), 0.15)
        core.end_epoch(0.1)
        clean = core.close_epoch(0.2)
        assert clean == EpochClose(WRITER, "items", 1, SLICES, (), (), closing=False, items=1)
        assert core.deadline() is None
        assert core.close_epoch(0.3) is None

    def test_an_epoch_committed_before_its_end_is_announced_all_the_same(self) -> None:
        core = core_with()
        add(core, 1, item())
        core.handle(commit({1: 1}), 0.05)
        core.end_epoch(0.1)
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
            add(core, 1, item(n))
        assert committed(core.handle(commit({1: 3}), 1.0)) == [(1, 1, 3, "a")]
        assert core.handle(commit({1: 3}), 1.0) == []
        assert core.handle(commit({1: 2}), 1.0) == []
        reactions = core.handle(commit({1: 5}, term=9, node="b"), 1.0)
        assert committed(reactions) == [(1, 4, 5, "b")]
        assert (core.counts.committed, core.uncommitted, core.kept) == (5, 0, 0)

    def test_one_message_commits_many_slices(self) -> None:
        core = core_with(LINGER)
        add_table(core, [(0, 1), (2, 2), (2, 3), (3, 4)])
        core.seal(0.0)
        reactions = core.handle(commit({3: 1, 2: 1, 0: 0}), 1.0)
        assert committed(reactions) == [(3, 1, 1, "a"), (2, 1, 1, "a")]
        assert (core.counts.committed, core.last_commit) == (2, 1.0)

    def test_an_older_term_is_refused(self) -> None:
        core = core_with()
        add(core, 1, item())
        core.handle(commit({1: 0}, term=5), 0.0)
        answer = answer_in(core.handle(commit({1: 1}, term=4), 0.0))
        assert (floors(core)[1], core.counts.stale_commits) == (0, 1)
        assert (answer.slices, answer.refused, answer.refused_terms) == ((), (1,), (5,))

    def test_an_older_term_of_one_slice_does_not_hold_up_another(self) -> None:
        core = core_with()
        add(core, 1, item())
        add(core, 2, item())
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        reactions = core.handle(commit({1: 1, 2: 1}, term=4), 0.0)
        assert committed(reactions) == [(2, 1, 1, "a")]
        assert answer_in(reactions).refused == (1,)

    def test_a_request_shuts_out_the_former_owner(self) -> None:
        core = core_with()
        add(core, 1, item())
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        core.handle(commit({1: 1}, term=4), 0.0)
        assert (floors(core)[1], core.counts.stale_commits) == (0, 1)

    @pytest.mark.parametrize("beyond", [2, *ENDLESS])
    def test_beyond_what_was_published_is_ignored_and_raises_no_term(self, beyond: int) -> None:
        core = core_with()
        add(core, 1, item())
        add(core, 2, item())
        reactions = core.handle(commit({1: beyond, 2: 1, SLICES: 1, 2**32 - 1: 1}, term=8), 0.0)
        assert committed(reactions) == [(2, 1, 1, "a")]
        assert (core.fencing.term(1), core.fencing.term(2), core.counts.impossible) == (0, 8, 3)

    def test_of_a_slice_that_is_named_twice_the_first_entry_counts(self) -> None:
        core = core_with()
        for n in range(3):
            add(core, 1, item(n))
        twice = replace(commit({}), slices=(1, 1, 1), terms=(3, 9, 3), upto=(1, 3, 2))
        assert committed(core.handle(twice, 0.0)) == [(1, 1, 1, "a")]
        assert (core.fencing.term(1), core.uncommitted, core.counts.impossible) == (3, 2, 2)
        assert core.counts.stale_commits == 0

    @pytest.mark.parametrize(
        "changes", [{"topic": "other"}, {"writer": 1}, {"terms": ()}, {"slices": (1, 2)}]
    )
    def test_foreign_or_malformed_is_ignored(self, changes: dict[str, Any]) -> None:
        core = core_with()
        add(core, 1, item())
        assert core.handle(commit({1: 1}, **changes), 0.0) == []
        assert (floors(core)[1], core.counts.foreign) == (0, 1)

    def test_another_consumer_does_not_let_the_publisher_forget(self) -> None:
        core = core_with()
        add(core, 1, item())
        assert core.handle(commit({1: 1}, consumer="audit"), 0.0) == []
        assert (floors(core)[1], core.counts.other_consumer) == (0, 1)

    def test_an_empty_commit_is_no_commit(self) -> None:
        core = core_with()
        assert core.handle(commit({}), 5.0) == []
        assert (core.last_commit, core.counts.impossible) == (None, 0)


class TestServed:
    """Consumers commit epochs; what all of them have committed is forgotten."""

    def served(self, epochs: int, *, hears_ledger: bool = True) -> PublisherCore:
        core = served_with(LINGER)
        for _ in range(epochs):
            add_table(core, [(0, 1), (1, 2)])
            core.end_epoch(0.1)
        if hears_ledger:
            core.handle(Ledger("items", 1, (), (), (), (), ()), 0.0)
        return core

    def consumer(self, name: str, epoch: int, number: int = 1) -> ConsumerCommit:
        return ConsumerCommit("items", name, number, (WRITER,), (epoch,), ended=False)

    def test_what_all_consumers_have_committed_is_forgotten(self) -> None:
        core = self.served(epochs=3)
        core.handle_consumer(Progress("items", "n", "", (), (), ("late",)), 0.0)
        assert core.handle_consumer(self.consumer("early", 3), 0.0) == []
        reactions = core.handle_consumer(self.consumer("late", 2), 7.0)
        assert committed(reactions) == [(0, 1, 2, "late"), (1, 1, 2, "late")]
        assert (core.counts.committed, core.uncommitted, core.last_commit) == (4, 2, 7.0)
        close = core.close_epoch(0.2)
        assert close is not None
        assert (close.slices, close.committed, close.committed_items) == ((0, 1), 2, 4)

    def test_nothing_is_forgotten_before_a_ledger_has_named_who_is_registered(self) -> None:
        """Another consumer may be away, of which nobody has told this publisher yet."""
        core = self.served(epochs=2, hears_ledger=False)
        assert core.handle_consumer(self.consumer("here", 2), 0.0) == []
        core.handle(Ledger("items", 1, (), (), (), ("away", "here"), (1, 1)), 0.0)
        assert core.uncommitted == 4

    def test_the_same_epoch_again_is_no_news(self) -> None:
        core = self.served(epochs=2)
        core.handle_consumer(self.consumer("one", 2), 0.0)
        assert core.handle_consumer(self.consumer("one", 2, number=2), 0.0) == []
        assert (core.uncommitted, core.kept) == (0, 0)

    @pytest.mark.parametrize("epoch", [2, *ENDLESS])
    def test_an_epoch_that_has_not_ended_cannot_be_committed(self, epoch: int) -> None:
        core = self.served(epochs=1)
        assert core.handle_consumer(self.consumer("one", epoch), 0.0) == []
        assert (core.uncommitted, core.counts.impossible) == (2, 1)

    def test_commits_of_nodes_do_not_count(self) -> None:
        core = self.served(epochs=1)
        assert core.handle(commit({0: 1}), 0.0) == []
        assert (core.uncommitted, core.counts.other_consumer) == (2, 1)


class TestReplay:
    def test_from_nothing_known(self) -> None:
        core = core_with()
        for slice_id in (1, 1, 2):
            add(core, slice_id, item())
        reactions = core.handle(request({1: 0, 2: 0, 3: 0}), 0.0)
        answer = answer_in(reactions)
        assert (answer.slices, answer.floor, answer.last) == ((1, 2, 3), (0, 0, 0), (2, 1, 0))
        assert answer.request == 7
        assert resent(reactions) == [(1, 1, 1), (1, 2, 2), (2, 1, 1)]

    def test_only_what_is_neither_committed_nor_there(self) -> None:
        core = core_with()
        for n in range(6):
            add(core, 1, item(n))
        core.handle(commit({1: 2}), 0.0)
        assert resent(core.handle(request({1: 0}), 0.0)) == [(1, n, n) for n in (3, 4, 5, 6)]
        assert resent(core.handle(request({1: 4}), 0.0)) == [(1, 5, 5), (1, 6, 6)]
        assert resent(core.handle(request({1: 6}), 0.0)) == []

    def test_of_a_sample_only_the_slices_that_are_asked_for(self) -> None:
        core = core_with(LINGER)
        add_table(core, [(0, 1), (1, 2), (2, 3), (1, 4)])
        core.seal(0.0)
        assert resent(core.handle(request({1: 0, 2: 1}), 0.0)) == [(1, 1, 2)]

    def test_what_waits_is_not_there_yet(self) -> None:
        core = core_with(LINGER)
        add(core, 1, item())
        reactions = core.handle(request({1: 0}), 0.0)
        assert (answer_in(reactions).last, resent(reactions)) == ((0,), [])

    def test_an_older_term_is_refused_with_the_newer(self) -> None:
        core = core_with()
        add(core, 1, item())
        add(core, 2, item())
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        reactions = core.handle(request({1: 0, 2: 0}, term=4), 0.0)
        answer = answer_in(reactions)
        assert (answer.slices, answer.refused, answer.refused_terms) == ((2,), (1,), (5,))
        assert resent(reactions) == [(2, 1, 1)]
        assert core.counts.stale_requests == 1

    def test_slices_that_do_not_exist_or_come_twice_are_ignored(self) -> None:
        core = core_with()
        add(core, 0, item())
        slices, have = (SLICES, 0, 0, 2**32 - 1), (0, 0, 5, 0)
        twice = replace(request({}), slices=slices, terms=(1,) * 4, have=have)
        reactions = core.handle(twice, 0.0)
        answer = answer_in(reactions)
        assert (answer.slices, answer.refused, core.counts.impossible) == ((0,), (), 3)
        assert resent(reactions) == [(0, 1, 1)]

    @pytest.mark.parametrize("have", [9, *ENDLESS])
    def test_whoever_claims_to_have_more_than_there_is_gets_nothing(self, have: int) -> None:
        core = core_with()
        add(core, 0, item())
        add(core, 1, item())
        reactions = core.handle(request({0: have, 1: 0}), 0.0)
        assert answer_in(reactions).last == (1, 1)
        assert resent(reactions) == [(1, 1, 1)]

    @pytest.mark.parametrize("changes", [{"topic": "other"}, {"writer": 1}, {"have": ()}])
    def test_foreign_or_malformed_is_ignored(self, changes: dict[str, Any]) -> None:
        core = core_with()
        assert core.handle(replace(request({1: 0}), **changes), 0.0) == []
        assert core.counts.foreign == 1


class TestRoutes:
    def owners(self, core: PublisherCore) -> list[str]:
        return [add(core, slice_id, item())[0].node for slice_id in range(SLICES)]

    def test_what_a_request_proves_counts_from_the_next_seal_on(self) -> None:
        core = core_with(AT_ONCE, ["a"] * SLICES)
        core.handle(request({1: 0, 2: 0}, term=5, node="b"), 0.0)
        assert self.owners(core) == ["a", "b", "b", "a"]

    def test_what_waits_goes_to_the_new_owner(self) -> None:
        core = core_with(LINGER, ["a"] * SLICES)
        add_table(core, [(0, 1), (1, 2)])
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        assert [(one.node, ids_in([one])) for one in core.seal(0.0)] == [("a", [1]), ("b", [2])]

    def test_an_older_page_does_not_undo_what_a_request_has_proved(self) -> None:
        core = core_with(AT_ONCE, ["a"] * SLICES)
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        core.handle(map_page(["a"] * SLICES, version=2, term=4), 0.0)
        assert self.owners(core) == ["a", "b", "a", "a"]
        core.handle(map_page(["a", "c", "a", "a"], version=3, term=6), 0.0)
        assert self.owners(core) == ["a", "c", "a", "a"]

    def test_a_refused_request_proves_nothing(self) -> None:
        core = core_with(AT_ONCE, ["a"] * SLICES)
        core.handle(commit({1: 0}, term=9), 0.0)
        core.handle(request({1: 0}, term=8, node="b"), 0.0)
        assert self.owners(core) == ["a"] * SLICES

    def test_more_owners_need_more_items(self) -> None:
        core = core_with(replace(LINGER, batch_items=10), ["a"] * SLICES)
        assert core.sealing.fills(10, 1)
        core.handle(request({1: 0}, term=5, node="b"), 0.0)
        assert (core.sealing.fills(19, 1), core.sealing.fills(20, 1)) == (False, True)


class PublisherModel(RuleBasedStateMachine):
    """Any schedule of items, commits and requests, against lists of items and committers."""

    slices = st.integers(0, SLICES - 1)
    terms = st.integers(0, 6)
    nodes = st.sampled_from("ab")

    def __init__(self) -> None:
        super().__init__()
        self.core = core_with(replace(LINGER, batch_items=4, batch_bytes=400))
        self.now = 0.0
        self.next_id = 0
        self.version = 0
        self.accepted: list[list[int]] = [[] for _ in range(SLICES)]
        self.written: list[list[int]] = [[] for _ in range(SLICES)]
        self.term = [0] * SLICES
        self.floor = [0] * SLICES
        self.committers: list[list[str]] = [[] for _ in range(SLICES)]
        self.closed: EpochClose | None = None

    def write(self, sealed: list[SealedSample]) -> None:
        for (node, _), sample in zip(sealed, decoded(sealed), strict=True):
            assert sample.writer == WRITER
            for batch in sample.batches():
                assert batch.first == len(self.written[batch.slice]) + 1, "numbers run on"
                assert node == self.core.routing.map.owner(batch.slice)
                self.written[batch.slice] += batch.ids.tolist()

    def fresh(self, slices: list[int]) -> list[tuple[int, int]]:
        placed = list(zip(slices, range(self.next_id, self.next_id + len(slices)), strict=True))
        self.next_id += len(slices)
        for slice_id, number in placed:
            self.accepted[slice_id].append(number)
        return placed

    @rule(slice_id=slices, size=st.integers(0, 500))
    def add(self, slice_id: int, size: int) -> None:
        [(_, number)] = self.fresh([slice_id])
        self.write(add(self.core, slice_id, item(number, size), self.now))

    @rule(slices=st.lists(slices, min_size=1, max_size=9), size=st.integers(0, 200))
    def add_table(self, slices: list[int], size: int) -> None:
        self.write(add_table(self.core, self.fresh(slices), self.now, size))

    @rule(seconds=st.sampled_from([0.001, 0.005, 0.1]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.write(self.core.seal_due(self.now))
        due = self.core.sealing.deadline()
        assert due is None or due > self.now

    @rule(owners=st.lists(st.sampled_from(["", "a", "b"]), min_size=SLICES, max_size=SLICES))
    def move(self, owners: list[str]) -> None:
        self.version += 1
        self.core.handle(map_page(owners, self.version, term=9), self.now)
        assert self.core.routing.map.owners == owners

    @rule()
    def end_epoch(self) -> None:
        self.write(self.core.end_epoch(self.now))
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

    @rule(entries=st.dictionaries(slices, st.tuples(terms, st.integers(0, 40))), node=nodes)
    def commit(self, entries: dict[int, tuple[int, int]], node: str) -> None:
        message = Commit(
            "items", WRITER, node, "", tuple(entries),
            tuple(term for term, _ in entries.values()),
            tuple(upto for _, upto in entries.values()),
        )  # fmt: skip
        reactions = self.core.handle(message, self.now)
        newly, lost = [], []
        for slice_id, (term, upto) in entries.items():
            if upto > len(self.written[slice_id]):
                continue
            if term < self.term[slice_id]:
                lost.append(slice_id)
                continue
            self.term[slice_id] = term
            before = self.floor[slice_id]
            if upto > before:
                newly.append((slice_id, before + 1, upto, node))
                self.floor[slice_id] = upto
                self.committers[slice_id] += [node] * (upto - before)
        assert committed(reactions) == newly
        assert len(reactions) == bool(newly) + bool(lost)
        if lost:
            answer = answer_in(reactions)
            assert (answer.node, answer.slices, answer.refused) == (node, (), tuple(lost))
            assert answer.refused_terms == tuple(self.term[s] for s in lost)

    @rule(
        entries=st.dictionaries(slices, st.tuples(terms, st.integers(0, 40)), min_size=1),
        node=nodes,
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
        found: dict[int, list[int]] = {slice_id: [] for slice_id in owned}
        for slice_id, first, last in resent(reactions):
            found[slice_id] += range(first, last + 1)
        for slice_id in owned:
            self.term[slice_id], have = entries[slice_id]
            lacks = range(max(self.floor[slice_id], have) + 1, len(self.written[slice_id]) + 1)
            numbers = found[slice_id]
            assert numbers[len(numbers) - len(lacks) :] == list(lacks), "what is lacking is resent"
            assert numbers == sorted(set(numbers))
            assert bool(numbers) == bool(lacks)

    @invariant()
    def every_number_is_committed_once(self) -> None:
        assert [len(nodes) for nodes in self.committers] == self.floor

    @invariant()
    def counts_add_up(self) -> None:
        assert self.core.counts.published == sum(map(len, self.accepted))
        assert self.core.counts.committed == sum(self.floor)
        assert self.core.uncommitted == sum(map(len, self.accepted)) - sum(self.floor)
        assert self.core.retention.items == sum(map(len, self.written)) - sum(self.floor)
        assert self.core.kept >= self.core.retention.size

    def teardown(self) -> None:
        self.write(self.core.seal(self.now))
        assert self.written == self.accepted
        assert self.core.kept == self.core.retention.size
        everything = {s: len(self.written[s]) for s in range(SLICES)}
        self.core.handle(commit(everything, term=9), self.now)
        assert (self.core.uncommitted, self.core.kept) == (0, 0)


TestPublisherModel = PublisherModel.TestCase
TestPublisherModel.settings = settings(
    max_examples=min(500, settings().max_examples), stateful_step_count=40
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, SLICES + 1) | st.integers(0, 2**32 - 1),
            st.integers(0, 3) | st.integers(0, 2**64 - 1),
            st.integers(0, 3) | st.integers(2**63 - 2, 2**64 - 1),
        )
    ),
    st.booleans(),
)
def test_absurd_entries_harm_nothing_and_are_counted(
    entries: list[tuple[int, int, int]], as_commit: bool
) -> None:
    core = core_with()
    core.balancers.hear(2**64 - 1, 0.0)
    for slice_id in (0, 0, 1):
        add(core, slice_id, item())
    newest = [2, 1, 0, 0]
    slices, terms, numbers = zip(*entries, strict=True) if entries else ((), (), ())
    if as_commit:
        core.handle(Commit("items", WRITER, "a", "", slices, terms, numbers), 0.0)
    else:
        core.handle(ReplayRequest("items", WRITER, "a", 1, slices, terms, numbers), 0.0)
    first: dict[int, int] = {}
    for slice_id, _, number in entries:
        first.setdefault(slice_id, number)
    sound = [s for s in first if s < SLICES and (not as_commit or first[s] <= newest[s])]
    assert core.counts.impossible == len(entries) - len(sound)
    assert core.retention.newest.tolist() == newest
    assert floors(core) == [first[s] if as_commit and s in sound else 0 for s in range(SLICES)]
    assert core.uncommitted == core.retention.items == 3 - sum(floors(core))
    assert ranges(add(core, 0, item())) == [(0, 3, 3)]


# -- more than memory holds ------------------------------------------------------------------------


def size_of_sample() -> int:
    return len(add(core_with(), 0, item())[0].sample.encoded)


def test_what_memory_has_no_room_for_is_kept_on_disk_and_replayed(tmp_path: Path) -> None:
    size = size_of_sample()
    limits = replace(AT_ONCE, retention_bytes=2 * size)
    spill = Spill(tmp_path, 3 * size, segment=size)
    core = core_with(limits, spill=spill)
    while core.has_room(size):
        add(core, 0, item(core.uncommitted))
    assert (core.uncommitted, spill.size) == (5, 3 * size)
    [resend] = [r for r in core.handle(request({0: 0}), 0.0) if isinstance(r, Resend)]
    kept = [one.retained.encoded for one in resend.lacking]
    assert [isinstance(encoded, bytes) for encoded in kept] == [True] * 2 + [False] * 3
    assert [row.id for encoded in kept for row in Sample(encoded).rows] == [0, 1, 2, 3, 4]
    del resend, kept
    core.handle(commit({0: 5}), 0.0)
    assert core.has_room(5 * size)
    assert spill.size <= size


def test_a_full_disk_stops_publishing_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = size_of_sample()
    spill = Spill(tmp_path, 100 * size, segment=size)
    core = core_with(replace(AT_ONCE, retention_bytes=2 * size), spill=spill)
    monkeypatch.setattr(spill, "keep", lambda _: None)
    while core.has_room(size):
        add(core, 0, item(core.uncommitted))
    assert core.uncommitted == 3  # the one that found the disk full was accepted before
    core.handle(commit({0: 2}), 0.0)
    assert core.has_room(size)
    assert core.retention.uncommitted([0]) == 1
