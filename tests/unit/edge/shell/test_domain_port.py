"""A door's words to the domain, when DDS does not take them."""

from __future__ import annotations

import threading
from typing import Any

from evenflow.edge.shell import domain_port
from evenflow.edge.shell.domain_port import DomainPort, Word
from evenflow.model.messages import SettleRequest


class Domain:
    """A participant, and all it makes; it takes nothing before ``takes``."""

    def __init__(self) -> None:
        self.takes = False
        self.tries = 0
        self.has_told = threading.Event()
        self.is_over = threading.Event()

    def waiter(self, *_: object) -> Domain:
        return self

    def wait(self, timeout_s: float) -> None:
        self.is_over.wait(timeout_s)

    def wake(self) -> None:
        self.is_over.set()

    def writer(self, *_: object) -> Domain:
        return self

    def write(self, _: object) -> bool:
        self.tries += 1
        if self.takes:
            self.has_told.set()
        return self.takes


class Rests(threading.Condition):
    """Counts how often somebody rests, without waiting; after three times DDS takes all."""

    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self.domain = domain
        self.count = 0

    def wait_for(self, predicate: Any, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().wait_for(predicate)
        assert timeout == domain_port.RETRY_S
        self.count += 1
        self.domain.takes = self.count == 3
        return predicate()


def test_it_rests_before_it_tries_again_what_dds_does_not_take() -> None:
    domain = Domain()
    port = DomainPort("north", domain, [], lambda _: threading.Event(), print)  # type: ignore[arg-type]
    rests = port._has_untold = Rests(domain)
    for client in ("a", "b"):
        port.tell(Word(SettleRequest("north", client, "run", 1, "traffic")), client)
    port.start()
    assert domain.has_told.wait(20)
    port.close()
    assert rests.count == 3, "once a round of all that waits"
    assert domain.tries == 3 * 2 + 2
