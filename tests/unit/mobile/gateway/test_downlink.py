"""Messages to nodes: passed on within a bound, acknowledged together, or given back."""

from __future__ import annotations

from typing import Any

from tests.unit.mobile.gateway.harness import WALL, Harness, sent, written

from evenflow.mobile.link import frames
from evenflow.model.messages import Attachment, Mail, MailboxReport, MailReceipt


def mail(*nodes: str, number: int = 1, previous: int = 0, payload: bytes = b"hi", **more: Any):
    expires = more.pop("expires", int((WALL + 60) * 1e6))
    count = len(nodes)
    return Mail("m1", nodes, (number,) * count, (previous,) * count, "op", "", 5, expires, payload)


def box() -> MailboxReport:
    return MailboxReport("m1", 0, 0, 0, 0, 1 << 20)


def receipts(gateway: Harness) -> list[MailReceipt]:
    return written(gateway.wait(), MailReceipt)


def test_a_message_is_passed_on_and_its_receipt_goes_to_the_mailbox():
    gateway = Harness()
    gateway.hear(box())
    link = gateway.attach()
    (message,) = sent(gateway.hear(mail("car-1")), link)
    assert message == frames.Message("m1", 1, 0, "op", 5, "", b"hi")
    gateway.say(link, frames.Received("m1", 1))
    assert receipts(gateway) == [MailReceipt("m1", "g1", ("car-1",), (1,), ())]
    assert gateway.core.downlink.held == 0


def test_what_is_for_a_node_that_is_not_here_goes_back():
    gateway = Harness()
    link = gateway.attach("car-2")
    actions = gateway.hear(mail("car-1", "car-2"))
    assert len(sent(actions, link)) == 1
    assert receipts(gateway) == [MailReceipt("m1", "g1", (), (), ("car-1",))]


def test_what_finds_no_room_goes_back_but_one_message_alone_always_fits():
    gateway = Harness(mail_bytes=1_000)
    link = gateway.attach()
    assert sent(gateway.hear(mail("car-1", payload=b"x" * 5_000)), link)
    assert not sent(gateway.hear(mail("car-1", number=2, previous=1)), link)
    assert receipts(gateway) == [MailReceipt("m1", "g1", (), (), ("car-1",))]
    gateway.say(link, frames.Received("m1", 1))
    assert sent(gateway.hear(mail("car-1", number=2, previous=1)), link)


def test_all_nodes_together_have_a_bound():
    gateway = Harness(mail_buffer_bytes=2_000)
    links = [gateway.attach(f"car-{number}") for number in range(4)]
    actions = gateway.hear(mail(*(f"car-{n}" for n in range(4)), payload=b"x" * 500))
    assert [len(sent(actions, link)) for link in links] == [1, 1, 0, 0]
    assert receipts(gateway)[0].returned == ("car-2", "car-3")


def test_a_message_that_comes_again_is_passed_on_and_counted_once():
    gateway = Harness()
    link = gateway.attach()
    gateway.hear(mail("car-1"))
    held = gateway.core.downlink.held
    assert sent(gateway.hear(mail("car-1")), link)
    assert gateway.core.downlink.held == held


def test_a_node_that_leaves_gives_back_what_it_has_not_acknowledged():
    gateway = Harness()
    link = gateway.attach()
    gateway.hear(mail("car-1"))
    gateway.lose(link)
    assert receipts(gateway) == [MailReceipt("m1", "g1", (), (), ("car-1",))]
    assert gateway.core.downlink.held == 0


def test_a_node_that_is_attached_elsewhere_gets_no_mail_here():
    gateway = Harness()
    link = gateway.attach()
    gateway.hear(mail("car-1"))
    gateway.hear(Attachment("g2", "car-1", 2, True, "{}", WALL))
    assert receipts(gateway)[0].returned == ("car-1",)
    assert not sent(gateway.hear(mail("car-1", number=2, previous=1)), link)


def test_hello_tells_the_mailboxes_what_the_node_has_and_nobody_else():
    gateway = Harness()
    gateway.hear(box())
    gateway.attach(received={"m1": 7, "invented": 3})
    assert receipts(gateway) == [MailReceipt("m1", "g1", ("car-1",), (7,), ())]


def test_what_has_expired_is_not_passed_on():
    gateway = Harness()
    link = gateway.attach()
    assert not sent(gateway.hear(mail("car-1", expires=int((WALL - 1) * 1e6))), link)


def test_many_receipts_are_cut_into_pieces():
    gateway = Harness()
    gateway.hear(box())
    for number in range(1_500):
        gateway.attach(f"car-{number}", received={"m1": 1})
    assert [len(one.nodes) for one in receipts(gateway)] == [1_000, 500]


def test_a_message_that_follows_on_one_the_node_lacks_goes_back():
    """It would fill the room of the one that is lacking, and the node would not take it."""
    gateway = Harness()
    link = gateway.attach(received={"m1": 3})
    assert not sent(gateway.hear(mail("car-1", number=6, previous=5)), link)
    assert receipts(gateway)[0].returned == ("car-1",)
    assert sent(gateway.hear(mail("car-1", number=5, previous=3)), link)
    assert sent(gateway.hear(mail("car-1", number=6, previous=5)), link)
