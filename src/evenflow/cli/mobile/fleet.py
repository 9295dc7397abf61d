"""``evenflow fleet``: thousands of simulated vehicles as mobile nodes, to load gateways with."""

from __future__ import annotations

import json
import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich_click as click

from evenflow.access.keys import signing_key
from evenflow.access.names import CA_FILE
from evenflow.access.tokens import Allowed, issue
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal
from evenflow.cli.values import POSITIVE, Number, Whole, seconds
from evenflow.errors import ConfigError
from evenflow.errors.words import counted
from evenflow.fleet.mobile_processes import FleetProcesses
from evenflow.fleet.tour import Tour, TourBooks
from evenflow.metrics.catalogue import VEHICLES
from evenflow.mobile.link.address import parse_link_address
from evenflow.mobile.link.connection import Trust

if TYPE_CHECKING:
    from evenflow.config import Config

EXAMPLES = """\
  evenflow fleet --nodes 1000        at quic://127.0.0.1:7500, until Ctrl-C
  evenflow fleet --nodes 5000 --processes 2 --rate 0.1 --for 60s --json
  evenflow fleet --nodes 200 --dead-spots 2 --address-changes 2
  EVENFLOW_TOKEN=$(cat fleet.token) evenflow fleet --trust ca.pem \\
      --gateway quic://g1:7500 --gateway tls://g1:7500

Vehicles are called vehicle-001, vehicle-002, ... Where the keys of the domain
are (access.dir) it issues a token for them itself, for one day. The exit code
is 1 when something that was published is not safe at the end.
"""
DEFAULT_GATEWAY = "quic://127.0.0.1:7500"
TOKEN_S = 86_400.0
AT_LEAST_ZERO = Number(min=0)


@command("fleet", examples=EXAMPLES)
@click.option(
    "--nodes", metavar="N", type=Whole(1, 1_000_000), default=1_000, help="vehicles (1000)"
)
@click.option(
    "--gateway", metavar="ADDRESS", multiple=True, default=(DEFAULT_GATEWAY,),
    help="quic://host:port or tls://host:port, best first (may be repeated)",
)  # fmt: skip
@click.option("--token", metavar="TOKEN", help="for vehicle-* (else $EVENFLOW_TOKEN, else issued)")
@click.option("--trust", metavar="FILE", help="certificate of the gateways' CA (that of the keys)")
@click.option("--topic", metavar="T", help="topic to report to (the gateway's first)")
@click.option("--rate", metavar="R", type=POSITIVE, default=0.1, help="reports/s of each (0.1)")
@click.option("--processes", metavar="N", type=Whole(1, 1_000), default=1, help="processes (1)")
@click.option(
    "--first", metavar="N", type=Whole(1, 1 << 31), default=1, help="number of the first (1)"
)
@click.option(
    "--dead-spots", metavar="R", type=AT_LEAST_ZERO, default=0.0,
    help="dead spots of each vehicle a minute (0)",
)  # fmt: skip
@click.option(
    "--dead-spot-time", metavar="TIME", type=seconds, default="5s", help="how long one is (5s)"
)
@click.option(
    "--address-changes", metavar="R", type=AT_LEAST_ZERO, default=0.0,
    help="changes of each vehicle's address a minute (0)",
)  # fmt: skip
@click.option("--for", "duration", metavar="TIME", type=seconds, help="end by itself, as in 60s")
@click.option("--seed", metavar="N", type=int, default=1, help="of the simulation (1)")
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
@metrics_option
def fleet(
    shared: Shared, *, nodes: int, gateway: tuple[str, ...], token: str | None, trust: str | None,
    topic: str | None, rate: float, processes: int, first: int, dead_spots: float,
    dead_spot_time: float, address_changes: float, duration: float | None, seed: int,
    as_json: bool, metrics: str | None,
) -> int:  # fmt: skip
    """Drive simulated vehicles that report as mobile nodes; until stopped."""
    config = shared.config()
    for address in gateway:
        parse_link_address(address, "--gateway")
    ca = Path(trust) if trust else config.access_folder / CA_FILE
    if not ca.is_file():
        raise ConfigError("--trust", str(ca), "there is no such file: name the gateways' ca.pem")
    tour = Tour(
        gateways=gateway,
        token=token or os.environ.get("EVENFLOW_TOKEN") or own_token(config),
        trust=Trust(str(ca)),
        first=first,
        count=nodes,
        rate_hz=rate,
        topic=topic,
        dead_spots_per_min=dead_spots,
        dead_spot_s=dead_spot_time,
        address_changes_per_min=address_changes,
        seed=seed,
    )
    stop = StopSignal()
    with (
        Metering("fleet", metrics, config) as metering,
        FleetProcesses(tour, processes) as running,
    ):
        began = time.monotonic()
        books = running.ask("attach", patience_s=600.0)
        say(f"{counted(books.attached, 'vehicle')} attached in {time.monotonic() - began:.1f} s")
        running.ask("drive")
        _watch(running, stop, duration, metering)
        running.ask("park")
        books = running.ask("flush", 30.0)
        running.ask("close", 1.0)
    _summarise(books, as_json=as_json)
    return 1 if books.kept else 0


def own_token(config: Config) -> str:
    """Issue a token for all vehicles, with the key of this machine."""
    now = time.time()
    return issue(
        signing_key(config.access_folder),
        subject="vehicle-*",
        allowed=Allowed(publish=("*",)),
        issued=now,
        expires=now + TOKEN_S,
        id=secrets.token_hex(8),
    )


def _watch(
    running: FleetProcesses, stop: StopSignal, duration: float | None, metering: Metering
) -> None:
    """Say once a second how it goes, until it is to end."""
    end = None if duration is None else time.monotonic() + duration
    published, newest = 0, TourBooks()
    metering.show(VEHICLES, lambda: [((), newest)])
    while not stop.wait(1.0):
        newest = books = running.ask("books")
        say(_line(books, books.published - published))
        published = books.published
        if end is not None and time.monotonic() >= end:
            return


def _line(books: TourBooks, items: int) -> str:
    delays = np.asarray(books.delays_ms)
    p50, p99 = np.percentile(delays, [50, 99]) if len(delays) else (0.0, 0.0)
    at = ", ".join(f"{name} {count}" for name, count in sorted(books.gateways.items()))
    return (
        f"{books.attached} of {books.vehicles} attached ({at or 'nowhere'}), {items} items/s,"
        f" safe after {p50:.0f} ms (p99 {p99:.0f}), {books.kept} kept,"
        f" {counted(books.lost, 'connection')} lost, {counted(books.messages, 'message')}"
    )


def _summarise(books: TourBooks, *, as_json: bool) -> None:
    summary: dict[str, Any] = {
        "vehicles": books.vehicles,
        "published": books.published,
        "safe": books.safe,
        "kept": books.kept,
        "messages": books.messages,
        "messages_repeated": books.repeated,
        "connections": books.connections,
        "connections_lost": books.lost,
        "dead_spots": books.dead_spots,
        "address_changes": books.address_changes,
    }
    if as_json:
        print(json.dumps(summary))
    else:
        print(", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in summary.items()))
