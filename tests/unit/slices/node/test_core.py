"""A node alone: items, positions, writers that go, leases and reports."""

from __future__ import annotations

from itertools import permutations

import pytest

from evenflow.model.messages import (
    Beat,
    Commit,
    NodeReport,
    ReplayRequest,
    SliceState,
    Step,
)
from evenflow.slices.actions import WriterGone
from evenflow.slices.node.core import NodeCore

from .alone import (
    ME,
    OTHER,
    SESSION,
    SETTINGS,
    SLICES,
    TERM,
    TOPIC,
    WRITER,
    Node,
    answer,
    batch,
    chunk,
    close,
    map_page,
    order,
    owner_of,
    taker,
)

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
    node.hears(map_page({0: OTHER}, term=TERM + 1, version=TERM + 1))
    node.hears(order(Step.TAKE, 0, term=TERM + 2))
    assert node.core.delivered(0.01) == []
    node.hears(answer({0: 2}, last=6))
    node.gets(batch(first=3, count=2), batch(first=5, count=2), replayed=True)
    assert node.works() == [3, 4, 5, 6]


def test_a_late_answer_of_an_earlier_term_is_not_the_word_that_is_waited_for() -> None:
    node = Node()
    node.hears(close({}), order(Step.TAKE, 0))
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    node.gets(batch(first=1, count=2), batch(first=3, count=2))
    # Another node was given the slice, and has committed the first two. It is ours again.
    node.hears(order(Step.TAKE, 0, term=TERM + 2))
    node.hears(answer({0: 0}, last=4, request=request.request))
    assert node.works() == []
    [again] = node.polls(kind=ReplayRequest)
    assert isinstance(again, ReplayRequest)
    node.hears(answer({0: 2}, last=4, request=again.request))
    assert node.works() == [3, 4]


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


def test_a_silent_writer_is_waited_for_however_long_it_takes() -> None:
    node = owner_of(0)
    node.gets(batch(first=1, count=2), batch(first=5, count=1))
    node.hears(close({0: 7}), WriterGone(WRITER))
    keep_alive(node, 2 * SETTINGS.writer_silence)
    assert node.works() == [1, 2]
    node.hears(close({0: 7}))
    node.gets(batch(first=3, count=5), replayed=True)
    assert node.works() == [3, 4, 5, 6, 7]


def test_items_of_a_dead_writer_survive_a_handover() -> None:
    """The taker never heard of the writer, which may come back: it keeps what the giver had."""
    node = taker()
    node.hears(chunk(2, batch(3, first=3, count=2, writer=9), known=1, writer=9))
    assert node.works() == [3, 4]
    keep_alive(node, 2 * SETTINGS.writer_silence)
    assert 9 in node.core.writers.gone_since


# -- lease and reports ---------------------------------------------------------------------------


def test_without_the_balancers_word_the_application_gets_nothing_more() -> None:
    node = owner_of(0)
    node.gets(batch())
    keep_alive(node, SETTINGS.lease + 1)
    assert node.works() == []
    [report] = node.polls(0.3, NodeReport)
    assert isinstance(report, NodeReport)
    node.hears(Beat(TOPIC, 1, TERM, (ME,), (report.number,), ()))
    assert node.works() == [1]


def test_a_node_that_stood_still_waits_for_the_map() -> None:
    node = owner_of(0)
    node.gets(batch())
    [report] = node.polls(SETTINGS.stall + 1, NodeReport)
    assert isinstance(report, NodeReport)
    node.hears(Beat(TOPIC, 1, TERM + 9, (ME,), (report.number,), ()))
    assert node.works() == []
    node.hears(map_page({0: ME}, term=TERM, version=TERM + 9))
    assert node.works() == [1]


@pytest.mark.parametrize("order_of_arrival", list(permutations(range(3))))
@pytest.mark.parametrize("listening", [False, True])
def test_a_node_that_stood_still_waits_for_every_page(
    order_of_arrival: tuple[int, ...], listening: bool
) -> None:
    """Also when the beat is of a balancer that listens, and so names no page."""
    node = Node(NodeCore(TOPIC, ME, 600, SETTINGS, 0.0))
    node.hears(close({}, slice_count=600), order(Step.TAKE, 300))
    node.polls()
    node.hears(answer({300: 0}))
    node.gets(batch(300))
    pages = [map_page({300: ME}, TERM, TERM + 9, page=page, slice_count=600) for page in range(3)]
    [report] = node.polls(SETTINGS.stall + 1, NodeReport)
    assert isinstance(report, NodeReport)
    named = () if listening else (TERM + 9,) * 3
    node.hears(Beat(TOPIC, 1, TERM + 9, (ME,), (report.number,), named))
    for page in order_of_arrival:
        assert node.works() == []
        node.hears(pages[page])
    assert node.works() == [1]


def test_a_page_concerns_its_own_slices_alone() -> None:
    node = Node(NodeCore(TOPIC, ME, 600, SETTINGS, 0.0))
    node.hears(order(Step.TAKE, 0, 300))
    node.hears(map_page({300: OTHER}, TERM + 1, TERM + 9, page=1, slice_count=600))
    assert (node.state(0), node.state(300)) == (SliceState.AVAILABLE, None)
    node.hears(map_page({0: OTHER}, TERM + 1, TERM + 8, page=0, slice_count=600))
    assert node.state(0) is None


def test_a_node_that_stood_still_and_lost_its_slices_gives_them_up() -> None:
    node = owner_of(0)
    node.gets(batch())
    node.polls(5.0)
    node.hears(map_page({0: OTHER}, term=TERM + 1, version=TERM + 9))
    assert node.state(0) is None
    assert node.works() == []


def test_an_old_map_changes_nothing() -> None:
    node = owner_of(0)
    node.hears(map_page({0: ME}, term=TERM, version=TERM + 9))
    node.hears(map_page({0: OTHER}, term=TERM + 1, version=TERM + 8))
    assert node.state(0) is SliceState.AVAILABLE


def test_a_report_says_what_is_held_and_under_which_term() -> None:
    node = owner_of(0, 1)
    node.hears(order(Step.FREEZE, 1, term=SESSION), order(Step.ADD, 3, term=SESSION + 1))
    # Who ordered it knows: a handover does not wait until a thousand slices are told of.
    assert node.polls(kind=NodeReport) == []
    [report] = node.polls(SETTINGS.report_every, kind=NodeReport)
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
    node.hears(Beat(TOPIC, 1, TERM, (ME, OTHER), (1, 1), ()))
    assert node.core.has_company(node.now)
    assert not node.core.has_company(node.now + 2.5)


def test_what_is_no_message_of_a_node_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="cannot handle str"):
        Node().hears("hello")
