"""Where things are: coordinates in the unit square, and the nodes closest to them (section I-A).

A topic's name hashes to its home coordinate. A coordinate belongs to the node closest to it. That
is all a client needs to know; cells and neighbours are in `plane`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evenflow.errors import OverlayError
from evenflow.overlay.values import UnitFloat

if TYPE_CHECKING:
    from collections.abc import Mapping

N = TypeVar("N", int, str)

LONGEST_NAME = 1024
"""Bytes a topic's name may have."""


class Coordinate(NamedTuple):
    """A place in the unit square."""

    x: UnitFloat
    y: UnitFloat


def a_place(given: object) -> Coordinate:
    """Return a coordinate that a caller gave; `OverlayError` when it is none."""
    if isinstance(given, tuple) and len(given) == 2:
        x, y = given
        if all(isinstance(one, int | float) and 0 <= one <= 1 for one in (x, y)):
            return Coordinate(float(x), float(y))
    raise OverlayError(f"{given!r} is no coordinate: give two numbers from 0 to 1")


def geographic_hash(topic: str) -> Coordinate:
    """Return the home coordinate of a topic: the same everywhere, and even over the square."""
    if not isinstance(topic, str):
        raise OverlayError(f"a topic's name is text, not {type(topic).__name__}")
    try:
        name = topic.encode()
    except UnicodeEncodeError as error:
        raise OverlayError(f"the topic name {topic!r} is not valid Unicode: {error}") from error
    if not 1 <= len(name) <= LONGEST_NAME:
        raise OverlayError(f"a topic's name has 1 to {LONGEST_NAME} bytes, not {len(name)}")
    digest = hashlib.blake2b(name, digest_size=16).digest()
    # 53 bits each are what a float in [0, 1) holds.
    x, y = (int.from_bytes(digest[at : at + 8], "big") >> 11 for at in (0, 8))
    return Coordinate(x / 2**53, y / 2**53)


def closest_nodes(
    coordinate: Coordinate, nodes: Mapping[N, Coordinate], count: int
) -> tuple[N, ...]:
    """Return N_1, N_2, ... of a coordinate, at most ``count``; equal distances in node order."""

    def distance(node: N) -> tuple[float, N]:
        there = nodes[node]
        return (there.x - coordinate.x) ** 2 + (there.y - coordinate.y) ** 2, node

    return tuple(sorted(nodes, key=distance)[:count])
