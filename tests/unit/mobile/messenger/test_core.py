"""The messenger: one mailbox, in order, told what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.domain.channels import Gone
from evenflow.errors import NoMailbox, SendRefused, SendTimeout
from evenflow.mobile.messenger.core import (
    LOOK_S,
    NOBODY_S,
    REPEAT_S,
    RETRY_S,
    WINDOW,
    Action,
    Done,
    Message,
    MessengerCore,
    NotWritten,
    Sent,
    Submit,
    Tick,
    Write,
)
from evenflow.model.messages import MailboxReport, SendReply

if TYPE_CHECKING:
    from evenflow.model.messages import SendRequest

SOURCE = 7
HELLO = Message(b"hello", ("car-1",), "", 60.0)


def report(mailbox: str) -> MailboxReport:
    return MailboxReport(mailbox, 0, 0, 0, 0, 1)


def gone(mailbox: str) -> Gone:
    return Gone(MailboxReport, (mailbox,))


def reply(number: int, mailbox: str, *, ok: bool = True) -> SendReply:
    return SendReply(SOURCE, number, mailbox, ok, "" if ok else "it is full", 1 if ok else 0)


def submit(ticket: int, deadline: float = 10.0) -> Submit:
    return Submit(ticket, HELLO, deadline)


def requests(actions: list[Action]) -> list[SendRequest]:
    return [action.request for action in actions if isinstance(action, Write)]


def numbers(actions: list[Action]) -> list[tuple[int, int]]:
    return [(one.number, one.previous) for one in requests(actions)]


@pytest.fixture
def core() -> MessengerCore:
    """A messenger that has found its mailbox, and is at time 1."""
    core = MessengerCore(SOURCE, "dispatch")
    core.handle(report("m1~1"), 0.0)
    return core


def test_it_looks_around_before_it_chooses() -> None:
    core = MessengerCore(SOURCE, "dispatch")
    core.handle(submit(1), 0.0)
    assert core.handle(report("m1~1"), 0.1) == []
    assert core.handle(report("m2~1"), 0.2) == []
    [request] = requests(core.handle(Tick(), 0.1 + LOOK_S))
    assert request.mailbox == core.mailbox
    assert (request.source, request.number, request.previous) == (SOURCE, 1, 0)


def test_the_same_sender_finds_the_same_mailbox_from_anywhere() -> None:
    chosen = set()
    for order in (("m1~1", "m2~1", "m3~1"), ("m3~9", "m1~1", "m2~5")):
        core = MessengerCore(len(chosen), "dispatch")
        for one in order:
            core.handle(report(one), 0.0)
        core.handle(submit(1), 1.0)
        chosen.add(core.mailbox.partition("~")[0])
    assert len(chosen) == 1


def test_senders_are_spread_over_the_mailboxes() -> None:
    chosen = []
    for number in range(300):
        core = MessengerCore(number, f"sender-{number}")
        for one in ("m1~1", "m2~1", "m3~1"):
            core.handle(report(one), 0.0)
        core.handle(submit(1), 1.0)
        chosen.append(core.mailbox)
    assert all(chosen.count(one) > 60 for one in ("m1~1", "m2~1", "m3~1"))


def test_it_stays_while_its_mailbox_lives(core: MessengerCore) -> None:
    core.handle(submit(1), 1.0)
    for number in range(2, 20):
        core.handle(report(f"m{number}~1"), 1.0)
        core.handle(reply(number - 1, "m1~1"), 1.0)
        [request] = requests(core.handle(submit(number), 1.0))
        assert request.mailbox == "m1~1"


def test_each_names_the_one_before_that_is_unanswered(core: MessengerCore) -> None:
    assert numbers(core.handle(submit(1), 1.0)) == [(1, 0)]
    assert numbers(core.handle(submit(2), 1.0)) == [(2, 1)]
    core.handle(reply(1, "m1~1"), 1.1)
    assert numbers(core.handle(submit(3), 1.2)) == [(3, 2)]
    core.handle(reply(2, "m1~1"), 1.3)
    core.handle(reply(3, "m1~1"), 1.3)
    assert numbers(core.handle(submit(4), 1.4)) == [(4, 0)]


def test_answers_are_passed_on_once(core: MessengerCore) -> None:
    core.handle(submit(5), 1.0)
    core.handle(submit(6), 1.0)
    assert core.handle(reply(1, "m1~1"), 1.1) == [Done(5, Sent("m1~1", 1, ""))]
    assert core.handle(reply(1, "m1~1"), 1.1) == []
    [done] = core.handle(reply(2, "m1~1", ok=False), 1.1)
    assert isinstance(done, Done)
    assert isinstance(done.result, SendRefused)
    assert done.result.reason == "it is full"
    assert core.unanswered == 0


def test_an_answer_to_somebody_else_is_nothing(core: MessengerCore) -> None:
    core.handle(submit(1), 1.0)
    other = SendReply(SOURCE + 1, 1, "m1~1", True, "", 1)
    assert core.handle(other, 1.1) == []
    assert core.handle(reply(1, "m2~1"), 1.1) == []
    assert core.unanswered == 1


def test_a_late_answer_lets_all_be_repeated_in_order(core: MessengerCore) -> None:
    for ticket in (1, 2, 3):
        core.handle(submit(ticket), 1.0)
    core.handle(reply(2, "m1~1"), 1.0)
    assert core.handle(Tick(), 1.0 + REPEAT_S / 2) == []
    assert numbers(core.handle(Tick(), 1.0 + REPEAT_S)) == [(1, 0), (3, 1)]
    assert core.handle(Tick(), 1.1 + REPEAT_S) == []


def test_no_more_than_a_window_is_unanswered(core: MessengerCore) -> None:
    written = []
    for ticket in range(1, 101):
        written += numbers(core.handle(submit(ticket), 1.0))
    assert [number for number, _ in written] == list(range(1, WINDOW + 1))
    assert numbers(core.handle(reply(1, "m1~1"), 1.0)) == [(WINDOW + 1, WINDOW)]


def test_what_could_not_be_written_is_tried_soon(core: MessengerCore) -> None:
    core.handle(submit(1), 1.0)
    core.handle(NotWritten(1), 1.0)
    assert core.handle(Tick(), 1.0 + RETRY_S / 2) == []
    assert numbers(core.handle(Tick(), 1.0 + RETRY_S)) == [(1, 0)]


def test_what_was_never_written_goes_to_another_mailbox(core: MessengerCore) -> None:
    core.handle(submit(1), 1.0)
    core.handle(NotWritten(1), 1.0)
    core.handle(gone("m1~1"), 1.1)
    core.handle(report("m2~1"), 1.1)
    [request] = requests(core.handle(Tick(), 1.1 + LOOK_S))
    assert request.mailbox == "m2~1"


def test_what_was_written_waits_for_its_mailbox_and_so_does_what_follows(
    core: MessengerCore,
) -> None:
    core.handle(submit(1), 1.0)
    core.handle(gone("m1~1"), 1.1)
    core.handle(report("m2~1"), 1.1)
    assert core.handle(submit(2), 2.0) == []
    assert numbers(core.handle(report("m1~1"), 3.0)) == [(1, 0), (2, 1)]
    assert core.mailbox == "m1~1"


def test_when_the_time_is_up_nobody_knows(core: MessengerCore) -> None:
    core.handle(submit(1, deadline=5.0), 1.0)
    core.handle(submit(2, deadline=9.0), 1.0)
    core.handle(gone("m1~1"), 1.1)
    core.handle(report("m2~1"), 1.1)
    [done, *_] = core.handle(Tick(), 5.0)
    assert isinstance(done, Done)
    assert isinstance(done.result, SendTimeout)
    assert core.handle(Tick(), 8.9) == [], "the second was written too"


def test_without_any_mailbox_it_is_said_soon() -> None:
    core = MessengerCore(SOURCE, "dispatch")
    core.handle(submit(1, deadline=60.0), 5.0)
    assert core.handle(Tick(), 5.0 + NOBODY_S - 0.1) == []
    [done] = core.handle(Tick(), 5.0 + NOBODY_S)
    assert isinstance(done, Done)
    assert isinstance(done.result, NoMailbox)


def test_a_mailbox_that_was_there_is_waited_for(core: MessengerCore) -> None:
    core.handle(gone("m1~1"), 1.0)
    core.handle(submit(1, deadline=60.0), 5.0)
    assert core.handle(Tick(), 59.0) == []
    [done] = core.handle(Tick(), 60.0)
    assert isinstance(done, Done)
    assert isinstance(done.result, NoMailbox)
