"""The thread of the application: what it gets, and what its errors do."""

from __future__ import annotations

from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

from evenflow.model.messages import Commit
from evenflow.slices.actions import Send
from evenflow.slices.node.worker import Worker

from .alone import Node, batch, owner_of

if TYPE_CHECKING:
    from evenflow.slices.node.worker import OnNewData


class Running:
    """A worker in its thread, over a node with four items that are delivered two at a time."""

    def __init__(self, on_new_data: OnNewData, *, stop_on_error: bool = False) -> None:
        self.node: Node = owner_of(0)
        self.node.gets(batch(first=1, count=4))
        self.stopping, self.idle = Event(), Event()
        self.performed: list[Send] = []
        # The lease of the core counts from 0, the worker looks at the real clock.
        self.node.core.next_delivery = lambda _: self.node.core.delivery.begin(0.0)  # type: ignore[method-assign]
        self.worker = Worker(
            self.node.core,
            on_new_data,
            work=Condition(),
            stopping=self.stopping,
            perform=self.performed.extend,
            on_idle=self.idle.set,
            stop_on_error=stop_on_error,
        )
        self.thread = Thread(target=self.worker.run, daemon=True)
        self.thread.start()

    def end(self) -> None:
        self.stopping.set()
        self.thread.join(10.0)
        assert not self.thread.is_alive()


def refuse(_: object) -> None:
    raise ValueError("not these")


def test_processes_everything_and_says_when_it_is_idle() -> None:
    seen: list[int] = []
    running = Running(lambda items: seen.extend(items.ids.tolist()))
    assert running.idle.wait(10.0)
    running.end()
    assert seen == [1, 2, 3, 4]
    assert running.node.core.delivery.items == 4
    assert running.worker.error is None
    assert running.worker.delay_s > 0


def test_an_error_is_counted_and_work_goes_on() -> None:
    running = Running(refuse)
    assert running.idle.wait(10.0)
    running.end()
    assert running.node.core.delivery.failed == 4
    assert running.worker.error is None


def test_an_error_may_end_the_node_and_leaves_the_items_uncommitted() -> None:
    running = Running(refuse, stop_on_error=True)
    assert running.stopping.wait(10.0)
    running.end()
    assert isinstance(running.worker.error, ValueError)
    assert running.node.core.delivery.items == 0
    commits = [
        action
        for action in running.node.core.writers.commit()
        if isinstance(action, Send) and isinstance(action.message, Commit)
    ]
    assert commits == []


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
