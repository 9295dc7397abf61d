"""What `now` is told lies behind nothing that may still get an earlier time."""

from __future__ import annotations

from tests.unit.overlay.hosts import HOME, WALL
from tests.unit.overlay.shelf.test_clients import Served, publish

from evenflow.overlay.protocol.messages import Join, Joined, Replicated


def test_now_is_not_behind_what_only_this_copy_has() -> None:
    """Who leads next, with a clock that is behind, gives earlier times to what comes later."""
    served = Served("b1")
    assert served.ask(publish(1, b"a")) == []
    (joined,) = served.ask(Join(HOME, 2))
    assert joined.now <= WALL
    served.replica.replication.on_replicated("b1", Replicated(HOME, 5, WALL, 1, 1))
    served.host.mail.answers()
    (joined,) = served.ask(Join(HOME, 2))
    assert joined.now == WALL + 1


def test_now_waits_for_what_an_earlier_primary_may_have_acknowledged() -> None:
    served = Served("b1")
    served.ask(publish(1, b"a"))
    replication = served.replica.replication
    replication.lead_from(10)
    for at in replication.members.values():
        at.synced, at.idle, at.since, at.revision = True, True, 0, 1
        at.confirmed = served.host.now
    assert served.ask(Join(HOME, 2)) == []
    at = replication.members["b1"]
    replication.replicate()
    replication.on_replicated("b1", Replicated(HOME, 5, WALL, 1, at.round))
    assert [body.now for body in served.host.mail.answers() if isinstance(body, Joined)] == [
        WALL + 1
    ]
