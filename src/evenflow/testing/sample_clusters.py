"""Clusters to try balancing algorithms on: a few named ones, and any number of random ones.

Every algorithm meets every named cluster in the tests; each name is a situation that has a trap
in it. A random cluster is made from a seed alone, so a failure is repeated by its seed.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

from evenflow.model.load import Outlook
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice


def cluster(
    held: dict[str, list[float]],
    *,
    capacity: dict[str, float] | None = None,
    leaving: frozenset[str] = frozenset(),
    unowned: tuple[float, ...] = (),
    moved_at: dict[int, float] | None = None,
    time: float = 1000.0,
) -> LoadSnapshot:
    """A cluster drawn as the loads of each node's slices; slices are numbered as they are read."""
    capacity = capacity or {}
    moved_at = moved_at or {}
    nodes = tuple(ClusterNode(name, capacity.get(name, 1.0), name in leaving) for name in held)
    placed: list[tuple[str | None, float]] = [
        (name, load) for name, loads in held.items() for load in loads
    ]
    placed += [(None, load) for load in unowned]
    slices = tuple(
        PlacedSlice(number, owner, load, moved_at.get(number, -inf))
        for number, (owner, load) in enumerate(placed)
    )
    return LoadSnapshot(time, nodes, slices)


NAMED: dict[str, LoadSnapshot] = {
    "no nodes": LoadSnapshot(0.0, (), ()),
    "no slices": cluster({"a": [], "b": []}),
    "only unowned slices": cluster({"a": [], "b": []}, unowned=(1.0, 2.0, 3.0)),
    "one node": cluster({"a": [1.0, 2.0, 3.0]}),
    "already even": cluster({"a": [1.0, 2.0], "b": [2.0, 1.0]}),
    "a node joins": cluster({"a": [1.0] * 10, "b": []}),
    "a third node joins": cluster({"a": [1.0] * 5, "b": [1.0] * 5, "c": []}),
    "a node leaves": cluster({"a": [1.0] * 4, "b": [1.0] * 4}, leaving=frozenset("b")),
    "all nodes leave": cluster({"a": [1.0] * 4, "b": []}, leaving=frozenset("ab")),
    "the idle node leaves": cluster({"a": [3.0], "b": []}, leaving=frozenset("b")),
    "one slice is everything": cluster({"a": [100.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]}),
    "two giants on one node": cluster({"a": [50.0, 40.0, 1.0], "b": [1.0, 1.0], "c": [2.0]}),
    "giant on the weak node": cluster(
        {"strong": [1.0] * 10, "weak": [10.0]}, capacity={"strong": 4.0, "weak": 1.0}
    ),
    "no load at all": cluster({"a": [0.0] * 5, "b": [0.0]}),
    "loads of many sizes": cluster({"a": [1e-9, 1e9], "b": [1e-9, 1.0], "c": [1e3]}),
    "everything has just moved": cluster(
        {"a": [1.0] * 8, "b": []}, moved_at=dict.fromkeys(range(8), 999.0)
    ),
    "leaving although just moved": cluster(
        {"a": [1.0] * 4, "b": []}, leaving=frozenset("a"), moved_at=dict.fromkeys(range(4), 999.9)
    ),
    "unequal nodes": cluster(
        {"a": [1.0] * 6, "b": [1.0] * 6, "c": [1.0] * 6}, capacity={"a": 1.0, "b": 2.0, "c": 6.0}
    ),
    "hardly packable": cluster({"a": [6.0, 6.0, 6.0], "b": [5.0, 5.0], "c": [4.0]}),
}
"""Small clusters, each with a trap in it."""


def random_cluster(seed: int, *, nodes: int = 12, slices: int = 80) -> LoadSnapshot:
    """A cluster up to this size: skewed loads, unequal nodes, some leaving, some slices unowned."""
    random = Random(seed)
    names = [f"node-{number}" for number in range(random.randint(1, nodes))]
    members = tuple(
        ClusterNode(name, random.choice((1.0, 1.0, 1.0, 0.5, 2.0, 7.0)), random.random() < 0.1)
        for name in names
    )
    exponent = random.choice((0.0, 0.5, 1.0, 2.0))
    scale = random.choice((1e-3, 1.0, 1e6))
    owners: list[str | None] = [*random.sample(names, random.randint(1, len(names)))]
    if random.random() < 0.3:
        owners.append(None)
    placed = tuple(
        PlacedSlice(
            number,
            random.choice(owners),
            random.choice((0.0, scale, scale, scale)) * random.random() / (number + 1) ** exponent,
            random.choice((-inf, -inf, 0.0, 900.0, 995.0)),
            random.choice((None, *names)),
            _random_outlook(random, scale) if random.random() < 0.3 else None,
        )
        for number in range(random.randint(0, slices))
    )
    return LoadSnapshot(1000.0, members, placed)


def _random_outlook(random: Random, scale: float) -> Outlook:
    trend = scale * random.uniform(-0.01, 0.01)
    return Outlook(random.uniform(900.0, 1000.0), scale * random.random(), trend)


def zipf_cluster(
    seed: int,
    *,
    nodes: int,
    slices: int,
    exponent: float = 1.0,
    capacities: tuple[float, ...] = (1.0,),
    total: float = 1000.0,
) -> LoadSnapshot:
    """Slices with Zipf loads, dealt out in random order: even in count, uneven in load."""
    random = Random(seed)
    names = [f"node-{number:04d}" for number in range(nodes)]
    weights = [1.0 / rank**exponent for rank in range(1, slices + 1)]
    random.shuffle(weights)
    scale = total / sum(weights)
    members = tuple(
        ClusterNode(name, capacities[number % len(capacities)]) for number, name in enumerate(names)
    )
    placed = tuple(
        PlacedSlice(number, names[number % nodes], weight * scale)
        for number, weight in enumerate(weights)
    )
    return LoadSnapshot(0.0, members, placed)


def without_moves(snapshot: LoadSnapshot) -> LoadSnapshot:
    """The same cluster in which nothing has moved for ever."""
    return replace(snapshot, slices=tuple(replace(each, moved_at=-inf) for each in snapshot.slices))
