"""The live store's node loads beside the simulation's, with topics that grow (SeDAX, Figure 6).

The simulation draws an overlay, adds topics of equal size in a balanced way (BestGlobalCoord) and
lets them grow. The same is done live: brokers at the same places, each topic moved to a coordinate
with the same three closest brokers as in the simulation, then filled by publishing as it grows.

The load that a broker needs room for at level 3 is what it stores in its worst single failure. It
is measured, not computed: every broker is killed once, the others make the missing copies, and what
each of them stores then is read off; then the killed one returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.space.coordinate import Coordinate
from evenflow_experiments.sedax.evolution import evolve
from evenflow_experiments.sedax.growth import growth_rates, sizes_at
from evenflow_experiments.sedax.paper import FIGURE_6
from evenflow_experiments.sedax.simulation import Setting, Sizes, add_topics

if TYPE_CHECKING:
    from evenflow.overlay.broker.local import LocalBrokers
    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.report import Progress
    from evenflow_experiments.sedax.simulation import World

UNIT = 8_000
"""Bytes of a topic of load 1."""
PIECE = 1_000
"""Bytes of a message."""
STEPS = 5
"""In how many steps topics grow."""


def setting(brokers: int, topics_per_broker: int) -> Setting:
    """Return the paper's setting for topics that grow, for a number of brokers."""
    return Setting(
        nodes=brokers, topics_per_node=topics_per_broker, sizes=Sizes.HOMOGENEOUS,
        selection="global", level=3,
    )  # fmt: skip


def places_of(world: World) -> dict[str, Coordinate]:
    """Return a name for each simulated node, and where it is."""
    return {
        f"b{number:02}": Coordinate(float(x), float(y))
        for number, (x, y) in enumerate(world.plane.nodes)
    }


def coordinates_for(world: World, spots: list[int], rng: np.random.Generator) -> list[Coordinate]:
    """Return a coordinate of each spot: one with its three closest nodes in their order."""
    table, found = world.spots, dict[tuple[int, ...], Coordinate]()
    wanted = [(int(table.first[s]), int(table.second[s]), int(table.third[s])) for s in spots]
    while not found.keys() >= set(wanted):
        drawn = rng.random((100_000, 2))
        for key, (x, y) in zip(world.plane.closest(drawn, 3).tolist(), drawn, strict=True):
            found.setdefault(tuple(key), Coordinate(float(x), float(y)))
    return [found[key] for key in wanted]


async def measure_balance(
    brokers: LocalBrokers, world: World, say: Progress, *, failures: bool
) -> dict[str, Any]:
    """Place and grow the topics live; return both loads, relative to the mean topic load."""
    start = add_topics(world)
    rng = np.random.default_rng(1)
    coordinates = coordinates_for(world, [int(spot) for spot in start.where], rng)
    simulated = evolve(world, start, None, 1 / STEPS).final
    async with AsyncClient(list(brokers.addresses.values()), timeout_s=120) as client:
        for number, coordinate in enumerate(coordinates):
            await client.publish(f"growing-{number}", b"", level=3)
            await client.move(f"growing-{number}", coordinate)
        await _grow(client, len(coordinates))
    say(f"{len(coordinates)} topics placed and grown")
    stored = await _stored(brokers)
    worst = dict(stored)
    if failures:
        for victim in sorted(stored):
            brokers.kill(victim)
            for name, size in (await _stored(brokers)).items():
                worst[name] = max(worst[name], size)
            brokers.start(victim)
        say(f"{len(stored)} single failures measured")
    level = 3 if failures else 2
    total = UNIT * float(sizes_at(growth_rates(len(coordinates)), 1.0).sum())
    live = np.array([worst[name] for name in sorted(worst)]) * len(worst) / total
    return summary(level, live, simulated.relative(level))


async def _grow(client: AsyncClient, topics: int) -> None:
    rates = growth_rates(topics)
    published = np.zeros(topics, np.int64)
    for step in range(STEPS + 1):
        wanted = np.rint(sizes_at(rates, step / STEPS) * UNIT).astype(np.int64)
        for number in range(topics):
            grown = int(wanted[number] - published[number])
            pieces = [PIECE] * (grown // PIECE) + [grown % PIECE] * (grown % PIECE > 0)
            await client.publish_all(f"growing-{number}", map(bytes, pieces), level=3)
        published = wanted


async def _stored(brokers: LocalBrokers) -> dict[str, int]:
    return {found.name: found.stored_bytes for found in await brokers.settled(120)}


def summary(level: int, live: Floats, simulated: Floats) -> dict[str, Any]:
    """Return quantiles of both, in percent of the mean topic load of a broker."""
    found: dict[str, Any] = {"level": level}
    for name, loads in (("live", live), ("simulated", simulated)):
        percent = loads * 100
        found |= {
            f"{name}_mean": round(float(percent.mean()), 1),
            f"{name}_q95": round(float(np.quantile(percent, 0.95)), 1),
            f"{name}_max": round(float(percent.max()), 1),
        }
    paper = FIGURE_6["balanced", "after"]
    found["paper"] = {"level": 3, "mean": paper.mean, "q95": paper.q95}
    found["q95_off_percent"] = round(
        100 * abs(found["live_q95"] - found["simulated_q95"]) / found["simulated_q95"], 2
    )
    return found
