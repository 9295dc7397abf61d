"""The primary's side of subscriptions: what is pushed, to whom, how far, and until when."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.unit.overlay.hosts import AWAY, HOME, WALL, FakeHost, envelope, lead, record

from evenflow.overlay.protocol.messages import (
    FetchInstead,
    Publish,
    Pushed,
    Redirect,
    Replicate,
    Replicated,
    Resubscribe,
    Subscribe,
    Subscribed,
    Subscription,
    Taken,
    Unsubscribe,
)
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf import subscribers as rules
from evenflow.overlay.shelf.clients import Clients
from evenflow.overlay.space.delegation import DelegateList

CLIENT = envelope(client=3)
KEPT = Subscription(7, CLIENT.origin, 3)


class Served:
    """A shelf of one broker (or of two), which leads."""

    def __init__(self, secondary: str = "") -> None:
        self.host = FakeHost()
        made = record(self.host, "b0", secondary, level=2 if secondary else 1)
        self.replica = Replica(self.host, made, 9, lambda: None)
        lead(self.replica)
        self.clients = Clients(self.replica, self.host)
        self.replica.copy.on_progress = self.clients.progress
        self._published = 0

    def ask(self, body: Any) -> list[Any]:
        self.clients.handle(CLIENT, body)
        return self.host.mail.answers()

    def publish(self, *payloads: bytes) -> None:
        self.ask(Publish(HOME, 7, self._published + 1, payloads))
        self._published += len(payloads)

    def told(self) -> list[Any]:
        """Return what clients were told that had not asked, and forget it."""
        told, self.host.mail.told = self.host.mail.told, []
        assert {(broker, client) for broker, client, _ in told} <= {(CLIENT.origin, 3)}
        return [body for *_, body in told]

    def wait(self, seconds: float) -> None:
        self.host.now += seconds
        self.clients.progress()

    @property
    def kept(self) -> tuple[Subscription, ...]:
        return self.replica.copy.label.subscriptions


def test_a_subscription_is_confirmed_when_all_copies_have_it() -> None:
    served = Served("b1")
    assert served.ask(Subscribe(HOME, 7, 9)) == []
    (_, sent) = served.host.mail.take(Replicate)[0]
    assert sent.label[0].subscriptions == (KEPT,)
    done = Replicated(HOME, 5, sent.previous, sent.label[0].revision, sent.round)
    served.replica.replication.on_replicated("b1", done)
    assert served.host.mail.answers() == [Subscribed(7)]


def test_only_what_is_committed_is_pushed() -> None:
    served = Served("b1")
    served.ask(Subscribe(HOME, 7, 9))
    served.publish(b"a")
    assert served.told() == []
    served.replica.replication.on_replicated(
        "b1", Replicated(HOME, 5, WALL, served.replica.copy.label.revision, 1)
    )
    (push,) = served.told()
    assert (push.after, [each.payload for each in push.messages]) == (9, [b"a"])


def test_pushes_follow_one_another() -> None:
    served = Served()
    assert served.ask(Subscribe(HOME, 7, 9)) == [Subscribed(7)]
    served.publish(b"a", b"b")
    served.publish(b"c")
    first, second = served.told()
    assert (first.after, second.after, second.cursor) == (9, first.cursor, WALL + 2)


def test_a_subscriber_that_begins_at_an_earlier_delegate_is_sent_there() -> None:
    served = Served()
    delegates = DelegateList.at_home(AWAY.coordinate).delegate(HOME.coordinate, 50)
    copy = served.replica.copy
    copy.record = replace(copy.record, label=replace(copy.label, delegates=delegates))
    assert served.ask(Subscribe(HOME, 7, 48)) == [Redirect(delegates)]
    assert served.kept == ()
    assert served.ask(Subscribe(HOME, 7, 49)) == [Subscribed(7)]


def test_a_full_window_ends_pushing_until_it_subscribes_again() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    for _ in range(3):
        served.publish(*[b"x"] * 256)
    told = served.told()
    assert [type(each) for each in told] == [Pushed, Pushed, FetchInstead]
    served.publish(b"y")
    served.wait(5)
    assert served.told() == []
    last = told[1].cursor
    served.ask(Subscribe(HOME, 7, last))
    (push,) = served.told()
    assert (push.after, len(push.messages)) == (last, 257)


def test_what_is_taken_makes_room() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    for _ in range(8):
        served.publish(*[b"x"] * 256)
        (push,) = served.told()
        served.ask(Taken(HOME, 7, push.cursor))


def test_large_messages_fill_the_window_too_and_one_always_fits() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    served.publish(b"x" * (2 * rules.WINDOW_BYTES), b"y")
    assert [type(each) for each in served.told()] == [Pushed, FetchInstead]


def test_who_does_not_answer_is_asked_whether_it_has_all() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    served.publish(b"a")
    served.told()
    served.wait(rules.ASK_S)
    assert served.told() == [Pushed(7, WALL, (), WALL)]
    served.ask(Taken(HOME, 7, WALL))
    served.wait(rules.ASK_S)
    assert served.told() == []


def test_a_new_primary_asks_each_subscriber_where_it_is() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    served.replica.copy.state = State.FOLLOWING
    served.clients.progress()
    lead(served.replica)
    served.clients.progress()
    question = Resubscribe(7, served.replica.copy.label.delegates)
    assert served.told() == [question]
    served.publish(b"a")
    assert served.told() == []  # not before we know where it is
    served.wait(rules.ASK_S)
    assert served.told() == [question]
    served.ask(Subscribe(HOME, 7, 9))
    assert [each.after for each in served.told()] == [9]


def test_a_subscription_ends_with_its_lease_or_when_the_client_says_so() -> None:
    served = Served()
    served.ask(Subscribe(HOME, 7, 9))
    served.wait(rules.LEASE_S - 1)
    served.ask(Taken(HOME, 7, 9))
    served.wait(rules.LEASE_S - 1)
    assert served.kept == (KEPT,)
    served.wait(1)
    assert served.kept == ()
    served.ask(Subscribe(HOME, 7, 9))
    served.ask(Unsubscribe(HOME, 8))
    assert served.kept == (KEPT,)
    served.ask(Unsubscribe(HOME, 7))
    assert served.kept == ()
    served.publish(b"a")
    assert served.told() == []


def test_the_number_of_subscriptions_is_bounded() -> None:
    served = Served()
    for number in range(1, rules.MOST_SUBSCRIPTIONS + 1):
        assert served.ask(Subscribe(HOME, number, 9)) == [Subscribed(number)]
    assert served.ask(Subscribe(HOME, 9_999, 9)) == [FetchInstead(9_999, rules.PAUSE_MS)]
    assert served.ask(Subscribe(HOME, 1, 9)) == [Subscribed(1)]
    assert len(served.kept) == rules.MOST_SUBSCRIPTIONS
