"""A broker knows the loads around it exactly, and tells nobody who is further away."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.balancing.own_share import OwnShare
from evenflow.overlay.balancing.preference import coordinate_load
from evenflow.overlay.balancing.shares import ShareBuilder
from evenflow.overlay.balancing.vicinity import HOPS, SHORTEST_REPORT_S, Vicinity
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.messages import LoadReport, Member, Share
from evenflow.overlay.protocol.settings import Counters, Settings
from evenflow.overlay.space.coordinate import Coordinate


class Brokers:
    """Some brokers at random places, and what they send one another."""

    def __init__(self, seed: int, count: int) -> None:
        self.rng = random.Random(seed)
        everyone = [
            Member(f"b{n}", Coordinate(self.rng.random(), self.rng.random()), "", 1)
            for n in range(count)
        ]
        self.sent: list[tuple[str, LoadReport]] = []
        self.hosts = {member.name: self._host(member, everyone) for member in everyone}
        self.own = {name: OwnShare(host, {}) for name, host in self.hosts.items()}
        self.around = {name: Vicinity(host, self.own[name]) for name, host in self.hosts.items()}

    def _host(self, me: Member, everyone: list[Member]) -> Any:
        members = MemberTable(me)
        members.merge(everyone)
        mail = SimpleNamespace(send=lambda name, report: self.sent.append((name, report)))
        return SimpleNamespace(
            members=members, mail=mail, now=0.0, wall=10**15, settings=Settings(balance_s=4.0),
            counters=Counters(),
        )  # fmt: skip

    def place(self, topics: int) -> NodeLoads[str]:
        """Let brokers lead topics at random places; return the true loads."""
        loads: NodeLoads[str] = NodeLoads()
        builders = {name: ShareBuilder() for name in self.hosts}
        for number in range(topics):
            coordinate, load = self.somewhere(), self.rng.randint(1, 9)
            spot = self.hosts["b0"].members.closest(coordinate, self.rng.choice((1, 2, 3)))
            loads.add(spot, load)
            builders[spot[0]].add(spot[1:], f"t{number}", coordinate, load)
        for name, builder in builders.items():
            self.say(Share(name, 1, 1, builder.spots()))
        return loads

    def say(self, share: Share) -> None:
        """Let a broker tell this from now on."""
        own: Any = self.own[share.broker]
        own.share = lambda: share

    def somewhere(self) -> Coordinate:
        return Coordinate(self.rng.random(), self.rng.random())

    def exchange(self, number: int) -> None:
        """All tell; in the second round also what they have heard of their own load."""
        for own in self.own.values():
            share = own.share()
            self.say(Share(share.broker, 1, number, share.spots))
        for vicinity in self.around.values():
            vicinity.tell()
        sent, self.sent = self.sent, []
        for name, report in sent:
            self.around[name].on_report(report)


@pytest.mark.parametrize("seed", range(8))
def test_who_answers_for_its_cell_knows_the_loads_as_they_are(seed: int) -> None:
    brokers = Brokers(seed, 30)
    true = brokers.place(200)
    brokers.exchange(1)
    brokers.exchange(2)
    for _ in range(200):
        coordinate = brokers.somewhere()
        spot = brokers.hosts["b0"].members.closest(coordinate, 3)
        around = brokers.around[spot[0]]
        assert all(name in around for name in spot)
        known = coordinate_load(around.loads(), spot, Level.THREE)
        assert known == coordinate_load(true, spot, Level.THREE)


def test_a_report_goes_two_links_far_however_many_brokers_there_are() -> None:
    few, many = (Brokers(1, count).hosts["b0"].members.around(HOPS) for count in (40, 400))
    assert len(many) < 40
    assert len(few) < 40


def test_a_change_of_the_own_load_is_told_but_not_at_every_tick() -> None:
    brokers = Brokers(2, 6)
    brokers.place(20)
    brokers.exchange(1)
    vicinity, host = brokers.around["b0"], brokers.hosts["b0"]
    brokers.say(Share("b0", 1, 2, ()))
    host.now += SHORTEST_REPORT_S
    vicinity.review()
    told = len(brokers.sent)
    brokers.sent.clear()
    vicinity.review()  # nothing has changed since
    assert told == len(host.members.around(HOPS))
    assert not brokers.sent


def test_strangers_and_those_far_away_are_not_believed() -> None:
    brokers = Brokers(3, 60)
    brokers.place(60)
    vicinity = brokers.around["b0"]
    far = next(
        name for name in brokers.hosts
        if name != "b0" and name not in brokers.hosts["b0"].members.around(HOPS)
    )  # fmt: skip
    for name in (far, "b99", "b0"):
        vicinity.on_report(LoadReport(Share(name, 1, 5, ()), 0, ()))
        assert name not in vicinity


def test_who_is_not_around_any_more_is_forgotten() -> None:
    brokers = Brokers(4, 12)
    brokers.place(40)
    brokers.exchange(1)
    host, vicinity = brokers.hosts["b0"], brokers.around["b0"]
    near = sorted(host.members.neighbours())[0]
    gone = host.members[near]
    host.members.merge([Member(gone.name, gone.coordinate, "", 1, alive=False)])
    vicinity.on_members_changed()
    assert near not in vicinity
    assert all(name in host.members.around(HOPS) for name in vicinity._reports)
