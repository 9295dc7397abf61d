"""When a broker has its shelves delete what is too old or too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.overlay.protocol.settings import Settings

EXPIRE_S = 1.0
"""How often, where a shelf has a bound in bytes. Where messages only have an age, which is long,
less often: ten times in that while, and once in `LONGEST_EXPIRE_S` at least."""
LONGEST_EXPIRE_S = 10.0


class Expiry:
    """The times at which all shelves are looked through."""

    def __init__(self, settings: Settings, now: float) -> None:
        self._bounded = bool(settings.age_s or settings.shelf_bytes)
        self._every_s = EXPIRE_S
        if not settings.shelf_bytes:
            self._every_s = min(max(EXPIRE_S, settings.age_s / 10), LONGEST_EXPIRE_S)
        self._next = now

    def take_due(self, now: float) -> bool:
        """Return whether it is time; then the next time is later."""
        if not self._bounded or now < self._next:
            return False
        self._next = now + self._every_s
        return True
