"""Orders of the balancer: takeovers, giving and taking in a session, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.model.messages import (
    Ack,
    Beat,
    CacheChunk,
    Commit,
    NodeReport,
    ReplayRequest,
    SliceState,
    Step,
)
from evenflow.slices.node.giver_taker import samples_in
from evenflow.slices.node.orders import REMEMBERED_SESSIONS

from .alone import (
    ME,
    NEXT_BALANCER,
    OTHER,
    SESSION,
    SLICES,
    TERM,
    TOPIC,
    WRITER,
    Node,
    acks,
    answer,
    batch,
    chunk,
    close,
    map_page,
    order,
    owner_of,
    reason,
    sample_of,
    taker,
)

# -- taking over ---------------------------------------------------------------------------------


def test_a_takeover_is_acknowledged_at_once_and_again() -> None:
    node = Node()
    for _ in range(2):
        assert acks(node.hears(order(Step.TAKE, 1, 2))) == [(Step.TAKE, True)]
    assert node.state(1) is node.state(2) is SliceState.AVAILABLE


def test_nothing_is_delivered_before_the_publisher_has_named_the_floor() -> None:
    node = Node()
    node.hears(close({}), order(Step.TAKE, 0))
    node.gets(batch(first=1, count=4))
    assert node.works() == []
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    assert (request.slices, request.terms, request.have) == ((0,), (TERM,), (4,))
    node.hears(answer({0: 2}, last=4))
    assert node.works() == [3, 4]


def test_a_taken_slice_of_an_older_term_is_refused() -> None:
    node = owner_of(0)
    node.hears(map_page({0: OTHER}, term=TERM + 5, version=TERM + 6))
    assert node.state(0) is None
    assert reason(node.hears(order(Step.TAKE, 0))) == "a newer term is known here"
    assert node.state(0) is None


def test_a_refusal_of_a_publisher_is_remembered_too() -> None:
    node = owner_of(0, 1)
    node.hears(answer({}, refused={0: TERM + 5}))
    assert node.state(0) is SliceState.GIVING
    assert node.state(1) is SliceState.AVAILABLE
    assert reason(node.hears(order(Step.TAKE, 0, term=TERM + 4))) == "a newer term is known here"


def test_who_was_refused_processes_nothing_more_until_the_slice_is_its_own_again() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    assert node.works() == [1, 2]
    node.gets(batch(first=3, count=2))
    node.hears(answer({}, refused={0: TERM + 5}))
    assert node.works() == []
    assert reason(node.hears(order(Step.FREEZE, 0, term=TERM + 6))) != ""
    node.hears(order(Step.TAKE, 0, term=TERM + 7))
    node.hears(answer({0: 0}, last=4))
    # Nobody else has committed anything: what it has processed it has processed.
    assert node.works() == [3, 4]


def test_who_was_refused_tells_the_balancer_that_it_does_not_process_the_slice() -> None:
    node = owner_of(0)
    node.polls()
    node.hears(answer({}, refused={0: TERM + 5}))
    [report] = node.polls(0.01, NodeReport)
    assert isinstance(report, NodeReport)
    assert (report.slices, report.states) == ((0,), (SliceState.GIVING,))


def test_who_was_refused_drops_the_slice_when_the_map_names_its_owner() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    node.hears(answer({}, refused={0: TERM + 5}))
    node.hears(map_page({0: OTHER}, term=TERM + 5, version=TERM + 6))
    assert node.state(0) is None
    assert node.core.cache.size == 0


def test_who_was_refused_may_be_given_the_slice_by_its_new_owner_at_once() -> None:
    """The map that names the new owner may come later than the first order of a session."""
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    node.hears(answer({}, refused={0: TERM + 5}))
    assert acks(node.hears(order(Step.ADD, 0, term=TERM + 6))) == [(Step.ADD, True)]
    assert node.state(0) is SliceState.TAKING
    assert node.core.cache.size == 0


def test_a_slice_that_is_being_taken_when_a_publisher_refuses_it_is_dropped() -> None:
    node = taker()
    node.hears(answer({}, refused={3: SESSION + 5}))
    assert node.state(3) is None


def test_a_giver_that_was_refused_keeps_its_positions() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    assert node.works() == [1, 2]
    node.hears(order(Step.FREEZE, 0, term=TERM + 1))
    node.hears(answer({}, refused={0: TERM + 5}))
    assert reason(node.hears(order(Step.REMOVE, 0, term=TERM + 1))) != ""
    node.hears(order(Step.TAKE, 0, term=TERM + 6))
    node.hears(answer({0: 0}, last=3))
    node.gets(batch(first=1, count=3), replayed=True)
    assert node.works() == [3]


def test_orders_of_a_former_balancer_begin_nothing() -> None:
    node = owner_of(0)
    node.hears(Beat(TOPIC, 9, NEXT_BALANCER, (), (), ()))
    for step, slice_id in ((Step.TAKE, 3), (Step.FREEZE, 0), (Step.ADD, 3)):
        late = order(step, slice_id, term=TERM + 9)
        assert reason(node.hears(late)) == "a newer balancer is known here"
    assert acks(node.hears(order(Step.CANCEL, 3, term=TERM + 9))) == [(Step.CANCEL, True)]


def test_a_node_reports_at_once_that_it_hears_a_new_balancer() -> None:
    node = owner_of(0)
    node.polls()
    assert node.polls(0.01, NodeReport) == []
    node.hears(Beat(TOPIC, 9, NEXT_BALANCER, (), (), ()))
    [report] = node.polls(0.01, NodeReport)
    assert isinstance(report, NodeReport)
    assert report.seen_term == NEXT_BALANCER


def test_taking_what_was_being_given_ends_the_session() -> None:
    node = owner_of(0, 1)
    node.hears(order(Step.FREEZE, 0, 1, term=TERM + 1))
    node.hears(order(Step.TAKE, 0, 1, term=TERM + 2))
    assert node.state(0) is SliceState.AVAILABLE
    assert "CANCELLED" in reason(node.hears(order(Step.REMOVE, 0, 1, term=TERM + 1)))


def test_a_giver_that_gets_its_slices_back_repeats_nothing() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=4))
    assert node.works() == [1, 2, 3, 4]
    node.hears(order(Step.FREEZE, 0, term=TERM + 1))
    node.hears(order(Step.TAKE, 0, term=TERM + 2))
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
    assert acks(node.hears(order(Step.REMOVE, 0, term=session))) == [(Step.REMOVE, True)]
    [chunk] = node.hears(order(Step.SEND_CACHE, 0, term=session))
    assert isinstance(chunk, CacheChunk)
    assert (chunk.slices, chunk.writers, chunk.done, chunk.known) == ((0,), (WRITER,), (2,), (1,))
    assert chunk.batches == batch(0, first=3, count=2).sample.encoded
    assert node.state(0) is SliceState.GIVING
    node.hears(map_page({0: OTHER, 1: ME}, term=session, version=session + 1))
    assert node.state(0) is None
    assert node.state(1) is SliceState.AVAILABLE


def test_what_still_comes_to_a_giver_goes_with_its_cache_and_not_after_it() -> None:
    """Publishers send to the giver until they hear of the new owner."""
    node = owner_of(0, 1)
    session = TERM + 1
    node.hears(order(Step.FREEZE, 0, term=session), order(Step.REMOVE, 0, term=session))
    node.gets(sample_of({0: (1, 2), 1: (1, 9)}))
    [first] = node.hears(order(Step.SEND_CACHE, 0, term=session))
    node.gets(sample_of({0: (3, 2)}))
    [again] = node.hears(order(Step.SEND_CACHE, 0, term=session))
    assert again == first
    assert isinstance(first, CacheChunk)
    [sent] = samples_in(first)
    assert [(b.slice, b.first, b.last) for b in sent.batches()] == [(0, 1, 2)]
    assert node.works() == list(range(1, 10))


def test_the_cache_waits_for_what_the_application_has_in_hand() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2), batch(first=3, count=2))
    node.core.next_delivery(node.now)
    freeze, remove, send = (
        order(step, 0, term=TERM + 1) for step in (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE)
    )
    # Every step but the last is done meanwhile, also when it is ordered again.
    assert acks(node.hears(freeze, freeze, remove)) == 2 * [(Step.FREEZE, True)] + [
        (Step.REMOVE, True)
    ]
    assert node.hears(send, send) == []
    commit, chunk = node.does(node.core.delivered(0.01))
    assert isinstance(chunk, CacheChunk)
    assert (chunk.done, chunk.repeated) == ((2,), 0)
    # The taker may die before it commits this: the giver has.
    assert isinstance(commit, Commit)
    assert (commit.terms, commit.upto) == ((TERM,), (2,))
    assert chunk.batches == batch(first=3, count=2).sample.encoded
    assert node.works() == []
    assert node.hears(send) == [chunk]


def test_what_is_finished_before_the_cache_is_asked_for_is_in_its_positions() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2), batch(first=3, count=2))
    node.core.next_delivery(node.now)
    node.hears(order(Step.FREEZE, 0, term=TERM + 1), order(Step.REMOVE, 0, term=TERM + 1))
    assert node.does(node.core.delivered(0.01)) == []
    commit, chunk = node.hears(order(Step.SEND_CACHE, 0, term=TERM + 1))
    assert isinstance(chunk, CacheChunk)
    assert (chunk.done, chunk.repeated) == ((2,), 0)
    assert isinstance(commit, Commit)
    assert commit.upto == (2,)


def test_the_cache_does_not_wait_for_another_slice() -> None:
    node = owner_of(0, 1)
    node.gets(batch(1))
    node.core.next_delivery(node.now)
    steps = Step.FREEZE, Step.REMOVE, Step.SEND_CACHE
    done = node.hears(*(order(step, 0, term=TERM + 1) for step in steps))
    assert isinstance(done[-1], CacheChunk)


def test_a_giver_hands_over_even_a_position_that_it_is_not_sure_of() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2))
    node.works()
    node.hears(order(Step.TAKE, 0, term=TERM + 1))
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


def test_a_taker_keeps_what_comes_before_it_is_active() -> None:
    node = owner_of(0)
    assert acks(node.hears(order(Step.ADD, 3, term=SESSION))) == [(Step.ADD, True)]
    assert acks(node.hears(order(Step.ADD, 3, term=SESSION))) == [(Step.ADD, True)]
    node.gets(sample_of({0: (1, 1), 3: (3, 2)}))
    assert node.works() == [1]
    assert (node.state(3), node.core.cache.backlog) == (SliceState.TAKING, 2)
    node.hears(order(Step.ACTIVATE, 3, term=SESSION), chunk(2))
    assert node.works() == [3, 4]


def test_a_taker_takes_only_what_was_moved_of_a_sample() -> None:
    """A sample that is mostly of the session's slices comes whole."""
    node = taker()
    node.gets(batch(0, first=1, count=2))
    sample = sample_of({0: (3, 1), 2: (1, 1), 3: (3, 4), 5: (1, 1)})
    node.hears(replace(chunk(4), lengths=(sample.size,), batches=sample.encoded))
    cache = node.core.cache
    assert (cache.backlog, cache.stray, cache.repeated) == (4, 0, 2)
    assert cache.held[0].track(WRITER).next == 3
    [merged] = node.hears(order(Step.CANCEL, 3, term=SESSION))
    assert isinstance(merged, Ack)
    assert merged.moved == 2
    assert sorted(node.works()) == [1, 2, 5, 6]


def test_what_came_with_a_cache_has_not_arrived_here() -> None:
    node = taker()
    node.hears(chunk(2, batch(3, first=3, count=4)))
    assert node.core.cache.held[3].arrived == 0
    node.gets(batch(3, first=7, count=2))
    assert node.core.cache.held[3].arrived == 2


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


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param((replace(chunk(9), slices=(5,)),), id="a slice that is not here"),
        pytest.param((replace(chunk(9), slices=(0,)),), id="a slice that is not in the session"),
        pytest.param(
            (
                replace(chunk(9), index=2, total=3),
                replace(chunk(9), index=7, total=9),
                replace(chunk(9), index=8, total=9),
                replace(chunk(9), total=3),
            ),
            id="of another cut",
        ),
    ],
)
def test_a_chunk_that_is_none_of_its_session_is_counted_and_skipped(
    foreign: tuple[CacheChunk, ...],
) -> None:
    node = taker()
    assert node.hears(*foreign) == []
    assert (node.state(0), node.state(3)) == (SliceState.AVAILABLE, SliceState.TAKING)
    assert node.core.cache.held[0].track(WRITER).done == 0
    assert node.core.orders.damaged > 0


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
    assert (settled.step, settled.replayed) == (Step.SETTLED, 2)
