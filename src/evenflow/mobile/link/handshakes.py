"""Handshakes under way: who began them, and who gives way when there is no room.

A handshake that is begun and not gone on with costs whoever begins it nothing, and takes a place
until its time is over. So that one host cannot take all places, and keep them for ever, a host that
has more of them than another gives one up for it: its oldest. Hosts of one IPv6 network (/64) count
as one, for they are one client's to choose from.
"""

from __future__ import annotations

from collections import defaultdict
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


def network_of(host: str) -> str:
    """Whoever can choose this address can choose all of that network."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return address.packed[:8].hex()
    return host


class Handshakes(Generic[T]):
    """The half-open connections of a door."""

    def __init__(self) -> None:
        self._hosts: dict[T, str] = {}
        self._of: defaultdict[str, dict[T, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._hosts)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._hosts))

    def __contains__(self, one: object) -> bool:
        return one in self._hosts

    def add(self, one: T, host: str) -> None:
        """A host has begun one."""
        network = network_of(host)
        self._hosts[one] = network
        self._of[network][one] = None

    def remove(self, one: T) -> None:
        """It is over, or was never begun."""
        network = self._hosts.pop(one, None)
        if network is not None:
            del self._of[network][one]
            if not self._of[network]:
                del self._of[network]

    def give_way(self, host: str) -> T | None:
        """Whom to give up for another of this host; None: nobody has more than it would have."""
        greatest = max(self._of.values(), key=len, default={})
        if len(greatest) <= len(self._of.get(network_of(host), ())) + 1:
            return None
        return next(iter(greatest))
