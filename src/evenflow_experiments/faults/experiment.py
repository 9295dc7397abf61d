"""``evenflow experiment faults``: exactly once while hosts, links, paths, clocks and disks fail.

Publishers, nodes, balancers, Spark, a following consumer, brokers and a client of the store run as
real processes, each on a host of its own (:mod:`hosts`, :mod:`cast`). From a seed come faults, one
after the other (:mod:`kinds`): each is done, healed, and followed by a wait until everything has
recovered (:mod:`recovery`). In the end publishing stops, everything is drained, and the books are
compared (:mod:`books` says what is owed, what is lost and what is a repeat).
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.errors import ExperimentError
from evenflow_experiments.faults.books import lost, repeats
from evenflow_experiments.faults.cast import Casting, Scale, has_outbox
from evenflow_experiments.faults.figures import WRONG, rows, wrong
from evenflow_experiments.faults.hosts import NAME, Hosts, left_out, require
from evenflow_experiments.faults.kinds import Action, Role, kinds, schedule
from evenflow_experiments.faults.stage import Stage
from evenflow_experiments.faults.trial import Trial
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, print_table, write_json, write_plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow_experiments.faults.figures import Account
    from evenflow_experiments.faults.kinds import Fault, Member

HELP = """\
Publishers, nodes, two balancers, Spark into Parquet, a following consumer and six brokers of the
store as real processes, each on a host of its own; and from a seed one fault after the other:
kill -9, SIGSTOP, a cable pulled, a path blocked, a clock set apart, a disk full. Counts what is
lost, repeated, or acknowledged and lost, and how long recovery takes. Needs root. On two cores a
fault takes about 14 s with its recovery: 200 take 45 minutes."""

OWED = """\
owed: of each publisher what publish() accepted; of a run of it that was killed, what flush() had
made safe; of the store what was acknowledged. Lost and repeated count once for each consumer;
p50 s and max s: from the heal until all is through."""
PARTS: Final = ("spark", "follower", "store")
COLUMNS: Final = {
    "fault": "fault", "count": "count", "published": "published", "lost": "lost",
    "repeated": "repeated", "allowed_repeats": "allowed", "acked": "acked",
    "acked_lost": "acked lost", "acked_repeated": "twice", "recovered_s_p50": "p50 s",
    "recovered_s_max": "max s",
}  # fmt: skip
"""The table: what of a row, and its title."""
SHOWN: Final = 5
"""Examples told of what is wrong."""


@experiment(NAME, HELP, quick_s=900)
@click.option("--faults", "count", metavar="N", type=click.IntRange(min=0), default=200,
              help="how many faults (200; quick: each kind once)")  # fmt: skip
@click.option("--seed", metavar="S", type=int, default=1, help="of all that is random (1)")
@click.option("--only", metavar="KIND", multiple=True,
              help="kinds of fault, as in kill-node, or kill (may be repeated)")  # fmt: skip
@click.option("--pairs", is_flag=True,
              help="while a fault lasts a second one strikes, on other hosts")  # fmt: skip
@click.option("--without", type=click.Choice(PARTS), multiple=True,
              help="leave a part of the cast out (may be repeated)")  # fmt: skip
@click.option("--keep", metavar="FOLDER", type=Path, help="leave books and logs in a new folder")
def faults(
    given: Given, *, count: int, seed: int, only: tuple[str, ...], pairs: bool,
    without: tuple[str, ...], keep: Path | None,
) -> int:  # fmt: skip
    """Run once and report."""
    check_only(only)
    require()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # in order, as after Ctrl-C
    scale = Scale(
        brokers=0 if "store" in without else 6,
        spark="spark" not in without,
        follower="follower" not in without,
        servers=0 if {"spark", "follower"} <= set(without) else 3,
    )
    wanted = None if given.quick else count
    with tempfile.TemporaryDirectory(prefix="evenflow-faults-") as name:
        folder = Path(name)
        if keep is not None:
            folder = keep.absolute()
            if folder.exists():
                raise ExperimentError(NAME, f"--keep {keep}: there is something already")
            folder.mkdir(parents=True)
        figures = run(scale, folder, seed, only, wanted, pairs=pairs)
    show(figures)
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, figures)
    return 1 if wrong(figures["rows"]) or figures["unrecovered"] else 0


def check_only(only: Sequence[str]) -> None:
    """Refuse kinds that there are not."""
    known = [*Action, *(f"{action}-{role}" for action in Action for role in Role)]
    for kind in only:
        if kind not in known:
            raise ExperimentError(
                NAME, f"--only {kind}: no such kind; there are {', '.join(known)}"
            )


def run(
    scale: Scale, folder: Path, seed: int, only: Sequence[str], count: int | None,
    *, pairs: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Run a cast of a scale in an empty folder through faults; return the figures."""
    tell, started = Progress(NAME), time.monotonic()
    reasons = left_out()
    for action, reason in reasons.items():
        tell(f"leaves out {action}: {reason}")
    with (
        Hosts(scale.names()) as hosts,
        Stage(
            hosts, (casting := Casting(scale, hosts.addresses, folder)).parts, folder, tell
        ) as stage,
    ):
        trial = Trial(stage, casting, tell)
        trial.begin()
        planned = plan(trial.cast, list(reasons), only, count, Random(seed), pairs=pairs)
        tell(f"everything runs; {len(planned)} faults, seed {seed}")
        unrecovered = trial.strike_all(planned)
        tell("publishing ends; waiting until everything is through")
        trial.drain()
        account = trial.account()
        ended, suspected = dict(stage.ended), trial.suspected()
    explain(account, tell)
    return {
        "rows": rows(account),
        "faults": len(account.outcomes),
        "seconds": round(time.monotonic() - started, 1),
        "seed": seed,
        "pairs": pairs,
        "outbox": has_outbox(),
        "ended_by_themselves": ended,
        "suspected": suspected,
        "cuts": trial.readings.cuts,
        "left_out": {str(action): reason for action, reason in reasons.items()},
        "unrecovered": unrecovered or trial.unread,
    }


def plan(
    cast: Sequence[Member],
    without: Sequence[Action],
    only: Sequence[str],
    count: int | None,
    rng: Random,
    *,
    pairs: bool = False,
) -> list[Fault]:
    """The faults of a run."""
    chosen = kinds(cast, without=without, only=only)
    if not chosen and count != 0:
        raise ExperimentError(NAME, f"nobody here can be struck by {', '.join(only)}")
    return schedule(chosen, cast, rng, count, pairs=pairs)


def explain(account: Account, tell: Progress) -> None:
    """Name some of what is wrong, so that it can be looked up in the books."""
    for number, stream in account.streams.items():
        for sink in account.sinks[number]:
            if missing := lost(stream, sink):
                tell(f"{sink.name} lacks {len(missing)} of stream {number}: {_some(missing)}")
    for sink in {sink.name: sink for sinks in account.sinks.values() for sink in sinks}.values():
        found = [one for one in repeats(sink, account.struck) if one.wrong]
        for one in found[:SHOWN]:
            times = ", ".join(f"{seen.where} at {seen.time:.3f}" for seen in one.seen)
            tell(f"{sink.name} has item {one.id} more than once: {times}")
    for number, sink in account.found.items():
        if missing := lost(account.stored[number], sink, acknowledged=True):
            tell(f"the store lacks {len(missing)} of stream {number}: {_some(missing)}")


def _some(numbers: Sequence[int]) -> str:
    more = ", ..." if len(numbers) > SHOWN else ""
    return ", ".join(map(str, numbers[:SHOWN])) + more


def show(figures: dict[str, Any]) -> None:
    """Print the table."""
    found = figures["rows"]
    total = Counter[str]()
    for row in found:
        total.update({name: row[name] for name in ("count", "published", "acked", *WRONG)})
    print_table(
        f"{figures['faults']} faults in {figures['seconds']:.0f} s, seed {figures['seed']}",
        list(COLUMNS.values()),
        [[row[name] for name in COLUMNS] for row in found],
        note=OWED,
    )
    words = ", ".join(f"{total[name]:,} {name}" for name in ("published", "acked", *WRONG))
    print(f"in all: {words}; {figures['cuts']} streams of silent publishers cut")
    if figures["unrecovered"]:
        print(f"ended early: {figures['unrecovered'].splitlines()[0]}")


def plot(path: Path, figures: dict[str, Any]) -> None:
    """Draw how long recovery took, median and longest, by kind of fault."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    found = [row for row in figures["rows"] if row["recovered_s_max"] is not None]
    names = [row["fault"] for row in found]
    figure = Figure(figsize=(6, 1 + 0.25 * len(found)))
    axes = figure.add_subplot()
    axes.barh(names, [row["recovered_s_max"] for row in found], alpha=0.4, label="longest")
    axes.barh(names, [row["recovered_s_p50"] for row in found], label="median")
    axes.set(xlabel="seconds until all had recovered")
    axes.legend()
    write_plot(path, figure)
