"""The loop's endpoints in the domain: how many it keeps open, and that it closes them."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from tests.unit.slices.publisher.fakes import FakeParticipant

from evenflow.domain.channels import CACHE, REQUESTS
from evenflow.model.ids import WriterId
from evenflow.slices.node.loop import MOST_TAKERS, NodeLoop

from .alone import WRITER, owner_of


def loop_in(domain: Any, core: Any = None) -> NodeLoop:
    core = core or SimpleNamespace(node="me")
    topic: Any = SimpleNamespace(name="items", slices=4)
    return NodeLoop(
        core,
        topic,
        domain,
        waiter=domain.waiter(),
        work=threading.Condition(),
        stopping=threading.Event(),
        serving=None,
    )


def test_the_ways_to_nodes_that_took_over_long_ago_are_closed() -> None:
    domain = FakeParticipant(readers=1)
    loop = loop_in(domain)
    takers = [f"node-{number}" for number in range(MOST_TAKERS)]
    for taker in [*takers, takers[0], "one more"]:
        loop._meet(taker)
    closed = [taker for taker in takers if domain.of(CACHE, taker).closed]
    assert closed == [takers[1]]


def test_the_ways_to_a_publisher_that_was_asked_after_its_death_are_closed_when_it_has_ended() -> (
    None
):
    domain = FakeParticipant(readers=1)
    core = owner_of(0).core
    loop = loop_in(domain, core)
    way = loop.control_writers.prepare(REQUESTS, WriterId.text(WRITER))
    loop._turn(called=False)
    assert not way.closed  # type: ignore[attr-defined]
    core.writers.forget(WRITER)
    loop._turn(called=False)
    assert way.closed  # type: ignore[attr-defined]
