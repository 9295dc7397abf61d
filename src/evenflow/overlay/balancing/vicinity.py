"""The loads around a broker: what it must know to answer for its own cell (section V).

A topic burdens the three brokers closest to it, and of these each is a neighbour of one before it.
So whoever burdens a broker, and whoever it would burden with a topic of its own cell, is at most
two links away, however large the overlay is. Each broker tells those, and nobody else, what it
leads (its `Share`) and what it bears itself. From the shares a broker has its own load, exactly;
the loads of the others around are what they say.

It tells when gossip would, and also when its own load has changed, for it hears of topics that
burden it, and those around do not. That ends there: what a broker says it bears changes nobody's
load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.shares import Shares
from evenflow.overlay.protocol.messages import FailureLoad, LoadReport

if TYPE_CHECKING:
    from evenflow.overlay.balancing.decision import PlacedTopic
    from evenflow.overlay.balancing.own_share import OwnShare
    from evenflow.overlay.ports import ExchangeHost

HOPS = 2
"""Links within which all brokers lie that a broker's topics burden, or whose topics burden it."""
LEAST_CHANGE = 0.01
"""Part of what a broker said it bears by which that must change before it says so at once."""
SHORTEST_REPORT_S = 0.2
"""Time between two reports that tell of such a change."""


class Vicinity:
    """What one broker tells those around it, and hears of them.

    Args:
        host: The broker.
        own: Its own share.
    """

    def __init__(self, host: ExchangeHost, own: OwnShare) -> None:
        self._host = host
        self._own = own
        self._next_report = host.now
        self._next_change = host.now
        self._said = 0.0
        self._reports: dict[str, LoadReport] = {}
        self._cached: NodeLoads[str] | None = None
        self.shares = Shares()

    def on_members_changed(self) -> None:
        """A broker came or went: forget who is not around any more, and report soon."""
        around = self._host.members.around(HOPS) | {self._host.members.me.name}
        self.shares.keep_living(self._host.members)
        self.shares.keep_only(around)
        self._reports = {
            name: report
            for name, report in self._reports.items()
            if name in around and name in self.shares
        }
        self._cached = None
        self._next_report = self._host.now

    def on_report(self, report: LoadReport) -> None:
        """A broker around tells what it leads and bears."""
        share = report.share
        known = self._own.is_from_another(share)
        if known and share.broker in self._host.members.around(HOPS) and self.shares.add(share):
            self._reports[share.broker] = report
            self._cached = None

    def review(self) -> None:
        """Report when it is due, or when what this broker leads or bears has changed."""
        host = self._host
        if host.now >= self._next_report or self._own.changed:
            self.tell()
        elif host.now >= self._next_change:
            bears = self._own_loads().load(host.members.me.name, Level.THREE)
            if abs(bears - self._said) > LEAST_CHANGE * self._said:
                self.tell()

    def tell(self) -> None:
        """Report now."""
        host, me = self._host, self._host.members.me.name
        self._next_report = self._own.next_report()
        self._next_change = host.now + SHORTEST_REPORT_S
        share = self._own.share()
        self.shares.add(share)
        self._cached = None
        loads = self._own_loads()
        self._said = loads.load(me, Level.THREE)
        failures = tuple(
            FailureLoad(failed, round(load)) for failed, load in sorted(loads.failures(me).items())
        )
        report = LoadReport(share, round(loads.stored(me)), failures)
        for name in sorted(host.members.around(HOPS)):
            host.mail.send(name, report)

    def _own_loads(self) -> NodeLoads[str]:
        """Return loads that are right for this broker alone: all who burden it have told it."""
        if self._cached is None:
            self._cached = self.shares.loads()
        return self._cached

    def __contains__(self, broker: object) -> bool:
        """Say whether the load of a broker is known."""
        return broker in self.shares

    def loads(self, without: PlacedTopic[str] | None = None) -> NodeLoads[str]:
        """Return the loads of the brokers that are known, without one topic if told."""
        me, own = self._host.members.me.name, self._own_loads()
        loads: NodeLoads[str] = NodeLoads()
        loads.put(me, own.stored(me), own.failures(me))
        for name, report in self._reports.items():
            failures = {failure.failed: float(failure.load) for failure in report.failures}
            loads.put(name, float(report.stored), failures)
        if without is not None:
            loads.lighten(without.spot, without.load)
        return loads

    def mean(self) -> float:
        """Return the mean load of the brokers that are known."""
        loads = self.loads()
        found = [
            loads.load(name, Level.THREE) for name in (self._host.members.me.name, *self._reports)
        ]
        return sum(found) / len(found)
