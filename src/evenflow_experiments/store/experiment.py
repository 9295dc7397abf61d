"""``evenflow experiment store``: the live store under steady writes, deaths, returns and moves.

Brokers run as processes on this machine, at random places of the unit square. A client publishes to
all topics in turn, at a steady rate, and notes what is acknowledged.

*Deaths.* Brokers are killed with ``kill -9`` one after the other, each time when all topics have
all the copies their level asks for. At level 2 a killed broker returns before the next dies; at
level 3 it stays away, so that later deaths hit the brokers that hold the third copies, and all
return at the end. Then every topic is read from its beginning: what was acknowledged and is not
there is lost; what is there twice, or before its predecessor, is counted too. A topic's copies
beyond two are stale ones.

*Moves.* One topic is written and followed by a subscriber while it is moved to other coordinates.

*Balance.* Topics grow, live and in the simulation, from the same placement: see `balance`.

*Continuous.* The same while brokers balance by themselves: see `continuous`.

*Addition.* New topics are placed by the brokers themselves, live and simulated: see `addition`.

*Selections.* The same by queries, for each of the paper's selections: see `selections`.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich_click as click

from evenflow.config import Config
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.space.coordinate import Coordinate
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, write_json
from evenflow_experiments.sedax.simulation import draw_world
from evenflow_experiments.store.addition import OPTIONS, is_off, measure_addition
from evenflow_experiments.store.balance import measure_balance, places_of, setting
from evenflow_experiments.store.continuous import measure_continuous, off_percent, options
from evenflow_experiments.store.load import Follower, Writer, verify
from evenflow_experiments.store.selections import is_uneven, run_selections, show_selections
from evenflow_experiments.store.tables import (
    plot,
    show_addition,
    show_balance,
    show_continuous,
    show_deaths,
    show_moves,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

HELP = """\
The live overlay store: broker processes killed with -9 one after the other under steady writes, at
levels 2 and 3, a topic moved under a subscriber, and the loads of growing topics, balanced
continuously and not, and of topics placed when they are made, beside the simulation's. Counts what
is lost, repeated, out of order or stale, and how long the missing copies take (SeDAX, sections III,
IV-B and VI)."""

SILENCE_S = 3.0
MOST_OFF_PERCENT = 10
"""By how much a live 95 % quantile may differ from the simulated one."""
BALANCED = {"continuous": (2, 3), "combined": (3,)}
"""Levels whose live loads must be those of the simulation. Brokers that place topics themselves
find other places that are as good at level 3, which is balanced, and not at level 2."""
PARTS = ("deaths", "moves", "balance", "continuous", "combined", "addition", "selections")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    brokers: int
    topics: int
    kills: int
    """Brokers killed at each level."""
    past: int
    """Messages of each topic before the first death."""
    rate: float
    """Messages written a second."""
    moves: int
    """Moves of one topic."""
    seed: int


@experiment("store", HELP, quick_s=400)
@click.option("--brokers", metavar="N", type=int, default=0, help="(20; quick: 5)")
@click.option("--topics", metavar="N", type=int, default=0, help="(500; quick: 30)")
@click.option("--kills", metavar="N", type=int, default=0, help="per level (4; quick: 1)")
@click.option(
    "--past",
    metavar="N",
    type=int,
    default=0,
    help="messages of each topic before the first death (200; quick: 20)",
)
@click.option("--rate", metavar="R", type=float, default=0, help="messages/s (250; 100)")
@click.option("--moves", metavar="N", type=int, default=10, help="moves of a topic (10)")
@click.option(
    "--part", type=click.Choice([*PARTS, "all"]), default="all", help="what to measure (all)"
)
@click.option("--seed", metavar="N", type=int, default=1, help="places and victims (1)")
def store(
    given: Given, brokers: int, topics: int, kills: int, past: int, rate: float, moves: int,
    part: str, seed: int,
) -> int:  # fmt: skip
    """Run the parts asked for and report."""
    progress = Progress("store")
    scale = Scale(
        brokers=brokers or (5 if given.quick else 20),
        topics=topics or (30 if given.quick else 500),
        kills=kills or (1 if given.quick else 4),
        past=past or (20 if given.quick else 200),
        rate=rate or (100.0 if given.quick else 250.0),
        moves=moves,
        seed=seed,
    )
    chosen = PARTS if part == "all" else (part,)
    found: dict[str, Any] = {"runs": [], **{name: {} for name in PARTS[1:]}}
    if "deaths" in chosen or "moves" in chosen:
        run_deaths(scale, chosen, found, progress)
    if "balance" in chosen:
        found["balance"] = run_balance(seed, progress, quick=given.quick)
    if "continuous" in chosen:
        found["continuous"] = run_continuous(seed, progress, quick=given.quick)
    if "combined" in chosen:
        found["combined"] = run_continuous(seed, progress, quick=given.quick, combined=True)
    if "addition" in chosen:
        found["addition"] = run_addition(seed, progress, quick=given.quick)
    if "selections" in chosen:
        found["selections"] = run_selections(seed, progress, quick=given.quick)
    show(found)
    write_json(given.json, found)
    if given.plot:
        plot(given.plot, found["runs"])
    return 1 if wrong(found) else 0


def run_deaths(scale: Scale, chosen: Sequence[str], found: dict[str, Any], say: Progress) -> None:
    """Kill brokers at each level, and move a topic."""
    for level in (2, 3) if "deaths" in chosen else (2,):
        with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
            rng = random.Random(scale.seed)
            places = {
                f"b{number:02}": Coordinate(rng.uniform(0.02, 0.98), rng.uniform(0.02, 0.98))
                for number in range(scale.brokers)
            }
            with LocalBrokers(places, Path(name), silence_s=SILENCE_S) as brokers:
                say(f"level {level}: starting {scale.brokers} brokers")
                brokers.start_all()
                if level == 2 and "moves" in chosen:
                    found["moves"] = asyncio.run(measure_moves(brokers, scale.moves, rng, say))
                if "deaths" in chosen:
                    one = asyncio.run(measure_deaths(brokers, level, scale, rng, say))
                    found["runs"].append(one)


def run_balance(seed: int, say: Progress, *, quick: bool) -> dict[str, Any]:
    """Compare the loads of growing topics, live and simulated."""
    count = 5 if quick else 10
    world = draw_world(setting(count, count), seed)
    with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
        places = places_of(world)
        with LocalBrokers(places, Path(name), silence_s=SILENCE_S) as brokers:
            say(f"balance: starting {count} brokers")
            brokers.start_all()
            return asyncio.run(measure_balance(brokers, world, say, failures=not quick))


def run_continuous(
    seed: int, say: Progress, *, quick: bool, combined: bool = False
) -> dict[str, Any]:
    """Compare the loads of growing topics under continuous balancing, live and simulated."""
    count, period_s = (5, 15.0) if quick else (10, 120.0)
    world = draw_world(setting(count, count), seed)
    with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
        history = Path(name) / "history.db"
        brokers = LocalBrokers(
            places_of(world),
            Path(name),
            silence_s=SILENCE_S,
            options=options(count, period_s, combined=combined),
            config=Config.load(None, {"history.path": str(history)}),
        )
        with brokers:
            say(f"continuous: starting {count} brokers")
            brokers.start_all()
            measured = measure_continuous(brokers, world, period_s, history, say, combined=combined)
            return asyncio.run(measured)


def run_addition(seed: int, say: Progress, *, quick: bool) -> dict[str, Any]:
    """Compare the loads of topics that are placed when they are made, live and simulated."""
    count, topics = (5, 50) if quick else (10, 500)
    world = draw_world(setting(count, topics // count), seed)
    with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
        brokers = LocalBrokers(
            places_of(world),
            Path(name),
            silence_s=SILENCE_S,
            options=OPTIONS,
            config=Config.load(None, {"history.path": str(Path(name) / "history.db")}),
        )
        with brokers:
            say(f"addition: starting {count} brokers")
            brokers.start_all()
            return asyncio.run(measure_addition(brokers, world.plane.nodes, topics, say))


def show(found: dict[str, Any]) -> None:
    """Print the tables of the parts that were run."""
    if found["runs"]:
        show_deaths(found["runs"])
    if found["moves"]:
        show_moves(found["moves"])
    if found["balance"]:
        show_balance(found["balance"])
    for name in BALANCED:
        if found[name]:
            show_continuous(name, found[name])
    if found["addition"]:
        show_addition(found["addition"])
    if found["selections"]:
        show_selections(found["selections"])


def wrong(found: dict[str, Any]) -> bool:
    """Say whether anything was lost, repeated or out of order, or loads are not as simulated."""
    faults = ("lost", "repeated", "disordered", "stale")
    counted = any(part.get(key) for part in (*found["runs"], found["moves"]) for key in faults)
    uneven = found["balance"].get("q95_off_percent", 0) > MOST_OFF_PERCENT
    for name, levels in BALANCED.items():
        for level in levels if found[name] else ():
            uneven |= off_percent(found[name], level) > MOST_OFF_PERCENT
    added = found["addition"]
    uneven |= is_uneven(found["selections"])
    return counted or uneven or (bool(added) and is_off(added))


async def measure_deaths(
    brokers: LocalBrokers, level: int, scale: Scale, rng: random.Random, say: Progress
) -> dict[str, Any]:
    """Kill brokers under steady writes, and count."""
    topics = [f"deaths-{number}" for number in range(scale.topics)]
    before = sum(status.shelves for status in await brokers.settled())
    async with AsyncClient(list(brokers.addresses.values()), timeout_s=120) as client:
        writer = Writer(client, topics, level, scale.rate)
        await writer.begin(scale.past)
        say(f"level {level}: {len(topics)} topics of {scale.past} messages made")
        await brokers.settled()
        heals, returns, away = [], [], []
        for victim in rng.sample(sorted(brokers.addresses), scale.kills):
            brokers.kill(victim)
            heals.append(await _timed(brokers))
            say(f"level {level}: {victim} killed, all copies made after {heals[-1]:.1f} s")
            away.append(victim)
            if level == 2:
                returns.append(await _bring_back(brokers, away, say))
            await asyncio.sleep(1.0)
        if away:
            returns.append(await _bring_back(brokers, away, say))
        found = await brokers.settled()
        await writer.end()
        say(f"level {level}: reading {sum(writer.acknowledged.values()):,} messages back")
        checked = await verify(client, writer.acknowledged)
    shelves = sum(status.shelves for status in found)
    return {
        "level": level,
        "brokers": scale.brokers,
        "topics": len(topics),
        "rate": scale.rate,
        "acknowledged": sum(writer.acknowledged.values()),
        **checked,
        "stale": max(0, shelves - before - 2 * len(topics)),
        "kills": scale.kills,
        "heal_s": [round(seconds, 2) for seconds in heals],
        "return_s": [round(seconds, 2) for seconds in returns],
        "ack_ms_median": round(float(np.median(writer.delays_ms)), 1),
        "ack_ms_p99": round(float(np.percentile(writer.delays_ms, 99)), 1),
        "ack_ms_max": round(max(writer.delays_ms), 1),
    }


async def _timed(brokers: LocalBrokers) -> float:
    started = time.monotonic()
    await brokers.settled(120)
    return time.monotonic() - started


async def _bring_back(brokers: LocalBrokers, away: list[str], say: Progress) -> float:
    """Start killed brokers again; return how long until they hold what they should and no more."""
    names = ", ".join(away)
    for name in away:
        await asyncio.to_thread(brokers.start, name)
    away.clear()
    seconds = await _timed(brokers)
    say(f"{names} returned, settled after {seconds:.1f} s")
    return seconds


async def measure_moves(
    brokers: LocalBrokers, moves: int, rng: random.Random, say: Progress
) -> dict[str, Any]:
    """Move a topic under a writer and a subscriber."""
    addresses = list(brokers.addresses.values())
    async with AsyncClient(addresses) as client, AsyncClient(addresses) as other:
        writer = Writer(client, ["moved"], 2, 200.0)
        await writer.begin()
        follower = Follower(other, "moved")
        took = []
        for _ in range(moves):
            started = time.monotonic()
            await other.move("moved", Coordinate(rng.random(), rng.random()))
            took.append((time.monotonic() - started) * 1e3)
            await asyncio.sleep(0.3)
        await other.retire("moved")
        await writer.end()
        count = writer.acknowledged["moved"]
        await follower.reach(count)
        checked = await verify(client, writer.acknowledged)
    say(f"{moves} moves, {count:,} messages")
    return {
        "moves": moves,
        "move_ms_median": round(float(np.median(took)), 1),
        "move_ms_max": round(max(took), 1),
        "published": count,
        "seen": len(follower.seen),
        "lost": checked["lost"] + len(set(range(1, count + 1)) - set(follower.seen)),
        "repeated": len(follower.seen) - len(set(follower.seen)),
        "disordered": sum(b < a for a, b in pairwise(follower.seen)),
        "delay_ms_p99": round(float(np.percentile(follower.delays_ms, 99)), 1),
    }
