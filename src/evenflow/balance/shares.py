"""Shares: what each node ought to carry, and how far it may stray from that.

The load divided by strength would be a node's share if load could be cut anywhere. It cannot: a
slice that alone is larger than the share of the strongest node (the head of a Zipf distribution
often is) stays whole. Such a *giant* gets a host, whose share is the giant, and the rest of
the load is divided over the rest of the nodes. That is repeated until no slice is too
large for the shares that are left, so the shares say what the most even placement of these
slices could look like:

    loads 6 1 1 1 1 on three equal nodes: share of the giant's host 6, of the others 2 each

Around its share every node has a :class:`Band`. Only load outside the bands is worth moving
anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

GIANT_SLACK = 0.02
"""How far the host of a giant may go above it, and how much stronger a better host must be."""


class Weight(NamedTuple):
    """A slice as the levelling algorithms see it; a tuple, because thousands are made at a time."""

    load: float
    id: int
    owner: str
    free: bool
    """Whether it may move now."""
    barred: str | None = None
    """A node it may not move to."""
    only: str | None = None
    """The only node it may move to; ``None`` for any."""


@dataclass(frozen=True, slots=True)
class Band:
    """What one node should carry."""

    low: float
    """Below it the node is filled."""
    share: float
    brim: float
    """Up to here it takes slices."""
    high: float
    """Above it the node sheds."""
    strength: float

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
    load = sum(weight.load for weight in weights)
    left = dict(strengths)
    housing = _Housing(strengths, weights)
    for giant in sorted(weights, key=lambda each: (-each.load, each.id)):
        if not left or giant.load <= _largest_share(load, left) * (1 + tolerance):
            break
        load -= giant.load
        left.pop(housing.house(giant), None)
    bands = {
        name: Band(hosted, hosted, hosted, hosted * (1 + GIANT_SLACK), strengths[name])
        for name, hosted in housing.hosted.items()
    }
    for name, strength in left.items():
        share = max(0.0, load / sum(left.values()) * strength)
        high = share * (1 + tolerance)
        bands[name] = Band(share * (1 - tolerance), share, high, high, strength)
    return Shares(bands, housing.hosts)


def _largest_share(load: float, left: Mapping[str, float]) -> float:
    return load / sum(left.values()) * max(left.values())


class _Housing:
    """Finds a host for one giant after the other."""

    def __init__(self, strengths: Mapping[str, float], weights: Iterable[Weight]) -> None:
        self.hosts: dict[int, str] = {}
        self.hosted: dict[str, float] = {}
        self._strengths = strengths
        self._carried = dict.fromkeys(strengths, 0.0)
        for weight in weights:
            if weight.owner in self._carried:
                self._carried[weight.owner] += weight.load

    def house(self, giant: Weight) -> str:
        """It stays if it must or if it is well placed; else the emptiest of the best takes it."""
        strains = {
            name: (self.hosted.get(name, 0.0) + giant.load) / strength
            for name, strength in self._strengths.items()
        }
        good = min(strains.values()) * (1 + GIANT_SLACK)
        if giant.owner in strains and (strains[giant.owner] <= good or not giant.free):
            host = giant.owner
        else:
            able = [name for name, strain in strains.items() if strain <= good]
            host = min(able, key=lambda name: (self._carried[name], name))
        self.hosts[giant.id] = host
        self.hosted[host] = self.hosted.get(host, 0.0) + giant.load
        return host


def misfits(shares: Shares, weights: Iterable[Weight]) -> list[Weight]:
    """Slices that cannot stay where they are, the largest first.

    Giants that are not on their host, slices beside a giant, slices too large for their node.
    """
    beside = {name: band.high for name, band in shares.bands.items()}
    for host in shares.hosts.values():
        beside[host] -= shares.bands[host].share

    def misplaced(weight: Weight) -> bool:
        if weight.id in shares.hosts:
            return weight.owner in beside and shares.hosts[weight.id] != weight.owner
        return weight.owner in beside and weight.load > beside[weight.owner]

    return sorted(filter(misplaced, weights), key=lambda each: (-each.load, each.id))
