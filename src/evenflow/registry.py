"""Names a user may write, and the things they stand for.

A registry is a plain mapping written out in the package that owns the things: nothing registers
itself by being imported. Other distributions add their own through an entry point group, which is
looked up only when a name is not one of ours, and once in the life of a process: what is installed
does not change under it, and the lookup reads a file of every distribution. An unknown name is an
error that lists the known ones.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from evenflow.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@cache
def offered_in(group: str) -> Mapping[str, EntryPoint]:
    """What other distributions offer in an entry point group, by name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import

    return {point.name: point for point in entry_points(group=group)}


class Registry(Generic[T]):
    """Things of one kind by name.

    Args:
        kind: What the things are called in an error ("balancing algorithm").
        entries: Our own things by name.
        group: Entry point group in which others may offer theirs.
    """

    __slots__ = ("_entries", "_group", "kind")

    def __init__(self, kind: str, entries: Mapping[str, T], *, group: str | None = None) -> None:
        self.kind = kind
        self._entries = dict(entries)
        self._group = group

    def get(self, name: str) -> T:
        """Return the thing called ``name``; raise `UnknownName` when there is none."""
        if name in self._entries:
            return self._entries[name]
        offered = self._offered()
        if name in offered:
            return cast("T", offered[name].load())
        raise UnknownName(self.kind, name, self.names())

    def names(self) -> tuple[str, ...]:
        """All known names, ours in the order they were written, then those of others."""
        others = sorted(set(self._offered()) - set(self._entries))
        return (*self._entries, *others)

    def _offered(self) -> Mapping[str, EntryPoint]:
        return offered_in(self._group) if self._group is not None else {}

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())
