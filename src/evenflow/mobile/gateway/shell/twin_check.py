"""Whether a gateway of one's own name is running already: asked before the doors are opened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evenflow.domain.channels import GATEWAYS
from evenflow.errors import DomainError
from evenflow.mobile.gateway.twins import twin
from evenflow.model.messages import GatewayReport

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

LISTEN_S: Final = 0.5
"""How long it listens; who is not found by then is found later, and one of the two ends."""


class TwinCheck:
    """Listens for a gateway of this name from the moment it is made.

    Args:
        name: This gateway.
        participant: The process's place in the domain.
    """

    def __init__(self, name: str, participant: Participant) -> None:
        self._name = name
        self._end = time.monotonic() + LISTEN_S
        self._waiter = participant.waiter()
        self._reader = participant.reader(GATEWAYS)
        self._waiter.attach(self._reader)

    def refuse_second(self) -> None:
        """Wait until it has listened long enough.

        Raises:
            DomainError: There is one.
        """
        try:
            while (left := self._end - time.monotonic()) > 0:
                self._waiter.wait(left)
                for report in self._reader.take():
                    if isinstance(report, GatewayReport) and report.gateway == self._name:
                        raise DomainError(f"gateway {self._name}", twin(report))
        finally:
            self._reader.close()
            self._waiter.close()
