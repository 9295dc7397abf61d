from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import OverlayError
from evenflow.overlay.space.coordinate import Coordinate, a_place, closest_nodes, geographic_hash


@given(st.text(min_size=1, max_size=100).filter(lambda name: name.isprintable()))
def test_a_name_always_hashes_to_the_same_place_in_the_square(name: str) -> None:
    here = geographic_hash(name)
    assert here == geographic_hash(name)
    assert 0 <= here.x < 1
    assert 0 <= here.y < 1


@pytest.mark.parametrize("given", [3, (3, 3), (0.5,), "ab", (0.5, "b"), None, (float("nan"), 0)])
def test_a_place_is_two_numbers_of_the_square(given: object) -> None:
    assert a_place((0, 0.5)) == Coordinate(0.0, 0.5)
    with pytest.raises(OverlayError, match="no coordinate"):
        a_place(given)


def test_the_hash_is_pinned() -> None:
    """Brokers of different versions must agree on where a topic lives."""
    x, y = geographic_hash("meter/17/voltage")
    assert (round(x, 12), round(y, 12)) == PINNED


PINNED = (0.629571835266, 0.658318137739)


def test_hashes_are_even_over_the_square() -> None:
    places = np.array([geographic_hash(f"topic {n}") for n in range(16_000)])
    counts, _, _ = np.histogram2d(places[:, 0], places[:, 1], bins=4, range=[[0, 1], [0, 1]])
    chi_square = ((counts - 1_000) ** 2 / 1_000).sum()
    assert chi_square < 37.7  # 99.9 % of even hashes stay below, with 15 degrees of freedom


@pytest.mark.parametrize("name", ["", "x" * 1025, "\ud800", 7, None, b"bytes"])
def test_names_that_are_no_names_are_refused(name: object) -> None:
    with pytest.raises(OverlayError):
        geographic_hash(name)  # type: ignore[arg-type]


def test_equal_distances_are_settled_by_node_order() -> None:
    corners = {name: Coordinate(x, y) for name, x, y in [("c", 0, 0), ("b", 1, 0), ("a", 0, 1)]}
    assert closest_nodes(Coordinate(0.5, 0.5), corners, 3) == ("a", "b", "c")
