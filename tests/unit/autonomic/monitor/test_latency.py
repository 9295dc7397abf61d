"""Latency between processes: few are asked, all in the end; only answers are measurements."""

from __future__ import annotations

from evenflow.autonomic.monitor.latency import FRESH_S, PATIENCE_S, PEERS, PING_S, ROUNDS, Latencies
from evenflow.model.messages import Ping


def among(count: int) -> Latencies:
    """The process ``p00``, among so many."""
    latencies = Latencies("p00")
    for number in range(count):
        latencies.meet(f"p{number:02}")
    return latencies


def test_a_few_are_asked_in_a_round_and_all_in_the_end() -> None:
    latencies = among(11)
    rounds = [latencies.poll(n * PING_S) for n in range(4 * ROUNDS)]
    assert {len(pings) for pings in rounds} == {PEERS}
    assert len({ping.target for pings in rounds[:ROUNDS] for ping in pings}) == PEERS
    asked = {ping.target for pings in rounds for ping in pings}
    assert asked == {f"p{number:02}" for number in range(1, 11)}
    assert among(1).poll(0.0) == []
    assert latencies.poll(4 * ROUNDS * PING_S - 0.1) == [], "not before the next round"


def test_each_is_asked_by_as_many_as_it_asks() -> None:
    names = [f"p{number:02}" for number in range(20)]
    asked = dict.fromkeys(names, 0)
    for name in names:
        latencies = Latencies(name)
        for peer in names:
            latencies.meet(peer)
        for ping in latencies.poll(0.0):
            asked[ping.target] += 1
    assert set(asked.values()) == {PEERS}


def test_the_round_trip_is_what_the_asker_measures() -> None:
    one, other = among(2), Latencies("p01")
    (ping,) = one.poll(10.0)
    answer = other.hear(ping, 99.0)
    assert answer == Ping("p01", "p00", ping.number, answer=True)
    assert one.readings(10.1) == {}
    assert one.hear(answer, 10.004) is None
    assert one.readings(10.1) == {"latency_ms": 1000 * (10.004 - 10.0)}
    assert one.hear(answer, 12.0) is None, "an answer counts once"
    assert one.readings(12.0)["latency_ms"] < 5
    assert one.readings(10.004 + FRESH_S) == {}


def test_it_is_the_median() -> None:
    latencies = among(4)
    for ping, seconds in zip(latencies.poll(0.0), (0.001, 0.002, 4.0), strict=True):
        latencies.hear(Ping(ping.target, "p00", ping.number, answer=True), seconds)
    assert latencies.readings(4.0) == {"latency_ms": 2.0}
    latencies.lose("p01")
    assert latencies.readings(4.0) == {"latency_ms": 1000 * (0.002 + 4.0) / 2}


def test_what_is_not_answered_or_not_ours_is_no_measurement() -> None:
    latencies = among(2)
    (ping,) = latencies.poll(0.0)
    latencies.hear(Ping("p02", "p00", ping.number, answer=True), 1.0)
    latencies.hear(Ping("p01", "p00", 77, answer=True), 1.0)
    assert latencies.hear(Ping("p01", "p07", 1, answer=False), 1.0) is None
    latencies.poll(PATIENCE_S)
    assert latencies.unanswered == 1
    latencies.hear(Ping("p01", "p00", ping.number, answer=True), PATIENCE_S + 1)
    assert latencies.readings(PATIENCE_S + 1) == {}


def test_who_can_be_nobody_is_not_answered() -> None:
    """The answer goes into the partition of its name, and to everybody by a wildcard."""
    for name in ("*", "p?", "", "a b"):
        assert Latencies("p01").hear(Ping(name, "p01", 1, answer=False), 1.0) is None
