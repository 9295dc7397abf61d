"""A voter keeps its promises, over a crash too; numbers that cannot be true change nothing."""

from __future__ import annotations

import pytest
from tests.unit.overlay.hosts import AWAY, HOME, FakeHost, config

from evenflow.overlay.protocol.messages import (
    Accepted,
    Agreed,
    Ballot,
    Decided,
    Outbid,
    Prepare,
    Promise,
    Propose,
)
from evenflow.overlay.replica.votes import LEAP, Votes

BASE = config("b0", "b1", voters=("b0", "b1", "b2"))
ONE, TWO = Ballot(1, "b0"), Ballot(2, "b1")
NEXT, OTHER = config("b0", "b2", term=6), config("b1", "b2", term=6)


def votes(host: FakeHost) -> Votes:
    return Votes(host.store, host.clock.plausible)


def test_the_higher_ballot_wins_and_what_was_accepted_is_told() -> None:
    host = FakeHost()
    mine = votes(host)
    assert mine.on_prepare(Prepare(HOME, ONE, BASE)) == Promise(HOME, ONE, BASE, ())
    assert mine.on_propose(Propose(HOME, ONE, BASE, NEXT)) == Agreed(HOME, ONE, BASE)
    mine = votes(host)  # after a crash
    told = (Accepted(ONE, NEXT),)
    assert mine.on_prepare(Prepare(HOME, TWO, BASE)) == Promise(HOME, TWO, BASE, told)
    assert mine.on_propose(Propose(HOME, ONE, BASE, NEXT)) == Outbid(HOME, TWO, BASE)
    assert mine.on_prepare(Prepare(HOME, ONE, BASE)) == Outbid(HOME, TWO, BASE)


def test_who_asks_about_the_past_hears_what_was_decided() -> None:
    mine = votes(FakeHost())
    assert mine.learn(HOME, NEXT)
    assert mine.on_prepare(Prepare(HOME, TWO, BASE)) == Decided(HOME, NEXT)
    assert mine.on_propose(Propose(HOME, TWO, BASE, OTHER)) == Decided(HOME, NEXT)
    assert not mine.learn(HOME, BASE)
    assert mine.known(HOME) == NEXT


def test_a_deleted_shelf_stays_deleted_until_it_is_made_anew() -> None:
    host = FakeHost()
    mine = votes(host)
    mine.learn(AWAY, config("b0", birth=7))
    mine.end(AWAY)
    known = mine.known(AWAY)
    assert known is not None
    assert known.ended
    asked = config("b0", birth=7)
    assert isinstance(mine.on_prepare(Prepare(AWAY, TWO, asked)), Decided)
    assert mine.learn(AWAY, config("b0", term=1, birth=8))


@pytest.mark.parametrize("term", [1 << 62, 1 << 53, LEAP + 6])
def test_a_term_that_is_absurdly_far_ahead_is_not_voted_on(term: int) -> None:
    mine = votes(FakeHost())
    mine.learn(HOME, BASE)
    far = config("b0", term=term)
    assert mine.on_prepare(Prepare(HOME, ONE, far)) is None
    assert not mine.sound(HOME, far)
    assert mine.on_prepare(Prepare(HOME, Ballot(term, "b0"), BASE)) is None
    assert mine.on_prepare(Prepare(HOME, ONE, BASE)) == Promise(HOME, ONE, BASE, ())


def test_a_configuration_that_does_not_follow_is_not_accepted() -> None:
    mine = votes(FakeHost())
    assert mine.on_propose(Propose(HOME, ONE, BASE, config("b0", term=8))) is None


@pytest.mark.parametrize(("known", "quorum"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (20, 18)])
def test_a_topic_is_new_when_nearly_all_know_nothing_of_it(known: int, quorum: int) -> None:
    names = tuple(f"b{number}" for number in range(known))
    assert config("b0", term=0, voters=names).quorum == quorum
