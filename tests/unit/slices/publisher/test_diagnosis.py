"""Why a publisher is blocked, and what it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.model.messages import Commit, ConsumerCommit
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.diagnosis import publisher_stats, why_blocked
from evenflow.slices.publisher.sending.owner_writer import OwnerWriters

from .fakes import FakeParticipant
from .items import AT_ONCE, LINGER, WRITER, add, core_with, item

COMMIT = Commit("items", WRITER, "a", "", (1,), (7,), (1,))
OWNERS = ("a", "a", "b", "b")
READERS = frozenset("ab")


def core_with_item(*, served: bool = False) -> PublisherCore:
    core = core_with(AT_ONCE, OWNERS, served=served)
    add(core, 1, item())
    return core


def register(core: PublisherCore, name: str, epoch: int = 0) -> None:
    writers, epochs = ((WRITER,), (epoch,)) if epoch else ((), ())
    core.handle_consumer(ConsumerCommit("items", name, 1, writers, epochs, ended=False), 1.0)


@pytest.mark.parametrize(
    ("readers", "cause"),
    [
        ("", "no node reads this topic"),
        ("c", "no node reads this topic"),
        ("bc", "2 of 4 slices have no node"),
        ("ab", "nodes read this topic, but none has committed anything"),
    ],
)
def test_nodes_are_missing_or_do_not_commit(readers: str, cause: str) -> None:
    assert cause in why_blocked(core_with_item(), readers, 5.0)


def test_slices_that_nobody_owns_have_no_node() -> None:
    core = core_with(AT_ONCE, ("a", "", "a", "a"))
    assert why_blocked(core, READERS, 5.0) == "1 of 4 slices have no node"
    assert "no node reads this topic" in why_blocked(core_with(), READERS, 5.0)


def test_says_how_old_the_last_commit_is() -> None:
    core = core_with_item()
    core.handle(COMMIT, 1.0)
    assert why_blocked(core, READERS, 5.5) == "the last commit came 4.5 s ago"


def test_a_served_topic_needs_a_consumer() -> None:
    core = core_with_item(served=True)
    assert "no consumer is registered" in why_blocked(core, READERS, 5.0)
    assert "no node reads this topic" in why_blocked(core, "", 5.0)


def test_names_the_consumers_that_are_behind() -> None:
    core = core_with_item(served=True)
    core.end_epoch(0.1)
    register(core, "alerts")
    register(core, "audit", epoch=1)
    cause = why_blocked(core, READERS, 5.0)
    assert "consumer alerts has not committed" in cause
    assert "the newest commit: never" in cause


def test_counts_come_from_all_parts() -> None:
    core = core_with(LINGER, OWNERS)
    writers = OwnerWriters(FakeParticipant(1), "items", core.retention.has)  # type: ignore[arg-type]
    for slice_id in (1, 1, 2):
        add(core, slice_id, item())
    writers.drain(writers.put(core.seal(0.0), 0.0), 0.0)
    add(core, 1, item())
    core.handle(COMMIT, 1.0)
    core.handle(replace(COMMIT, terms=(6,)), 1.0)
    core.handle(replace(COMMIT, topic="other"), 1.0)
    core.handle(replace(COMMIT, slices=(9,)), 1.0)
    stats = publisher_stats(core, refused=2, replayed=3, writers=writers)
    assert (stats.published, stats.committed, stats.uncommitted) == (4, 1, 3)
    assert (stats.refused, stats.replayed, stats.samples) == (2, 3, 2)
    assert (stats.skipped, stats.congested) == (0, 0)
    assert (stats.stale_commits, stats.stale_requests, stats.ignored) == (1, 0, 2)
    assert stats.retained_bytes == core.kept > core.retention.size
