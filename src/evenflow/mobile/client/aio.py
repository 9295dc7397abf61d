"""The client for asyncio: what an application calls."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, Self

from evenflow.errors import (
    ClosedError,
    ConfigError,
    EvenflowError,
    GatewayTimeout,
    NodeRefused,
    StorageError,
)
from evenflow.mobile.client import events
from evenflow.mobile.client.buffer import Contradiction
from evenflow.mobile.client.connections import Identity
from evenflow.mobile.client.core import ClientCore
from evenflow.mobile.client.disk import ClientDisk
from evenflow.mobile.client.inbox import Inbox
from evenflow.mobile.client.settings import (
    ClientStats,
    Payload,
    checked_attributes,
    checked_gateways,
    checked_limits,
    checked_name,
    checked_place,
    checked_time,
    checked_token,
    encoded,
    encoded_headers,
    stats_of,
)
from evenflow.mobile.client.shell import ClientShell, Handler, Watcher
from evenflow.mobile.link.connection import Trust
from evenflow.mobile.link.dialing import open_link
from evenflow.mobile.link.tls import client_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from evenflow.mobile.client.buffer import Limits
    from evenflow.mobile.client.disk import Kept
    from evenflow.mobile.client.reaching import Patience
    from evenflow.mobile.client.wire import Dialler
    from evenflow.mobile.link.connection import Connection
    from evenflow.model.given_headers import GivenHeaders

MOST_ITEMS: Final = 100_000
MOST_BYTES: Final = 64 << 20
AFTER_ERROR_S: Final = 5.0
"""How long a block that ends by an exception waits until everything is safe."""
YIELD_ITEMS: Final = 64
"""Who publishes without pause lets the loop work after so many items."""


async def connect(
    gateways: str | Sequence[str],
    *,
    node: str,
    token: str,
    trust: Trust | str | PathLike[str],
    outbox: str | PathLike[str] | None = None,
    most_items: int = MOST_ITEMS,
    most_bytes: int = MOST_BYTES,
    when_full: str = "block",
    attributes: Mapping[str, str | float | bool] | None = None,
    position: tuple[float, float] | None = None,
    on_message: Handler | None = None,
    timeout_s: float = 30.0,
    patience: Patience | None = None,
    dialler: Dialler | None = None,
    watcher: Watcher | None = None,
) -> AsyncClient:
    """Attach a mobile node to a gateway.

    Args:
        gateways: Addresses, best first: ``quic://host:port``, ``tls://host:port``.
        node: Name of the node; the token must be for it.
        token: From the operator (``evenflow token issue``).
        trust: The CA certificate of the gateways, a PEM file (``evenflow keys init``).
        outbox: Folder in which what is not safe survives the process; without one it is in memory.
        most_items: Items kept at most until they are safe.
        most_bytes: Their bytes at most.
        when_full: ``block`` lets `publish` wait; ``drop_oldest`` drops items that were not sent.
        attributes: What describes the node; groups are made of it.
        position: Latitude and longitude in degrees.
        on_message: Called with each message to the node, one after the other.
        timeout_s: How long to wait for a gateway; 0 goes on without one, and tries in the
            background.
        patience: Waiting times of reconnection and handover.
        dialler: Makes links in place of the usual way, for simulations.
        watcher: Is told everything that the client does, for measurements.

    Raises:
        NodeRefused: The gateways refuse the token.
        GatewayTimeout: No gateway answered.
        ConfigError: An argument cannot be used.
        OutboxRefused: Another process or node uses the outbox.
        StorageError: The outbox cannot be used.
    """
    limits = checked_limits(most_items, most_bytes, when_full)
    addresses = checked_gateways(gateways)
    trusted = _checked_trust(trust)
    name = checked_name("node", node)
    described = checked_attributes(attributes or {})
    place = None if position is None else checked_place(*position)
    begin = partial(_core, name, checked_token(token), addresses, limits, patience)
    disk, core = (None, begin(None)) if outbox is None else _opened(Path(outbox), name, begin)
    core.attributes, core.position = described, place
    client = AsyncClient(core, dialler or partial(_dial, trusted), disk, watcher)
    client.on_message(on_message)
    await client.start(timeout_s)
    return client


def _core(
    name: str,
    token: str,
    addresses: tuple[str, ...],
    limits: Limits,
    patience: Patience | None,
    kept: Kept | None,
) -> ClientCore:
    """Return a client's core, with what its outbox has kept."""
    core = ClientCore(
        Identity(name, secrets.token_hex(8) if kept is None else kept.run, token),
        addresses,
        limits,
        Random(),
        # By the clock, so that a process that has lost its memory still counts upwards.
        connection=max(time.time_ns() // 1_000, 0 if kept is None else kept.connection),
        patience=patience,
        inbox=Inbox({} if kept is None else kept.marks),
    )
    if kept is not None:
        core.buffer.restore(kept.topics, kept.items)
    return core


def _opened(
    folder: Path, name: str, begin: Callable[[Kept], ClientCore]
) -> tuple[ClientDisk, ClientCore]:
    """Return a client's outbox, and its core with what that has kept."""
    disk = ClientDisk(folder, name)
    try:
        return disk, begin(disk.load())
    except BaseException as error:
        disk.close()
        if isinstance(error, Contradiction):
            raise StorageError(str(folder), "its items and numbers do not fit together") from None
        raise


def _checked_trust(trust: Trust | str | PathLike[str]) -> Trust:
    """Return whom to trust, or raise `ConfigError`."""
    trusted = trust if isinstance(trust, Trust) else Trust(str(trust))
    try:
        client_context(trusted)
    except OSError:  # it is not there, or is no certificate
        raise ConfigError(
            "trust",
            trusted.ca_file,
            "must be the PEM file of the gateways' CA; 'evenflow keys init' made it, as ca.pem",
        ) from None
    return trusted


async def _dial(trust: Trust, address: str, timeout_s: float) -> Connection:
    return await open_link(address, trust, timeout_s=timeout_s)


class AsyncClient(ClientShell):
    """A mobile node, for asyncio; :func:`connect` makes it. Use ``async with``."""

    _pump: asyncio.Handle | None = None

    @property
    def node(self) -> str:
        """The node's name."""
        return self._core.identity.node

    @property
    def gateway(self) -> str:
        """The gateway that the node is attached to; empty when it is not."""
        return self._core.gateway

    @property
    def kept(self) -> int:
        """Items that no gateway has made safe yet."""
        return self._core.buffer.items

    async def publish(
        self,
        payload: Payload,
        topic: str | None = None,
        *,
        time_us: int | None = None,
        headers: GivenHeaders | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Publish an item; return when it is kept (with an outbox: on disk).

        It is sent as soon as possible, in order, and counts once whatever happens on the way.

        Args:
            payload: Bytes, text, or what becomes JSON.
            topic: Where to; the gateway's first unless told.
            time_us: Microseconds since 1970; now unless told.
            headers: What is said about the payload: names with bytes or strings (sent as UTF-8).
            timeout_s: How long to wait for room, if there is none and ``when_full`` is ``block``.

        Raises:
            GatewayTimeout: There was no room in time.
            ConfigError: The payload is too large, the time is none, or the topic is not the node's
                to publish to.
            NodeRefused: The gateways refuse the node.
            ClosedError: The client is closed, or was while this waited for room.
            UsageError: The headers cannot be sent.
        """
        self._check()
        said = encoded_headers(headers)
        data = encoded(payload, self._core.buffer.limits.size, len(said))
        if time_us is not None:
            time_us = checked_time(time_us)
        if topic is not None:
            self._check_topic(topic)
        buffer, size = self._core.buffer, len(data) + len(said)
        if self._door.locked() or not buffer.has_room(size):
            async with self._door:  # who came first publishes first
                await self._until(lambda: buffer.has_room(size), "publish", timeout_s)
            self._check()  # what made room may also have let somebody close it
        now = time.time_ns() // 1_000 if time_us is None else time_us
        self._tell(events.Publish(topic or "", now, data, said))
        if self._pump is None:
            self._pump = self._loop.call_soon(self._send_published)
        if self._disk is not None:
            await self._until_written()
        elif not buffer.published % YIELD_ITEMS:
            await asyncio.sleep(0)

    def _send_published(self) -> None:
        """Send what was published in this turn of the loop, in as few frames as possible."""
        self._pump = None
        if not self._closed:
            self._tell(events.Tick())

    def _check_topic(self, topic: str) -> None:
        topics = self._core.topics
        if topics and topic not in topics:
            raise ConfigError("topic", topic, f"the node's token allows {', '.join(topics)}")
        if topic not in self._core.buffer.topics:
            checked_name("topic", topic)

    def on_message(self, handler: Handler | None) -> Handler | None:
        """Let a function have the messages to this node, one after the other; a decorator.

        A message is acknowledged when the function has returned. If it raises, that is logged and
        counted, and the next one comes.
        """
        self._handler = handler
        self._deliver()
        return handler

    async def set_attributes(self, attributes: Mapping[str, str | float | bool]) -> None:
        """Set all attributes of the node."""
        self._check()
        self._tell(events.Describe(checked_attributes(attributes)))

    async def set_position(self, latitude: float, longitude: float) -> None:
        """Say where the node is, in degrees."""
        self._check()
        self._tell(events.Locate(checked_place(latitude, longitude)))

    async def set_token(self, token: str) -> None:
        """Use another token from the next connection on; a refused client tries again."""
        if self._closed:
            raise ClosedError(f"client of node {self.node!r}")
        if isinstance(self._failure, NodeRefused):
            self._failure = None
        self._tell(events.Renew(checked_token(token)))

    async def change_address(self, local_host: str = "") -> bool:
        """Go on from another port of this host, or another of its addresses, with the same session.

        QUIC does so by itself when the network changes the address under it; this is for an
        application that knows better.

        Returns:
            Whether the link could do so; else a new connection is made when the old one is lost.
        """
        self._check()
        wires = [wire.connection for wire in self._wires.values()]
        moved = [await one.move(local_host) for one in wires if one is not None]
        return bool(moved) and all(moved)

    async def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything that was published is safe.

        Raises:
            GatewayTimeout: It was not in time; everything is still kept.
        """
        self._check()
        await self._until(lambda: not self._core.buffer.items, "flush", timeout_s)

    @property
    def stats(self) -> ClientStats:
        """What the client has done so far."""
        return stats_of(self._core, self._failed_messages)

    async def close(self, timeout_s: float = 10.0) -> None:
        """Wait until everything is safe, then end the connection.

        Raises:
            GatewayTimeout: Items are not safe, and there is no outbox that keeps them.
        """
        if self._closed:
            return
        late: GatewayTimeout | None = None
        if self._failure is None and timeout_s > 0:
            try:
                await self._until(lambda: not self._core.buffer.items, "close", timeout_s)
            except GatewayTimeout as error:
                late = error
            except EvenflowError:
                pass  # it was raised where it happened, and is the reason to close
        await self._end()
        if late is not None and self._disk is None:
            raise late

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.close()
            return
        with suppress(GatewayTimeout):  # what ended the block is what its caller sees
            await self.close(AFTER_ERROR_S)
        self._tell_left()
