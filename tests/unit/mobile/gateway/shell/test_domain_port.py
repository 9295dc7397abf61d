"""What a gateway has to tell the domain, when more comes than goes."""

from __future__ import annotations

import threading
from typing import Any

from evenflow.edge.actions import Write
from evenflow.mobile.gateway.shell.domain_port import GatewayPort
from evenflow.model.messages import NodeOutcome


class Domain:
    """A participant, and all it makes; a write waits until it is told to go on."""

    def __init__(self) -> None:
        self.goes = threading.Event()
        self.is_over = threading.Event()
        self.told: list[Any] = []

    def waiter(self, *_: object) -> Domain:
        return self

    reader = writer = waiter

    def take(self) -> list[Any]:
        return []

    def wait(self, timeout_s: float) -> None:
        self.is_over.wait(timeout_s)

    def wake(self) -> None:
        self.is_over.set()

    def write(self, message: Any) -> bool:
        self.goes.wait()
        self.told.append(message)
        return True

    def close(self) -> None:
        pass


def outcome(node: str, number: int) -> Write:
    said = NodeOutcome("g1", node, f"g2 p/{number}", True, "", 1.0, 0, (), ())
    return Write(said, "g2")


def test_of_what_a_node_says_of_handovers_the_newest_waits() -> None:
    domain = Domain()
    port = GatewayPort("g1", domain, lambda _: threading.Event(), print)  # type: ignore[arg-type]
    for number in range(100):
        port.tell(outcome("car-1", number))
    port.tell(outcome("car-2", 0))
    domain.goes.set()
    port.close()
    assert len(domain.told) <= 3
    assert domain.told[-2:] == [outcome("car-1", 99).message, outcome("car-2", 0).message]
