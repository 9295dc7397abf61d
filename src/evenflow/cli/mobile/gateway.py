"""``evenflow gateway``: where mobile nodes connect, until stopped."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import closing
from typing import TYPE_CHECKING

import rich_click as click

from evenflow.access.keys import public_key
from evenflow.access.names import SERVER_FILE, SERVER_KEY
from evenflow.access.revocation import Revocations
from evenflow.access.tokens import Tokens
from evenflow.autonomic.agent import Agent
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import EXECUTORS, Surroundings
from evenflow.autonomic.execute.service import ExecutorService
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say, warn
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import exit_code_of, stop_events, unless_hurried, until_stopped
from evenflow.cli.values import seconds
from evenflow.clock import SystemClock
from evenflow.domain.channels import GATEWAYS, is_node
from evenflow.domain.cyclone import Participant
from evenflow.edge.shell.topics import door_topics
from evenflow.edge.shell.twin_check import TwinCheck
from evenflow.errors import ConfigError
from evenflow.errors.words import are, counted
from evenflow.metrics.catalogue import GATEWAY
from evenflow.mobile.gateway.neighbours import presence_of
from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.mobile.gateway.shell.executors import gateway_executors
from evenflow.mobile.gateway.shell.gateway import Gateway
from evenflow.mobile.gateway.shell.handover_history import HandoverHistory
from evenflow.mobile.gateway.shell.sensors import gateway_sensors
from evenflow.mobile.gateway.shell.starting import (
    START,
    STOP,
    Doors,
    StartExecutor,
    StopExecutor,
)
from evenflow.mobile.gateway.shell.tokens import TokenAdmission
from evenflow.mobile.link.address import parse_link_address
from evenflow.mobile.link.connection import Credentials, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config
    from evenflow.mobile.gateway.events import Ordered

EXAMPLES = """\
  evenflow keys init                    once, for all gateways
  evenflow gateway --name g1            at quic://127.0.0.1:7500
  evenflow gateway --name g1 --listen quic://0.0.0.0:7501 \\
      --listen tls://0.0.0.0:7501 --advertise quic://g1.example.org:7501 \\
      --advertise tls://g1.example.org:7501

A gateway goes by its name for ever: what it has accepted is on its disk, in a
folder called like it (gateway.state_dir), and others settle with it by that
name. Start it again by the same name, with the same folder. A second one of
that name is refused.

Plans of the balancer start more gateways by this one, called g1+1, g1+2 and
so on, at the same addresses with any port, and stop them when they are not
needed ([planners.gateway-fleet]).
"""
DEFAULT_LISTEN = "quic://127.0.0.1:7500"
COMMIT_S = 2.0
"""How long the end waits until what was accepted is committed; the rest stays in the outbox."""


@command("gateway", examples=EXAMPLES)
@click.option("--name", metavar="NAME", required=True, help="the gateway's own name, for ever")
@click.option(
    "--listen", metavar="ADDRESS", multiple=True, default=(DEFAULT_LISTEN,),
    help="quic://host:port or tls://host:port; port 0 takes any (may be repeated, best first)",
)  # fmt: skip
@click.option(
    "--advertise", metavar="ADDRESS", multiple=True,
    help="how nodes reach it, if not where it listens; port 0: that of --listen (may be repeated)",
)  # fmt: skip
@click.option("--for", "duration", metavar="TIME", type=seconds, help="end by itself, as in 60s")
@click.option(
    "--drain-within", metavar="TIME", type=seconds, default="10s",
    help="how long its nodes have at the end to go to other gateways (10s)",
)  # fmt: skip
@click.option(
    "--retiring", is_flag=True,
    help="take no nodes, say what is asked about former ones, end when a plan says so",
)  # fmt: skip
@metrics_option
def gateway(
    shared: Shared, *, name: str, listen: tuple[str, ...], advertise: tuple[str, ...],
    duration: float | None, drain_within: float, retiring: bool, metrics: str | None,
) -> int:  # fmt: skip
    """Let mobile nodes in: publish their items, pass messages on to them; until stopped."""
    config = shared.config()
    design(config)
    if not is_node(name) or "/" in name or name in {".", ".."}:
        raise ConfigError(
            "--name", name, "must be 1 to 255 characters, no space, slash, quote, or *?[]#$"
        )
    for address in listen:
        parse_link_address(address, "--listen")
    for address in advertise:
        if not parse_link_address(address, "--advertise").port:
            raise ConfigError("--advertise", address, "must have the port that nodes reach")
    topics = door_topics(config, "gateway.topics", config.gateway.topics)
    folder = config.access_folder
    tokens = public_key(folder)
    credentials = Credentials(str(folder / SERVER_FILE), str(folder / SERVER_KEY))
    with (
        Metering("gateway", metrics, config) as metering,
        Participant(config.domain) as participant,
    ):
        TwinCheck(name, participant, GATEWAYS, presence_of).refuse_second()
        clock = SystemClock()
        revocations = Revocations(folder, participant)
        admission = TokenAdmission(
            Tokens(tokens, revocations, config.access.clock_skew_s), revocations, clock
        )
        running = Gateway(
            name,
            config.gateway_folder / name,
            topics,
            config=config,
            settings=GatewaySettings.from_config(config.gateway),
            admission=admission,
            participant=participant,
            clock=clock,
            retiring=retiring,
        )
        doors = _Doors(listen, advertise, credentials, _limits(config))
        return asyncio.run(
            _run(running, doors, config, participant, metering, duration, drain_within)
        )


class _Doors:
    """Where nodes come in."""

    def __init__(
        self,
        listen: tuple[str, ...],
        advertised: tuple[str, ...],
        credentials: Credentials,
        limits: Limits,
    ) -> None:
        self.listen = listen
        self.advertised = advertised
        self.credentials = credentials
        self.limits = limits

    async def open(self, running: Gateway) -> None:
        """Let the gateway listen."""
        await running.start(self.listen, self.credentials, self.limits, self.advertised)


def _limits(config: Config) -> Limits:
    settings = config.gateway
    return Limits(
        connections=settings.most_nodes + settings.most_nodes // 10 + 100,
        handshake_s=settings.hello_s,
        keep_alive_s=settings.keep_alive_s,
        idle_s=settings.idle_s,
    )


async def _run(
    running: Gateway, doors: _Doors, config: Config, participant: Participant,
    metering: Metering, duration: float | None, drain_within: float,
) -> int:  # fmt: skip
    stop, hurry = stop_events()
    loop = asyncio.get_running_loop()
    try:
        await doors.open(running)
        metering.show(GATEWAY, lambda: [((running.name,), running)])
        gc.freeze()  # what there is by now stays: no collection needs to look at it again
        starting = StartExecutor(
            running.name,
            config,
            Doors(doors.listen, doors.advertised),
            running.core.neighbours.is_known,
        )
        stopping = StopExecutor(running, lambda: loop.call_soon_threadsafe(stop.set))
        makers, on_ordered = gateway_executors(
            running.name, running.order, {START: starting, STOP: stopping}
        )
        surroundings = Surroundings(running.name, config)
        others = {kind: EXECUTORS.get(kind) for kind in EXECUTORS}
        with (
            closing(starting),
            HandoverHistory(running.name, config.history_file, config.history.keep) as history,
            Agent(running.name, config, participant, gateway_sensors(running)),
            ExecutorService(surroundings, participant, {**others, **makers}),
        ):
            running.on_ordered = _both(on_ordered, history)
            where = ", ".join(running.addresses)
            say(f"{running.name} listens at {where}")
            fault = await until_stopped(running.wait(), stop, duration)
            if fault is None and running.nodes:
                await _drain(running, drain_within, hurry)
    finally:
        await running.close(0.0 if hurry.is_set() else COMMIT_S)
    return exit_code_of("gateway", fault)


async def _drain(running: Gateway, within: float, hurry: asyncio.Event) -> None:
    """Wait until its nodes have gone; a second signal ends the wait."""
    began = time.monotonic()
    await unless_hurried(running.drain(within), hurry)
    if running.nodes:
        warn(
            f"{counted(running.nodes, 'node')} {are(running.nodes)} still here after"
            f" {time.monotonic() - began:.0f} s; they find other gateways by themselves"
        )


def _both(
    answer: Callable[[Ordered], object], history: HandoverHistory
) -> Callable[[Ordered], None]:
    """Answer an order, and write down what came of it."""

    def tell(ordered: Ordered) -> None:
        answer(ordered)
        history.add(ordered, time.time())

    return tell
