"""A disk is lost and replaced by an empty one: what another disk had in sync is kept and served.

Any number of schedules by ``python -m evenflow.testing.overlay.lost_disks FIRST COUNT``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from evenflow.overlay.broker.saved_members import SavedMembers
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Arrived
from evenflow.overlay.protocol.messages import Config, Decided, Envelope, Member, ShelfId
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow.testing.overlay.faults import faults
from evenflow.testing.overlay.lost_disks import LostDisks, disk_schedule
from evenflow.testing.overlay.store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

HOME = ShelfId("meters", geographic_hash("meters"))
BATCH = 20
SCHEDULES = 40


@pytest.mark.parametrize("seed", range(20))
def test_what_another_disk_had_in_sync_is_kept(seed: int) -> None:
    faults(seed, kind=LostDisks)


@pytest.mark.parametrize("seed", range(10_000, 10_004))
def test_the_same_holds_on_real_disks(seed: int, tmp_path: Path) -> None:
    faults(seed, tmp_path, LostDisks)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(100_000, 100_000 + SCHEDULES, BATCH))
def test_many_more(first: int) -> None:
    for seed in range(first, first + BATCH):
        disk_schedule(seed)


def test_a_disk_keeps_its_number_and_an_empty_one_has_another() -> None:
    store, me = MemoryStore(), Member("b1", Coordinate(0.5, 0.5), "", 4, disk=7)
    assert SavedMembers(store).reborn(me) == me
    SavedMembers(store).save([me], 0.0)
    assert SavedMembers(store).reborn(replace(me, disk=8)) == replace(me, incarnation=5)
    assert SavedMembers(store).save([replace(me, disk=8)], 0.0) == ["b1"]


def test_what_a_broker_said_before_it_lost_its_disk_is_not_heard() -> None:
    cluster = OverlayCluster(3, brokers=2)
    core, sender = cluster.brokers["b0"].core, cluster.brokers["b1"].core.members.me
    found = Config(0, 4, "b1", ("b1",), ("b1",), ("b1",))
    body = BODY.encode(Decided(HOME, found))
    late = Envelope(HOME.coordinate, "b0", 9, "b1", 0, 0, False, body, disk=sender.disk + 1)
    core.handle(Arrived("b1", late), cluster.now, cluster.wall)
    assert core.votes.known(HOME) is None
    core.handle(Arrived("b1", replace(late, disk=sender.disk)), cluster.now, cluster.wall)
    assert core.votes.known(HOME) == found


def test_a_broker_that_lost_its_disk_is_told_which_topics_there_are() -> None:
    cluster = OverlayCluster(4, brokers=5)
    publisher = cluster.publisher("meters", level=1)
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1, 20)
    name = next(name for name in cluster.names() if HOME not in cluster.brokers[name].core.shelves)
    cluster.replace_disk(name)
    cluster.start(name)
    cluster.settle()
    assert cluster.brokers[name].core.votes.known(HOME) is not None
