"""How far another gateway is: asked by frames, answered by messages of the domain.

Which answers hold is tested in ``tests/unit/edge``.
"""

from __future__ import annotations

from tests.unit.mobile.gateway.harness import (
    RUN,
    WALL,
    Harness,
    closed,
    sent,
    written,
)

from evenflow.mobile.gateway.events import Forget, NotHeard, Started, TimeOfDay
from evenflow.mobile.link import frames
from evenflow.model.messages import GatewayReport, SettleAnswer, SettleRequest


def report(
    name: str, *, forgotten: tuple[str, ...] = (), started: tuple[str, ...] = ()
) -> GatewayReport:
    return GatewayReport(name, (f"quic://{name}:1",), 0, 10, False, forgotten, started=started)


def asked(connection: int = 2, topic: str = "items") -> SettleRequest:
    return SettleRequest("g2", "car-1", RUN, connection, topic)


def test_an_answer_waits_for_the_disk_and_ends_the_older_connection():
    gateway = Harness()
    link = gateway.attach(connection=1)
    gateway.publish(link, 1, b"a", b"b")
    actions = gateway.hear(asked())
    assert closed(actions, link) is not None
    assert not written(actions, SettleAnswer)
    assert gateway.publish(link, 3, b"late") == []
    answers = written(gateway.settle(), SettleAnswer)
    assert answers == [SettleAnswer("g1", "car-1", RUN, 2, "items", 2)]
    assert gateway.accepted["car-1", RUN, "items"] == [b"a", b"b"]


def test_a_question_is_asked_when_the_other_gateway_is_heard_and_repeated():
    gateway = Harness()
    link = gateway.attach(connection=4)
    assert not written(gateway.say(link, frames.Settle("g2", "items")), SettleRequest)
    heard = written(gateway.hear(report("g2")), SettleRequest)
    assert heard == [SettleRequest("g1", "car-1", RUN, 4, "items")]
    gateway.now += 1.0
    again = gateway.handle(TimeOfDay(WALL, frozenset()))
    assert written(again, SettleRequest) == heard
    gateway.handle(NotHeard(GatewayReport, "g2"))
    gateway.now += 1.0
    assert not written(gateway.handle(TimeOfDay(WALL, frozenset())), SettleRequest)
    assert written(gateway.hear(report("g2")), SettleRequest) == heard


def test_an_answer_goes_to_the_connection_that_asked():
    gateway = Harness()
    gateway.hear(report("g2"))
    link = gateway.attach(connection=4)
    gateway.say(link, frames.Settle("g2", "items"))
    assert not sent(gateway.hear(SettleAnswer("g2", "car-1", RUN, 3, "items", 9)), link)
    good = SettleAnswer("g2", "car-1", RUN, 4, "items", 9)
    assert sent(gateway.hear(good), link) == [frames.Settled("g2", "items", 9)]
    assert not sent(gateway.hear(good), link)


def test_what_a_given_up_gateway_had_is_sent_again():
    gateway = Harness()
    link = gateway.attach()
    gateway.say(link, frames.Settle("g9", "items"))
    actions = gateway.handle(Forget("g9"))
    assert sent(actions, link) == [frames.Settled("g9", "items", 0)]
    assert sent(gateway.say(link, frames.Settle("g9", "logs")), link) == [
        frames.Settled("g9", "logs", 0)
    ]
    told = written(gateway.wait(1.0), GatewayReport)
    assert told[-1].forgotten == ("g9",)


def test_who_is_given_up_is_known_everywhere_and_takes_no_more_nodes():
    gateway = Harness()
    gateway.hear(report("g2", forgotten=("g1", "g7")))
    assert gateway.core.acceptance.settling.forgotten == {"g1", "g7"}
    link = gateway.attach()
    refused = closed(gateway.log, link)
    assert refused is not None
    assert refused.retry


def test_too_many_questions_end_the_connection():
    gateway = Harness()
    link = gateway.attach()
    for number in range(16):
        gateway.say(link, frames.Settle(f"x{number}", "items"))
    assert closed(gateway.say(link, frames.Settle("x16", "items")), link) is not None


def awaited(gateway: Harness) -> tuple[str, ...]:
    """Whose word its next report says that nodes wait for."""
    gateway.now += 1.0
    gateway.handle(TimeOfDay(WALL, frozenset()))
    return written(gateway.wait(1.0), GatewayReport)[-1].awaits


def test_a_node_has_nobody_awaited_by_a_name_that_it_made_up():
    gateway = Harness()
    link = gateway.attach()
    gateway.hear(report("g2"))
    for name in ("g1+17", "g2+1", "g3", "g3+1"):
        gateway.say(link, frames.Settle(name, "items"))
    assert awaited(gateway) == ()


def test_who_has_lived_is_awaited_though_it_was_never_heard():
    """Everything was started anew: the gateway that has its folder knows it, and can start it."""
    gateway = Harness()
    link = gateway.attach()
    for name in ("g1+1", "g2+1", "g2+2", "g3"):
        gateway.say(link, frames.Settle(name, "items"))
    gateway.handle(Started(frozenset(), ended=frozenset({"g1+1"})))
    assert awaited(gateway) == ("g1+1",)
    assert written(gateway.log, GatewayReport)[-1].started == ("g1+1",)
    gateway.hear(report("g2", started=("g2+1",)))
    assert awaited(gateway) == ("g1+1", "g2+1")


def test_made_up_names_do_not_crowd_out_a_gateway_that_has_died():
    gateway = Harness()
    gateway.handle(Started(frozenset({"g1+9"})))
    for car in range(5):
        link = gateway.attach(f"car-{car}")
        for number in range(16):
            gateway.say(link, frames.Settle(f"g1+10{car}{number}", "items"))
    assert awaited(gateway) == ("g1+9",)
