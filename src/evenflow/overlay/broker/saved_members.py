"""The brokers that a broker has written down: they are asked before a topic is made anew.

Who comes for the first time, was away, or has lost its disk is told which topics there are, at once
and a while later: at first there may have been no way to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.messages import Member

TELL_AGAIN_S = 2.0


class SavedMembers:
    """Who is known, on disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._saved = {member.name: member for member in store.members()}
        self._untold: dict[str, float] = {}
        """Brokers that have come, and when they are told again which topics there are."""

    def reborn(self, me: Member) -> Member:
        """Return this broker under a higher incarnation than before, whatever the clock says.

        Its disk keeps the number that it was given when it was empty.
        """
        before = self._saved.get(me.name)
        if before is None:
            return me
        newest = max(me.incarnation, before.incarnation + 1)
        return replace(me, incarnation=newest, disk=before.disk)

    def of_earlier_life(self) -> list[Member]:
        """Return those known before: each is dead until somebody says that it lives."""
        return [
            replace(member, incarnation=max(0, member.incarnation - 1), alive=False)
            for member in self._saved.values()
        ]

    def save(self, members: Iterable[Member], now: float) -> list[str]:
        """Write down what is new; return to whom it is news which topics there are."""
        ignorant = []
        for member in members:
            before = self._saved.get(member.name)
            if before != member:
                self._saved[member.name] = member
                self._store.save_member(member)
            same = before is not None and before.disk == member.disk
            if not (same and before is not None and before.alive) and member.alive:
                ignorant.append(member.name)
        self._untold.update(dict.fromkeys(ignorant, now + TELL_AGAIN_S))
        return ignorant

    def take_untold(self, now: float) -> list[str]:
        """Return who is due to be told again; nobody is a third time."""
        found = [name for name, due in self._untold.items() if now >= due]
        for name in found:
            del self._untold[name]
        return found
