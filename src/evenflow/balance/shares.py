"""Shares: what each node ought to carry, and how far it may stray from that.

The load divided by strength would be a node's share if load could be cut anywhere. It cannot: a
slice that alone is larger than the share of the strongest node (the head of a Zipf distribution
often is) stays whole. Such a *giant* gets a host of its own, whose share is the giant, and the
rest of the load is divided over the rest of the nodes. That is repeated until no slice is too
large for the shares that are left, so the shares say what the most even placement of these
slices could look like:

    loads 6 1 1 1 1 on three equal nodes:   share of the giant's host 6, of the others 2   (not 10/3
    each)

Around its share every node has a :class:`Band`. Only load outside the bands is worth moving
anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

GIANT_SLACK = 0.02
"""How far the host of a giant may go above it, and how much stronger a better host must be."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A slice as the levelling algorithms see it."""

    load: float
    id: int
    owner: str
    free: bool
    """Whether it may move now."""


@dataclass(frozen=True, slots=True)
class Band:
    """What one node should carry."""

    low: float
    share: float
    high: float

    def outside(self, load: float) -> float:
        """How far a load lies outside the band."""
        return max(load - self.high, self.low - load, 0.0)


@dataclass(frozen=True, slots=True)
class Shares:
    """The bands of all nodes that stay, and the hosts of the giants."""

    bands: Mapping[str, Band]
    hosts: Mapping[int, str]
    """For each giant slice the node that should carry it."""


def fair_shares(
    strengths: Mapping[str, float], weights: Collection[Weight], tolerance: float
) -> Shares:
    """Divide the weights over nodes of the given strengths."""
    left = dict(strengths)
    carried = dict.fromkeys(strengths, 0.0)
    for weight in weights:
        if weight.owner in carried:
            carried[weight.owner] += weight.load
    load = sum(weight.load for weight in weights)
    bands: dict[str, Band] = {}
    hosts: dict[int, str] = {}
    for weight in sorted(weights, key=lambda each: (-each.load, each.id)):
        if not left:
            break
        strongest = max(left.values())
        if weight.load <= load / sum(left.values()) * strongest * (1 + tolerance):
            break
        host = _host(weight, left, carried, strongest)
        hosts[weight.id] = host
        bands[host] = Band(weight.load, weight.load, weight.load * (1 + GIANT_SLACK))
        load -= weight.load
        del left[host]
    level = load / sum(left.values()) if left else 0.0
    for name, strength in left.items():
        share = max(0.0, level * strength)
        bands[name] = Band(share * (1 - tolerance), share, share * (1 + tolerance))
    return Shares(bands, hosts)


def _host(
    giant: Weight, left: Mapping[str, float], carried: Mapping[str, float], strongest: float
) -> str:
    """The giant stays if it must or if no node is notably stronger; else the emptiest takes it."""
    enough = strongest / (1 + GIANT_SLACK)
    if giant.owner in left and (left[giant.owner] >= enough or not giant.free):
        return giant.owner
    able = [name for name, strength in left.items() if strength >= enough]
    return min(able, key=lambda name: (carried[name], name))
