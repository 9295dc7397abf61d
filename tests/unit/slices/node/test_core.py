"""A node alone: orders, items, positions, writers that go, leases and reports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.model.messages import (
    Ack,
    Beat,
    CacheChunk,
    Commit,
    EpochClose,
    NodeReport,
    Order,
    ReplayAnswer,
    ReplayRequest,
    SliceMap,
    SliceState,
    Step,
)
from evenflow.slices.actions import (
    Action,
    Send,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WriterGone,
)
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.orders import REMEMBERED_SESSIONS
from evenflow.slices.node.settings import NodeSettings

TOPIC, ME, OTHER = "items", "me~1", "other~2"
WRITER = 7
SLICES = 6
TERM = (1 << 20) + 1
"""The first term of the first balancer."""
NEXT_BALANCER = 2 << 20
SETTINGS = NodeSettings(deliver_items=2, lease=30.0, stall=1.0, writer_grace=10.0)


def batch(slice_id: int = 0, first: int = 1, count: int = 1, writer: int = WRITER) -> Batch:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Batch(encode_items(writer, slice_id, 1, first, items))


def close(last: dict[int, int], writer: int = WRITER, slice_count: int = SLICES) -> EpochClose:
    return EpochClose(
        writer=writer, topic=TOPIC, epoch=1, slice_count=slice_count, slices=tuple(last),
        last=tuple(last.values()), closing=False, committed=0, items=0,
    )  # fmt: skip


def order(step: Step, *slices: int, term: int = TERM, peer: str = OTHER) -> Order:
    return Order(TOPIC, ME, term, step, slices, peer)


def slice_map(owners: dict[int, str], term: int, version: int) -> SliceMap:
    nodes = tuple(sorted(set(owners.values())))
    of = tuple(nodes.index(owners[s]) + 1 if s in owners else 0 for s in range(SLICES))
    return SliceMap(
        TOPIC, 1, version, nodes, of, tuple(term * (s in owners) for s in range(SLICES))
    )


@dataclass
class Node:
    """A node, and what it did so far, by kind."""

    core: NodeCore = field(default_factory=lambda: NodeCore(TOPIC, ME, SLICES, SETTINGS, 0.0))
    now: float = 0.0

    def does(self, actions: list[Action]) -> list[object]:
        return [action.message if isinstance(action, Send) else action for action in actions]

    def hears(self, *events: object) -> list[object]:
        return [one for event in events for one in self.does(self.core.handle(event, self.now))]

    def polls(self, seconds: float = 0.0, kind: type = object) -> list[object]:
        self.now += seconds
        return [one for one in self.does(self.core.poll(self.now)) if isinstance(one, kind)]

    def gets(self, *batches: Batch, replayed: bool = False) -> None:
        for one in batches:
            self.core.receive(one, self.now, replayed=replayed)

    def works(self) -> list[int]:
        """The application processes all it can get; returns the numbers."""
        numbers = []
        while (one := self.core.next_delivery(self.now)) is not None:
            numbers += one.ids.tolist()
            self.core.delivered(0.01)
        return numbers

    def state(self, slice_id: int) -> SliceState | None:
        held = self.core.cache.held.get(slice_id)
        return held.state if held else None


def owner_of(*slices: int, floor: int = 0) -> Node:
    """A node that owns slices, knows a writer, and has heard from it where its numbers start."""
    node = Node()
    node.hears(close({}), order(Step.TAKE, *slices), Subscribed(TERM))
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    node.hears(answer(dict.fromkeys(slices, floor)))
    node.polls()
    return node


def answer(
    floors: dict[int, int],
    *,
    last: int = 0,
    refused: dict[int, int] | None = None,
    writer: int = WRITER,
) -> ReplayAnswer:
    refused = refused or {}
    return ReplayAnswer(
        TOPIC, writer, ME, 1, tuple(floors), tuple(floors.values()),
        tuple(max(last, floor) for floor in floors.values()), tuple(refused),
        tuple(refused.values()),
    )  # fmt: skip


def acks(done: list[object]) -> list[tuple[Step, bool]]:
    return [(Step(one.step), one.ok) for one in done if isinstance(one, Ack)]


def reason(done: list[object]) -> str:
    [one] = [one for one in done if isinstance(one, Ack)]
    assert not one.ok
    return one.reason


# -- taking over ---------------------------------------------------------------------------------


def test_a_takeover_is_acknowledged_when_its_reader_is_matched() -> None:
    node = Node()
    done = node.hears(order(Step.TAKE, 1, 2))
    assert done == [Subscribe(frozenset({1, 2}), TERM)]
    assert acks(node.hears(Subscribed(TERM))) == [(Step.TAKE, True)]
    assert acks(node.hears(order(Step.TAKE, 1, 2))) == [(Step.TAKE, True)]


def test_nothing_is_delivered_before_the_publisher_has_named_the_floor() -> None:
    node = Node()
    node.hears(close({}), order(Step.TAKE, 0), Subscribed(TERM))
    node.gets(batch(first=1, count=4))
    assert node.works() == []
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    assert (request.slices, request.terms, request.have) == ((0,), (TERM,), (4,))
    node.hears(answer({0: 2}, last=4))
    assert node.works() == [3, 4]


def test_a_taken_slice_of_an_older_term_is_refused() -> None:
    node = owner_of(0)
    node.hears(slice_map({0: OTHER}, term=TERM + 5, version=TERM + 6))
    assert node.state(0) is None
    assert reason(node.hears(order(Step.TAKE, 0))) == "a newer term is known here"
    assert node.state(0) is None


def test_a_refusal_of_a_publisher_is_remembered_too() -> None:
    node = owner_of(0, 1)
    done = node.hears(answer({}, refused={0: TERM + 5}))
    assert done == [Unsubscribe(frozenset({0}))]
    assert node.state(1) is SliceState.AVAILABLE
    assert reason(node.hears(order(Step.TAKE, 0, term=TERM + 4))) == "a newer term is known here"


def test_orders_of_a_former_balancer_begin_nothing() -> None:
    node = owner_of(0)
    node.hears(Beat(TOPIC, 9, NEXT_BALANCER, (), ()))
    for step, slice_id in ((Step.TAKE, 3), (Step.FREEZE, 0), (Step.ADD, 3)):
        late = order(step, slice_id, term=TERM + 9)
        assert reason(node.hears(late)) == "a newer balancer is known here"
    assert acks(node.hears(order(Step.CANCEL, 3, term=TERM + 9))) == [(Step.CANCEL, True)]


def test_a_node_reports_at_once_that_it_hears_a_new_balancer() -> None:
    node = owner_of(0)
    node.polls()
    assert node.polls(0.01, NodeReport) == []
    node.hears(Beat(TOPIC, 9, NEXT_BALANCER, (), ()))
    [report] = node.polls(0.01, NodeReport)
    assert isinstance(report, NodeReport)
    assert report.seen_term == NEXT_BALANCER


def test_taking_what_was_being_given_ends_the_session() -> None:
    node = owner_of(0, 1)
    node.hears(order(Step.FREEZE, 0, 1, term=TERM + 1))
    node.hears(order(Step.TAKE, 0, 1, term=TERM + 2), Subscribed(TERM + 2))
    assert node.state(0) is SliceState.AVAILABLE
    assert "CANCELLED" in reason(node.hears(order(Step.REMOVE, 0, 1, term=TERM + 1)))


def test_a_giver_that_gets_its_slices_back_repeats_nothing() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=4))
    assert node.works() == [1, 2, 3, 4]
    node.hears(order(Step.FREEZE, 0, term=TERM + 1))
    node.hears(order(Step.TAKE, 0, term=TERM + 2), Subscribed(TERM + 2))
    node.gets(batch(first=1, count=5), replayed=True)
    assert node.works() == []
    node.hears(answer({0: 1}, last=5))
    node.gets(batch(first=5, count=1))
    assert node.works() == [5]


# -- giving --------------------------------------------------------------------------------------


def test_a_giver_step_by_step() -> None:
    node = owner_of(0, 1)
    node.gets(batch(0, first=1, count=2), batch(0, first=3, count=2))
    node.core.next_delivery(node.now)
    node.core.delivered(0.01)
    session = TERM + 1
    done = node.hears(order(Step.FREEZE, 0, term=session))
    assert acks(done) == [(Step.FREEZE, True)]
    [commit] = [one for one in done if isinstance(one, Commit)]
    assert (commit.slices, commit.terms, commit.upto) == ((0,), (TERM,), (2,))
    assert node.works() == []
    done = node.hears(order(Step.REMOVE, 0, term=session))
    assert (acks(done), done[1]) == ([(Step.REMOVE, True)], Unsubscribe(frozenset({0})))
    [chunk] = node.hears(order(Step.SEND_CACHE, 0, term=session))
    assert isinstance(chunk, CacheChunk)
    assert (chunk.slices, chunk.writers, chunk.done, chunk.known) == ((0,), (WRITER,), (2,), (1,))
    assert chunk.batches == batch(0, first=3, count=2).encoded
    assert node.state(0) is SliceState.GIVING
    done = node.hears(slice_map({0: OTHER, 1: ME}, term=session, version=session + 1))
    assert done == [Unsubscribe(frozenset({0}))]
    assert node.state(1) is SliceState.AVAILABLE


def test_freeze_waits_for_what_the_application_has_in_hand() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=4))
    node.core.next_delivery(node.now)
    freeze = order(Step.FREEZE, 0, term=TERM + 1)
    assert node.hears(freeze, freeze) == []
    done = node.does(node.core.delivered(0.01))
    assert acks(done) == [(Step.FREEZE, True)]
    assert acks(node.hears(freeze)) == [(Step.FREEZE, True)]


def test_freeze_does_not_wait_for_another_slice() -> None:
    node = owner_of(0, 1)
    node.gets(batch(1))
    node.core.next_delivery(node.now)
    assert acks(node.hears(order(Step.FREEZE, 0, term=TERM + 1))) == [(Step.FREEZE, True)]


def test_a_giver_hands_over_even_a_position_that_it_is_not_sure_of() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    node.works()
    node.hears(order(Step.TAKE, 0, term=TERM + 1), Subscribed(TERM + 1))
    for step in (Step.FREEZE, Step.REMOVE):
        node.hears(order(step, 0, term=TERM + 2))
    [chunk] = node.hears(order(Step.SEND_CACHE, 0, term=TERM + 2))
    assert isinstance(chunk, CacheChunk)
    assert (chunk.done, chunk.known) == ((2,), (0,))


@pytest.mark.parametrize(
    ("step", "slices", "why"),
    [
        (Step.FREEZE, (0, 3), "not all of these slices are available here"),
        (Step.ADD, (0, 3), "some of these slices are here already"),
        (Step.REMOVE, (0,), f"there is no session {TERM + 1} here"),
        (Step.SEND_CACHE, (0,), f"there is no session {TERM + 1} here"),
        (Step.ACTIVATE, (3,), f"there is no session {TERM + 1} here"),
        (Step.FREEZE, (), f"slices must be below {SLICES}"),
        (Step.TAKE, (SLICES,), f"slices must be below {SLICES}"),
    ],
)
def test_what_cannot_begin_is_refused_with_the_reason(
    step: Step, slices: tuple[int, ...], why: str
) -> None:
    node = owner_of(0)
    assert reason(node.hears(order(step, *slices, term=TERM + 1))) == why
    assert node.state(0) is SliceState.AVAILABLE


def test_an_order_for_somebody_else_is_not_ours() -> None:
    node = owner_of(0)
    assert node.hears(replace(order(Step.FREEZE, 0, term=TERM + 1), node=OTHER)) == []


def test_sessions_are_remembered_only_so_long() -> None:
    node = Node()
    for number in range(REMEMBERED_SESSIONS + 5):
        node.hears(order(Step.CANCEL, 0, term=TERM + number))
    assert len(node.core.orders._sessions) == REMEMBERED_SESSIONS


# -- taking in a session -------------------------------------------------------------------------

SESSION = TERM + 1


def chunk(done: int, *batches: Batch, known: int = 1, writer: int = WRITER) -> CacheChunk:
    return CacheChunk(
        TOPIC, SESSION, OTHER, ME, 0, 1, 0, (3,), (writer,), (done,), (known,),
        tuple(b.size for b in batches), b"".join(b.encoded for b in batches),
    )  # fmt: skip


def taker() -> Node:
    """A node that has added slice 3 and is ordered to become active."""
    node = owner_of(0)
    assert node.hears(order(Step.ADD, 3, term=SESSION)) == [Subscribe(frozenset({3}), SESSION)]
    assert acks(node.hears(Subscribed(SESSION))) == [(Step.ADD, True)]
    assert acks(node.hears(order(Step.ACTIVATE, 3, term=SESSION))) == [(Step.ACTIVATE, True)]
    return node


def test_a_taker_merges_own_and_givers_items_once() -> None:
    node = taker()
    node.gets(batch(3, first=5, count=2), batch(3, first=9, count=1))
    assert node.works() == []
    done = node.hears(chunk(2, batch(3, first=3, count=2), batch(3, first=5, count=2)))
    [merged] = done
    assert isinstance(merged, Ack)
    assert (merged.step, merged.moved) == (Step.MERGED, 4)
    assert node.works() == [3, 4, 5, 6]
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    assert (request.slices, request.terms, request.have) == ((3,), (SESSION,), (6,))


def test_a_taker_commits_what_the_giver_had_processed() -> None:
    node = taker()
    node.hears(chunk(4))
    [commit] = node.polls(1.0, Commit)
    assert isinstance(commit, Commit)
    assert (commit.slices, commit.terms, commit.upto) == ((3,), (SESSION,), (4,))


def test_a_taker_does_not_go_by_an_uncertain_position() -> None:
    node = taker()
    node.hears(chunk(2, batch(3, first=3, count=4), known=0))
    assert node.works() == []
    node.hears(answer({3: 4}, last=6))
    assert node.works() == [5, 6]


def test_a_promise_never_to_merge_is_kept() -> None:
    node = taker()
    done = node.hears(order(Step.CANCEL, 3, term=SESSION))
    assert acks(done) == [(Step.CANCEL, True)]
    assert node.state(3) is None
    assert node.hears(chunk(0)) == []
    assert not node.hears(order(Step.ADD, 3, term=SESSION))[0].ok  # type: ignore[attr-defined]
    assert node.state(3) is None


def test_who_has_merged_says_so_to_whatever_is_asked() -> None:
    node = taker()
    node.hears(chunk(0, batch(3)))
    for step in (Step.CANCEL, Step.ACTIVATE, Step.ADD):
        assert acks(node.hears(order(step, 3, term=SESSION))) == [(Step.MERGED, True)]
    assert node.state(3) is SliceState.AVAILABLE


def test_a_damaged_cache_is_not_merged() -> None:
    node = taker()
    good = chunk(0, batch(3))
    damaged = replace(good, batches=b"\xff" * len(good.batches))
    assert "damaged cache" in reason(node.hears(damaged))
    assert node.state(3) is SliceState.TAKING
    assert acks(node.hears(good)) == [(Step.MERGED, True)]


def test_a_chunk_of_no_session_is_dropped() -> None:
    node = owner_of(0)
    assert node.hears(chunk(0)) == []


def test_a_change_of_owner_is_settled_when_nothing_is_missing() -> None:
    node = taker()
    node.hears(chunk(0))
    assert node.polls(kind=Ack) == []
    node.hears(answer({3: 0}, last=2))
    node.gets(batch(3, first=1, count=2), replayed=True)
    [settled] = node.polls(kind=Ack)
    assert isinstance(settled, Ack)
    assert (settled.step, settled.replayed, settled.lost) == (Step.SETTLED, 2, 0)


# -- items ---------------------------------------------------------------------------------------


def test_what_is_processed_is_committed() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=3))
    node.works()
    [commit] = node.polls(0.1, Commit)
    assert isinstance(commit, Commit)
    assert (commit.writer, commit.upto) == (WRITER, (3,))
    assert node.polls(0.1, Commit) == []


def test_nothing_in_hand_is_committed() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=3))
    node.core.next_delivery(node.now)
    node.hears(close({0: 3}))
    assert node.polls(0.1, Commit) == []


def test_a_lost_commit_is_repeated_when_the_publisher_still_has_the_items() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=3))
    node.works()
    assert node.polls(0.1, Commit)
    node.hears(close({0: 3}))
    assert node.polls(0.1, Commit)


def test_an_announced_number_that_does_not_come_is_asked_for() -> None:
    node = owner_of(0)
    node.hears(close({0: 3}))
    assert node.polls(0.0, ReplayRequest) == []
    [request] = node.polls(0.05, ReplayRequest)
    assert isinstance(request, ReplayRequest)
    assert request.have == (0,)
    node.gets(batch(first=1, count=3), replayed=True)
    assert node.polls(1.0, ReplayRequest) == []


def test_a_writer_met_late_is_asked_for_every_slice() -> None:
    node = owner_of(0, 1)
    node.gets(batch(1, writer=9))
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    assert (request.writer, set(request.slices)) == (9, {0, 1})


def test_a_publisher_with_other_slices_is_left_alone() -> None:
    node = owner_of(0)
    node.hears(close({0: 1}, writer=9, slice_count=SLICES + 1))
    node.gets(batch(0, writer=9))
    assert node.core.writers.misfits == {9: SLICES + 1}
    assert node.core.cache.backlog == 0


def test_items_in_hand_of_a_slice_that_was_lost_and_taken_anew_say_nothing_of_it() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2), batch(first=3, count=2))
    assert node.core.next_delivery(node.now) is not None
    node.core.delivered(0.01)
    assert node.core.next_delivery(node.now) is not None
    node.hears(answer({}, refused={0: TERM + 1}))
    node.hears(order(Step.TAKE, 0, term=TERM + 2), Subscribed(TERM + 2))
    assert node.core.delivered(0.01) == []
    node.hears(answer({0: 2}, last=6))
    node.gets(batch(first=3, count=2), batch(first=5, count=2), replayed=True)
    assert node.works() == [3, 4, 5, 6]


def test_what_an_application_gives_up_stays_uncommitted() -> None:
    node = owner_of(0)
    node.gets(batch())
    node.core.next_delivery(node.now)
    node.core.delivery.put_back()
    assert node.core.delivered(0.01) == []
    assert node.polls(0.1, Commit) == []


def test_failed_items_are_counted_and_go_on() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    node.core.next_delivery(node.now)
    node.core.delivered(0.5, ok=False)
    [report] = node.polls(1.0, NodeReport)
    assert isinstance(report, NodeReport)
    assert (report.items, report.failed, report.busy_s) == (2, 2, 0.5)


# -- writers that go -----------------------------------------------------------------------------


def keep_alive(node: Node, seconds: float) -> None:
    while seconds > 0:
        node.polls(0.5)
        seconds -= 0.5


def test_gaps_of_a_writer_that_stays_gone_are_given_up_and_counted() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2), batch(first=5, count=1))
    node.hears(close({0: 7}), WriterGone(WRITER))
    keep_alive(node, SETTINGS.writer_grace - 1)
    assert node.works() == [1, 2]
    keep_alive(node, 2)
    assert node.works() == [5]
    assert node.core.writers.lost == 4
    keep_alive(node, 1)
    assert WRITER not in node.core.writers.gone_since
    assert node.core.cache.held[0].tracks == {}


def test_a_writer_that_comes_back_in_time_loses_nothing() -> None:
    node = owner_of(0)
    node.hears(close({0: 3}), WriterGone(WRITER))
    keep_alive(node, SETTINGS.writer_grace - 1)
    node.hears(close({0: 3}))
    keep_alive(node, 3)
    node.gets(batch(first=1, count=3), replayed=True)
    assert node.works() == [1, 2, 3]
    assert node.core.writers.lost == 0


def test_items_of_a_dead_writer_survive_a_handover() -> None:
    """The taker never heard of the writer, and nobody will tell it that it is gone."""
    node = taker()
    node.hears(chunk(2, batch(3, first=3, count=2, writer=9), known=0, writer=9))
    assert node.works() == []
    keep_alive(node, SETTINGS.writer_grace + 1)
    assert node.works() == [3, 4]
    keep_alive(node, 1)
    assert 9 not in node.core.writers.gone_since
    assert 9 not in {request.writer for request in node.polls(5.0, ReplayRequest)}  # type: ignore[attr-defined]


# -- lease and reports ---------------------------------------------------------------------------


def test_without_the_balancers_word_the_application_gets_nothing_more() -> None:
    node = owner_of(0)
    node.gets(batch())
    keep_alive(node, SETTINGS.lease + 1)
    assert node.works() == []
    [report] = node.polls(0.3, NodeReport)
    assert isinstance(report, NodeReport)
    node.hears(Beat(TOPIC, 1, 0, (ME,), (report.number,)))
    assert node.works() == [1]


def test_a_node_that_stood_still_waits_for_the_map() -> None:
    node = owner_of(0)
    node.gets(batch())
    [report] = node.polls(SETTINGS.stall + 1, NodeReport)
    assert isinstance(report, NodeReport)
    node.hears(Beat(TOPIC, 1, TERM + 9, (ME,), (report.number,)))
    assert node.works() == []
    node.hears(slice_map({0: ME}, term=TERM, version=TERM + 9))
    assert node.works() == [1]


def test_a_node_that_stood_still_and_lost_its_slices_gives_them_up() -> None:
    node = owner_of(0)
    node.gets(batch())
    node.polls(5.0)
    node.hears(slice_map({0: OTHER}, term=TERM + 1, version=TERM + 9))
    assert node.state(0) is None
    assert node.works() == []


def test_an_old_map_changes_nothing() -> None:
    node = owner_of(0)
    node.hears(slice_map({0: ME}, term=TERM, version=TERM + 9))
    node.hears(slice_map({0: OTHER}, term=TERM + 1, version=TERM + 8))
    assert node.state(0) is SliceState.AVAILABLE


def test_a_report_says_what_is_held_and_under_which_term() -> None:
    node = owner_of(0, 1)
    node.hears(order(Step.FREEZE, 1, term=SESSION), order(Step.ADD, 3, term=SESSION + 1))
    [report] = node.polls(kind=NodeReport)
    assert isinstance(report, NodeReport)
    rows = list(zip(report.slices, report.states, report.terms, strict=True))
    assert rows == [
        (0, SliceState.AVAILABLE, TERM),
        (1, SliceState.GIVING, SESSION),
        (3, SliceState.TAKING, SESSION + 1),
    ]
    assert report.seen_term == SESSION + 1


def test_a_leaving_node_says_so_at_once_and_looks_for_company() -> None:
    node = owner_of(0)
    node.polls()
    node.core.leave()
    [report] = node.polls(kind=NodeReport)
    assert isinstance(report, NodeReport)
    assert report.leaving
    assert not node.core.has_company(node.now)
    node.hears(Beat(TOPIC, 1, 0, (ME, OTHER), (1, 1)))
    assert node.core.has_company(node.now)
    assert not node.core.has_company(node.now + 2.5)


def test_what_is_no_message_of_a_node_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="cannot handle str"):
        Node().hears("hello")
