"""What a mailbox finds on its disk when it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptLetter:
    """A letter, without its payload."""

    number: int
    time: int
    expires: int
    octets: int
    """Length of the payload."""
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A mobile node."""

    name: str
    had: int = 0
    seen: float = 0.0
    attributes: str = "{}"
    """JSON object."""
    place: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Everything but the payloads."""

    newest: int = 0
    """The largest number that was ever given to a letter."""
    letters: Sequence[KeptLetter] = ()
    """By number, rising."""
    nodes: Sequence[KnownNode] = ()
    requests: Sequence[tuple[int, int, int]] = ()
    """Source, number, recipients; by age."""
