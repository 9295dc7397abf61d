"""Assignments: specs, the item form, the column form, and that both agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import AssignmentError, ConfigError, UnknownName
from evenflow.slices.assignment import (
    Assignment,
    CallAssignment,
    GeoAssignment,
    HashAssignment,
    ModuloAssignment,
    RandomAssignment,
    RangeAssignment,
    assignment_of,
)
from evenflow.slices.assignment.base import row_count, row_of
from evenflow.slices.assignment.stable_hash import stable_hash

COUNTS = st.integers(1, 100_000)
INT64 = st.integers(-(2**63), 2**63 - 1)


def seven(fields: Mapping[str, Any], slice_count: int) -> int:
    """A user's function, imported by its spec below."""
    return 7 % slice_count


# -- specs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("modulo:id", ModuloAssignment),
        ("hash:sender", HashAssignment),
        ("random", RandomAssignment),
        ("geo:lat,lon", GeoAssignment),
        ("range:celsius,-20,80", RangeAssignment),
        ("call:math:gcd", CallAssignment),
    ],
)
def test_known_specs(spec: str, kind: type) -> None:
    assert isinstance(assignment_of(spec), kind)


def test_an_unknown_spec_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownName, match=r"did you mean 'modulo'.*modulo, hash, range, random, geo, call"
    ):
        assignment_of("modul:id")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("modulo", "modulo:FIELD"),
        ("hash:", "hash:FIELD"),
        ("random:3", "nothing else"),
        ("geo:lat", "geo:LATFIELD,LONFIELD"),
        ("geo:a,b,c", "geo:LATFIELD,LONFIELD"),
        ("range:a", "range:FIELD,LOW,HIGH"),
        ("range:a,2,1", "LOW below HIGH"),
        ("range:a,nan,1", "LOW below HIGH"),
        ("range:a,-1e308,1e308", "LOW below HIGH"),
        ("call:math", "call:MODULE:NAME"),
        ("call:no_such_module:f", "cannot be imported"),
        ("call:math:no_such_name", "cannot be imported"),
        ("call:math:pi", "not callable"),
    ],
)
def test_a_wrong_argument_says_what_is_allowed(spec: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        assignment_of(spec)


def test_a_callable_or_an_assignment_may_be_given() -> None:
    assert assignment_of(seven).assign({}, 10) == 7
    own = ModuloAssignment("id")
    assert assignment_of(own) is own


# -- single items ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sensor", "slice_id"), [(21, 1), (1, 1), (52, 2), (19, 9)])
def test_the_thesis_example(sensor: int, slice_id: int) -> None:
    assert assignment_of("modulo:sensor").assign({"sensor": sensor}, 10) == slice_id


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0x0),
        (1, 0x5692161D100B05E5),
        (-1, 0xB4D055FCF2CBBD7B),
    ],
)
def test_the_hash_of_numbers_never_changes(value: int, expected: int) -> None:
    assert stable_hash(value) == expected


def test_the_hash_of_words_never_changes() -> None:
    words = ["gateway-1", "gateway-2", "größe"]
    assert [stable_hash(word) % 1_000 for word in words] == [314, 517, 715]
    assert [stable_hash(word.encode()) % 1_000 for word in words] == [314, 517, 715]


def test_random_repeats_with_its_seed_and_is_even() -> None:
    draws = [RandomAssignment(seed=5).assign({}, 1_000) for _ in range(2)]
    assert draws[0] == draws[1]
    many = RandomAssignment(seed=5)
    spread = Counter(many.assign({}, 10) for _ in range(10_000))
    assert min(spread.values()) > 850


def test_own_sequences_differ() -> None:
    first, second = RandomAssignment(), RandomAssignment()
    assert [first.assign({}, 1 << 30) for _ in range(4)] != [
        second.assign({}, 1 << 30) for _ in range(4)
    ]


REFUSED = [
    ("modulo:n", {}, r"no field 'n' \(it has: id, sender\)"),
    ("modulo:n", {"n": None}, "no field 'n'"),
    ("modulo:n", {"n": "12"}, "use 'hash:n'"),
    ("modulo:n", {"n": True}, "not a whole number"),
    ("modulo:n", {"n": 1.0}, "not a whole number"),
    ("hash:n", {}, "no field 'n'"),
    ("hash:n", {"n": 1.5}, "not a whole number, a string or bytes"),
    ("hash:n", {"n": ["x"]}, "not a whole number, a string or bytes"),
    ("range:n,0,10", {}, "no field 'n'"),
    ("range:n,0,10", {"n": 10.5}, "is 10.5, not a number from 0 to 10"),
    ("range:n,0,10", {"n": math.nan}, "not a number from 0 to 10"),
    ("range:n,0,10", {"n": "5"}, "not a number from 0 to 10"),
    ("range:n,0,10", {"n": 10**400}, "not a number from 0 to 10"),
    ("range:n,0,10", {"n": True}, "not a number from 0 to 10"),
    ("geo:lat,lon", {"lat": 1.0}, "no field 'lon'"),
    ("geo:lat,lon", {"lat": 91, "lon": 0}, "from -90 to 90"),
    ("geo:lat,lon", {"lat": 0, "lon": -180.5}, "from -180 to 180"),
    ("geo:lat,lon", {"lat": math.nan, "lon": 0}, "not a number of degrees"),
    ("geo:lat,lon", {"lat": "1", "lon": 0}, "not a number of degrees"),
]


@pytest.mark.parametrize(("spec", "fields", "said"), REFUSED)
def test_an_item_without_a_slice_is_refused_by_name(
    spec: str, fields: dict[str, Any], said: str
) -> None:
    item = {"id": 41, "sender": "car", **fields}
    with pytest.raises(
        AssignmentError, match=rf"item 41 of 'car' gets no slice: .*{said}"
    ) as caught:
        assignment_of(spec).assign(item, 10)
    assert (caught.value.id, caught.value.sender) == (41, "car")


@pytest.mark.parametrize(("spec", "fields", "said"), REFUSED)
def test_in_columns_the_first_item_at_fault_is_named(
    spec: str, fields: dict[str, Any], said: str
) -> None:
    good = {"n": 1, "lat": 1.0, "lon": 1.0}
    bad = {**dict.fromkeys(good), **fields}
    columns: dict[str, Any] = {"id": [40, 41, 42], "sender": ["bus", "car", "van"]}
    columns |= {name: [good[name], bad[name], bad[name]] for name in good}
    with pytest.raises(AssignmentError, match="item 41 of 'car'"):
        assignment_of(spec).assign_columns(columns, 10)


def raising(fields: Mapping[str, Any], slice_count: int) -> int:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (raising, "raising raised RuntimeError: boom"),
        (lambda fields, count: None, "returned None"),
        (lambda fields, count: count, "returned 10; it must return a whole number from 0 to 9"),
        (lambda fields, count: -1, "returned -1"),
        (lambda fields, count: 1.0, "returned 1.0"),
        (lambda fields, count: True, "returned True"),
    ],
)
def test_what_a_function_does_wrong_refuses_the_item(
    function: Callable[[Mapping[str, Any], int], int | None], said: str
) -> None:
    with pytest.raises(AssignmentError, match=f"item 3 of 'car' gets no slice: .*{said}"):
        assignment_of(function).assign({"id": 3, "sender": "car"}, 10)


# -- both forms agree ------------------------------------------------------------------------------


def check_agreement(assignment: Assignment, columns: Mapping[str, Any], count: int) -> None:
    found = assignment.assign_columns(columns, count)
    rows = [row_of(columns, row) for row in range(row_count(columns))]
    assert found.dtype == np.int32
    assert found.tolist() == [assignment.assign(fields, count) for fields in rows]
    assert all(0 <= one < count for one in found.tolist())


integer_columns = st.one_of(
    st.lists(INT64).map(lambda xs: np.array(xs, np.int64)),
    st.lists(st.integers(0, 2**64 - 1)).map(lambda xs: np.array(xs, np.uint64)),
    st.lists(st.integers(-128, 127)).map(lambda xs: np.array(xs, np.int8)),
    st.lists(st.integers(0, 255)).map(lambda xs: pa.array(xs, pa.uint8())),
    st.lists(INT64).map(lambda xs: pa.array(xs, pa.int64())),
    st.lists(st.integers()).map(lambda xs: np.array(xs, object)),
    st.lists(st.integers()),
)
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
word_columns = st.one_of(
    st.lists(_text),
    st.lists(_text, min_size=1).map(np.array),
    st.lists(_text).map(lambda xs: pa.array(xs, pa.string())),
    st.lists(_text).map(lambda xs: pa.array(xs, pa.large_string())),
    st.lists(_text).map(lambda xs: pa.array(xs, pa.string_view())),
    st.lists(_text).map(lambda xs: pa.array(xs, pa.string()).dictionary_encode()),
    st.lists(_text).map(lambda xs: pa.chunked_array([xs, xs], pa.string())),
    st.lists(st.binary(max_size=8)).map(lambda xs: pa.array(xs, pa.binary())),
    st.lists(st.binary(min_size=3, max_size=3)).map(lambda xs: pa.array(xs, pa.binary(3))),
    st.lists(st.binary(max_size=8), min_size=1).map(lambda xs: np.array(xs, "S8")),
)


@given(integer_columns, COUNTS)
def test_modulo_agrees(values: Any, count: int) -> None:
    check_agreement(assignment_of("modulo:n"), {"n": values}, count)


@given(integer_columns | word_columns, COUNTS)
def test_hash_agrees(values: Any, count: int) -> None:
    check_agreement(assignment_of("hash:n"), {"n": values}, count)


@pytest.mark.parametrize(
    ("celsius", "slice_id"), [(-20, 0), (-10.001, 0), (-10, 1), (29.9, 4), (70, 9), (80, 9)]
)
def test_ranges_are_equal_and_in_order(celsius: float, slice_id: int) -> None:
    assert assignment_of("range:celsius,-20,80").assign({"celsius": celsius}, 10) == slice_id


_within = st.floats(-20, 80) | st.integers(-20, 80)
number_columns = st.one_of(
    st.lists(_within),
    st.lists(_within).map(lambda xs: np.array(xs, np.float64)),
    st.lists(st.floats(-20, 80, width=32)).map(lambda xs: np.array(xs, np.float32)),
    st.lists(st.integers(-20, 80)).map(lambda xs: np.array(xs, np.int8)),
    st.lists(_within.map(float)).map(lambda xs: pa.array(xs, pa.float64())),
)


@given(number_columns, COUNTS)
def test_ranges_agree(values: Any, count: int) -> None:
    check_agreement(assignment_of("range:n,-20,80"), {"n": values}, count)


@given(st.lists(st.floats(-0.3, 0.7), min_size=2), COUNTS)
def test_a_larger_value_has_no_smaller_slice(values: list[float], count: int) -> None:
    ranges = RangeAssignment("n", -0.3, 0.7)
    slices = [ranges.assign({"n": value}, count) for value in sorted(values)]
    assert slices == sorted(slices)


def test_even_values_are_even_over_the_slices() -> None:
    columns = {"n": np.random.default_rng(3).uniform(-20, 80, 100_000)}
    spread = Counter(assignment_of("range:n,-20,80").assign_columns(columns, 10).tolist())
    assert min(spread.values()) > 9_500


@given(st.integers(0, 2**64 - 1), st.integers(0, 50), COUNTS)
def test_random_agrees(seed: int, length: int, count: int) -> None:
    single, columnar = RandomAssignment(seed), RandomAssignment(seed)
    expected = [single.assign({}, count) for _ in range(2 * length)]
    columns = {"id": np.arange(length)}
    found = [columnar.assign_columns(columns, count).tolist() for _ in range(2)]
    assert found[0] + found[1] == expected


GEO = GeoAssignment("lat", "lon")
_places = st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=1)


@given(_places, st.sampled_from([np.float64, np.float32, pa.float64()]), COUNTS)
def test_geo_agrees(places: list[tuple[float, float]], kind: Any, count: int) -> None:
    make = (lambda xs: pa.array(xs, kind)) if isinstance(kind, pa.DataType) else None
    latitudes, longitudes = (list(column) for column in zip(*places, strict=True))
    columns = {
        "lat": make(latitudes) if make else np.array(latitudes, kind),
        "lon": make(longitudes) if make else np.array(longitudes, kind),
    }
    check_agreement(GEO, columns, count)


@pytest.mark.parametrize(("latitude", "longitude"), [(90, 180), (-90, -180), (0, 0)])
def test_the_ends_of_the_world_have_a_slice(latitude: int, longitude: int) -> None:
    columns = {"lat": np.array([latitude]), "lon": np.array([longitude])}
    check_agreement(GEO, columns, 100)


def test_the_date_line_is_no_border() -> None:
    east, west = ({"lat": 10.0, "lon": lon} for lon in (180.0, -180.0))
    assert GEO.assign(east, 1_000) == GEO.assign(west, 1_000)


# -- geography -------------------------------------------------------------------------------------


def cell(latitude: float, row: int, column: int, count: int = 100) -> int:
    """The slice of a cell counted from a place, by walking cell sizes at that latitude."""
    height = math.degrees(1 / 6371 / math.cos(math.radians(latitude)))
    width = 360 / 40030
    fields = {"lat": latitude + row * height, "lon": 13.37 + column * width}
    return GEO.assign(fields, count)


def test_neighbouring_cells_are_spread_over_the_slices() -> None:
    """A city of 20 by 20 km reaches all of 100 slices, none of them much more than the others."""
    spread = Counter(cell(52.5, row, column) for row in range(20) for column in range(20))
    assert len(spread) == 100
    assert max(spread.values()) <= 8
    for row, column in [(0, 1), (1, 0), (1, 1), (1, -1)]:
        assert abs(cell(52.5, 5, 5) - cell(52.5, 5 + row, 5 + column)) > 5


def test_one_cell_is_one_slice() -> None:
    near = {GEO.assign({"lat": 48.0 + n * 1e-6, "lon": 11.0}, 1_000) for n in range(20)}
    assert len(near) <= 2


def test_cells_have_equal_area() -> None:
    """Places drawn evenly from the sphere fall evenly on the slices."""
    random = np.random.default_rng(3)
    latitudes = np.degrees(np.arcsin(random.uniform(-1, 1, 100_000)))
    columns = {"lat": latitudes, "lon": random.uniform(-180, 180, 100_000)}
    spread = np.bincount(GEO.assign_columns(columns, 100), minlength=100)
    assert spread.min() > 850
    assert spread.max() < 1_150


@pytest.mark.parametrize("size", [0.0, -1.0, 1e9, math.nan])
def test_a_cell_size_that_makes_no_grid_is_refused(size: float) -> None:
    with pytest.raises(ConfigError, match="cell_km"):
        GeoAssignment("lat", "lon", size)
