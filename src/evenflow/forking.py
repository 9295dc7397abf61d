"""What belongs to one process stays with it when that process is forked.

A forked child has a copy of everything and none of the threads; its sockets, and its locks on
files, are those of the parent. What it said would be taken for the parent's word, its goodbye for
the parent's end. So who has such things is told in the child, before anything else runs there: it
says nothing from then on, and to who uses it there what to do instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from evenflow.errors import UsageError

One = TypeVar("One")

_watched: Final[WeakKeyDictionary[object, Callable[[Any], None]]] = WeakKeyDictionary()


def watch(one: One, on_forked: Callable[[One], None]) -> None:
    """Call this with it in every child that is forked from now on, as long as it is there."""
    _watched[one] = on_forked


def watch_no_more(one: object) -> None:
    """It has closed: there is nothing to leave to anybody."""
    _watched.pop(one, None)


def in_parent(what: str, instead: str) -> UsageError:
    """What is said in a child of something that its parent has.

    Args:
        what: What it is, as in "the publisher of topic 'items'".
        instead: What to do in each process, as in "open a Publisher".
    """
    return UsageError(
        f"{what} belongs to process {os.getppid()}, from which this one was forked: start processes"
        f" by multiprocessing's 'spawn', and {instead} in each"
    )


def _tell() -> None:
    for one, on_forked in list(_watched.items()):
        on_forked(one)
    _watched.clear()


os.register_at_fork(after_in_child=_tell)
