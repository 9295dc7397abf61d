"""``evenflow broker``: a broker of the overlay store, until stopped."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.history import History
from evenflow.cli.options import load_config
from evenflow.cli.running import seconds
from evenflow.domain.cyclone import Participant
from evenflow.errors import OverlayError
from evenflow.overlay.broker.broker import Broker
from evenflow.overlay.protocol.connection import parse_address
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.config import Config

EXAMPLES = """\
  evenflow broker --name b1 --at 0.3,0.7 --listen 127.0.0.1:7401 --data store/
  evenflow broker --name b2 --at 0.6,0.2 --listen 127.0.0.1:7402 --data store/ \\
      --contact 127.0.0.1:7401
  evenflow broker --name b3 --listen 127.0.0.1:0 --contact 127.0.0.1:7401 --keep-for 24h
  evenflow broker --name b4 --listen 127.0.0.1:0 --contact 127.0.0.1:7401 --balance-every 10s

Clients connect to any broker: evenflow.overlay.Client(["127.0.0.1:7401"]).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--name", metavar="NAME", required=True, help="the broker's own name")
    parser.add_argument(
        "--at", metavar="X,Y", type=place, help="its place in the unit square (from its name)"
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", type=address, default="127.0.0.1:7400",
        help="where brokers and clients connect; port 0 takes any (127.0.0.1:7400)",
    )  # fmt: skip
    parser.add_argument(
        "--contact", metavar="HOST:PORT", type=address, action="append", default=[],
        help="a broker to join (may be repeated; none for the first)",
    )  # fmt: skip
    parser.add_argument(
        "--data", metavar="FOLDER", type=Path, default=Path("store"), help="its storage (store/)"
    )
    parser.add_argument(
        "--silence", metavar="TIME", type=seconds, default=2.0,
        help="a neighbour silent for this long is dead (2s)",
    )  # fmt: skip
    parser.add_argument(
        "--keep-for", metavar="TIME", type=seconds, default=0.0, help="messages expire after this"
    )
    parser.add_argument(
        "--keep-octets", metavar="N", type=int, default=0, help="payload kept of each topic here"
    )
    parser.add_argument(
        "--balance-every", metavar="TIME", type=interval,
        help="give a topic away this often if loads become more even; 0: never (store.balance_s)",
    )  # fmt: skip
    parser.add_argument(
        "--monitor", action="store_true", help="join the domain and report load, octets and topics"
    )


def interval(text: str) -> float:
    """Read a length of time; 0 is one too."""
    return 0.0 if text.strip() in ("0", "0s") else seconds(text)


def place(text: str) -> Coordinate:
    """Read a coordinate, as in ``0.25,0.75``."""
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be X,Y, as in 0.25,0.75") from None
    if not (0 < x < 1 and 0 < y < 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not inside the unit square")
    return Coordinate(x, y)


def address(text: str) -> str:
    """Read ``host:port``."""
    try:
        parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def run(args: argparse.Namespace) -> int:
    """Run a broker until a signal."""
    config = load_config(args)
    if args.balance_every is None:
        args.balance_every = config.store.balance_s
    with contextlib.ExitStack() as stack:
        history = None
        if args.balance_every:
            history = stack.enter_context(History(config.history_file, keep=config.history.keep))
        return asyncio.run(_run(args, config, history))


async def _run(args: argparse.Namespace, config: Config, history: History | None) -> int:
    settings = Settings(
        silence_s=args.silence,
        lease_s=args.silence / 2,
        heartbeat_s=args.silence / 8,
        age_s=args.keep_for,
        shelf_octets=args.keep_octets,
        balance_s=args.balance_every,
    )
    broker = Broker(
        args.name,
        args.at or geographic_hash(args.name),
        listen=args.listen,
        data=args.data,
        contacts=args.contact,
        settings=settings,
        history=history,
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await broker.start()
    except OSError as error:
        raise OverlayError(f"cannot listen at {args.listen}: {error}") from None
    print(f"{args.name} listens at {broker.address}", file=sys.stderr, flush=True)
    with _monitored(broker, config) if args.monitor else contextlib.nullcontext():
        return await _until_stopped(broker, stop)


@contextlib.contextmanager
def _monitored(broker: Broker, config: Config) -> Iterator[None]:
    """Show the broker's load to the monitoring service of the domain."""

    def reading(name: str) -> Callable[[], float]:
        return lambda: float(getattr(broker.condition, name))

    sensors = {
        "broker_load": reading("load"),
        "broker_octets": reading("octets"),
        "broker_topics": reading("leading"),
    }
    with (
        Participant(config.domain) as participant,
        Agent(f"broker/{broker.name}", config, participant, sensors),
    ):
        yield


async def _until_stopped(broker: Broker, stop: asyncio.Event) -> int:
    failure = asyncio.ensure_future(broker.wait())
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({failure, stopped}, return_when=asyncio.FIRST_COMPLETED)
    fault = failure.exception() if failure.done() and not failure.cancelled() else None
    stopped.cancel()
    await broker.close()
    if fault is not None:
        print(f"evenflow: error: the broker stopped: {fault!r}", file=sys.stderr)
    return 1 if fault is not None else 0
