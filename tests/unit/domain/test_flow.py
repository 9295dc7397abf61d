"""How much may be under way, and when waiting is of no use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evenflow.domain.flow import FEW, GENERATION, MOST_S, SHARE, Flow

LIMIT_S = 0.01


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Limits:
    blocking_s: float = LIMIT_S


@dataclass(eq=False)
class FakeWriter:
    """A writer whose reader takes ``ack_s`` to acknowledge."""

    clock: Clock
    ack_s: float = 0.0
    channel: Limits = field(default_factory=Limits)
    waits: int = 0

    def is_acked(self, timeout_s: float) -> bool:
        self.waits += 1
        self.clock.now += min(self.ack_s, timeout_s)
        return self.ack_s <= timeout_s


def flow_of(count: int, ack_s: float = 0.0) -> tuple[Any, list[Any], Clock]:
    clock = Clock()
    return Flow(clock), [FakeWriter(clock, ack_s) for _ in range(count)], clock


def write(flow: Any, writers: list[Any], octets: int, size: int = 10_000) -> None:
    for number in range(octets // size + 1):
        flow.wrote(writers[number % len(writers)], size)


def test_nobody_waits_within_two_generations() -> None:
    flow, writers, _ = flow_of(50)
    write(flow, writers, 2 * GENERATION - 20_000)
    assert sum(writer.waits for writer in writers) == 0


def test_the_elder_generation_is_waited_for() -> None:
    flow, writers, _ = flow_of(50)
    write(flow, writers, 2 * GENERATION + 20_000)
    assert [writer.waits for writer in writers] == [1] * 50


def test_few_writers_that_go_on_are_not_waited_for() -> None:
    flow, writers, _ = flow_of(FEW)
    write(flow, writers, 20 * GENERATION)
    assert sum(writer.waits for writer in writers) == 0


def test_few_large_writers_in_turn_are_waited_for() -> None:
    flow, writers, _ = flow_of(100)
    write(flow, writers, 10 * GENERATION, size=GENERATION // 3)
    assert sum(writer.waits for writer in writers) > 0


def test_a_slow_receiver_holds_the_stream_back() -> None:
    flow, writers, clock = flow_of(50, ack_s=LIMIT_S / 100)
    start = clock.now
    write(flow, writers, 10 * GENERATION)
    assert clock.now - start > 50 * LIMIT_S / 100
    assert flow.may_wait(clock.now)


def test_a_stopped_receiver_costs_a_bounded_part_of_the_time() -> None:
    flow, writers, clock = flow_of(50, ack_s=60.0)
    start = clock.now
    for _ in range(1_000):
        write(flow, writers, GENERATION)
        clock.now += 0.001  # the time that writing takes
    waited = clock.now - start - 1.0
    assert waited <= MOST_S + SHARE * (clock.now - start) + LIMIT_S


def test_the_allowance_is_used_up_and_grows_again() -> None:
    flow, _, clock = flow_of(0)
    assert flow.may_wait(clock.now)
    flow.waited_in_vain(2 * MOST_S)
    assert not flow.may_wait(clock.now)
    assert not flow.may_wait(clock.now + MOST_S / SHARE - 0.01)
    assert flow.may_wait(clock.now + MOST_S / SHARE + 0.01)


def test_the_allowance_grows_to_its_bound_only() -> None:
    flow, _, clock = flow_of(0)
    assert flow.may_wait(clock.now + 1_000)
    flow.waited_in_vain(MOST_S)
    assert not flow.may_wait(clock.now + 1_000)
