"""``evenflow bridge``: where devices that do not speak DDS join the domain, until stopped."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import EXECUTORS, Surroundings
from evenflow.autonomic.execute.service import ExecutorService
from evenflow.bridge.balancing.arcs_action import process_of
from evenflow.bridge.protocol.kinds import MOST_BRIDGE
from evenflow.bridge.ring.core import RingSettings
from evenflow.bridge.settings import BridgeSettings
from evenflow.bridge.shell.bridge import Bridge
from evenflow.bridge.shell.counting import CountTeller
from evenflow.bridge.shell.executors import bridge_executors
from evenflow.bridge.shell.items import DeviceItems
from evenflow.bridge.shell.keys import FILE, DeviceKeys
from evenflow.bridge.shell.sensors import bridge_sensors
from evenflow.bridge.shell.udp import Doors, parse_address
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say, warn
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import exit_code_of, stop_events, unless_hurried, until_stopped
from evenflow.cli.values import seconds
from evenflow.clock import SystemClock
from evenflow.domain.channels import is_node
from evenflow.domain.cyclone import Participant
from evenflow.edge.shell.topics import door_topics
from evenflow.errors import ConfigError
from evenflow.errors.words import are, counted
from evenflow.metrics.catalogue import BRIDGE

if TYPE_CHECKING:
    from evenflow.bridge.events import Address
    from evenflow.config import Config

EXAMPLES = """\
  evenflow bridge --name b1              at 127.0.0.1:7600, for this machine
  evenflow bridge --name b2 --listen 127.0.0.1:0       a second one, any port
  evenflow bridge --name b1 --listen 10.0.0.5:7600 --interface eth0 \\
      --set bridge.require_keys=true     for the devices of a network

Devices look for a bridge in the group, or at an address that they are given.
Each is served by one bridge of the domain, which the ring of all bridges
names; when a bridge comes or goes, the devices concerned are handed over.

A device gets a key by: evenflow keys device NAME. Keys are in the file
devices.keys of access.dir, or in --keys; a bridge notices changes by itself.

With bridge.topics devices may publish items into sliced topics. A bridge then
goes by its name for ever: what it has accepted is in a folder called like it.
"""
DEFAULT = Doors()


@command("bridge", examples=EXAMPLES)
@click.option("--name", metavar="NAME", required=True, help="the bridge's own name")
@click.option(
    "--listen", metavar="ADDRESS", default=f"{DEFAULT.listen[0]}:{DEFAULT.listen[1]}",
    help="IPv4 address and UDP port; port 0 takes any (127.0.0.1:7600)",
)  # fmt: skip
@click.option(
    "--advertise", metavar="ADDRESS",
    help="how devices reach it, if not where it listens; needed for 0.0.0.0",
)  # fmt: skip
@click.option(
    "--group", metavar="ADDRESS", default="239.255.76.1:7601",
    help="multicast group in which devices look for it, or none (239.255.76.1:7601)",
)  # fmt: skip
@click.option(
    "--interface", metavar="NAME", multiple=True, default=DEFAULT.interfaces,
    help="where the group is heard, by name or address (lo; may be repeated)",
)  # fmt: skip
@click.option("--keys", metavar="FILE", help="the keys of devices (devices.keys of access.dir)")
@click.option("--for", "duration", metavar="TIME", type=seconds, help="end by itself, as in 60s")
@click.option(
    "--drain-within", metavar="TIME", type=seconds, default="5s",
    help="how long its devices have at the end to go to other bridges (5s)",
)  # fmt: skip
@metrics_option
def bridge(
    shared: Shared, *, name: str, listen: str, advertise: str | None, group: str,
    interface: tuple[str, ...], keys: str | None, duration: float | None, drain_within: float,
    metrics: str | None,
) -> int:  # fmt: skip
    """Let devices without DDS in: make their agent entities, relay data; until stopped."""
    config = shared.config()
    design(config)
    unfit = not is_node(name) or "/" in name or name in {".", ".."}
    if unfit or len(name.encode()) > MOST_BRIDGE:
        allowed = f"must be 1 to {MOST_BRIDGE} characters, no space, slash, quote, or *?[]#$"
        raise ConfigError("--name", name, allowed)
    doors = Doors(
        parse_address(listen, "--listen"),
        None if group == "none" else _group(group),
        interface,
        parse_address(advertise, "--advertise") if advertise is not None else None,
    )
    _check_reach(doors, config)
    if keys is not None and not Path(keys).is_file():
        raise ConfigError("--keys", keys, "is no file; one that is empty has no keys")
    known = DeviceKeys(Path(keys) if keys else config.access_folder / FILE)
    settings = BridgeSettings(
        most_devices=config.bridge.most_devices, keyed_only=config.bridge.require_keys
    )
    with (
        Metering("bridge", metrics, config) as metering,
        Participant(config.domain) as participant,
    ):
        running = Bridge(
            name,
            settings,
            RingSettings.from_config(config.bridge),
            keys=known,
            participant=participant,
            items=_items(name, config, participant),
        )
        return asyncio.run(
            _run(running, doors, config, participant, metering, duration, drain_within)
        )


def _items(name: str, config: Config, participant: Participant) -> DeviceItems | None:
    """The items of devices, if there are topics for them."""
    if not config.bridge.topics:
        return None
    topics = door_topics(config, "bridge.topics", config.bridge.topics)
    folder = config.bridge_folder / name
    return DeviceItems(name, folder, topics, config, participant, SystemClock())


def _group(text: str) -> Address:
    group = parse_address(text, "--group")
    if not ipaddress.IPv4Address(group[0]).is_multicast or not group[1]:
        raise ConfigError("--group", text, "must be a multicast address (224.0.0.0/4) and a port")
    return group


def _check_reach(doors: Doors, config: Config) -> None:
    """Refuse an address that no device can be told; warn when strangers can come in."""
    host = ipaddress.IPv4Address(doors.listen[0])
    if host.is_multicast:
        raise ConfigError("--listen", str(host), "must be an address of this machine")
    if doors.advertised is not None:
        told = ipaddress.IPv4Address(doors.advertised[0])
        if told.is_unspecified or told.is_multicast or not doors.advertised[1]:
            raise ConfigError("--advertise", str(told), "must be an address and port to send to")
    if host.is_unspecified and doors.advertised is None:
        raise ConfigError("--advertise", None, "must be given with 0.0.0.0: how devices reach it")
    if not host.is_loopback and not config.bridge.require_keys:
        warn(
            "devices without a key are served, to whoever reaches"
            f" {host}; set bridge.require_keys=true"
        )


async def _run(
    running: Bridge, doors: Doors, config: Config, participant: Participant,
    metering: Metering, duration: float | None, drain_within: float,
) -> int:  # fmt: skip
    stop, hurry = stop_events()
    fault: BaseException | None = None
    try:
        await running.start(doors)
        metering.show(BRIDGE, lambda: [((running.name,), running)])
        gc.freeze()  # what there is by now stays: no collection needs to look at it again
        makers = {kind: EXECUTORS.get(kind) for kind in EXECUTORS}
        own = bridge_executors(running.order, lambda: running.ring.arcs)
        with (
            CountTeller(running, participant),
            Agent(process_of(running.name), config, participant, bridge_sensors(running)),
            ExecutorService(
                Surroundings(process_of(running.name), config), participant, {**makers, **own}
            ),
        ):
            host, port = running.address
            say(f"{running.name} listens at udp://{host}:{port}")
            fault = await until_stopped(running.wait(), stop, duration)
            if fault is None and not await _drain(running, drain_within, hurry):
                warn(
                    f"{counted(running.devices, 'device')} {are(running.devices)} still here;"
                    " they look for other bridges by themselves"
                )
    finally:
        await running.close()
    return exit_code_of("bridge", fault)


async def _drain(running: Bridge, within: float, hurry: asyncio.Event) -> bool:
    """Wait until its devices have gone; a second signal ends the wait."""
    await unless_hurried(running.drain(within), hurry)
    return not running.devices
