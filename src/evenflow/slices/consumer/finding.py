"""Where a topic is served now, asked of the domain itself.

A reader in an executor is no part of the domain: it knows the addresses of the nodes when its batch
was planned, and the nodes tell it of others. When all of them are gone at once, nobody can tell;
then, and only then, it looks into the domain for a moment.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evenflow.domain.channels import PROGRESS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from evenflow.config import DomainConfig

LOOK_S: Final = 1.0


def find_addresses(domain: DomainConfig, topic: str) -> set[str]:
    """The addresses of all nodes that serve a topic; empty when the domain cannot be reached."""
    found: dict[str, str] = {}
    try:
        with Participant(domain) as participant:
            reader = participant.reader(PROGRESS)
            waiter = participant.waiter()
            waiter.attach(reader)
            deadline = time.monotonic() + LOOK_S
            while (left := deadline - time.monotonic()) > 0:
                waiter.wait(left)
                for told in reader.take():
                    if not isinstance(told, Gone) and told.topic == topic:
                        found[told.node] = told.address
    except EvenflowError:
        return set()
    return set(filter(None, found.values()))
