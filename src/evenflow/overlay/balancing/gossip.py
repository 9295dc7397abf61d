"""Gossip of loads: every broker tells all others what it bears, and passes on what it hears.

A share floods the overlay: whoever has not seen it passes it on to all links but its source. It is
told a few times in each interval, and at once when the topics that a broker leads have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.balancing.shares import Shares
from evenflow.overlay.protocol.events import Transmit

if TYPE_CHECKING:
    from evenflow.overlay.balancing.own_share import OwnShare
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Share


class ShareGossip:
    """What one broker tells all others of its load, and hears of theirs.

    Args:
        host: The broker.
        own: Its own share.
    """

    def __init__(self, host: ExchangeHost, own: OwnShare) -> None:
        self._host = host
        self._own = own
        self._next_report = host.now
        self.shares = Shares()

    def on_members_changed(self) -> None:
        """A broker came or went: forget the dead, and report soon."""
        self.shares.keep_living(self._host.members)
        self._next_report = self._host.now

    def on_share(self, link: str, share: Share) -> None:
        """Another broker tells what it bears: note it and pass it on."""
        self._host.counters.told += 1
        if self._own.is_from_another(share):
            self._flood(share, link)

    def review(self) -> None:
        """Report when it is due, or when what this broker leads has changed."""
        if self._host.now >= self._next_report or self._own.changed:
            self.tell()

    def tell(self) -> None:
        """Report now."""
        self._next_report = self._own.next_report()
        self._flood(self._own.share(), "")

    def _flood(self, share: Share, source: str) -> None:
        if self.shares.add(share):
            for link in sorted(self._host.neighbours.links - {source}):
                self._host.perform(Transmit(link, share))
