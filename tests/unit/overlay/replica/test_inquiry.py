"""An unsure copy finds out who is ahead before it leads."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import HOME, FakeHost, record

from evenflow.overlay.protocol.messages import Inquire, Known
from evenflow.overlay.replica.copy import RETRY_S, Copy
from evenflow.overlay.replica.inquiry import STRANGER_S, Inquiry


def asking(host: FakeHost, **fields: Any) -> Inquiry:
    return Inquiry(Copy(host, record(host, **fields), 9, lambda: None))


def asked(host: FakeHost) -> list[str]:
    return [node for node, _ in host.mail.take(Inquire)]


def test_the_living_around_are_asked_and_again_later() -> None:
    host = FakeHost()
    host.kill("b3")
    inquiry = asking(host)
    assert not inquiry.ask()
    assert asked(host) == ["b1", "b2"]
    inquiry.ask()
    assert asked(host) == []
    host.now += RETRY_S
    inquiry.ask()
    assert asked(host) == ["b1", "b2"]


def test_nobody_is_asked_while_brokers_come_and_go() -> None:
    host = FakeHost()
    host.steady = False
    assert not asking(host).ask()
    assert asked(host) == []


def test_a_partner_that_nobody_has_heard_of_is_waited_for() -> None:
    host = FakeHost()
    inquiry = asking(host, secondary="elsewhere")
    inquiry.ask()
    assert asked(host) == []
    host.now += STRANGER_S
    inquiry.ask()
    assert asked(host) == ["b1", "b2", "b3"]


def test_alone_there_is_nobody_to_ask() -> None:
    assert asking(FakeHost(brokers=1), secondary="").ask()


def leader_after(host: FakeHost, inquiry: Inquiry, **answers: Known) -> str:
    inquiry.ask()
    done = [inquiry.on_known(name, answers[name]) for name in answers]
    assert done == [False] * (len(answers) - 1) + [True]
    return inquiry.leader(list(answers)[-1])


NOTHING = Known(HOME, 0, "")


def test_the_newest_may_lead() -> None:
    host = FakeHost(brokers=3)
    assert leader_after(host, asking(host), b1=Known(HOME, 4, "b1"), b2=NOTHING) == ""


def test_an_older_copy_waits_for_the_newest_primary() -> None:
    host = FakeHost(brokers=4)
    known = {"b1": Known(HOME, 6, "b2"), "b2": NOTHING, "b3": Known(HOME, 7, "b1")}
    assert leader_after(host, asking(host), **known) == "b1"


def test_when_the_newest_primary_is_dead_one_that_answered_is_asked() -> None:
    host = FakeHost(brokers=3)
    known = {"b1": Known(HOME, 6, "dead"), "b2": NOTHING}
    assert leader_after(host, asking(host), **known) == "b2"


def test_an_equal_copy_waits_for_the_primary_of_their_term() -> None:
    host = FakeHost(brokers=3)
    known = {"b1": Known(HOME, 5, "b1"), "b2": NOTHING}
    assert leader_after(host, asking(host, primary="b1", secondary="b0"), **known) == "b1"


def test_that_others_agreed_to_our_own_term_lets_us_lead() -> None:
    host = FakeHost(brokers=2)
    inquiry = asking(host, term=6)
    assert leader_after(host, inquiry, b1=Known(HOME, 6, "b0")) == ""


def test_an_answer_that_was_not_asked_for_is_ignored() -> None:
    host = FakeHost(brokers=2)
    inquiry = asking(host)
    assert not inquiry.on_known("b1", Known(HOME, 9, "b1"))
    inquiry.ask()
    inquiry.cancel()
    assert not inquiry.on_known("b1", Known(HOME, 9, "b1"))
