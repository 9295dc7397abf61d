"""The checks of the simulated overlay find what they are there to find."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from evenflow.overlay.protocol.messages import Message, ShelfId
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.checks import Violation, check_copies, copies_of, picture, settled
from evenflow.testing.overlay.cluster import OverlayCluster

HOME = ShelfId("meters", geographic_hash("meters"))


@pytest.fixture
def cluster() -> OverlayCluster:
    made = OverlayCluster(1, brokers=4)
    publisher = made.publisher("meters")
    publisher.add(b"x")
    made.run_until(lambda: publisher.acknowledged == 1)
    made.settle()
    return made


def test_a_cluster_at_rest_passes(cluster: OverlayCluster) -> None:
    assert settled(cluster.cores())
    check_copies(cluster.cores())
    assert "leading" in picture(cluster.cores(), "meters")


def test_a_copy_in_the_wrong_place_is_found(cluster: OverlayCluster) -> None:
    cores = cluster.cores()
    holders = copies_of(cores)[HOME]
    other = next(name for name in cores if name not in holders)
    cores[other].shelves[HOME] = cores[next(iter(holders))].shelves[HOME]
    with pytest.raises(Violation, match="lies on"):
        check_copies(cores)


def test_copies_with_different_labels_are_found(cluster: OverlayCluster) -> None:
    copy = next(iter(copies_of(cluster.cores())[HOME].values()))
    copy.record = replace(copy.record, label=replace(copy.label, level=3))
    with pytest.raises(Violation, match="has labels"):
        check_copies(cluster.cores())


def test_a_delegate_without_a_shelf_is_found(cluster: OverlayCluster) -> None:
    for copy in copies_of(cluster.cores())[HOME].values():
        delegates = copy.label.delegates.delegate(Coordinate(0.9, 0.9), cluster.wall)
        copy.record = replace(copy.record, label=replace(copy.label, delegates=delegates))
    with pytest.raises(Violation, match="nobody has"):
        check_copies(cluster.cores())


def test_a_move_under_way_is_no_rest(cluster: OverlayCluster) -> None:
    copy = next(iter(copies_of(cluster.cores())[HOME].values()))
    copy.record = replace(copy.record, label=replace(copy.label, ticket=1))
    assert not settled(cluster.cores())


@pytest.mark.parametrize(
    ("time", "sequence", "fault"), [(0, 3, "instead of 2"), (0, 1, "instead of 2")]
)
def test_a_reader_that_misses_or_repeats_a_message_is_found(
    cluster: OverlayCluster, time: int, sequence: int, fault: str
) -> None:
    reader = cluster.reader("meters")
    cluster.run_until(lambda: bool(cluster.clients.seen[reader]))
    (publisher,) = cluster.clients.seen[reader]
    reader.found.append(Message(time, publisher, sequence, b"x"))
    with pytest.raises(Violation, match=fault):
        cluster.run(1)


def test_a_message_under_two_times_is_found(cluster: OverlayCluster) -> None:
    first, second = cluster.reader("meters"), cluster.reader("meters")
    cluster.run_until(lambda: bool(cluster.clients.seen[first]))
    cluster.clients.seen[second].clear()
    (publisher,) = cluster.clients.seen[first]
    second.found.append(Message(1, publisher, 1, b"x"))
    with pytest.raises(Violation, match="two times"):
        cluster.run(1)


def test_an_acknowledged_message_that_is_gone_is_found(cluster: OverlayCluster) -> None:
    publisher = cluster.publisher("meters")
    publisher.acknowledged = 1
    with pytest.raises(Violation, match="1 acknowledged, 0 found"):
        cluster.check_all_readable(["meters"], publishers=[publisher])


def test_what_does_not_come_true_in_time_is_told_with_a_picture(cluster: OverlayCluster) -> None:
    with pytest.raises(Violation, match=r"(?s)not within 1 s: never.*meters@"):
        cluster.run_until(lambda: False, 1, "never")
