"""What belongs to one process stays with it when that process is forked.

A forked child has a copy of everything and none of the threads; its sockets, and its locks on
files, are those of the parent. What it said would be taken for the parent's word, its goodbye for
the parent's end. So who has such things is told in the child, before anything else runs there.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class OfOneProcess(Protocol):
    """Something that a forked child must not use."""

    def on_forked(self) -> None:
        """This is a child of the process that it belongs to: leave it to that one."""


_watched: Final[WeakSet[OfOneProcess]] = WeakSet()


def watch(one: OfOneProcess) -> None:
    """Tell it in every child that is forked from now on, as long as it is there."""
    _watched.add(one)


def watch_no_more(one: OfOneProcess) -> None:
    """It has closed: there is nothing to leave to anybody."""
    _watched.discard(one)


def _tell() -> None:
    for one in list(_watched):
        one.on_forked()
    _watched.clear()


os.register_at_fork(after_in_child=_tell)
