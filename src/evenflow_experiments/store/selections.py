"""Selections live: the paper's four by queries, gossip, and our plan (SeDAX, V, VII-C.2).

For each selection, for gossip and for new topics by plan, brokers at the same places make the same
topics one after the other and place them by themselves (as in `addition`). Counted are the messages
about loads, each on every link that it crosses: *asked* are queries and their answers, for each
search of a place; *told* is what brokers tell without being asked, to all (gossip, planned) or to
those around them, for each topic. Beside it stand the simulation of the same topics on the same
places, with its count of messages for a decision, and the paper's loads (Table III: 100 nodes, 10
queries).
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.config import Config
from evenflow.overlay.balancing.selections import CHOICES, GOSSIP, PLANNED
from evenflow.overlay.broker.local import LocalBrokers
from evenflow_experiments.report import print_table
from evenflow_experiments.sedax.costs.messages import DECISIONS, Links, decision
from evenflow_experiments.sedax.paper import TABLE_III
from evenflow_experiments.sedax.simulation import draw_world
from evenflow_experiments.store.addition import OPTIONS, UNIT, add_live, names_of, simulate
from evenflow_experiments.store.balance import places_of, setting

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats
    from evenflow_experiments.report import Progress

QUERIES = 10
SILENCE_S = 3.0
MOST_OFF_PERCENT = 10.0
"""By how much the highest live load may be above the simulated one, besides two topics."""


def run_selections(seed: int, say: Progress, *, quick: bool) -> dict[str, Any]:
    """Place topics by every selection, live and simulated."""
    count, topics = (5, 30) if quick else (10, 200)
    world = draw_world(setting(count, topics // count), seed)
    rows = []
    for selection in CHOICES:
        with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
            brokers = LocalBrokers(
                places_of(world),
                Path(name),
                silence_s=SILENCE_S,
                options=(*OPTIONS, "--selection", selection, "--queries", str(QUERIES)),
                config=Config.load(None, {"history.path": str(Path(name) / "history.db")}),
            )
            with brokers:
                brokers.start_all()
                live = asyncio.run(measure(brokers, topics, say))
        found = row(selection, live, world.plane.nodes, topics)
        say(f"{selection}: highest load {found['live']['max']} %")
        rows.append(found)
    return {"brokers": count, "topics": topics, "queries": QUERIES, "rows": rows}


async def measure(brokers: LocalBrokers, topics: int, say: Progress) -> dict[str, Any]:
    """Make the topics; return the loads in bytes and the messages that it took."""
    before = await brokers.statuses()
    after = await add_live(brokers, names_of(topics), say)

    def grown(name: str) -> int:
        return sum(int(getattr(status, name)) for status in after) - sum(
            int(getattr(status, name)) for status in before
        )

    loads = [status.load for status in after]
    return {"loads": loads, **{name: grown(name) for name in ("searches", "told", "asked")}}


def row(selection: str, live: dict[str, Any], places: Floats, topics: int) -> dict[str, Any]:
    """Return one selection: live, simulated, and in the paper."""
    chosen = "global" if selection == GOSSIP else selection
    loads = np.array(live["loads"]) * len(places) / (UNIT * topics)
    simulated = simulate(places, names_of(topics), chosen, QUERIES)
    paper = TABLE_III.get((chosen, QUERIES)) or TABLE_III.get((chosen, 1))
    return {
        "selection": selection,
        "live": in_percent(loads)
        | {
            "searches": live["searches"],
            "asked_a_search": round(live["asked"] / max(1, live["searches"]), 1),
            "told_a_topic": round(live["told"] / topics, 1),
        },
        "simulated": in_percent(simulated) | {"messages": simulated_messages(selection, places)},
        "paper": {"mean": paper and paper.mean, "q95": paper and paper.q95},
        "topic_percent": round(100 * len(places) / topics, 2),
        "max_off_percent": round(100 * float(loads.max() / simulated.max() - 1), 2),
    }


def in_percent(loads: Floats) -> dict[str, float]:
    """Return loads in percent of a broker's mean topic load."""
    return {
        "mean": round(100 * float(loads.mean()), 1),
        "q95": round(100 * float(np.quantile(loads, 0.95)), 1),
        "max": round(100 * float(loads.max()), 1),
    }


def simulated_messages(selection: str, places: Floats) -> float:
    """Return the messages of a decision; those by which one broker tells all, if nobody asks."""
    links, rng = Links(places, 1), np.random.default_rng(1)
    if selection in (GOSSIP, PLANNED):
        return float(links.flood())
    found = [
        decision(links, selection, int(rng.integers(len(places))), rng.random((QUERIES, 2)))
        for _ in range(DECISIONS)
    ]
    return round(float(np.mean(found)), 1)


def is_uneven(found: dict[str, Any]) -> bool:
    """Whether a highest live load is above the simulated by more than it may be."""
    return any(
        each["live"]["max"]
        > each["simulated"]["max"] * (1 + MOST_OFF_PERCENT / 100) + 2 * each["topic_percent"]
        for each in found.get("rows", ())
    )


def show_selections(found: dict[str, Any]) -> None:
    """Print the selections side by side."""
    print_table(
        f"{found['topics']} topics placed by each selection on {found['brokers']} brokers, level 3,"
        f" %, and messages ({found['queries']} queries; SeDAX, V)",
        ["", "live max", "simulated", "live q95", "simulated", "paper q95", "asked a search",
         "simulated", "told a topic"],
        [
            [
                each["selection"], each["live"]["max"], each["simulated"]["max"],
                each["live"]["q95"], each["simulated"]["q95"], each["paper"]["q95"],
                each["live"]["asked_a_search"], each["simulated"]["messages"],
                each["live"]["told_a_topic"],
            ]
            for each in found["rows"]
        ],
        note="a message counts on every link that it crosses; the paper has 100 nodes;"
        " simulated gossip and planned: one broker tells all others once",
    )  # fmt: skip
