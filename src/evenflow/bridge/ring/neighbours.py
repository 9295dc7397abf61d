"""Who takes part in the ring, as one bridge knows it (C-DDSB, sections 3.2 and 4.1).

Membership comes from the domain's own discovery: a bridge is *heard* from its first report until
DDS says that its process is gone. What discovery does not tell is repaired by stabilisation, the
paper's successors and predecessors: a bridge names its two neighbours in its report, and whoever
hears it takes those for members too (*named*). So a broken path between two bridges does not make
them disagree, as long as one of each other's neighbours is heard by both.

- A bridge names only whom it hears itself. Hearsay is not passed on, so two cannot keep a dead one
  alive by naming it to each other.
- The own word of a bridge counts more than that of others about it.
- A bridge that was heard and is silent now counts as gone for ``doubt_s``, whoever names it: those
  that name it have perhaps not missed it yet. It counts again when it is named after that.

A bridge without points (it drains) is heard and is no member. One that says that it is *leaving*
has ended; all others that fall silent may as well be cut off. A bridge is *isolated* when it hears
nobody, and the last that it heard did not say goodbye: perhaps it is itself that is cut off. Who
has always been alone is not isolated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.bridge.ring.identifiers import Placing
    from evenflow.model.messages import BridgeReport

MOST_BRIDGES: Final = 1_000
"""Bridges of one ring; further ones are not heard, and it is remembered of so many that they fell
silent."""


class Neighbours:
    """The bridges that one bridge knows of.

    Args:
        name: Its own name.
        doubt_s: How long one that fell silent counts as gone.
    """

    def __init__(self, name: str, doubt_s: float) -> None:
        self._name = name
        self._doubt_s = doubt_s
        self._heard: dict[str, tuple[BridgeReport, float]] = {}
        """The newest report of each, and when it came."""
        self._lost: dict[str, float] = {}
        """When those that were heard before fell silent."""
        self.is_isolated = False

    @property
    def heard(self) -> dict[str, BridgeReport]:
        """The newest report of every other bridge that is heard."""
        return {name: report for name, (report, _) in self._heard.items()}

    def on_report(self, report: BridgeReport, now: float) -> bool:
        """A bridge told of itself; return False when there are too many of them."""
        if report.bridge == self._name:
            return True
        if report.leaving:
            self._heard.pop(report.bridge, None)
            self._lose(report.bridge, now)
            return True
        if report.bridge not in self._heard and len(self._heard) >= MOST_BRIDGES:
            return False
        self._heard[report.bridge] = (report, now)
        self._lost.pop(report.bridge, None)
        self.is_isolated = False
        return True

    def on_gone(self, bridge: str, now: float) -> None:
        """A bridge is not heard any more, and has not said why."""
        if self._heard.pop(bridge, None) is not None:
            self._lose(bridge, now)
            self.is_isolated = not self._heard

    def _lose(self, bridge: str, now: float) -> None:
        self._lost.pop(bridge, None)
        self._lost[bridge] = now
        if len(self._lost) > MOST_BRIDGES:
            del self._lost[next(iter(self._lost))]

    def serving(self) -> dict[str, int]:
        """The points of those that are heard and take devices."""
        return {name: one.points for name, (one, _) in self._heard.items() if one.points}

    def named(self) -> dict[str, int]:
        """The points of those that are not heard, and named by who hears them."""
        found: dict[str, int] = {}
        for report, at in self._heard.values():
            for name, points in (
                (report.successor, report.successor_points),
                (report.predecessor, report.predecessor_points),
            ):
                known = not name or name == self._name or name in self._heard
                lost = self._lost.get(name)
                doubted = lost is not None and at < lost + self._doubt_s
                if points and not known and not doubted:
                    found[name] = max(points, found.get(name, 0))
        return found


def around(name: str, others: Iterable[str], placing: Placing) -> tuple[str, str]:
    """The successor and the predecessor of a bridge among others; empty when there are none.

    Bridges stand where their first points are; those at one place follow one another by name.
    """
    places = {one: (int(placing(one, 1)[0]), one) for one in (*others, name)}
    ring = sorted(places, key=places.__getitem__)
    if len(ring) == 1:
        return "", ""
    at = ring.index(name)
    return ring[(at + 1) % len(ring)], ring[at - 1]
