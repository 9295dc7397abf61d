"""Why a publisher is blocked, and what it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.model.messages import Commit, ConsumerCommit
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.diagnosis import publisher_stats, why_blocked

from .items import AT_ONCE, item

WRITER = 0xFEED
COMMIT = Commit("items", WRITER, "a", "", (1,), (7,), (1,))


def core_with_item(*, served: bool = False) -> PublisherCore:
    core = PublisherCore("items", WRITER, 4, AT_ONCE, served=served)
    core.add(1, item(), 0.0)
    return core


def register(core: PublisherCore, name: str, epoch: int = 0) -> None:
    writers, epochs = ((WRITER,), (epoch,)) if epoch else ((), ())
    core.handle_consumer(ConsumerCommit("items", name, 1, writers, epochs, ended=False), 1.0)


@pytest.mark.parametrize(
    ("unread", "cause"),
    [
        (4, "no node reads this topic"),
        (3, "3 of 4 slices have no node"),
        (0, "nodes read this topic, but none has committed anything"),
    ],
)
def test_nodes_are_missing_or_do_not_commit(unread: int, cause: str) -> None:
    assert cause in why_blocked(core_with_item(), unread, 5.0)


def test_says_how_old_the_last_commit_is() -> None:
    core = core_with_item()
    core.handle(COMMIT, 1.0)
    assert why_blocked(core, 0, 5.5) == "the last commit came 4.5 s ago"


def test_a_served_topic_needs_a_consumer() -> None:
    core = core_with_item(served=True)
    assert "no consumer is registered" in why_blocked(core, 0, 5.0)
    assert "no node reads this topic" in why_blocked(core, 4, 5.0)


def test_names_the_consumers_that_are_behind() -> None:
    core = core_with_item(served=True)
    core.end_epoch()
    register(core, "alerts")
    register(core, "audit", epoch=1)
    cause = why_blocked(core, 0, 5.0)
    assert "consumer alerts has not committed" in cause
    assert "the newest commit: never" in cause


def test_counts_come_from_all_parts() -> None:
    core = core_with_item()
    core.add(1, item(), 0.0)
    core.handle(COMMIT, 1.0)
    core.handle(replace(COMMIT, terms=(6,)), 1.0)
    core.handle(replace(COMMIT, topic="other"), 1.0)
    core.handle(replace(COMMIT, slices=(9,)), 1.0)
    stats = publisher_stats(core, refused=2, replayed=3, skipped=1, congested=1)
    assert (stats.published, stats.committed, stats.uncommitted) == (2, 1, 1)
    assert (stats.refused, stats.replayed, stats.skipped, stats.congested) == (2, 3, 1, 1)
    assert (stats.stale_commits, stats.stale_requests, stats.ignored) == (1, 0, 2)
    assert stats.retained_bytes == core.kept > 0
