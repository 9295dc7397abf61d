from __future__ import annotations

from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.registry import Consumers


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
