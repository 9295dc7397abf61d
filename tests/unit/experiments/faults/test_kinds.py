"""Which faults are chosen from a seed, and whom they may strike."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from evenflow_experiments.faults.kinds import (
    DOWN_S,
    PAUSE_S,
    SKEW_S,
    Action,
    Fault,
    Member,
    Role,
    kinds,
    schedule,
    suspects,
    victims,
)

CAST = [
    Member("publisher-1", Role.PUBLISHER, frozenset({"worker-1", "balancer-1"}), clock=True),
    Member("publisher-2", Role.PUBLISHER, frozenset({"worker-1"}), clock=True, disk=True),
    Member("worker-1", Role.NODE, frozenset({"worker-2", "balancer-1"}), clock=True),
    Member("worker-2", Role.NODE, frozenset({"worker-1", "balancer-1"}), clock=True),
    Member("balancer-1", Role.BALANCER, clock=True),
    Member("spark", Role.CONSUMER, frozenset({"worker-1"})),
    Member("broker-1", Role.BROKER, frozenset({"broker-2"}), clock=True, disk=True),
    Member("broker-2", Role.BROKER, frozenset({"broker-1"}), clock=True, disk=True),
]


def names(found):
    return {f"{action}-{role}" for action, role in found}


def test_a_kind_is_there_when_somebody_can_be_struck():
    found = names(kinds(CAST))
    assert {"kill-node", "stop-publisher", "link-balancer", "path-consumer", "disk-broker"} <= found
    assert "path-balancer" not in found, "a single balancer has no path to another"
    assert "clock-consumer" not in found
    assert "disk-node" not in found
    assert not any(kind.endswith("-client") for kind in found)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["kill-node"], {"kill-node"}),
        (["disk"], {"disk-publisher", "disk-broker"}),
        (["disk-broker", "clock-node"], {"disk-broker", "clock-node"}),
        (["disk-node"], set()),
    ],
)
def test_only_some_kinds(only, expected):
    assert names(kinds(CAST, only=only)) == expected


def test_what_the_machine_lacks_is_left_out():
    found = names(kinds(CAST, without=[Action.PATH, Action.CLOCK]))
    assert found
    assert not any(kind.startswith(("path-", "clock-")) for kind in found)


def test_the_seed_decides_everything():
    chosen = kinds(CAST)
    once = schedule(chosen, CAST, Random(7), 50)
    assert once == schedule(chosen, CAST, Random(7), 50)
    assert once != schedule(chosen, CAST, Random(8), 50)
    assert len(once) == 50


def test_without_a_count_each_kind_comes_once():
    chosen = kinds(CAST)
    found = [fault.kind for fault in schedule(chosen, CAST, Random(3), None)]
    assert sorted(found) == sorted(names(chosen))


def test_a_fault_strikes_whom_it_can_within_its_limits():
    members = {member.name: member for member in CAST}
    for fault in schedule(kinds(CAST), CAST, Random(1), 500):
        low, high = DOWN_S[fault.action]
        assert low <= fault.seconds <= high
        assert 0 <= fault.pause_s <= PAUSE_S
        assert members[fault.target] in victims(fault.action, fault.role, CAST)
        if fault.action is Action.PATH:
            assert fault.other in members[fault.target].talks_to
            assert fault.ways
            assert all({*way} == {fault.target, fault.other} for way in fault.ways)
        if fault.action is Action.CLOCK:
            assert SKEW_S[0] <= abs(fault.skew_s) <= SKEW_S[1]


def test_all_directions_of_a_path_come():
    faults = schedule(kinds(CAST, only=["path-publisher"]), CAST, Random(1), 100)
    assert {len(fault.ways) for fault in faults} == {1, 2}
    assert {fault.ways[0][0] == fault.target for fault in faults} == {True, False}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(Action.KILL, Role.NODE, "worker-1", 1), ["worker-1"]),
        (Fault(Action.LINK, Role.NODE, "worker-2", 1), ["worker-2"]),
        (Fault(Action.PATH, Role.NODE, "worker-1", 1, "balancer-1"), ["worker-1"]),
        (Fault(Action.PATH, Role.NODE, "worker-1", 1, "worker-2"), []),
        (Fault(Action.PATH, Role.PUBLISHER, "publisher-1", 1, "worker-1"), []),
        (Fault(Action.PATH, Role.PUBLISHER, "publisher-1", 1, "balancer-1"), []),
        (Fault(Action.LINK, Role.BALANCER, "balancer-1", 1), ["worker-1", "worker-2"]),
        (Fault(Action.STOP, Role.BALANCER, "balancer-1", 1), []),
        (Fault(Action.STOP, Role.PUBLISHER, "publisher-1", 1), []),
    ],
    ids=str,
)
def test_who_may_be_taken_for_dead(fault, expected):
    assert suspects(fault, CAST) == expected


def test_a_fault_says_what_it_does():
    way = (("spark", "worker-1"),)
    path = Fault(Action.PATH, Role.CONSUMER, "spark", 2.5, "worker-1", way)
    assert str(path) == "path spark > worker-1 for 2.5 s"
    assert path.kind == "path-consumer"
    clock = Fault(Action.CLOCK, Role.BROKER, "broker-1", 3, skew_s=-20)
    assert str(clock) == "clock broker-1 -20 s for 3.0 s"


@pytest.mark.parametrize("seed", range(20))
def test_of_a_pair_the_second_strikes_other_hosts_while_the_first_lasts(seed):
    for fault in schedule(kinds(CAST), CAST, Random(seed), 20, pairs=True):
        assert fault.second is not None
        assert not fault.hosts & fault.second.hosts
        assert 0 <= fault.second.pause_s <= fault.seconds
        steps = [(is_heal, one) for _, is_heal, one in fault.steps()]
        assert steps[:2] == [(False, fault), (False, fault.second)]
        assert sorted(one.target for is_heal, one in steps[2:] if is_heal) == sorted(
            one.target for one in fault.all
        )


def test_the_pairs_begin_as_the_single_faults_of_the_same_seed():
    single = schedule(kinds(CAST), CAST, Random(3), 10)
    pairs = schedule(kinds(CAST), CAST, Random(3), 10, pairs=True)
    assert [(one.target, one.seconds) for one in pairs] == [
        (one.target, one.seconds) for one in single
    ]


def test_both_faults_of_a_pair_make_suspects():
    first = Fault(Action.KILL, Role.NODE, "worker-1", 1.0)
    second = Fault(Action.STOP, Role.NODE, "worker-2", 1.0, pause_s=0.5)
    assert suspects(replace(first, second=second), CAST) == ["worker-1", "worker-2"]
    assert str(replace(first, second=second)) == (
        "kill worker-1 for 1.0 s, after 0.5 s stop worker-2 for 1.0 s"
    )
