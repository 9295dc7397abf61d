"""The thread of the application: what it gets, and what its errors do."""

from __future__ import annotations

from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import ClosedError, ItemFailed
from evenflow.model.messages import Commit
from evenflow.processes import wait_until
from evenflow.slices.node.application.giving_up import GivenUp
from evenflow.slices.node.application.states import States
from evenflow.slices.node.failures import Failures
from evenflow.slices.node.worker import Worker, stateful

from .alone import Node, batch, owner_of

if TYPE_CHECKING:
    from evenflow.model.batch import Batch
    from evenflow.slices.actions import Send
    from evenflow.slices.node.worker import OnNewData


STOP = GivenUp.STOP


class Running:
    """A worker in its thread, over a node with four items that are delivered two at a time."""

    def __init__(
        self,
        on_new_data: OnNewData,
        give_up: GivenUp | Exception = STOP,
        fault: Exception | None = None,
        *,
        start: bool = True,
    ) -> None:
        self.node: Node = owner_of(0)
        self.node.core.delivery.failures = Failures(1, 0.0)
        self.outcome = give_up
        self.given_up: list[tuple[int, str, int]] = []
        self.node.gets(batch(first=1, count=4))
        self.replies: list[tuple[int, object]] = []
        self.fault = fault
        self.stopping, self.idle = Event(), Event()
        self.performed: list[Send] = []
        # The lease of the core counts from 0, the worker looks at the real clock.
        self.node.core.next_delivery = self.node.core.delivery.begin  # type: ignore[method-assign]
        self.worker = Worker(
            self.node.core,
            on_new_data,
            work=Condition(),
            stopping=self.stopping,
            perform=self.performed.extend,
            on_idle=self.idle.set,
            reply=self.reply,
            give_up=self.give_up,
        )
        self.thread = Thread(target=self.worker.run, daemon=True)
        if start:
            self.thread.start()

    def reply(self, items: Batch, rows: int) -> None:
        if self.fault is not None:
            raise self.fault
        self.replies += [one[:2] for one in items.replies or () if one[0] < rows]

    def give_up(self, items: Batch, error: Exception, tries: int) -> GivenUp:
        self.given_up += [(item.id, str(error), tries) for item in items]
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def end(self) -> None:
        self.stopping.set()
        self.thread.join(10.0)
        assert not self.thread.is_alive()


def refuse(_: object) -> None:
    raise ValueError("not these")


def test_what_is_in_hand_when_the_node_stops_is_finished_and_committed() -> None:
    begun, may_end = Event(), Event()

    def slow(_: object) -> None:
        begun.set()
        assert may_end.wait(10.0)

    running = Running(slow)
    assert begun.wait(10.0)
    running.stopping.set()
    assert commits(running) == [], "the loop, which ends meanwhile, has nothing to commit"
    may_end.set()
    running.end()
    [commit] = (one.message for one in running.performed)
    assert isinstance(commit, Commit)
    assert (commit.slices, commit.upto) == ((0,), (2,))


def test_an_application_that_closes_its_node_is_no_failure() -> None:
    def close(_: object) -> None:
        running.stopping.set()

    def closed(actions: list[Send]) -> None:
        if actions:
            raise ClosedError("participant")

    running = Running(close, start=False)
    running.worker._perform = closed
    running.thread.start()
    running.end()
    assert running.node.core.delivery.items == 2


def test_processes_everything_and_says_when_it_is_idle() -> None:
    seen: list[int] = []
    running = Running(lambda items: seen.extend(items.ids.tolist()))
    assert running.idle.wait(10.0)
    running.end()
    assert seen == [1, 2, 3, 4]
    assert running.node.core.delivery.items == 4
    assert running.worker.error is None
    assert running.worker.delay_s > 0


def refuse_the_third(items: Batch) -> None:
    if 3 in items.ids:
        raise ValueError("three")


def commits(running: Running) -> list[Commit]:
    sent = [action.message for action in running.node.core.writers.commit()]
    return [one for one in sent if isinstance(one, Commit)]


@pytest.mark.parametrize(("outcome", "dead"), [(GivenUp.SKIPPED, 0), (GivenUp.DEAD, 1)])
def test_only_the_item_that_fails_is_given_up_and_counted(outcome: GivenUp, dead: int) -> None:
    running = Running(refuse_the_third, outcome)
    assert wait_until(lambda: running.node.core.delivery.items == 4, 10)
    running.end()
    delivery = running.node.core.delivery
    assert running.given_up == [(3, "three", 2)]
    assert (delivery.failed, delivery.dead, running.worker.error) == (1, dead, None)


def test_by_default_an_item_that_fails_ends_the_node_and_stays_uncommitted() -> None:
    running = Running(refuse)
    assert running.stopping.wait(10.0)
    running.end()
    assert isinstance(running.worker.error, ValueError)
    assert running.node.core.delivery.items == 0
    assert commits(running) == []


def test_an_item_that_cannot_be_put_aside_ends_the_node_and_stays_uncommitted() -> None:
    running = Running(refuse, OSError("full"))
    assert running.stopping.wait(10.0)
    running.end()
    assert str(running.worker.error) == "full"
    assert commits(running) == []


def test_an_application_may_say_which_item_it_was() -> None:
    seen: list[int] = []

    def tell(items: Batch) -> None:
        for index, item in enumerate(items):
            if item.id == 2:
                raise ItemFailed(index, "two")
            seen.append(item.id)

    running = Running(tell, GivenUp.SKIPPED)
    assert wait_until(lambda: running.node.core.delivery.items == 4, 10)
    running.end()
    assert seen == [1, 3, 4]


def test_replies_leave_with_what_was_processed_and_before_it_is_committed() -> None:
    def answer(items: Batch) -> None:
        for row, item in enumerate(items):
            items.reply(row, str(item.id))
            if item.id == 4:
                raise ItemFailed(row, "four")

    running = Running(answer, GivenUp.SKIPPED)
    assert wait_until(lambda: running.node.core.delivery.items == 4, 10)
    running.end()
    assert running.replies == [(0, "1"), (1, "2"), (0, "3")]


def test_what_cannot_be_answered_was_not_processed() -> None:
    running = Running(lambda _: None, fault=ConnectionError("no mailbox"))
    running.thread.join(10.0)
    assert running.node.core.delivery.items == 0
    assert running.worker.error is running.fault
    running.end()


def test_ends_when_the_node_stops_although_there_is_more() -> None:
    running: list[Running] = []
    ready = Event()

    def stop_the_node(_: object) -> None:
        ready.wait(10.0)
        running[0].stopping.set()

    running.append(Running(stop_the_node))
    ready.set()
    running[0].end()
    assert running[0].node.core.delivery.items == 2


def test_a_state_that_cannot_be_taken_ends_the_worker_but_not_one_that_cannot_be_given() -> None:
    class Forgetful:
        def on_new_data(self, _: object) -> None:
            """Nothing."""

        def give(self, _slice: int) -> bytes:
            raise ValueError("no")

        take = forget = give

    running = Running(lambda _: None)
    application = Forgetful()
    assert stateful(application.on_new_data) is application
    assert stateful(refuse) is None
    running.worker._state = stateful(application)
    running.node.core.states = running.node.core.keeping._states = States(10)
    running.node.core.states.ask(1, frozenset({0}))
    assert wait_until(lambda: not running.node.core.states.pending, 10)
    assert running.worker.error is None
    running.node.core.states.own(0, 1)
    running.thread.join(10.0)
    assert isinstance(running.worker.error, TypeError)
    running.end()
