"""``evenflow up``: everything on this machine at once, with a live table.

A balancer, serving nodes, two gateways with a fleet of simulated vehicles, a mailbox, two bridges
with devices, Spark, and the fleet's pipeline (:mod:`evenflow.fleet`). The end waits until Spark has
committed every report; then the reports in Spark's own table are counted, so the summary says what
really came out, and the exit code tells whether a report was lost or repeated.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import rich_click as click
from rich.console import Console
from rich.live import Live

from evenflow.cli import INTERRUPTED
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal
from evenflow.cli.values import COUNT, Number, seconds
from evenflow.cli.watch import Watch
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import DomainError, SparkFailed
from evenflow.fleet.local import LocalFleet, Numbers
from evenflow.fleet.rules import ANSWERS
from evenflow.metrics.catalogue import DEMONSTRATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config
    from evenflow.fleet.local import Books
    from evenflow.fleet.vehicles import RoundTrip

EXAMPLES = """\
  evenflow up             three nodes, 200 vehicles, until Ctrl-C
  evenflow up --for 60s   ends by itself with a summary
  evenflow up --nodes 5 --vehicles 1000 --rate 5 --for 60s
  evenflow up --skew 20   some vehicles report far more than others

While it runs, look and interfere from another terminal:
  evenflow nodes
  evenflow consumers
  evenflow gateways
  evenflow gateways drain gateway-1
  evenflow bridges
  evenflow devices
  evenflow slices move --from node-1 --to node-2 --count 10
  evenflow history

The time of --for counts from Spark's first results. The exit code is 1 when a
report was lost or repeated, 130 when Ctrl-C came before the first results.
"""

DEFAULT: Final = Numbers()
READY_WITHIN_S: Final = 300.0
"""How long Spark may take to its first results."""
STUCK_S: Final = 60.0
"""How long the end waits when nothing more is committed."""
ANSWERED_WITHIN_S: Final = 20.0
"""How long it waits for answers when everything is."""
LOOK_S: Final = 1.0
"""How long to look for others in the domain."""
REFRESH_S: Final = 0.5
LINE_S: Final = 5.0
"""How often a log gets a line."""


@command("up", examples=EXAMPLES)
@click.option(
    "--nodes", metavar="N", type=COUNT, default=DEFAULT.nodes, help="processing nodes (3)"
)
@click.option(
    "--vehicles", metavar="N", type=COUNT, default=DEFAULT.vehicles, help="vehicles (200)"
)
@click.option(
    "--rate",
    metavar="R",
    type=Number(min=1),
    default=DEFAULT.rate,
    help="reports of each vehicle a second, 1 or more (2)",
)
@click.option(
    "--troubles",
    metavar="N",
    type=Number(min=0),
    default=DEFAULT.troubles,
    help="stops and deviations of the whole fleet a minute (20)",
)
@click.option(
    "--skew",
    metavar="N",
    type=COUNT,
    default=DEFAULT.skew,
    help="one vehicle in twenty reports N times as often (1)",
)
@click.option(
    "--devices", metavar="N", type=COUNT, default=DEFAULT.devices, help="devices at bridges (50)"
)
@click.option("--slices", metavar="N", type=COUNT, help="slices of the topic (as configured: 100)")
@click.option("--cores", metavar="N", type=COUNT, default=DEFAULT.cores, help="Spark's cores (2)")
@click.option("--for", "duration", metavar="TIME", type=seconds, help="stop by itself, as in 60s")
@metrics_option
def up(
    shared: Shared, nodes: int, vehicles: int, rate: float, troubles: float, skew: int,
    devices: int, slices: int | None, cores: int, duration: float | None,
    metrics: str | None,
) -> int:  # fmt: skip
    """Run everything on this machine, with a live table, and tell in the end how it went."""
    stop = StopSignal(then=signal.default_int_handler)
    config = configured(shared, slices)
    check_free(config)
    numbers = Numbers(nodes, vehicles, rate, troubles, cores, skew, devices)
    with (
        Metering("up", metrics, config) as metering,
        tempfile.TemporaryDirectory("", "evenflow-up-", ignore_cleanup_errors=True) as folder,
        LocalFleet(config, config.topics[0].name, numbers, Path(folder)) as fleet,
    ):
        watch = Watch(Observer(fleet.participant), fleet, config.domain.id)
        metering.show(DEMONSTRATION, lambda: [((), (fleet, watch))])
        books = _run(fleet, watch, stop, duration)
    if books is None:
        say("stopped before Spark had its first results")
        return INTERRUPTED
    print(summary(books, watch.moves))
    return 1 if books.lost or books.repeated else 0


def check_free(config: Config) -> None:
    """Raise `DomainError` when somebody works in the domain: its items would be counted as ours."""
    with Participant(config.domain) as participant:
        observer = Observer(participant)
        observer.look(LOOK_S)
        if observer.view(config.topics[0].name).balancer is not None:
            raise DomainError(
                f"domain {config.domain.id}",
                "a balancer works there already: stop it, or take another by --domain N",
            )


def configured(shared: Shared, slices: int | None = None) -> Config:
    """The configuration: vehicles report to its first topic, which Spark reads."""
    topic = shared.config().topics[0].name
    forced: dict[str, Any] = {f"topics.{topic}.served": True, f"topics.{ANSWERS}.slices": 8}
    if slices:
        forced[f"topics.{topic}.slices"] = slices
    config = shared.config(forced)
    # The children read a file of theirs; the history belongs to the operator's.
    history = replace(config.history, path=str(config.history_file.resolve()))
    return replace(config, history=history)


def _run(fleet: LocalFleet, watch: Watch, stop: StopSignal, duration: float | None) -> Books | None:
    """Show what happens until it is time to stop; None when that was before any result."""
    with contextlib.ExitStack() as display:
        show = _display(display, watch)
        watch.hint = "Ctrl-C ends it"
        late = time.monotonic() + READY_WITHIN_S
        while not fleet.ready:
            if stop.given:
                return None
            if time.monotonic() > late:
                raise SparkFailed(f"no results within {READY_WITHIN_S:g} s", fleet.spark.tail())
            show()
        end = time.monotonic() + (duration or float("inf"))
        while not stop.given and (left := end - time.monotonic()) > 0:
            if duration:
                watch.hint = f"ends in {left:.0f} s; Ctrl-C ends it now"
            show()
        fleet.park()
        watch.note = "waiting until Spark has committed everything; Ctrl-C ends it at once"
        _settle(fleet, show)
        watch.note = "not all is committed" if fleet.uncommitted else "everything is committed"
        show()
        return fleet.end()


def _settle(fleet: LocalFleet, show: Callable[[], None]) -> None:
    """Wait until everything has come through, or nothing more does."""
    left, since = -1, time.monotonic()
    while not fleet.settled():
        if fleet.uncommitted != left:
            left, since = fleet.uncommitted, time.monotonic()
        elif time.monotonic() - since > (STUCK_S if left else ANSWERED_WITHIN_S):
            return
        show()


def _display(display: contextlib.ExitStack, watch: Watch) -> Callable[[], None]:
    """What shows the next moment: a table on a terminal, else a line now and then."""
    console = Console()
    if not console.is_terminal:
        next_line, told = 0.0, ""

        def show_line() -> None:
            nonlocal next_line, told
            watch.look(REFRESH_S)
            if time.monotonic() >= next_line or watch.state != told:
                next_line, told = time.monotonic() + LINE_S, watch.state
                print(watch.line(), flush=True)

        return show_line

    live = display.enter_context(Live(console=console, auto_refresh=False))

    def show_table() -> None:
        watch.look(REFRESH_S)
        live.update(watch.table(*console.size), refresh=True)

    return show_table


def summary(books: Books, moves: int) -> str:
    """How it went, in a few lines."""
    fleet = books.fleet
    items = f"{books.published:,} published, {books.committed:,} committed"
    lines = [
        f"items     {items}, {books.rows:,} in Spark's table",
        f"lost      {books.lost:,}",
        f"repeated  {books.repeated:,}",
        f"alerts    {fleet.found:,} found of {fleet.planted:,} planted, {fleet.false:,} false",
        f"answers   {fleet.answers:,}{_round_trip(fleet.round_trips)}",
        f"moves     {moves:,}",
    ]
    return "\n".join(lines)


def _round_trip(trips: tuple[RoundTrip, ...]) -> str:
    if not trips:
        return ""
    whole = sorted(trip.whole_s for trip in trips)
    high = whole[min(len(whole) - 1, len(whole) * 99 // 100)]
    asked = median(trip.asked_s for trip in trips)
    own = median(trip.own_s for trip in trips)
    return (
        f", round trip {median(whole):.2f} s median, {high:.2f} s at most in 99 %\n"
        f"          the windows ask for {asked:.2f} s of it, {own:.2f} s are beyond (medians)"
    )
