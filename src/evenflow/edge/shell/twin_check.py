"""Whether a door of one's own name is running already: asked before one opens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.channels import Gone
from evenflow.errors import NameTaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.domain.channels import Channel
    from evenflow.domain.cyclone import Participant
    from evenflow.edge.twins import Presence

LISTEN_S: Final = 0.5
"""How long it listens; who is not found by then is found later, and one of the two ends."""


class TwinCheck:
    """Listens for a door of this name from the moment it is made.

    Args:
        name: This door.
        participant: The process's place in the domain.
        channel: Where doors of its kind report.
        presence_of: What a report says about its process.
    """

    def __init__(
        self,
        name: str,
        participant: Participant,
        channel: Channel,
        presence_of: Callable[[Any], Presence],
    ) -> None:
        self._name = name
        self._presence_of = presence_of
        self._end = time.monotonic() + LISTEN_S
        self._waiter = participant.waiter()
        self._reader = participant.reader(channel)
        self._waiter.attach(self._reader)

    def refuse_second(self) -> None:
        """Wait until it has listened long enough.

        Raises:
            NameTaken: There is one.
        """
        try:
            while (left := self._end - time.monotonic()) > 0:
                self._waiter.wait(left)
                for report in self._reader.take():
                    if not isinstance(report, Gone):
                        self._refuse(self._presence_of(report))
        finally:
            self._reader.close()
            self._waiter.close()

    def _refuse(self, found: Presence) -> None:
        if found.name == self._name:
            raise NameTaken(f"{found.kind} {self._name}", found.refusal())
