"""A broker's share tells what it leads and what it expects, and reaches everybody once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.unit.overlay.hosts import HOME, FakeHost, record

from evenflow.overlay.balancing.gossip import ShareGossip
from evenflow.overlay.balancing.own_share import MOST_RESERVATIONS, OwnShare, Reservation
from evenflow.overlay.protocol.events import Transmit
from evenflow.overlay.protocol.messages import Message, Share, ShelfId, SpotLoad
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.shelf import Shelf


class Gossiping:
    """Broker ``b0``, linked with ``b1`` and ``b2``, leads the topic at home."""

    def __init__(self) -> None:
        self.host: Any = FakeHost(balance_s=4.0)
        self.host.neighbours = SimpleNamespace(links={"b1", "b2"})
        self.actions: list[Transmit] = []
        self.host.perform = self.actions.append
        self.shelves: dict[ShelfId, Shelf] = {}
        self.own = OwnShare(self.host, self.shelves)
        self.gossip = ShareGossip(self.host, self.own)

    def lead(self) -> None:
        shelf = self.shelves[HOME] = Shelf(self.host, record(self.host), 9)
        shelf.replica.copy.state = State.LEADING
        shelf.replica.copy.write([Message(11, 1, 1, b"abc")])

    def told(self) -> list[tuple[str, Share]]:
        found = [(action.link, action.message) for action in self.actions]
        self.actions.clear()
        return found


def test_a_share_tells_what_the_broker_leads_to_all_links() -> None:
    gossiping = Gossiping()
    gossiping.lead()
    gossiping.gossip.review()
    spot = SpotLoad(("b1",), 3, "meters", HOME.coordinate, 3)
    assert gossiping.told() == [(link, Share("b0", 1, 1_000_000, (spot,))) for link in ("b1", "b2")]


def test_it_is_told_when_due_and_at_once_when_something_changed() -> None:
    gossiping = Gossiping()
    gossiping.gossip.review()
    assert len(gossiping.told()) == 2
    gossiping.gossip.review()
    assert gossiping.told() == []
    gossiping.lead()
    gossiping.gossip.review()
    assert len(gossiping.told()) == 2
    gossiping.host.now += 1.0  # a quarter of the interval
    gossiping.gossip.review()
    assert len(gossiping.told()) == 2


def test_a_topic_that_was_accepted_counts_until_it_is_here_or_overdue() -> None:
    gossiping = Gossiping()
    gossiping.own.reserve("meters", Reservation(("b0", "b1"), 50, gossiping.host.now + 12))
    gossiping.gossip.tell()
    assert [share.spots[0].load for _, share in gossiping.told()] == [50, 50]
    assert gossiping.own.reserved("meters")
    gossiping.lead()
    gossiping.gossip.review()
    assert not gossiping.own.reserved("meters")
    gossiping.own.reserve("other", Reservation(("b0", "b1"), 50, gossiping.host.now + 12))
    gossiping.host.now += 12
    gossiping.gossip.review()
    assert not gossiping.own.reserved("other")


def test_room_is_bounded() -> None:
    own = Gossiping().own
    for number in range(MOST_RESERVATIONS):
        assert not own.full
        own.reserve(f"topic {number}", Reservation(("b0",), 1, 1e9))
    assert own.full


def test_what_others_bear_is_passed_on_once_and_not_back() -> None:
    gossiping = Gossiping()
    share = Share("b2", 1, 1, ())
    gossiping.gossip.on_share("b1", share)
    gossiping.gossip.on_share("b2", share)
    assert gossiping.told() == [("b2", share)]
    assert "b2" in gossiping.gossip.shares


def test_shares_of_the_dead_of_strangers_and_of_earlier_lives_are_ignored() -> None:
    gossiping = Gossiping()
    gossiping.host.kill("b2")
    for share in (Share("b2", 1, 1, ()), Share("b9", 1, 1, ()), Share("b1", 0, 1, ())):
        gossiping.gossip.on_share("b1", share)
    assert gossiping.told() == []
