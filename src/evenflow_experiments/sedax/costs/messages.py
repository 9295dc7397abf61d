"""What each coordinate selection costs in messages, beside how even the loads become (section V).

The paper gives the loads of its selections and says of the messages only which needs more. Here
both stand side by side. One decision, over links of the Delaunay triangulation:

============  ================================================================
individual    a query to each random coordinate, greedily forwarded, and its answer back
local         the same; the delegating node's own cell counts as a query and costs nothing
regional      the same; whoever is asked asks all within some hops, and the own region too
global        a request floods all links, and every node answers along the way it came
gossip        what live brokers do instead of `global`: nobody asks, every node tells all
============  ================================================================

A message that crosses a link counts once on each. Gossip does not depend on decisions: its figure
is what all nodes send in one round of telling, which serves any number of decisions.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.overlay.space.plane import Plane
from evenflow_experiments.sedax.selection import queries_to_send
from evenflow_experiments.sedax.simulation import Setting, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenflow_experiments.report import Progress

QUERIES = 10
DECISIONS = 200
"""Decisions whose messages are counted, on each of some random overlays."""
GOSSIP = "gossip"


class Links:
    """The links of an overlay, and what it costs to get about.

    Args:
        places: Where the nodes are.
        hops: Links from a node to the edge of its region.
    """

    def __init__(self, places: np.ndarray[Any, Any], hops: int) -> None:
        self.plane = Plane(places)
        self._links = [found.tolist() for found in self.plane.neighbours()]
        self._regions = self.plane.regions(hops)

    def route(self, start: int, to: np.ndarray[Any, Any]) -> tuple[int, int]:
        """Return which node a message for a coordinate reaches, and over how many links."""
        here, links = start, 0
        apart = ((self.plane.nodes - to) ** 2).sum(axis=1)
        while True:
            best = min((here, *self._links[here]), key=lambda node: (apart[node], node))
            if best == here:
                return here, links
            here, links = best, links + 1

    def distances(self, start: int) -> list[int]:
        """Return how many links it is from a node to each other."""
        found = {start: 0}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for near in self._links[node]:
                if near not in found:
                    found[near] = found[node] + 1
                    queue.append(near)
        return [found[node] for node in range(len(self._links))]

    def flood(self) -> int:
        """Return the messages of a flood: all pass it on, but not where it came from."""
        return sum(map(len, self._links)) - len(self._links) + 1

    def around(self, node: int) -> int:
        """Return the messages by which a node asks its region and is answered."""
        distances = self.distances(node)
        return 2 * sum(distances[int(near)] for near in self._regions[node])


def decision(links: Links, selection: str, start: int, queried: np.ndarray[Any, Any]) -> int:
    """Return the messages of one decision of a node.

    Args:
        links: The overlay.
        selection: One of the paper's.
        start: The node that decides.
        queried: The random coordinates that it may ask.
    """
    if selection == "global":
        return links.flood() + sum(links.distances(start))
    count = queries_to_send(selection, len(queried))
    messages = links.around(start) if selection == "regional" else 0
    for place in queried[:count]:
        reached, crossed = links.route(start, place)
        messages += 2 * crossed
        messages += links.around(reached) if selection == "regional" else 0
    return messages


def count(nodes: int, selection: str, seed: int, decisions: int = DECISIONS) -> float:
    """Return the mean messages of a decision on a random overlay; of gossip, of one round."""
    rng = np.random.default_rng(seed)
    links = Links(rng.random((nodes, 2)), 1)
    if selection == GOSSIP:
        return float(nodes * links.flood())
    found = [
        decision(links, selection, int(rng.integers(nodes)), rng.random((QUERIES, 2)))
        for _ in range(decisions)
    ]
    return float(np.mean(found))


def rows(sizes: Sequence[int], runs: int, progress: Progress) -> Iterator[dict[str, Any]]:
    """Yield what each selection costs and gives, for overlays of some sizes."""
    for nodes in sizes:
        for selection in ("individual", "local", "regional", "global", GOSSIP):
            chosen = "global" if selection == GOSSIP else selection
            setting = Setting(nodes=nodes, selection=chosen, queries=QUERIES)
            loads = [100 * simulate(setting, seed).relative(3) for seed in range(runs)]
            messages = [count(nodes, selection, seed) for seed in range(runs)]
            progress(f"{nodes} nodes, {selection}")
            yield {
                "nodes": nodes,
                "selection": selection,
                "counted": "round" if selection == GOSSIP else "decision",
                "messages": round(float(np.mean(messages)), 1),
                "mean": round(float(np.mean([load.mean() for load in loads])), 1),
                "max": round(float(np.mean([load.max() for load in loads])), 1),
            }
