"""Who lost its disk has forgotten what it had and how it voted, and counts as one that has."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.overlay.hosts import HOME, FakeHost, config, label, lead, record

from evenflow.overlay.protocol.messages import (
    Agreed,
    Prepare,
    Promise,
    Propose,
    Pull,
    Sync,
    TermStart,
)
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State

ALL = ("b0", "b1", "b2")
LOST = {"voters": ALL, "disks": (7, 0, 0)}
"""Configurations that name b0 with a disk that it has not any more."""


def replica(host: FakeHost, *members: str, **fields: Any) -> Replica:
    made = Replica(host, record(host, *members[:2]), 9, lambda: None)
    made.copy.config = config(*members, **({"voters": ALL} | fields))
    return made


def following(host: FakeHost, **fields: Any) -> Replica:
    made = replica(host, "b1", "b0", **fields)
    made.copy.state, made.copy.next_check = State.FOLLOWING, host.now + 1
    return made


def leading(host: FakeHost, *others: str, **fields: Any) -> Replica:
    made = replica(host, "b0", *others, **fields)
    lead(made)
    return made


def answer(host: FakeHost, made: Replica, *voters: str) -> list[Any]:
    """Let voters promise and agree; return what was proposed to them."""
    ((_, prepare), *_) = host.mail.take(Prepare)
    for name in voters:
        made.proposer.handle(name, Promise(HOME, prepare.ballot, prepare.base, ()))
    proposed = [body for _, body in host.mail.take(Propose)]
    for name in voters:
        made.proposer.handle(name, Agreed(HOME, prepare.ballot, prepare.base))
    return proposed


@pytest.mark.parametrize(
    ("disks", "answers", "expected"),
    [
        ((1, 2, 3), {"b0": 1, "b1": 2}, True),
        ((1, 2, 3), {"b0": 1, "b2": 9}, False),  # it may have agreed to something else before
        ((1, 2, 3), {"b0": 1, "b1": 2, "b2": 9}, True),
        ((1, 2, 3), {"b0": 1, "b1": 8, "b2": 9}, False),
        ((1, 2), {"b0": 1}, False),
        ((1, 2), {"b0": 1, "b1": 9}, True),  # whatever was decided b0 agreed to, and knows
        ((1,), {"b0": 9}, False),
        ((1, 2, 3, 4), {"b0": 1, "b1": 2, "b2": 9}, False),
        ((1, 2, 3, 4), {"b0": 1, "b1": 2, "b2": 8, "b3": 9}, True),
    ],
)
def test_voters_that_have_forgotten_decide_only_with_all_others(
    disks: tuple[int, ...], answers: dict[str, int], expected: bool
) -> None:
    voters = tuple(f"b{number}" for number in range(len(disks)))
    assert config("b0", voters=voters, disks=disks).enough(answers) is expected


def test_a_witness_that_lost_its_disk_does_not_help_a_second_primary() -> None:
    """It may have agreed that the first goes on alone, which has acknowledged messages since."""
    host = FakeHost()
    made = following(host)
    host.kill("b1")
    host.replace_disk("b2")
    made.review()
    assert answer(host, made, "b2") == []
    assert not made.copy.leading


def test_a_new_disk_of_a_witness_is_named_by_the_next_configuration() -> None:
    host = FakeHost()
    made = leading(host, "b1")
    host.replace_disk("b2")
    made.review()
    assert answer(host, made, "b1")
    assert (made.copy.config.term, made.copy.config.disk("b2")) == (6, 9)


def test_of_two_voters_one_goes_on_when_the_other_says_that_it_has_another_disk() -> None:
    host = FakeHost(brokers=2)
    made = leading(host, "b1", voters=("b0", "b1"))
    host.replace_disk("b1")
    made.review()
    assert answer(host, made, "b1")
    assert made.copy.config.in_sync == ("b0",)


def test_a_member_that_lost_its_disk_is_no_longer_in_sync() -> None:
    host = FakeHost()
    made = leading(host, "b1")
    host.replace_disk("b1")
    made.review()
    (found, *_) = answer(host, made, "b2")
    assert (found.config.members, found.config.in_sync) == (("b0", "b1"), ("b0",))


def test_a_member_that_is_not_in_sync_and_lost_its_disk_begins_anew() -> None:
    """What it said that it has is gone; and it would refuse what is sent to it, for ever."""
    host = FakeHost()
    made = leading(host, "b1", in_sync=("b0",), voters=("b0",))
    host.replace_disk("b1")
    made.review()
    assert [name for name, _ in host.mail.take(Sync)] == ["b1"]
    assert not made.replication.members["b1"].synced
    assert made.copy.config.in_sync == ("b0",)


def test_a_primary_that_lost_its_disk_is_succeeded_though_it_lives() -> None:
    host = FakeHost()
    made = following(host)
    host.replace_disk("b1")
    made.review()
    (found, *_) = answer(host, made, "b2")
    assert (found.config.primary, found.config.in_sync) == ("b0", ("b0",))


def test_a_copy_on_another_disk_than_that_in_sync_does_not_lead() -> None:
    host = FakeHost()
    made = following(host, disks=(0, 7, 0), voters=("b1", "b0", "b2"))
    host.kill("b1")
    made.review()
    assert host.mail.take(Prepare) == []
    made.on_config(config("b0", "b1", term=6, **LOST))
    assert made.copy.state is State.UNSURE


def test_a_copy_on_another_disk_than_that_in_sync_gets_everything() -> None:
    host = FakeHost()
    made = replica(host, "b1", "b0")
    new = config("b1", "b0", term=6, **LOST)
    terms = (TermStart(5, 10), TermStart(6, 30))
    made.on_sync("b1", Sync(HOME, new, True, 0, 30, terms, label(), ()))
    assert host.mail.take(Pull) == [("b1", Pull(HOME, 6, 1, 30))]
