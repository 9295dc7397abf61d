"""The parts of the join experiment that need no cluster."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evenflow.domain.observer import TopicView
from evenflow.model.messages import MapPage
from evenflow.model.slice_map import SliceMap
from evenflow_experiments.report import FILE_WIDTH
from evenflow_experiments.slices.arrivals import Arrivals
from evenflow_experiments.slices.join import Case, first_times, show
from evenflow_experiments.slices.load import Sent, books, streams
from evenflow_experiments.slices.watch import owned_by, taken_for_dead


@pytest.mark.parametrize(("publishers", "slices"), [(1, 100), (3, 200), (30, 1_000), (7, 10)])
def test_publishers_share_the_load_and_begin_at_slices_far_apart(
    publishers: int, slices: int
) -> None:
    wanted = streams(publishers, slices, 5_000.0, 100)
    assert sum(stream.rate for stream in wanted) == pytest.approx(5_000.0)
    firsts = sorted(stream.first % slices for stream in wanted)
    assert firsts == [number * slices // publishers for number in range(publishers)]
    assert len({stream.first // 10**12 for stream in wanted}) == publishers
    assert all(stream.first > 0 for stream in wanted)


def test_ids_in_turn_reach_every_slice_alike() -> None:
    (stream,) = streams(1, 40, 1.0, 1)
    reached = Counter((stream.first + number) % 40 for number in range(400))
    assert set(reached.values()) == {10}


def test_a_share_is_what_every_node_gets_at_least() -> None:
    assert Case(1, 100, 1.0, 1).share == 33
    assert Case(1, 1_000, 1.0, 1).share == 333


def test_the_map_says_what_a_node_owns() -> None:
    view = TopicView()
    assert owned_by(view, "node-3") == []
    nodes = ("node-1~a", "node-3~b")
    view.map = SliceMap()
    view.map.apply(MapPage("items", 0, 1, 1, 4, nodes, (1, 2, 0, 2), (1, 1, 1, 1)))
    assert owned_by(view, "node-3") == [1, 3]
    assert owned_by(view, "node-4") == []


def test_the_first_item_of_each_slice_counts() -> None:
    ids = np.array([10, 11, 20, 13, 21], np.int64)  # slices 0, 1, 0, 3, 1
    processed = np.array([5, 9, 3, 4, 7], np.int64) * 1_000_000
    noted = Arrivals(ids, processed, processed)
    assert first_times(noted, [0, 1, 2, 3], 10) == [3.0, 7.0, None, 4.0]


def test_what_a_publisher_gave_up_is_not_lost_but_unfinished() -> None:
    ids = np.array([1, 2, 2, 11], np.int64)
    sent = [Sent(range(1, 5), 3, 9), Sent(range(11, 13), 1, 9, "late"), Sent(range(50, 50), 0, 9)]
    found = books(sent, Arrivals(ids, ids, ids))
    # Of the first, 3 and 4 were not processed, one of them is committed; of the second, 12.
    assert found == {"published": 6, "lost": 1, "unfinished": 2, "repeated": 1}


def test_a_case_without_an_end_is_shown_with_what_was_reached(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = dict.fromkeys(
        ("joined_s", "owned_s", "ready_s", "share", "node_mib", "publisher_mib", "endpoints"), None
    )
    counts = {
        "publishers": 3,
        "slices": 50,
        "items_per_s": 9,
        "lost": 0,
        "unfinished": 7,
        "repeated": 0,
        "taken_for_dead": 2,
    }
    show([{**row, **counts, "finding": "after 90 s the new node owns 4 of 16 slices"}])
    assert "owns 4 of 16 slices" in capsys.readouterr().out


def test_deaths_are_told_from_the_log() -> None:
    log = "event node-joined-items raised at a~1\nevent node-died-items raised at a~1\n"
    assert taken_for_dead(log) == 1


def test_no_title_of_the_table_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "publishers": 10, "slices": 10_000, "joined_s": 2.71, "owned_s": 2.69, "ready_s": 1.02,
        "share": 3_333, "node_mib": 123.4, "publisher_mib": 123.4, "endpoints": 12,
        "items_per_s": 5_000, "lost": 0, "unfinished": 0, "repeated": 0, "taken_for_dead": 0,
        "finding": "",
    }  # fmt: skip
    show([row])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= FILE_WIDTH
    words = {word for line in lines for word in line.replace("┃", " ").split()}
    assert {"slices", "joined", "endpoints", "items/s", "twice", "done", "MiB"} <= words
    assert not any("…" in line for line in lines)
