"""What is inside a region: edges, corners, the date line, poles."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.groups.region import Region

SQUARE = Region([(10, 0), (20, 0), (20, 10), (10, 10)])
PACIFIC = Region([(-10, 170), (10, 170), (10, -170), (-10, -170)])


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ((15, 5), True),
        ((15, -0.001), False),
        ((20.001, 5), False),
        ((10, 0), True),  # a corner
        ((20, 10), True),
        ((10, 5), True),  # on an edge
        ((15, 10), True),
        ((15, 365 - 360), True),
        ((-15, 5), False),
    ],
)
def test_corners_and_edges_are_inside(place: tuple[float, float], inside: bool) -> None:
    assert SQUARE.contains(*place) is inside


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ((0, 175), True),
        ((0, -175), True),
        ((0, 180), True),
        ((0, -180), True),
        ((0, 170), True),
        ((0, -170), True),
        ((0, 169.9), False),
        ((0, -169.9), False),
        ((0, 0), False),
        ((11, 180), False),
    ],
)
def test_a_region_over_the_date_line(place: tuple[float, float], inside: bool) -> None:
    assert PACIFIC.contains(*place) is inside
    backwards = Region([(-10, -170), (10, -170), (10, 170), (-10, 170)])
    assert backwards.contains(*place) is inside


def test_the_date_line_as_an_edge() -> None:
    west = Region([(0, 170), (10, 170), (10, 180), (0, 180)])
    east = Region([(0, -180), (10, -180), (10, -170), (0, -170)])
    for longitude in (180, -180):
        assert west.contains(5, longitude)
        assert east.contains(5, longitude)
    assert not west.contains(5, -179)
    assert not east.contains(5, 179)


def test_more_than_half_of_the_earth() -> None:
    band = Region(
        [(0, -150), (0, -50), (0, 50), (0, 150), (10, 150), (10, 50), (10, -50), (10, -150)]
    )
    for longitude in (-150, -100, 0, 100, 150):
        assert band.contains(5, longitude)
    for longitude in (-151, 151, 180):
        assert not band.contains(5, longitude)


def test_a_hollow_side() -> None:
    horseshoe = Region([(0, 0), (0, 9), (9, 9), (9, 6), (3, 6), (3, 3), (9, 3), (9, 0)])
    assert horseshoe.contains(5, 1)
    assert horseshoe.contains(5, 8)
    assert not horseshoe.contains(5, 5)
    assert horseshoe.contains(3, 5)


def test_what_crosses_itself_is_even_or_odd() -> None:
    """A star: its middle lies within two loops."""
    star = Region([(0, 2), (10, 5), (0, 8), (6, 0), (6, 10)])
    assert star.contains(9, 5)
    assert not star.contains(4, 5)


@pytest.mark.parametrize(
    ("corners", "reason"),
    [
        ([], "needs 3"),
        ([(0, 0), (1, 1)], "needs 3"),
        ([(0, 0), (0, 0), (1, 1), (0, 0)], "needs 3"),
        ([(0, 0), (1, 1), (2, 2)], "on one line"),
        ([(0, -90), (0, 90), (10, 0)], "either way around"),
        ([(60, 0), (60, 120), (60, -120)], "around a pole"),
    ],
)
def test_what_bounds_no_region(corners: list[tuple[float, float]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Region(corners)


def slow_inside(corners: list[tuple[int, int]], y: float, x: float) -> bool:
    """The same by another way: signed angles, which add up to a turn around an inner point."""
    angles = [np.arctan2(b - y, a - x) for b, a in corners]
    turns = sum(
        (second - first + np.pi) % (2 * np.pi) - np.pi
        for first, second in zip(angles, [*angles[1:], angles[0]], strict=True)
    )
    return abs(turns) > np.pi


@given(st.integers(0, 1 << 32), st.sampled_from([-178, -90, 0, 100, 176]))
def test_many_points_against_another_way(seed: int, longitude: int) -> None:
    """Star-shaped polygons, wherever they lie; points off their edges."""
    rng = Random(seed)
    count = rng.randint(3, 12)
    turns = sorted(rng.uniform(0, 2 * np.pi) for _ in range(count))
    if max(np.diff([*turns, turns[0] + 2 * np.pi])) > np.pi:
        return
    flat = [
        (far * np.sin(turn), far * np.cos(turn))
        for turn, far in zip(turns, (rng.uniform(2, 20) for _ in turns), strict=True)
    ]
    region = Region([(y, (x + longitude + 180) % 360 - 180) for y, x in flat])
    points = [(rng.uniform(-25, 25), rng.uniform(-25, 25)) for _ in range(50)]
    found = region.inside(
        [y for y, _ in points], [(x + longitude + 180) % 360 - 180 for _, x in points]
    )
    assert found.tolist() == [slow_inside(flat, y, x) for y, x in points]
