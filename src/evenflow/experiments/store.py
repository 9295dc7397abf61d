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

*Balance.* Topics grow, live and in the simulation, from the same placement: see `store_balance`.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow.experiments.report import Progress, print_table, write_json, write_plot
from evenflow.experiments.store_balance import measure_balance, places_of, setting
from evenflow.experiments.store_load import Follower, Writer, verify
from evenflow.overlay.client_async import AsyncClient
from evenflow.overlay.geometry import Coordinate
from evenflow.overlay.local import LocalBrokers
from evenflow.overlay.simulation import draw_world

if TYPE_CHECKING:
    import argparse

HELP = """\
The live overlay store: broker processes killed with -9 one after the other under steady writes, at
levels 2 and 3, a topic moved under a subscriber, and the loads of growing topics beside the
simulation's. Counts what is lost, repeated, out of order or
stale, and how long the missing copies take (SeDAX, sections III and IV-B)."""

SILENCE_S = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's own arguments."""
    parser.add_argument("--brokers", metavar="N", type=int, default=0, help="(20; quick: 5)")
    parser.add_argument("--topics", metavar="N", type=int, default=0, help="(500; quick: 30)")
    parser.add_argument("--kills", metavar="N", type=int, default=0, help="per level (4; quick: 1)")
    parser.add_argument(
        "--history", metavar="N", type=int, default=0,
        help="messages of each topic before the first death (200; quick: 20)",
    )  # fmt: skip
    parser.add_argument("--rate", metavar="R", type=float, default=0, help="messages/s (250; 100)")
    parser.add_argument("--moves", metavar="N", type=int, default=10, help="moves of a topic (10)")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="places and victims (1)")


def run(args: argparse.Namespace) -> int:
    """Run both parts and report."""
    progress = Progress("store")
    args.brokers = args.brokers or (5 if args.quick else 20)
    args.topics = args.topics or (30 if args.quick else 500)
    args.kills = args.kills or (1 if args.quick else 4)
    args.history = args.history or (20 if args.quick else 200)
    args.rate = args.rate or (100.0 if args.quick else 250.0)
    runs = []
    moves: dict[str, Any] = {}
    for level in (2, 3):
        with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
            rng = random.Random(args.seed)
            places = {
                f"b{number:02}": Coordinate(rng.uniform(0.02, 0.98), rng.uniform(0.02, 0.98))
                for number in range(args.brokers)
            }
            with LocalBrokers(places, Path(name), silence_s=SILENCE_S) as brokers:
                progress(f"level {level}: starting {args.brokers} brokers")
                brokers.start_all()
                if level == 2:
                    moves = asyncio.run(measure_moves(brokers, args.moves, rng, progress))
                runs.append(asyncio.run(measure_deaths(brokers, level, args, rng, progress)))
    balance = run_balance(args, progress)
    show(runs, moves)
    show_balance(balance)
    write_json(args.json, {"runs": runs, "moves": moves, "balance": balance})
    if args.plot:
        plot(args.plot, runs)
    faults = ("lost", "repeated", "disordered", "stale")
    wrong = any(found[key] for found in (*runs, moves) for key in faults if key in found)
    return 1 if wrong or balance["q95_off_percent"] > 10 else 0


def run_balance(args: argparse.Namespace, say: Progress) -> dict[str, Any]:
    """Compare the loads of growing topics, live and simulated."""
    count = 5 if args.quick else 10
    world = draw_world(setting(count, count), args.seed)
    with tempfile.TemporaryDirectory(prefix="evenflow-store-") as name:
        places = places_of(world)
        with LocalBrokers(places, Path(name), silence_s=SILENCE_S) as brokers:
            say(f"balance: starting {count} brokers")
            brokers.start_all()
            return asyncio.run(measure_balance(brokers, world, say, failures=not args.quick))


async def measure_deaths(
    brokers: LocalBrokers, level: int, args: argparse.Namespace, rng: random.Random, say: Progress
) -> dict[str, Any]:
    """Kill brokers under steady writes, and count."""
    topics = [f"deaths-{number}" for number in range(args.topics)]
    before = sum(condition.shelves for condition in await brokers.settled())
    async with AsyncClient(list(brokers.addresses.values()), timeout_s=120) as client:
        writer = Writer(client, topics, level, args.rate)
        await writer.begin(args.history)
        say(f"level {level}: {len(topics)} topics of {args.history} messages made")
        await brokers.settled()
        heals, returns, away = [], [], []
        for victim in rng.sample(sorted(brokers.addresses), args.kills):
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
        books = await verify(client, writer.acknowledged)
    shelves = sum(condition.shelves for condition in found)
    return {
        "level": level,
        "brokers": args.brokers,
        "topics": len(topics),
        "rate": args.rate,
        "acknowledged": sum(writer.acknowledged.values()),
        **books,
        "stale": max(0, shelves - before - 2 * len(topics)),
        "kills": args.kills,
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
        books = await verify(client, writer.acknowledged)
    say(f"{moves} moves, {count:,} messages")
    return {
        "moves": moves,
        "move_ms_median": round(float(np.median(took)), 1),
        "move_ms_max": round(max(took), 1),
        "published": count,
        "seen": len(follower.seen),
        "lost": books["lost"] + len(set(range(1, count + 1)) - set(follower.seen)),
        "repeated": len(follower.seen) - len(set(follower.seen)),
        "disordered": sum(b < a for a, b in pairwise(follower.seen)),
        "delay_ms_p99": round(float(np.percentile(follower.delays_ms, 99)), 1),
    }


def show(runs: list[dict[str, Any]], moves: dict[str, Any]) -> None:
    """Print the tables."""
    keys = ["level", "topics", "acknowledged", "lost", "repeated", "disordered", "stale"]
    print_table(
        f"Brokers killed one after the other under steady writes ({runs[0]['brokers']} brokers)",
        keys,
        [[found[key] for key in keys] for found in runs],
    )
    print_table(
        "How long it took",
        ["level", "kills", "copies made, s", "returned, s", "ack ms", "ack p99 ms"],
        [
            [
                found["level"],
                found["kills"],
                " ".join(f"{seconds:.1f}" for seconds in found["heal_s"]),
                " ".join(f"{seconds:.1f}" for seconds in found["return_s"]),
                found["ack_ms_median"],
                found["ack_ms_p99"],
            ]
            for found in runs
        ],
        note="from kill -9 until every topic has all copies its level asks for",
    )
    print_table(
        "A topic moved under a writer and a subscriber",
        ["moves", "median ms", "max ms", "published", "seen", "lost", "repeated", "disordered"],
        [[moves[key] for key in (
            "moves", "move_ms_median", "move_ms_max", "published", "seen", "lost", "repeated",
            "disordered",
        )]],
    )  # fmt: skip


def show_balance(balance: dict[str, Any]) -> None:
    """Print the loads."""
    print_table(
        f"Node loads of growing topics, level {balance['level']}, % (SeDAX, Figure 6)",
        ["", "mean", "q95", "max"],
        [
            [name, *(balance[f"{name}_{key}"] for key in ("mean", "q95", "max"))]
            for name in ("live", "simulated")
        ],
    )


def plot(path: Path, runs: list[dict[str, Any]]) -> None:
    """Draw how long the copies took after each death."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(7, 4))
    axes = figure.add_subplot()
    for found in runs:
        heals = found["heal_s"]
        axes.plot(range(1, len(heals) + 1), heals, marker="o", label=f"level {found['level']}")
    axes.set(xlabel="death", ylabel="all copies made after, s", ylim=(0, None))
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    write_plot(path, figure)
