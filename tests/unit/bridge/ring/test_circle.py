"""Who owns what on the circle: the paper's figures, equal points, arcs that were given away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.bridge.ring.circle import NOBODY, Circle
from evenflow.bridge.ring.identifiers import (
    GUID_BYTES,
    POINTS,
    Identifiers,
    guid_of,
    hashed,
    identifier_of,
    identifiers_of,
)


def at(*points: int) -> Identifiers:
    return np.array(points, dtype=np.uint64)


def small(given_away: dict[int, str] | None = None, **places: tuple[int, ...]) -> Circle:
    """A circle of 6 bits, as the paper's figures have it."""
    return Circle({name: at(*points) for name, points in places.items()}, given_away, bits=6)


def paper(*nodes: int) -> Circle:
    return small(**{f"N{node}": (node,) for node in nodes})


# -- the figures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "node"), [(10, "N14"), (24, "N32"), (30, "N32"), (38, "N38"), (54, "N56")]
)
def test_figure_3_keys_are_at_their_successors(key: int, node: str) -> None:
    assert paper(1, 8, 14, 21, 32, 38, 42, 48, 51, 56).holder_of(key) == node


@pytest.mark.parametrize(
    ("device", "node"),
    # By the paper's own rule D16 is at N21 (its text: N28, which is no node here); it uses D59 and
    # does not list it.
    [(3, "N8"), (16, "N21"), (28, "N38"), (32, "N38"), (59, "N1")],
)
def test_figure_5_devices_are_at_their_successors(device: int, node: str) -> None:
    assert paper(1, 8, 21, 38, 51).holder_of(device) == node


def test_figure_6_a_node_that_joins_takes_what_is_before_it() -> None:
    before, after = paper(3, 38), paper(3, 22, 38)
    assert [before.holder_of(device) for device in (15, 30)] == ["N38", "N38"]
    assert [after.holder_of(device) for device in (15, 30)] == ["N22", "N38"]


# -- the rules -------------------------------------------------------------------------------------


def test_a_device_on_a_point_belongs_to_it_and_past_the_last_the_circle_begins_anew() -> None:
    circle = paper(1, 8)
    assert [circle.holder_of(key) for key in (0, 1, 2, 8, 9, 63)] == [
        "N1", "N1", "N8", "N8", "N1", "N1",
    ]  # fmt: skip
    assert [circle.arc_of(key) for key in (0, 1, 2, 8, 9, 63)] == [1, 1, 8, 8, 1, 1]


def test_where_nobody_is_nobody_owns() -> None:
    empty = Circle({})
    assert empty.owner(b"device") == NOBODY
    assert empty.owners([b"a", b"b"]) == [NOBODY, NOBODY]
    assert empty.count(at(1, 2)) == {}
    assert empty.arcs() == {}


def test_equal_points_belong_to_the_smaller_guid_whoever_came_first() -> None:
    first, second = sorted(("a", "b"), key=guid_of)
    for order in ((first, second), (second, first)):
        circle = Circle({name: at(20, 40) for name in order}, bits=6)
        assert circle.arcs() == {20: first, 40: first}
    assert small(**{second: (20,)}).arcs() == {20: second}, "and the other has it when it is gone"


def test_what_was_given_away_is_the_takers_until_it_is_gone() -> None:
    table = {20: "c", 30: "a"}
    circle = small(table, a=(20, 50), b=(40,), c=(60,))
    assert circle.arcs() == {20: "c", 30: "a", 40: "b", 50: "a", 60: "c"}
    assert [circle.holder_of(key) for key in (15, 25, 35)] == ["c", "a", "b"]
    assert small(table, a=(20, 50), b=(40,)).arcs() == {20: "a", 30: "a", 40: "b", 50: "a"}
    assert small(table, b=(40,), c=(60,)).arcs() == {20: "c", 40: "b", 60: "c"}


def test_devices_on_arcs_are_counted() -> None:
    circle = small(a=(10, 40), b=(20,))
    assert circle.count(at(5, 10, 11, 60, 63)) == {10: 4, 20: 1}
    assert circle.count(at()) == {}


NAMES = st.sets(st.sampled_from([f"b{number}" for number in range(12)]), min_size=1)
GUIDS = st.lists(st.binary(min_size=GUID_BYTES, max_size=GUID_BYTES), max_size=20)


@given(NAMES, GUIDS, st.sampled_from([1, 3, 16]), st.sampled_from([3, 6, 64]), st.data())
def test_the_owner_is_the_successor_however_it_is_asked(
    names: set[str], guids: list[bytes], points: int, bits: int, data: st.DataObject
) -> None:
    place = hashed(bits)
    ends = st.integers(0, (1 << bits) - 1)
    table = data.draw(st.dictionaries(ends, st.sampled_from([*sorted(names), "gone"]), max_size=4))
    circle = Circle.of(dict.fromkeys(names, points), place, table, bits)
    assert circle.owners(guids) == [circle.owner(guid) for guid in guids]
    for guid in guids:
        assert circle.owner(guid) == first_after(
            identifier_of(guid, bits), names, points, bits, table
        )
    assert sum(circle.count(identifiers_of(guids, bits)).values()) == len(guids)


def first_after(
    identifier: int, names: set[str], points: int, bits: int, table: dict[int, str]
) -> str:
    """The rule, written down plainly."""
    ring = {end: taker for end, taker in table.items() if taker in names}
    for name in sorted(names, key=lambda one: (guid_of(one), one)):
        for end in hashed(bits)(name, points).tolist():
            ring.setdefault(end, name)
    return ring[min(ring, key=lambda end: (end - identifier) % (1 << bits))]


@given(NAMES, GUIDS, st.sampled_from(["b0", "new"]), st.data())
def test_when_a_bridge_leaves_only_its_own_devices_move_and_when_one_joins_only_to_it(
    names: set[str], guids: list[bytes], one: str, data: st.DataObject
) -> None:
    """With few identifiers, so that points are equal often, and arcs given to and fro."""
    ends = st.integers(0, 63)
    everybody = sorted(names | {one})
    table = data.draw(st.dictionaries(ends, st.sampled_from(everybody), max_size=6))
    place = hashed(6)
    having = Circle.of(dict.fromkeys(everybody, 3), place, table, bits=6)
    without = Circle.of(dict.fromkeys(names - {one}, 3), place, table, bits=6)
    for before, after in zip(having.owners(guids), without.owners(guids), strict=True):
        assert before in (after, one)


# -- numbers ---------------------------------------------------------------------------------------


def test_virtual_nodes_are_hashed_apart_and_the_first_is_the_bridge_itself() -> None:
    place = hashed()
    assert place("b1", 1).tolist() == [identifier_of(guid_of("b1"))]
    assert place("b1", POINTS)[:1].tolist() == place("b1", 1).tolist()
    assert len(set(place("b1", POINTS).tolist()) | set(place("b2", POINTS).tolist())) == 2 * POINTS


def test_identifiers_do_not_change_from_one_release_to_the_next() -> None:
    assert guid_of("device-1").hex() == "bba45fa1f7a05f9edd5b4576"
    assert identifier_of(guid_of("device-1")) == 5_632_954_885_009_373_584
    assert identifier_of(guid_of("device-1"), 6) == identifier_of(guid_of("device-1")) >> 58
