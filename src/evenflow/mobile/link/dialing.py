"""How a mobile node reaches a gateway: the address says over what."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING

from evenflow.errors import LinkLost
from evenflow.mobile.link.address import parse_link_address
from evenflow.mobile.link.connection import Counts, Limits
from evenflow.mobile.link.framing import FROM_GATEWAY

if TYPE_CHECKING:
    from evenflow.mobile.link.address import LinkAddress
    from evenflow.mobile.link.connection import Connection, Trust
    from evenflow.mobile.link.tls import TlsSession


async def open_link(
    address: str,
    trust: Trust,
    *,
    timeout_s: float,
    limits: Limits | None = None,
    local_host: str = "",
) -> Connection:
    """Connect to a gateway.

    Args:
        address: ``quic://host:port`` or ``tls://host:port``.
        trust: Whom to trust.
        timeout_s: How long it may take.
        limits: How much is held, and how long is waited.
        local_host: Address of this host to connect from.

    Raises:
        LinkLost: It could not be made, or not in time.
        ConfigError: The address cannot be understood.
    """
    target = parse_link_address(address)
    dial = _quic if target.transport == "quic" else _tls
    try:
        async with asyncio.timeout(timeout_s):
            return await dial(target, trust, limits or Limits(), local_host)
    except TimeoutError:
        raise LinkLost(f"{address} did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise LinkLost(f"{address}: {error.strerror or error}") from None


async def _quic(target: LinkAddress, trust: Trust, limits: Limits, local_host: str) -> Connection:
    from evenflow.mobile.link.quic_client import QuicClient  # noqa: PLC0415 - TLS needs no QUIC

    client = QuicClient((await _number_of(target), target.port), trust, limits)
    try:
        await client.connect(local_host)
    except BaseException:
        client.drop()
        raise
    return client


async def _number_of(target: LinkAddress) -> str:
    """The host's address; a name is looked up, in a thread, which a number does not need."""
    try:
        return str(ipaddress.ip_address(target.host))
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)
        return str(found[0][4][0])


async def _tls(target: LinkAddress, trust: Trust, limits: Limits, local_host: str) -> Connection:
    from evenflow.mobile.link.tls import TlsSession, client_context  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def settle(_: TlsSession) -> None:
        if not ready.done():
            ready.set_result(None)

    context = client_context(trust)
    session = TlsSession(context, trust.server_name, settle, settle, FROM_GATEWAY, limits, Counts())
    try:
        await loop.create_connection(
            lambda: session,
            target.host,
            target.port,
            local_addr=(local_host, 0) if local_host else None,
        )
        await ready
    except BaseException:
        session.abort()
        raise
    session.check()
    return session
