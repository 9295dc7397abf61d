"""What a node does with the state of its application, message by message."""

from __future__ import annotations

from dataclasses import replace

from evenflow.model.messages import CacheChunk, SliceState, Step
from evenflow.slices.node.application.states import ForgetState, GiveState, TakeState
from evenflow.slices.node.core import NodeCore

from .alone import (
    ME,
    SESSION,
    SETTINGS,
    SLICES,
    TERM,
    TOPIC,
    Node,
    acks,
    answer,
    batch,
    chunk,
    close,
    map_page,
    order,
    reason,
)


def stateful(*slices: int) -> Node:
    """A node whose application has state, and owns slices of which nothing was committed."""
    settings = replace(SETTINGS, stateful=True, state_bytes=10)
    node = Node(NodeCore(TOPIC, ME, SLICES, settings, 0.0))
    node.hears(close({}), order(Step.TAKE, *slices))
    node.polls()
    assert does_tasks(node) == [TakeState(one, None) for one in slices]
    node.hears(answer(dict.fromkeys(slices, 0)))
    return node


def does_tasks(node: Node) -> list[object]:
    """The application does what it is asked, and gives nothing; what that was."""
    done: list[object] = []
    while (task := node.core.next_task()) is not None:
        done.append(task)
        node.core.task_done(task, {})
    return done


def gives(node: Node, state: bytes) -> list[object]:
    """The application gives the state of slice 3; what the node does then."""
    task = node.core.next_task()
    assert task == GiveState(SESSION, (3,))
    return node.does(node.core.task_done(task, {3: state}))


def give(node: Node) -> list[object]:
    """Order everything up to the cache."""
    steps = (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE)
    return [one for step in steps for one in node.hears(order(step, 3, term=SESSION))]


def test_no_item_comes_before_its_state_and_no_task_while_items_are_in_hand() -> None:
    node = stateful(3)
    node.gets(batch(3, 1, 2), batch(3, 3, 2))
    assert node.core.next_delivery(node.now) is not None
    node.hears(order(Step.TAKE, 4, term=TERM + 5))
    assert node.core.next_task() is None, "the application is at work"
    node.core.delivered(0.01)
    task = node.core.next_task()
    assert task == TakeState(4, None)
    assert node.core.next_delivery(node.now) is None, "a task is in hand"
    node.core.task_done(task, {})
    assert node.works() == [3, 4]


def test_the_cache_waits_for_the_states_and_leaves_with_the_positions() -> None:
    node = stateful(3)
    node.gets(batch(3, 1, 2))
    assert node.works() == [1, 2]
    assert not [one for one in give(node) if isinstance(one, CacheChunk)]
    assert give(node) is not None, "ordered again, asked once"
    first, second = gives(node, b"state")
    assert isinstance(first, CacheChunk)
    assert isinstance(second, CacheChunk)
    assert (first.slices, first.done) == ((3,), (2,))
    assert (second.state_slices, second.state_octets) == ((3,), b"state")
    node.hears(map_page({3: "other~2"}, SESSION, SESSION))
    assert does_tasks(node) == [ForgetState(3)]


def test_a_taker_takes_the_state_before_the_items_that_follow_it() -> None:
    node = stateful(0)
    node.hears(order(Step.ADD, 3, term=SESSION), order(Step.ACTIVATE, 3, term=SESSION))
    head = replace(chunk(2, batch(3, 3)), total=2)
    tail = replace(chunk(2), index=1, total=2, slices=(), writers=(), done=(), known=(),
                   state_slices=(3,), state_lengths=(5,), state_octets=b"state")  # fmt: skip
    assert acks(node.hears(tail)) == []
    assert (Step.MERGED, True) in acks(node.hears(head))
    assert node.core.next_delivery(node.now) is None
    assert does_tasks(node) == [TakeState(3, b"state")]
    assert node.works() == [3]


def test_a_state_that_is_too_large_stays_here() -> None:
    node = stateful(3)
    give(node)
    assert "more than node.state_bytes = 10" in reason(gives(node, bytes(11)))
    node.hears(order(Step.TAKE, 3, term=SESSION + 1), answer({3: 0}))
    assert node.state(3) is SliceState.AVAILABLE
    assert does_tasks(node) == [], "it keeps what it has"
    assert node.core.states is not None
    assert node.core.states.lost == 0


def test_who_gets_its_slice_back_and_is_behind_begins_anew() -> None:
    node = stateful(3)
    node.gets(batch(3, 1, 2))
    node.works()
    give(node)
    gives(node, b"state")
    # The taker has merged, committed 3 and 4, and died.
    node.hears(order(Step.TAKE, 3, term=SESSION + 1), answer({3: 4}))
    assert does_tasks(node) == [TakeState(3, None)]
    assert node.core.states is not None
    assert node.core.states.lost == 1
    node.gets(batch(3, 5))
    assert node.works() == [5]
