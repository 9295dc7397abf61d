"""``evenflow broker``: a broker of the overlay store, until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

import rich_click as click

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.knowledge.history import History
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import exit_code_of, until_stopped
from evenflow.cli.values import INDEX, Whole, folder, seconds
from evenflow.domain.channels import is_node
from evenflow.domain.cyclone import Participant
from evenflow.errors import ConfigError
from evenflow.metrics.catalogue import BROKER
from evenflow.overlay.balancing.selections import CHOICES
from evenflow.overlay.broker.broker import Broker
from evenflow.overlay.protocol.connection import parse_address
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evenflow.config import Config

EXAMPLES = """\
  evenflow broker --name b1 --at 0.3,0.7 --listen 127.0.0.1:7401
  evenflow broker --name b2 --listen 127.0.0.1:0 --contact 127.0.0.1:7401
  evenflow broker --name b3 --listen 127.0.0.1:0 --contact 127.0.0.1:7401 \\
      --keep-for 24h --balance-every 10s

Brokers that the file names (store.brokers) find one another without --contact.
Clients connect to any broker: evenflow.overlay.Client(["127.0.0.1:7401"]).
"""


def interval(text: str) -> float:
    """Read a length of time; 0 is one too."""
    return 0.0 if text.strip() in ("0", "0s") else seconds(text)


def place(text: str) -> Coordinate:
    """Read a coordinate, as in ``0.25,0.75``."""
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} must be X,Y, as in 0.25,0.75") from None
    if not (0 < x < 1 and 0 < y < 1):
        raise click.BadParameter(f"{text!r} is not inside the unit square")
    return Coordinate(x, y)


def address(text: str) -> str:
    """Read ``host:port``."""
    try:
        parse_address(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


def others_of(brokers: tuple[str, ...], listen: str) -> tuple[str, ...]:
    """The brokers of the configuration that a broker joins: all but itself, in any order."""
    return tuple(one for one in brokers if one != listen)


@command("broker", examples=EXAMPLES)
@click.option("--name", metavar="NAME", required=True, help="the broker's own name")
@click.option("--at", metavar="X,Y", type=place, help="place in the unit square (from its name)")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    type=address,
    default="127.0.0.1:7400",
    help="where brokers and clients connect; port 0 takes any (127.0.0.1:7400)",
)
@click.option(
    "--contact",
    "contacts",
    metavar="HOST:PORT",
    type=address,
    multiple=True,
    help="a broker to join (may be repeated; else the others of store.brokers)",
)
@click.option("--data", metavar="FOLDER", type=folder, default="store", help="its storage (store/)")
@click.option(
    "--silence",
    metavar="TIME",
    type=seconds,
    default="2s",
    help="a neighbour silent for this long is dead (2s)",
)
@click.option(
    "--keep-for", metavar="TIME", type=interval, default="0", help="messages expire after this"
)
@click.option("--keep-bytes", metavar="N", type=INDEX, default=0, help="payload kept of each topic")
@click.option(
    "--balance-every",
    metavar="TIME",
    type=interval,
    help="give a topic away this often if loads become more even; 0: never (store.balance_s)",
)
@click.option(
    "--topic-bytes",
    metavar="N",
    type=INDEX,
    help="a topic counts at least this, and a new one is placed by load (store.topic_bytes)",
)
@click.option(
    "--selection",
    type=click.Choice(CHOICES),
    help="how a better place is found: all loads are told, also with a plan for new topics, or some"
    " asked for (store.selection)",
)
@click.option(
    "--queries",
    metavar="N",
    type=Whole(1, 1000),
    help="coordinates that are asked for a decision (store.queries)",
)
@click.option(
    "--shift-bytes",
    metavar="N",
    type=INDEX,
    help="bytes a second that a past delegate hands on; 0: they expire there (store.shift_bytes)",
)
@click.option("--monitor", is_flag=True, help="join the domain and report load, bytes and topics")
@metrics_option
def broker(
    shared: Shared, *, name: str, at: Coordinate | None, listen: str, contacts: tuple[str, ...],
    data: Path, silence: float, keep_for: float, keep_bytes: int, balance_every: float | None,
    topic_bytes: int | None, selection: str | None, queries: int | None, shift_bytes: int | None,
    monitor: bool, metrics: str | None,
) -> int:  # fmt: skip
    """Store topics as part of the overlay, until a signal."""
    config = shared.config()
    if not is_node(name) or "/" in name or name in {".", ".."}:
        allowed = "must be 1 to 255 characters, no space, slash, quote, or *?[]#$"
        raise ConfigError("--name", name, allowed)
    settings = Settings(
        silence_s=silence,
        lease_s=silence / 2,
        heartbeat_s=silence / 8,
        age_s=keep_for,
        shelf_bytes=keep_bytes,
        balance_s=config.store.balance_s if balance_every is None else balance_every,
        shift_bytes=config.store.shift_bytes if shift_bytes is None else shift_bytes,
        topic_bytes=config.store.topic_bytes if topic_bytes is None else topic_bytes,
        selection=selection or config.store.selection,
        queries=queries or config.store.queries,
    )
    with contextlib.ExitStack() as stack:
        metering = stack.enter_context(Metering("broker", metrics, config))
        history = None
        if settings.balance_s:
            history = stack.enter_context(History(config.history_file, keep=config.history.keep))
        running = Broker(
            name,
            at or geographic_hash(name),
            listen=listen,
            data=data,
            contacts=contacts or others_of(config.store.brokers, listen),
            settings=settings,
            history=history,
        )
        metering.show(
            BROKER, lambda: [((name,), running.status)] if running.status is not None else []
        )
        return asyncio.run(_serve(running, _monitored(running, config) if monitor else None))


async def _serve(broker: Broker, monitoring: AbstractContextManager[None] | None) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await broker.start()
    say(f"{broker.name} listens at {broker.address}")
    with monitoring or contextlib.nullcontext():
        return await _until_stopped(broker, stop)


@contextlib.contextmanager
def _monitored(broker: Broker, config: Config) -> Iterator[None]:
    """Show the broker's load to the monitoring service of the domain."""

    def reading(name: str) -> Callable[[], float]:
        return lambda: float(getattr(broker.status, name))

    sensors = {
        "broker_load": reading("load"),
        "broker_bytes": reading("stored_bytes"),
        "broker_topics": reading("leading"),
    }
    with (
        Participant(config.domain) as participant,
        Agent(f"broker/{broker.name}", config, participant, sensors),
    ):
        yield


async def _until_stopped(broker: Broker, stop: asyncio.Event) -> int:
    fault = await until_stopped(broker.wait(), stop, None)
    await broker.close()
    return exit_code_of("broker", fault)
