"""``evenflow up``: everything on this machine at once, with a live table.

Starts a balancer and nodes as processes of their own and publishes a steady stream. The nodes note
every item they process, so the summary at the end can say, from what really happened, whether an
item was lost or repeated; the exit code says it too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from evenflow.cli.options import load_config
from evenflow.cli.running import StopSignal, seconds
from evenflow.cli.watch import Watch
from evenflow.domain.cyclone import Participant
from evenflow.experiments.arrivals import FILE_VARIABLE, Arrivals
from evenflow.experiments.stream import SteadyStream
from evenflow.slices.local import LocalCluster
from evenflow.slices.observer import Observer

if TYPE_CHECKING:
    import argparse

    from evenflow.config import Config

EXAMPLES = """\
  evenflow up                                   three nodes, until Ctrl-C
  evenflow up --nodes 5 --rate 5000 --for 60s   five nodes, ends by itself with a summary

While it runs, look and interfere from another terminal:
  evenflow slices move --from node-1 --to node-2 --count 10
  evenflow history
"""

APP = "evenflow.experiments.arrivals:note"
REFRESH_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--nodes", metavar="N", type=int, default=3, help="processing nodes (3)")
    parser.add_argument("--rate", metavar="R", type=float, default=1000, help="items/s (1000)")
    parser.add_argument("--size", metavar="B", type=int, default=100, help="bytes an item (100)")
    parser.add_argument(
        "--for", metavar="TIME", type=seconds, dest="duration", help="stop by itself, as in 60s"
    )


def run(args: argparse.Namespace) -> int:
    """Run until a signal or the end of the time, then tell how it went."""
    config = load_config(args)
    # The children read a file of theirs; the history belongs to the operator's.
    config = replace(
        config, history=replace(config.history, path=str(config.history_file.resolve()))
    )
    stop = StopSignal()
    with tempfile.TemporaryDirectory(prefix="evenflow-up-") as name:
        folder = Path(name)
        published = _run(args, config, stop, folder)
        arrivals = Arrivals.read(folder)
    lost, repeated = arrivals.lost(published), arrivals.repeated
    print(f"{published:,} items published, {lost:,} lost, {repeated:,} repeated")
    return 1 if lost or repeated else 0


def _run(args: argparse.Namespace, config: Config, stop: StopSignal, folder: Path) -> int:
    with (
        LocalCluster(config, log_dir=folder) as cluster,
        Participant(config.domain) as participant,
    ):
        cluster.start_balancer()
        for number in range(1, args.nodes + 1):
            name = f"node-{number}"
            cluster.start_node(name, APP, env={FILE_VARIABLE: str(folder / f"{name}.arrivals")})
        stream = SteadyStream(config, bytes(args.size), args.rate)
        watch = Watch(Observer(participant), config.topics[0].name, stream)
        _show(watch, stop, args.duration)
        print("waiting until everything is committed", file=sys.stderr)
        return stream.end()


def _show(watch: Watch, stop: StopSignal, duration: float | None) -> None:
    """Show the live table; without a terminal, a line every few seconds."""
    end = time.monotonic() + duration if duration else float("inf")
    console = Console()
    if not console.is_terminal:
        while not stop.given and time.monotonic() < end:
            watch.look(min(5.0, max(0.1, end - time.monotonic())))
            print(watch.line(), flush=True)
        return
    with Live(watch.table(), console=console, auto_refresh=False) as live:
        while not stop.given and time.monotonic() < end:
            watch.look(REFRESH_S)
            live.update(watch.table(), refresh=True)
