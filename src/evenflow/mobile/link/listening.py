"""How a gateway opens its doors: the address says over what."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.errors import ConfigError, StorageError
from evenflow.errors.listening import why_not_listening
from evenflow.mobile.link.address import parse_link_address
from evenflow.mobile.link.connection import Limits
from evenflow.mobile.link.tls import server_context

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Accept, Credentials, Listener


async def listen(
    address: str, credentials: Credentials, accept: Accept, limits: Limits | None = None
) -> Listener:
    """Accept connections of mobile nodes.

    Args:
        address: ``quic://host:port`` or ``tls://host:port``; port 0 takes any that is free.
        credentials: What clients are shown.
        accept: What is done with a connection, in a task of its own; then the connection ends.
        limits: How many, how large, how long.

    Raises:
        ConfigError: The address cannot be used.
        StorageError: The credentials cannot.
    """
    target = parse_link_address(address)
    limits = limits or Limits()
    _check(credentials)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            target.host, target.port, type=socket.SOCK_DGRAM
        )
        target = replace(target, host=str(found[0][4][0]))
        if target.transport == "quic":
            from evenflow.mobile.link.quic_listener import QuicListener  # noqa: PLC0415

            return QuicListener(target, credentials, accept, limits)
        from evenflow.mobile.link.tls_listener import TlsListener  # noqa: PLC0415

        listener = TlsListener(credentials, accept, limits)
        await listener.open(target)
    except OSError as error:
        raise ConfigError(
            "address", address, f"cannot be used: {why_not_listening(error)}"
        ) from None
    return listener


def _check(credentials: Credentials) -> None:
    """Refuse files that are no certificate and its key; QUIC's library would not say so."""
    try:
        server_context(credentials)
    except ssl.SSLError:
        raise StorageError(
            credentials.certificate_file,
            f"and {credentials.key_file} are no certificate and its key: evenflow keys renew makes"
            " new ones",
        ) from None
    except OSError as error:
        raise StorageError(
            credentials.certificate_file,
            f"or {credentials.key_file} cannot be read: {error.strerror}; evenflow keys init makes"
            " them",
        ) from None
