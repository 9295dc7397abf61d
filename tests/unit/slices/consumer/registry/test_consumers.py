from __future__ import annotations

from evenflow.model.messages import CommitCopy, ConsumerCommit
from evenflow.slices.consumer.registry.consumers import MOST_RELEASED, Consumers


def commit(
    name: str, number: int, epochs: dict[int, int], *, ended: bool = False
) -> ConsumerCommit:
    return ConsumerCommit("items", name, number, tuple(epochs), tuple(epochs.values()), ended)


def test_nothing_may_be_forgotten_while_nobody_is_registered() -> None:
    assert Consumers().floor(1) == 0
    assert Consumers().position() == {}


def test_what_all_have_committed_may_be_forgotten() -> None:
    consumers = Consumers()
    consumers.commit(commit("a", 1, {1: 5, 2: 9}))
    consumers.commit(commit("b", 1, {1: 3}))
    assert consumers.floor(1) == 3
    assert consumers.floor(2) == 0
    assert consumers.position() == {1: 3}
    assert consumers.names() == ("a", "b")


def test_an_older_commit_that_comes_late_is_ignored() -> None:
    consumers = Consumers()
    assert consumers.commit(commit("a", 2, {1: 5}))
    assert not consumers.commit(commit("a", 1, {1: 4}))
    assert consumers.floor(1) == 5


def test_one_that_has_ended_keeps_nothing_and_stays_ended() -> None:
    consumers = Consumers()
    consumers.commit(commit("a", 1, {1: 5}))
    consumers.commit(commit("b", 1, {1: 2}))
    consumers.commit(commit("b", 3, {}, ended=True))
    consumers.commit(commit("b", 2, {1: 3}))
    consumers.learn(["b"])
    assert consumers.names() == ("a",)
    assert consumers.floor(1) == 5


def test_one_that_is_only_heard_of_keeps_everything_until_it_speaks() -> None:
    consumers = Consumers()
    consumers.commit(commit("a", 1, {1: 5}))
    consumers.learn(["a", "b"])
    assert consumers.floor(1) == 0
    consumers.commit(commit("b", 1, {1: 4}))
    assert consumers.floor(1) == 4


def copy(name: str, number: int, epochs: dict[int, int], *, away: bool = True) -> CommitCopy:
    columns = (tuple(epochs), tuple(epochs.values()))
    return CommitCopy("items", name, "node-9", away, number, *columns, False, (), ())


def test_what_one_that_is_away_said_last_is_passed_on_whole() -> None:
    first, second = Consumers(), Consumers()
    said = ConsumerCommit("items", "a", 7, (1,), (5,), False, (1, 2), (6, 1))
    first.commit(said)
    assert not first.is_away("a")
    first.on_process_gone("a")
    passed_on = first.copy("a", "node-1")
    assert passed_on is not None
    assert (passed_on.node, passed_on.away) == ("node-1", True)
    assert second.recall(passed_on)
    assert second.newest("a") == said
    assert second.names() == ("a",)
    assert second.position() == {1: 5}
    assert second.is_away("a")


def test_only_a_newer_copy_of_one_that_is_away_is_news() -> None:
    consumers = Consumers()
    consumers.learn(["a"])
    assert consumers.copy("a", "node-1") is None
    assert not consumers.recall(copy("a", 8, {1: 6}, away=False))
    assert consumers.recall(copy("a", 7, {1: 5}))
    assert not consumers.recall(copy("a", 7, {1: 5}))
    assert not consumers.recall(copy("a", 6, {1: 9}))
    assert consumers.recall(copy("a", 8, {1: 6}))
    assert consumers.floor(1) == 6


def test_one_that_is_here_speaks_for_itself() -> None:
    consumers = Consumers()
    consumers.commit(commit("a", 3, {1: 5}))
    assert not consumers.recall(copy("a", 9, {1: 7}))
    consumers.on_process_gone("a")
    consumers.commit(commit("a", 2, {1: 6}))  # its next process, by a clock that is behind
    assert consumers.floor(1) == 6


def test_of_many_that_were_released_the_newest_are_remembered() -> None:
    consumers = Consumers()
    for number in range(MOST_RELEASED + 50):
        name = f"q{number}"
        consumers.commit(commit(name, 1 + number, {1: 5}))
        consumers.on_ledger(["audit", name])
    consumers.on_ledger(["audit"])
    assert len(consumers.everybody()) == MOST_RELEASED + len(["audit"])
    consumers.commit(commit(f"q{MOST_RELEASED + 49}", MOST_RELEASED + 99, {1: 6}))
    assert consumers.names() == ("audit",)


def test_one_that_the_ledger_names_is_not_forgotten_though_it_has_ended() -> None:
    """Or it would count again, with nothing committed, until the ledger is told of its end."""
    consumers = Consumers()
    consumers.on_ledger(["leaving"])
    consumers.commit(commit("leaving", 1, {}, ended=True))
    for number in range(MOST_RELEASED + 1):
        consumers.commit(commit(f"q{number}", 2 + number, {}, ended=True))
    for _ in range(2):
        consumers.on_ledger(["leaving"])
        assert consumers.names() == ()
    assert "q0" not in consumers.everybody()


def test_one_that_is_listed_again_goes_on_unless_it_had_ended() -> None:
    consumers = Consumers()
    for name in ("silent", "ended"):
        consumers.commit(commit(name, 3, {1: 5}))
    consumers.on_ledger(["silent", "ended"])
    consumers.on_ledger([])
    consumers.commit(commit("silent", 4, {1: 6}))
    consumers.commit(commit("ended", 4, {1: 6}, ended=True))
    consumers.on_ledger(["silent", "ended"])
    assert consumers.newest("silent") == commit("silent", 4, {1: 6})
    assert consumers.newest("ended") is None
    assert consumers.behind(1) == ("ended",)
    assert consumers.commit(commit("ended", 1, {1: 2})), "its next life numbers from anywhere"


def test_a_copy_is_no_sign_of_life() -> None:
    consumers = Consumers()
    consumers.recall(copy("a", 7, {1: 5}))
    consumers.commit(commit("b", 7, {1: 5}))
    assert consumers.names() == ("a", "b")
    consumers.on_ledger([])
    assert consumers.names() == ("b",)
    assert consumers.newest("a") is not None
