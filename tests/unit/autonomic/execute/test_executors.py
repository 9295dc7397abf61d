"""Executors in a process: done once, answered as often as asked, and never harmed by another."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from evenflow.autonomic.execute.executors import (
    MOST_REMEMBERED,
    CallExecutor,
    ExecutorHost,
    Surroundings,
    outcome_of,
)
from evenflow.config import Config
from evenflow.model.messages import ActionOrder, ActionOutcome

HERE = Surroundings("here", Config())


def order(
    attempt: int = 1, *, action: str = "a", kind: str = "set", args: bytes = b"", undo: bool = False
) -> ActionOrder:
    return ActionOrder("p", action, attempt, "here", kind, args, undo)


class Light:
    """Something that can be on or off, and counts how often it was touched."""

    def __init__(self) -> None:
        self.on = False
        self.touched = 0

    def set(self, args: bytes) -> None:
        if args == b"fail":
            raise RuntimeError("it is stuck")
        self.on, self.touched = True, self.touched + 1

    def unset(self, _: bytes) -> None:
        self.on, self.touched = False, self.touched + 1


@pytest.fixture
def light() -> Light:
    return Light()


@pytest.fixture
def host(light: Light) -> ExecutorHost:
    return ExecutorHost(HERE, {"set": lambda _: CallExecutor(light.set, light.unset)})


def test_an_order_that_comes_again_is_answered_again_and_done_once(
    host: ExecutorHost, light: Light
) -> None:
    first = host.handle(order(), 0.0)
    assert first == [ActionOutcome("p", "a", 1, ok=True)]
    assert host.handle(order(), 1.0) == first
    assert light.touched == 1


def test_a_new_attempt_of_what_was_done_is_answered_and_not_done_again(
    host: ExecutorHost, light: Light
) -> None:
    host.handle(order(1), 0.0)
    assert host.handle(order(2), 1.0) == [ActionOutcome("p", "a", 2, ok=True)]
    assert light.touched == 1
    assert host.handle(order(1), 2.0) == [], "an older attempt than one that was seen"


def test_what_was_done_is_undone_once_and_what_never_was_is_left(
    host: ExecutorHost, light: Light
) -> None:
    assert host.handle(order(1, undo=True), 0.0)[0].ok
    assert light.touched == 0
    host.handle(order(2), 1.0)
    assert light.on
    assert host.handle(order(3, undo=True), 2.0)[0].ok
    assert host.handle(order(4, undo=True), 3.0)[0].ok
    assert (light.on, light.touched) == (False, 2)


def test_an_executor_that_raises_refuses_its_action_alone(host: ExecutorHost, light: Light) -> None:
    [refused] = host.handle(order(action="a", args=b"fail"), 0.0)
    assert (refused.ok, refused.reason) == (False, "RuntimeError: it is stuck")
    assert host.handle(order(action="b"), 1.0)[0].ok
    assert light.on


def test_an_unknown_kind_is_refused_with_those_that_are_known(host: ExecutorHost) -> None:
    [refused] = host.handle(order(kind="sett"), 0.0)
    assert not refused.ok
    assert "'sett'" in refused.reason
    assert "set" in refused.reason


class Slow:
    """Begins what is ordered and is through with it when it is told; may break."""

    def __init__(self) -> None:
        self.orders: list[ActionOrder] = []
        self.broken = False

    def order(self, order: ActionOrder, now: float) -> None:
        self.orders.append(order)

    def poll(self, now: float) -> list[ActionOutcome]:
        if self.broken:
            raise OSError("gone")
        done, self.orders = [each for each in self.orders if now >= 5.0], []
        return [outcome_of(each, ok=True) for each in done]


def test_an_executor_that_breaks_while_it_works_refuses_what_it_had_in_hand(light: Light) -> None:
    slow = Slow()
    host = ExecutorHost(
        HERE, {"slow": lambda _: slow, "set": lambda _: CallExecutor(light.set, light.unset)}
    )
    assert host.handle(order(kind="slow"), 0.0) == []
    slow.broken = True
    outcomes = host.handle(order(action="b"), 1.0)
    assert {(each.action_id, each.ok) for each in outcomes} == {("a", False), ("b", True)}


def test_it_remembers_a_bounded_number_of_actions(host: ExecutorHost) -> None:
    for number in range(MOST_REMEMBERED + 10):
        host.handle(order(action=f"a{number}"), 0.0)
    assert len(host._newest) == MOST_REMEMBERED


@pytest.mark.parametrize("seed", range(50))
def test_whatever_order_comes_when_each_change_is_made_once(seed: int) -> None:
    """Orders of rising attempts, lost, repeated and late: the light is as the newest one says."""
    rng = Random(seed)
    light = Light()
    host = ExecutorHost(HERE, {"set": lambda _: CallExecutor(light.set, light.unset)})
    sent = [order(attempt, undo=rng.random() < 0.5) for attempt in range(1, 20)]
    newest, answered = 0, Counter[int]()
    for _ in range(100):
        one = rng.choice(sent[: newest + 2])
        for outcome in host.handle(one, 0.0):
            assert outcome.attempt == one.attempt
            answered[outcome.attempt] += 1
        if one.attempt > newest:
            newest = one.attempt
        assert light.on == (not sent[newest - 1].undo)
    assert answered[newest] > 0
    assert light.touched <= newest
