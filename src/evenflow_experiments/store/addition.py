"""Load-balanced topic addition in the live store beside the simulation's (SeDAX, VI-A, VII-C).

The simulation adds topics of equal size one after the other, each where algorithm 1 with
BestGlobalCoord puts it. Live brokers at the same places, told what a topic is expected to take,
make the same topics (the same names, so the same home coordinates) one after the other, and place
them by themselves. Nothing else moves them. Then each broker says what it must have room for at
level 3 (equation 4), by the shares that all have told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow_experiments.sedax.paper import TABLE_I, TABLE_III
from evenflow_experiments.sedax.simulation import HOME, Setting, Sizes, add_topics, draw_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.broker.local import LocalBrokers
    from evenflow.overlay.protocol.messages import BrokerStatus
    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.report import Progress

UNIT = 10_000
"""Bytes that a topic counts."""
OPTIONS = ("--balance-every", "3600s", "--topic-bytes", str(UNIT))
"""A broker that places new topics and, for as long as this takes, gives none away."""
PAUSE_S = 0.2
"""Time for a new topic to find its place before the next one is made."""
STILL_S = 6.0
"""Loads that do not change for this long, which is longer than between two reports, are final."""
MOST_OFF_PERCENT = 2.0
"""By how much the highest live load may differ from the simulated one, besides one topic."""


def names_of(topics: int) -> list[str]:
    """The names of the topics."""
    return [f"added-{number}" for number in range(topics)]


def simulate(places: Floats, names: Sequence[str], selection: str, queries: int = 1) -> Floats:
    """Return the relative level 3 loads of the nodes after all topics were added."""
    homes = np.array([list(geographic_hash(name)) for name in names])
    setting = Setting(
        len(places), len(names) // len(places), Sizes.HOMOGENEOUS, selection, queries=queries
    )
    return add_topics(draw_world(setting, 0, places=places, homes=homes)).relative(3)


async def measure_addition(
    brokers: LocalBrokers, places: Floats, topics: int, say: Progress
) -> dict[str, Any]:
    """Make the topics, wait until nothing changes any more, and compare."""
    names = names_of(topics)
    found = await add_live(brokers, names, say)
    live = np.array([status.load for status in found]) * len(places) / (UNIT * topics)
    return summary(live, simulate(places, names, "global"), simulate(places, names, HOME), topics)


async def add_live(
    brokers: LocalBrokers, names: Sequence[str], say: Progress, patience_s: float = 120.0
) -> list[BrokerStatus]:
    """Make topics one after the other; return the statuses once loads do not change any more."""
    async with AsyncClient(list(brokers.addresses.values()), timeout_s=120) as client:
        for name in names:
            await client.publish(name, b"", level=3)
            await asyncio.sleep(PAUSE_S)
    say(f"{len(names)} topics made")
    before: list[int] = []
    for _ in range(int(patience_s / STILL_S)):
        await asyncio.sleep(STILL_S)
        found = await brokers.settled(120)
        loads = [status.load for status in found]
        if loads == before:
            break
        before = loads
    return found


def summary(live: Floats, simulated: Floats, at_home: Floats, topics: int) -> dict[str, Any]:
    """Return the loads in percent of a broker's mean topic load, and how far apart they are."""
    rows = [
        {
            "system": name,
            "mean": round(100 * float(loads.mean()), 1),
            "q95": round(100 * float(np.quantile(loads, 0.95)), 1),
            "max": round(100 * float(loads.max()), 1),
        }
        for name, loads in (
            ("live", live),
            ("simulated, BestGlobalCoord", simulated),
            ("simulated, at home", at_home),
        )
    ]
    return {
        "brokers": len(live),
        "topics": topics,
        "rows": rows,
        "paper": {
            "BestGlobalCoord": TABLE_III["global", 1]._asdict(),
            "at home": TABLE_I["heterogeneous", 100][2]._asdict(),
        },
        "topic_percent": round(100 * len(live) / topics, 2),
        "max_off_percent": round(100 * float(live.max() / simulated.max() - 1), 2),
    }


def is_off(found: dict[str, Any]) -> bool:
    """Whether the highest live load is above the simulated by more than it may be."""
    live, simulated = (row["max"] for row in found["rows"][:2])
    allowed = max(MOST_OFF_PERCENT * simulated / 100, found["topic_percent"])
    return bool(live > simulated + allowed + 0.1)
