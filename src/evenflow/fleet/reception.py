"""The reception of a simulated vehicle: real links, that break off in a dead spot without a word.

In a dead spot nothing is sent and nothing comes: links end at the vehicle, and their gateway hears
no goodbye. A vehicle that gets another address goes on from another port, with the same session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evenflow.errors import LinkLost
from evenflow.mobile.link.dialing import open_link
from evenflow.mobile.link.quic_client import QuicClient
from evenflow.mobile.link.tls import TlsSession

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Connection, Limits, Trust

    Link = QuicClient | TlsSession


class Reception:
    """Makes links, as :func:`~evenflow.mobile.connect_async` wants them made."""

    def __init__(self, trust: Trust, limits: Limits | None = None) -> None:
        self.dark = False
        """Whether the vehicle is in a dead spot."""
        self._trust = trust
        self._limits = limits
        self._links: set[Link] = set()

    async def __call__(self, address: str, timeout_s: float) -> Connection:
        """Make a link."""
        if self.dark:
            raise LinkLost("no network")
        made = await open_link(address, self._trust, timeout_s=timeout_s, limits=self._limits)
        link = cast("Link", made)
        if self._lost_meanwhile():
            _break_off(link)
        self._links = {one for one in self._links if not one.over} | {link}
        return link

    def _lost_meanwhile(self) -> bool:
        return self.dark

    def enter_dead_spot(self) -> None:
        """Lose every link, and make none."""
        self.dark = True
        for link in self._links:
            _break_off(link)
        self._links.clear()

    def leave_dead_spot(self) -> None:
        """There is a network again."""
        self.dark = False

    async def change_address(self) -> bool:
        """Go on from other ports; whether the links could."""
        live = [link for link in self._links if not link.over]
        return all([await link.move() for link in live]) and bool(live)


def _break_off(link: Link) -> None:
    link.end("no network")
    if isinstance(link, QuicClient):
        link.drop()
    else:
        link.abort()  # TCP's own end still reaches the gateway
