"""Where a gateway is reached: ``quic://host:port`` or ``tls://host:port``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

TRANSPORTS = ("quic", "tls")


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """An address of a gateway."""

    transport: str
    """``quic`` or ``tls``."""
    host: str
    """Name or number, IPv6 without its brackets."""
    port: int

    def with_port(self, port: int) -> LinkAddress:
        """Return the same with another port."""
        return replace(self, port=port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.transport}://{host}:{self.port}"


def with_ports(advertised: Sequence[str], listening: Sequence[str]) -> tuple[str, ...]:
    """Addresses for nodes; where the port is 0, that of the listener in the same place.

    Raises:
        ConfigError: There is no such listener.
    """
    found = []
    for place, text in enumerate(advertised):
        address = parse_link_address(text, "advertise")
        if not address.port:
            if place >= len(listening):
                raise ConfigError("advertise", text, "port 0 is that of the --listen in its place")
            address = address.with_port(parse_link_address(listening[place]).port)
        found.append(str(address))
    return tuple(found)


def parse_link_address(text: str, key: str = "address") -> LinkAddress:
    """Read an address; raise `ConfigError` that says what is wrong with it.

    Args:
        text: The address.
        key: What it stands for in an error, as in ``gateway.addresses``.
    """
    transport, separator, rest = text.partition("://")
    host, _, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or transport not in TRANSPORTS:
        raise ConfigError(key, text, "must begin with quic:// or tls://")
    if not host or any(letter.isspace() or letter in "/@[]" for letter in host):
        raise ConfigError(key, text, "must be quic://HOST:PORT or tls://HOST:PORT")
    if not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise ConfigError(key, text, "must end with a port from 0 to 65535")
    return LinkAddress(transport, host, int(port))
