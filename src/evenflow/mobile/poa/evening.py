"""Which nodes go where, so that gateways are even and as few nodes as possible move.

One node after the other goes from the gateway that carries the most to the one that carries the
least, as long as that makes them more even. What a gateway carries is the number of its nodes, or
what was measured of it (items a second, CPU), of which each of its nodes counts for the mean. By
number the end is even within one, where limits allow it, and no gateway both gives and takes.

A gateway that drains gives all it has, and takes nothing. No gateway is given more than it takes
(``most_nodes``). Nodes that were attached a moment ago stay where they are (`Evening.rest_s`), so
no node goes to and fro; only a drain does not wait for that.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LOADS: Final = {"nodes": "mobile_nodes", "items": "mobile_items_s", "cpu": "process_cpu"}
"""What gateways can carry, and the property that says it."""


@dataclass(frozen=True, slots=True)
class Post:
    """A gateway, as the decision sees it."""

    name: str
    nodes: Mapping[str, float]
    """The nodes attached to it, each with when it was attached."""
    most_nodes: int
    draining: bool = False
    load: float | None = None
    """What it was measured to carry; None: as much as it has nodes."""


@dataclass(frozen=True, slots=True)
class Evening:
    """How even is even, and how much may move."""

    least_gain: float = 0.1
    """The least difference worth a move, as a part of the mean load of a gateway."""
    rest_s: float = 30.0
    """How long a node stays where it was attached."""
    most_moves: int = 10_000
    """Nodes that one plan moves."""


@dataclass(frozen=True, slots=True)
class Move:
    """Nodes that go from one gateway to another."""

    giver: str
    taker: str
    nodes: tuple[str, ...]


@dataclass(slots=True)
class _Side:
    """A gateway while nodes are being moved in thought."""

    post: Post
    count: int
    load: float
    each: float
    """What one of its nodes counts for."""
    movable: list[str] = field(default_factory=list)
    """Nodes that may go, the last one first."""


def uneven(posts: Sequence[Post], evening: Evening) -> bool:
    """Whether gateways are so uneven, or a draining one so full, that a plan is worth it."""
    if any(post.draining and post.nodes for post in posts):
        return any(not post.draining and len(post.nodes) < post.most_nodes for post in posts)
    loads = [_load(post) for post in posts if not post.draining]
    each = max(_each(posts), default=1.0)
    spread = max(loads, default=0.0) - min(loads, default=0.0)
    mean = sum(loads) / len(loads) if loads else 0.0
    return spread > max(evening.least_gain * mean, each * 1.5)


def moves(posts: Sequence[Post], evening: Evening, now: float) -> list[Move]:
    """Return which nodes go where; nothing when it is not worth it.

    Args:
        posts: The gateways.
        evening: How even is even.
        now: On the clock of `Post.nodes`.
    """
    if not uneven(posts, evening):
        return []
    sides = {post.name: _side(post, evening, now) for post in posts}
    assumed = _mean(side.each for side in sides.values() if side.count) or 1.0
    for side in sides.values():
        side.each = side.each or assumed
    taken: dict[tuple[str, str], list[str]] = {}
    left = evening.most_moves
    for drain in (True, False):
        givers = [side for side in sides.values() if side.post.draining == drain]
        takers = [side for side in sides.values() if not side.post.draining]
        left = _level(givers, takers, taken, left, drain=drain)
    return [Move(giver, taker, tuple(nodes)) for (giver, taker), nodes in sorted(taken.items())]


def _level(
    givers: list[_Side],
    takers: list[_Side],
    taken: dict[tuple[str, str], list[str]],
    left: int,
    *,
    drain: bool,
) -> int:
    """Move nodes from the fullest to the emptiest until it helps no more; return what is left."""
    high = [(-side.load, side.post.name, side) for side in givers if side.movable]
    low = [(side.load, side.post.name, side) for side in takers if _has_room(side)]
    heapq.heapify(high)
    heapq.heapify(low)
    while high and low and left:
        load, _, giver = heapq.heappop(high)
        if -load != giver.load:  # it has taken or given since
            heapq.heappush(high, (-giver.load, giver.post.name, giver))
            continue
        load, _, taker = low[0]
        if load != taker.load:
            heapq.heapreplace(low, (taker.load, taker.post.name, taker))
            continue
        if not drain and taker.load + giver.each > giver.load - giver.each + 1e-9:
            break  # the taker would carry more than the giver keeps
        heapq.heappop(low)
        taken.setdefault((giver.post.name, taker.post.name), []).append(giver.movable.pop())
        left -= 1
        giver.count, taker.count = giver.count - 1, taker.count + 1
        giver.load, taker.load = giver.load - giver.each, taker.load + giver.each
        if giver.movable:
            heapq.heappush(high, (-giver.load, giver.post.name, giver))
        if _has_room(taker):
            heapq.heappush(low, (taker.load, taker.post.name, taker))
    return left


def _side(post: Post, evening: Evening, now: float) -> _Side:
    rested = [
        (since, node)
        for node, since in post.nodes.items()
        if post.draining or now - since >= evening.rest_s
    ]
    rested.sort(reverse=True)  # who has been there longest goes first
    load, count = _load(post), len(post.nodes)
    each = load / count if count else 0.0
    return _Side(post, count, load, each, [node for _, node in rested])


def _has_room(side: _Side) -> bool:
    return side.count < side.post.most_nodes


def _load(post: Post) -> float:
    return float(len(post.nodes)) if post.load is None else post.load


def _each(posts: Iterable[Post]) -> list[float]:
    return [_load(post) / len(post.nodes) for post in posts if post.nodes]


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
