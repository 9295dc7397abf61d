"""A balancer that leads anew knows of every consumer what it heard, and what is on disk."""

from __future__ import annotations

from evenflow.model.ids import Position
from evenflow.model.messages import CommitCopy, ConsumerCommit
from evenflow.slices.consumer.registry.consumers import MOST_RELEASED
from evenflow.slices.consumer.registry.copies import BALANCER
from evenflow.slices.ending.registrations import Registrations


def commit(number: int, epoch: int) -> ConsumerCommit:
    return ConsumerCommit("items", "spark", number, (7,), (epoch,), ended=False)


def copy_of(number: int, epoch: int) -> CommitCopy:
    return CommitCopy("items", "spark", BALANCER, True, number, (7,), (epoch,), False, (), ())


def heard(said: ConsumerCommit) -> Registrations:
    found = Registrations()
    found.on_commit(said, 0.0)
    return found


def adopted(saved: ConsumerCommit, before: Registrations) -> Registrations:
    found = Registrations([saved])
    found.adopt(before)
    return found


def test_one_that_is_here_stays_here() -> None:
    found = adopted(commit(5, 50), heard(commit(5, 50)))
    assert not found.consumers.is_away("spark")
    assert found.copies() == []
    assert not found.due(0.0)


def test_what_was_heard_and_is_not_on_disk_is_written_down() -> None:
    found = adopted(commit(5, 50), heard(commit(6, 60)))
    assert found.position("spark") == Position({7: 60})
    assert found.due(0.0)
    assert found.to_save() == [commit(6, 60)]


def test_one_that_is_away_stays_away_and_is_told_of() -> None:
    before = heard(commit(5, 50))
    before.on_gone("spark")
    found = adopted(commit(5, 50), before)
    assert found.consumers.is_away("spark")
    assert found.copies() == [copy_of(5, 50)]
    # A node that remembers more of it is believed, and so is its next life with an older clock.
    found.on_copy(copy_of(6, 60))
    assert found.position("spark") == Position({7: 60})
    assert found.on_commit(commit(2, 70), 0.0) is not None
    assert found.position("spark") == Position({7: 70})


def test_what_another_balancer_has_written_down_meanwhile_is_not_taken_back() -> None:
    found = adopted(commit(9, 90), heard(commit(5, 50)))
    assert found.position("spark") == Position({7: 90})
    assert found.to_save() == [commit(9, 90)]


def test_what_is_remembered_of_those_that_have_ended_is_bounded() -> None:
    found = Registrations()
    found.on_commit(commit(1, 1), 0.0)
    for number in range(MOST_RELEASED + 50):
        last = ConsumerCommit("items", f"q{number}", number + 1, (7,), (1,), ended=True)
        found.on_commit(last, 0.0)
    found.to_save()
    found.on_saved(0.0)
    assert len(found.consumers.everybody()) == MOST_RELEASED + len(["spark"])
    assert found.consumers.newest("q49") is None
    assert found.consumers.newest("q50") is not None
    assert list(found._heard) == ["spark"]
    assert found.registered() == {"spark": 1}
