"""Continuous balancing of the live store beside the simulation's (SeDAX, Table V and Figure 6).

The simulation draws an overlay, adds topics of equal size in a balanced way and lets them grow up
to tenfold in a period, while one random node after the other is woken and may give a topic away
(algorithm 2). The same is done live: brokers at the same places, topics at the same spots, each
broker waking on its own as often as a simulated node does on average.

Live, messages expire: at any time a topic keeps what was published to it in the last `WINDOW_S`
seconds, and so much is published that this is its size. A moved topic leaves its past behind,
which is gone a window later. Two loads are read off at the end of the period:

- *level 3*, what a broker needs room for in its worst failure, by the shares that brokers tell;
- *level 2*, the bytes it keeps in fact, counted in its storage.

*Combined* (VI-C) is the same, but the topics are not put where the simulation has them: the brokers
make them, and place each as it is made, by themselves (algorithm 1). The simulation then has the
homes of the same names, and other candidates in each run: of equally good places brokers take any.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow_experiments.sedax.evolution import SmallestFirst, evolve
from evenflow_experiments.sedax.growth import growth_rates, sizes_at
from evenflow_experiments.sedax.paper import TABLE_V
from evenflow_experiments.sedax.simulation import add_topics, draw_world
from evenflow_experiments.store.addition import add_live
from evenflow_experiments.store.balance import coordinates_for

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.overlay.broker.local import LocalBrokers
    from evenflow.overlay.protocol.messages import BrokerStatus
    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.report import Progress
    from evenflow_experiments.sedax.simulation import World

INTERVAL = 0.01
"""Part of the period after which the next node wakes: the paper's middle one."""
UNIT = 6_000
"""Bytes of a topic of load 1."""
WINDOW_S = 6.0
"""Messages expire after this."""
STEP_S = 0.5
"""Time between two messages of a topic."""
LOOKS = 8
"""Looks at the loads at the end."""
WAKES = 50
"""Simulated runs, each with other nodes waking."""


def options(brokers: int, period_s: float, *, combined: bool) -> list[str]:
    """Return the options of a broker that wakes as often as a simulated node does."""
    every_s = brokers * INTERVAL * period_s
    often = ["--balance-every", f"{every_s:g}s", "--keep-for", f"{WINDOW_S:g}s"]
    return [*often, "--topic-bytes", str(UNIT)] if combined else often


def names_of(topics: int) -> list[str]:
    """The names of the topics."""
    return [f"growing-{number}" for number in range(topics)]


def at_home(world: World, seed: int) -> World:
    """Return a world in which every topic has the home of its name; candidates are drawn anew."""
    homes = np.array([list(geographic_hash(name)) for name in names_of(len(world.sizes))])
    return draw_world(world.setting, seed, places=world.plane.nodes, homes=homes)


def simulate(world: World, *, combined: bool) -> dict[str, Floats]:
    """Return node loads at the end by level, with and without balancing, a row for each run."""
    start = add_topics(world)
    runs: dict[str, list[Floats]] = {"level_2": [], "level_3": [], "never": [], "moved": []}
    for number in range(WAKES):
        if combined:
            world = at_home(world, number)
            start = add_topics(world)
        runs["never"].append(evolve(world, start, None, INTERVAL).final.relative(3))
        awake = replace(world, wake=np.random.default_rng([number, 5]))
        found = evolve(awake, start, SmallestFirst(), INTERVAL)
        runs["level_2"].append(found.final.relative(2))
        runs["level_3"].append(found.final.relative(3))
        runs["moved"].append(np.array([found.moved.sum()]))
    return {name: np.array(rows) for name, rows in runs.items()}


async def measure_continuous(
    brokers: LocalBrokers, world: World, period_s: float, history: Path, say: Progress,
    *, combined: bool,
) -> dict[str, Any]:  # fmt: skip
    """Place the topics, let them grow and the brokers balance; return both loads."""
    names = names_of(len(world.sizes))
    if combined:
        await add_live(brokers, names, say)
    async with AsyncClient(list(brokers.addresses.values()), timeout_s=120) as client:
        if not combined:
            await _place(client, world, names)
        say(f"{len(names)} topics placed, growing for {period_s:g} s")
        before = len(_moves(history))
        found = await _grow(client, brokers, names, period_s)
    stored = np.array([[one.stored_bytes for one in look] for look in found]).mean(axis=0)
    loads = np.array([[one.load for one in look] for look in found]).mean(axis=0)
    moves, count = _moves(history), len(stored)
    moves = moves[: len(moves) - before]  # newest first: without those that placed new topics
    simulated = await asyncio.to_thread(simulate, world, combined=combined)
    total = stored.sum() / 2  # every message lies on two brokers
    return {
        "brokers": count,
        "topics": len(names),
        "period_s": period_s,
        "rows": [
            _row("live", 3, loads * count / total),
            _row("simulated", 3, simulated["level_3"]),
            _row("simulated, never balanced", 3, simulated["never"]),
            _row("live", 2, stored * count / total),
            _row("simulated", 2, simulated["level_2"]),
        ],
        "paper": {
            "balanced": TABLE_V[INTERVAL]._asdict(),
            "never balanced": TABLE_V[None]._asdict(),
        },
        "moves": len(moves),
        "moved": round(sum(moves) / UNIT, 1),
        "simulated_moved": round(float(simulated["moved"].mean()), 1),
    }


async def _place(client: AsyncClient, world: World, names: list[str]) -> None:
    """Put the topics where the simulation has them."""
    spots = [int(spot) for spot in add_topics(world).where]
    places = coordinates_for(world, spots, np.random.default_rng(1))
    for name, place in zip(names, places, strict=True):
        await client.publish(name, b"", level=3)
        await client.move(name, place)


async def _grow(
    client: AsyncClient, brokers: LocalBrokers, names: list[str], period_s: float
) -> list[list[BrokerStatus]]:
    """Keep every topic at its size; return how the brokers were at several looks at the end.

    Brokers delete what has expired once a second, each at its own time: one look alone would
    mistake that for imbalance.
    """
    rates, fill = growth_rates(len(names)), round(WINDOW_S / STEP_S)
    for _ in range(fill):
        await _publish(client, names, np.full(len(names), UNIT / fill))
    begun, steps, looks = time.monotonic(), round(period_s / STEP_S), []
    for step in range(steps):
        await asyncio.sleep(max(0.0, begun + step * STEP_S - time.monotonic()))
        await _publish(client, names, sizes_at(rates, step / steps) * UNIT / fill)
        if step >= steps - LOOKS:
            looks.append(await brokers.statuses())
    return [sorted(look, key=lambda one: one.name) for look in looks]


async def _publish(client: AsyncClient, names: list[str], sizes: Floats) -> None:
    waiting = [
        await client.post(name, bytes(round(count)), level=3)
        for name, count in zip(names, sizes, strict=True)
    ]
    await asyncio.gather(*waiting)


def _moves(file: Path) -> list[float]:
    """Return the loads of the topics that brokers moved."""
    with History(file) as history:
        return [
            each.value
            for story in history.stories(limit=100_000)
            if story.outcome is PlanState.DONE and story.event is not None
            for each in story.event.properties
            if each.name == "topic_load"
        ]


def _row(name: str, level: int, loads: Floats) -> dict[str, Any]:
    """Return the figures of a run, or the mean of the figures of several.

    `q95_range` is where the 95 % quantiles of the middle 80 % of the runs lie: one live run alone
    should lie there.
    """
    percent = np.atleast_2d(loads) * 100
    q95 = np.quantile(percent, 0.95, axis=1)
    return {
        "system": name,
        "level": level,
        "mean": round(float(percent.mean()), 1),
        "q95": round(float(q95.mean()), 1),
        "q95_range": [round(float(edge), 1) for edge in np.quantile(q95, (0.1, 0.9))],
        "max": round(float(percent.max(axis=1).mean()), 1),
    }


def off_percent(found: dict[str, Any], level: int) -> float:
    """Return by how much the live q95 differs from the simulated one."""
    q95 = {row["system"]: row["q95"] for row in found["rows"] if row["level"] == level}
    live, simulated = float(q95["live"]), float(q95["simulated"])
    return round(100 * abs(live - simulated) / simulated, 2)
