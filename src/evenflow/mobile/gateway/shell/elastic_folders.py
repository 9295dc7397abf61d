"""What is on disk of the gateways that another one has started: their folders, beside its own.

A gateway that has ended well has nothing left to say: no nodes, nothing in its outbox. It leaves a
file in its folder that says so, and takes it away when it begins anew. A folder without it belongs
to a gateway that runs, or that has died and has to be started again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evenflow.mobile.gateway.events import Started
from evenflow.mobile.gateway.naming import SIGN, parent_of

if TYPE_CHECKING:
    from pathlib import Path

ENDED: Final = "ended"


def started_by(name: str, folder: Path) -> Started:
    """Gateways that ``name`` has started: those that have not ended well, and those that have.

    Args:
        name: The gateway that has started them.
        folder: Where the folders of gateways are.
    """
    if parent_of(name) or not folder.is_dir():
        return Started(frozenset())
    found = [one for one in folder.iterdir() if one.name.startswith(f"{name}{SIGN}")]
    own = [one for one in found if parent_of(one.name) == name]
    ended = frozenset(one.name for one in own if (one / ENDED).exists())
    return Started(frozenset(one.name for one in own) - ended, ended)


class ElasticFolders:
    """The folder of a gateway, and those of the gateways that it has started.

    Args:
        name: The gateway.
        folder: Its own.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._started = Started(frozenset())

    def begin(self) -> None:
        """The gateway begins."""
        (self._folder / ENDED).unlink(missing_ok=True)

    def end(self) -> None:
        """The gateway has ended well."""
        (self._folder / ENDED).touch()

    async def news(self) -> list[Started]:
        """Which it has started, if that is news; a disk that fails now is looked at again."""
        with suppress(OSError):
            found = await asyncio.to_thread(started_by, self._name, self._folder.parent)
            if found != self._started:
                self._started = found
                return [found]
        return []
