"""The ring at one bridge, and among several: joins, leaves, deaths, cuts, tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenflow.bridge.ring.arc_table import arc_table, given_by
from evenflow.bridge.ring.circle import NOBODY
from evenflow.bridge.ring.core import Identity, RingCore, RingSettings
from evenflow.bridge.ring.events import (
    ArcsPlanned,
    DeviceReleased,
    DeviceServed,
    DrainRing,
    LeaveRing,
    RingChanged,
    TellRing,
)
from evenflow.bridge.ring.identifiers import Identifiers, guid_of
from evenflow.domain.channels import Gone
from evenflow.model.messages import BridgeReport

from .simulated import LEASE_S, QUIET_S, SETTINGS, Domain

GUID = guid_of("device")


def report(
    bridge: str,
    *,
    points: int = 4,
    successor: str = "",
    predecessor: str = "",
    leaving: bool = False,
    version: tuple[int, int] = (0, 0),
) -> BridgeReport:
    return BridgeReport(
        bridge, (), points, successor, 4 * bool(successor), predecessor, 4 * bool(predecessor),
        0, (), (), *version, leaving,
    )  # fmt: skip


def core(name: str = "a", now: float = 0.0) -> RingCore:
    """A bridge that has listened."""
    made = RingCore(Identity(name, ("udp://a:1",)), SETTINGS, now - SETTINGS.listen_s)
    made.poll(now)
    return made


def told(actions: list[object]) -> list[object]:
    return [action.message for action in actions if isinstance(action, TellRing)]


# -- the figure ------------------------------------------------------------------------------------


def test_figure_6_a_node_joins() -> None:
    def placed(name: str, points: int) -> Identifiers:
        assert points == 1
        return np.array([int(name.removeprefix("N"))], dtype=np.uint64)

    domain = Domain(1, replace(SETTINGS, points=1, bits=6), placed)
    domain.join("N3")
    domain.join("N38")
    domain.run(QUIET_S)
    n3, n38 = (domain.bridges[name].core for name in ("N3", "N38"))
    assert (n38.predecessor, n3.successor) == ("N3", "N38"), "process (1)"
    assert [n38.circle.holder_of(device) for device in (15, 30)] == ["N38", "N38"]
    domain.join("N22")
    domain.run(QUIET_S)
    n22 = domain.bridges["N22"].core
    for each in (n3, n22, n38):
        assert [each.circle.holder_of(device) for device in (15, 30)] == ["N22", "N38"], "(2)"
    assert (n22.predecessor, n22.successor) == ("N3", "N38"), "process (3)"
    assert (n38.predecessor, n3.successor) == ("N22", "N22")
    assert (n3.predecessor, n38.successor) == ("N38", "N3")


# -- one bridge ------------------------------------------------------------------------------------


def test_a_bridge_listens_before_it_takes_part() -> None:
    made = RingCore(Identity("a"), SETTINGS, 0.0)
    assert made.poll(0.1) == []
    assert made.owner(GUID) == NOBODY
    assert made.members == ()
    made.handle(report("b"), 0.2)
    assert made.owner(GUID) == "b"
    first = made.poll(SETTINGS.listen_s)
    assert RingChanged() in first
    assert len(told(first)) == 1
    assert made.members == ("a", "b")


def test_a_bridge_that_was_always_alone_owns_all_and_is_not_isolated() -> None:
    alone = core()
    assert (alone.owner(GUID), alone.members, alone.is_isolated) == ("a", ("a",), False)
    assert (alone.successor, alone.predecessor) == ("", "")


def test_it_reports_at_once_what_others_need_to_know_and_else_every_period() -> None:
    one = core()
    sent = one.traffic.reports_sent
    assert told(one.handle(report("b"), 0.1)), "it has a successor"
    assert one.handle(report("b"), 0.2) == []
    assert one.poll(0.3) == []
    assert told(one.poll(0.1 + SETTINGS.report_s))
    assert one.traffic.reports_sent == sent + 2
    assert one.get_timer() == pytest.approx(0.1 + 2 * SETTINGS.report_s)


def test_its_report_says_how_many_devices_are_on_which_arc() -> None:
    one = core()
    guids = [guid_of(f"d{number}") for number in range(50)]
    for guid in guids:
        assert one.handle(DeviceServed(guid), 0.1) == []
    one.handle(DeviceServed(guids[0]), 0.1)
    one.handle(DeviceReleased(guids[1]), 0.1)
    one.handle(DeviceReleased(b"nobody"), 0.1)
    (said,) = told(one.poll(5.0))
    assert isinstance(said, BridgeReport)
    assert said.devices == sum(said.arc_devices) == 49
    assert set(said.arcs) <= set(one.circle.arcs())
    assert said.addresses == ("udp://a:1",)


def test_a_draining_bridge_is_no_member_and_takes_devices_again_when_told() -> None:
    one = core()
    one.handle(report("b"), 0.1)
    (said,) = told(one.handle(DrainRing(on=True), 0.2))
    assert isinstance(said, BridgeReport)
    assert (said.points, said.successor, said.predecessor) == (0, "", "")
    assert one.members == ("b",)
    one.handle(report("b", points=0), 0.3)
    assert one.owner(GUID) == NOBODY
    assert not one.is_isolated, "who drains is heard"
    one.handle(DrainRing(on=False), 0.4)
    assert one.owner(GUID) == "a"


def test_a_bridge_that_leaves_says_so_and_is_silent() -> None:
    one = core()
    one.handle(report("b"), 0.1)
    (said,) = told(one.handle(LeaveRing(), 0.2))
    assert isinstance(said, BridgeReport)
    assert said.leaving
    assert one.poll(10.0) == []
    assert one.get_timer() == float("inf")
    assert told(one.handle(report("c"), 11.0)) == []
    assert told(one.handle(arc_table({7: "b"}, 5, 1), 12.0)) == []


@pytest.mark.parametrize(
    ("goodbyes", "isolated"),
    [(("b", "c"), False), (("b",), True), (("c",), False), ((), True)],
)
def test_isolated_is_who_lost_the_last_one_without_a_word(
    goodbyes: tuple[str, ...], isolated: bool
) -> None:
    one = core()
    one.handle(report("b"), 0.1)
    one.handle(report("c"), 0.1)
    for at, name in enumerate("bc"):
        if name in goodbyes:
            one.handle(report(name, leaving=True), 1.0 + at)
        assert not one.is_isolated
        one.handle(Gone(BridgeReport, (name,)), 1.5 + at)
    assert one.is_isolated is isolated
    assert one.owner(GUID) == "a"
    one.handle(report("b"), 5.0)
    assert not one.is_isolated


def test_its_own_report_and_what_is_gone_of_others_are_nothing_to_it() -> None:
    one = core()
    assert one.handle(report("a"), 0.1) == []
    assert one.handle(Gone(BridgeReport, ("b",)), 0.1) == []
    assert not one.is_isolated


# -- who is named ----------------------------------------------------------------------------------


def test_a_bridge_that_is_named_by_its_neighbour_is_a_member() -> None:
    one = core()
    one.handle(report("b", successor="c"), 0.1)
    assert one.members == ("a", "b", "c")
    (said,) = told(one.poll(10.0))
    assert isinstance(said, BridgeReport)
    assert "c" not in (said.successor, said.predecessor), "hearsay is not passed on"
    one.handle(report("c", points=0), 10.1)
    assert one.members == ("a", "b"), "its own word counts more"
    one.handle(report("b"), 10.2)
    assert one.members == ("a", "b")


def test_who_has_fallen_silent_is_gone_until_it_is_named_later() -> None:
    one = core()
    one.handle(report("b", successor="c"), 0.1)
    one.handle(report("c"), 0.1)
    one.handle(Gone(BridgeReport, ("c",)), 1.0)
    assert one.members == ("a", "b")
    one.handle(report("b", successor="c"), 1.0 + SETTINGS.doubt_s - 0.1)
    assert one.members == ("a", "b"), "b has perhaps not missed it yet"
    one.handle(report("b", successor="c"), 1.0 + SETTINGS.doubt_s + 0.1)
    assert one.members == ("a", "b", "c"), "b hears it still"


# -- tables ----------------------------------------------------------------------------------------


def test_the_newest_table_counts_and_is_passed_on() -> None:
    one = core()
    one.handle(report("b"), 0.1)
    table = arc_table({7: "b", 9: "a"}, term=5, number=1)
    actions = one.handle(ArcsPlanned(table), 0.2)
    assert RingChanged() in actions
    assert replace(table, bridge="a") in told(actions)
    assert one.circle.holder_of(7) == "b"
    assert one.handle(replace(table, bridge="b"), 0.3) == []
    assert one.handle(arc_table({7: "a"}, 4, 9), 0.4) == [], "an older term"
    one.handle(arc_table({7: "a"}, 5, 2), 0.5)
    assert given_by(one.arcs) == {7: "a"}
    assert one.traffic.tables_sent == 2


def test_a_table_is_told_again_while_somebody_goes_by_an_older_one() -> None:
    one = core()
    one.handle(report("b"), 0.1)
    one.handle(ArcsPlanned(arc_table({7: "b"}, 5, 1)), 0.2)
    assert one.arcs in told(one.poll(2.0))
    one.handle(report("b", version=(5, 1)), 2.1)
    assert one.arcs not in told(one.poll(4.0))


# -- several ---------------------------------------------------------------------------------------


def test_neighbours_form_the_ring_and_a_death_is_repaired() -> None:
    domain = Domain(2)
    for name in "abcdef":
        domain.join(name)
    domain.run(QUIET_S)
    assert_ring(domain)
    domain.fail("c")
    domain.run(LEASE_S + 2)
    assert_ring(domain)
    domain.leave("a")
    domain.run(2)
    assert_ring(domain)


def assert_ring(domain: Domain) -> None:
    """From successor to successor one comes to all, and back."""
    cores = {name: each.core for name, each in domain.bridges.items()}
    at, seen = min(cores), []
    while at not in seen:
        seen.append(at)
        assert cores[cores[at].successor].predecessor == at
        at = cores[at].successor
    assert sorted(seen) == sorted(cores)


def test_one_broken_path_makes_nobody_disagree() -> None:
    domain = Domain(3)
    for name in "abcd":
        domain.join(name)
    domain.run(QUIET_S)
    domain.cut_between("a", "c")
    domain.run(QUIET_S)
    for each in domain.bridges.values():
        assert each.core.members == ("a", "b", "c", "d")
        assert not each.core.is_isolated
    domain.fail("c")
    domain.run(QUIET_S)
    for each in domain.bridges.values():
        assert each.core.members == ("a", "b", "d"), "and nobody keeps the dead one alive"


def test_a_table_outlives_the_restart_of_every_bridge_and_reaches_who_comes_late() -> None:
    domain = Domain(4)
    for name in "abc":
        domain.join(name)
    domain.run(QUIET_S)
    table = arc_table({11: "b", 12: "c"}, term=7, number=3)
    domain.plan("a", table)
    for name in "abc":
        domain.run(QUIET_S)
        domain.fail(name)
        domain.run(QUIET_S)
        domain.join(name)
    domain.run(QUIET_S)
    domain.join("d")
    domain.run(QUIET_S)
    for each in domain.bridges.values():
        assert given_by(each.core.arcs) == {11: "b", 12: "c"}


def test_ring_traffic_of_a_quiet_ring_is_a_report_of_each_bridge_a_period() -> None:
    domain = Domain(5, RingSettings(points=1, report_s=1.0, listen_s=0.3))
    for number in range(10):
        domain.join(f"b{number}")
    domain.run(QUIET_S)
    before = sum(each.core.traffic.sent for each in domain.bridges.values())
    domain.run(30.0)
    sent = sum(each.core.traffic.sent for each in domain.bridges.values()) - before
    assert 10 * 27 <= sent <= 10 * 30


@pytest.mark.parametrize("many", [4, 9])
def test_a_join_costs_a_report_of_the_one_and_of_its_two_neighbours(many: int) -> None:
    domain = Domain(6, RingSettings(points=128, report_s=1_000.0, listen_s=0.3))
    for number in range(many):
        domain.join(f"b{number}")
    domain.run(QUIET_S)
    before = {name: each.core.traffic.sent for name, each in domain.bridges.items()}
    domain.join("new")
    domain.run(QUIET_S)
    new = domain.bridges["new"].core
    told_anew = {
        name
        for name, each in domain.bridges.items()
        if each.core.traffic.sent > before.get(name, 0)
    }
    assert told_anew == {"new", new.successor, new.predecessor}
    sent = {
        name: each.core.traffic.sent - before.get(name, 0) for name, each in domain.bridges.items()
    }
    assert sent[new.successor] == sent[new.predecessor] == 1
