"""Who of the other brokers has gone, and who is there again: a line of the log each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.overlay.members.table import MemberTable

_log = logging.getLogger(__name__)


class Departures:
    """What was told of the other brokers so far."""

    def __init__(self) -> None:
        self._living: frozenset[str] = frozenset()
        self._gone: set[str] = set()

    def look(self, members: MemberTable) -> None:
        """Tell of those that went since the last look, and of those that are there again."""
        living = members.living
        for name in sorted(self._living - living.keys()):
            if members[name].left:
                extra = {"event": "broker-left", "broker": name}
                _log.warning("broker %s has left", name, extra=extra)
            else:
                extra = {"event": "broker-died", "broker": name}
                _log.warning("broker %s died or is not heard any more", name, extra=extra)
            self._gone.add(name)
        for name in sorted(self._gone & living.keys()):
            _log.warning("broker %s is there again", name)
            self._gone.discard(name)
        self._living = frozenset(living)
