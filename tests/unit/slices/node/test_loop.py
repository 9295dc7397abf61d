"""The loop's endpoints in the domain: how many it keeps open, and that it closes them."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from tests.unit.slices.publisher.fakes import FakeParticipant

from evenflow.domain.channels import CACHE
from evenflow.slices.node.loop import MOST_TAKERS, NodeLoop


def loop_in(domain: Any) -> NodeLoop:
    core: Any = SimpleNamespace(node="me")
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
