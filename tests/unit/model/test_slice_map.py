"""The slice map put together from pages: in any order, repeated, late, and with some lost."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import MapPage
from evenflow.model.slice_map import SliceMap, page_count, page_of, page_slices
from evenflow.slices.balancer.owners import Owners

SLICES = 600
NODES = ("a", "b", "c")
PAGE = MapPage("items", 0, 1, 5, 4, ("a", "b"), (1, 2, 1, 0), (3, 3, 4, 0))


def small(page: int, version: int, owners: str, terms: tuple[int, ...]) -> MapPage:
    """A page of 256, of a topic of 600; the first slices as named, the others unowned."""
    rows = len(page_slices(page, SLICES))
    nodes = tuple(sorted(set(owners)))
    of = tuple(nodes.index(owner) + 1 for owner in owners)
    return MapPage(
        "items", page, 1, version, SLICES, nodes,
        of + (0,) * (rows - len(of)), terms + (0,) * (rows - len(terms)),
    )  # fmt: skip


def test_slices_stand_on_pages() -> None:
    assert [page_of(slice_id) for slice_id in (0, 255, 256, 599)] == [0, 0, 1, 2]
    assert [page_count(count) for count in (1, 256, 257, SLICES)] == [1, 1, 2, 3]
    assert page_slices(2, SLICES) == range(512, SLICES)
    assert len(page_slices(3, SLICES)) == 0


def test_tells_owners() -> None:
    known = SliceMap()
    assert not known.is_complete
    assert (known.version, known.owners, known.by_node(), known.owner(0)) == (0, [], {}, "")
    assert known.apply(PAGE).tolist() == [0, 1, 2]
    assert known.is_complete
    assert (known.version, known.versions, known.slice_count) == (5, [5], 4)
    assert known.owners == ["a", "b", "a", ""]
    assert [known.owner(slice_id) for slice_id in (-1, 0, 3, 4)] == ["", "a", "", ""]
    assert known.by_node() == {"": (3,), "a": (0, 2), "b": (1,)}
    assert known.owners_of([2, 1, 0, 9, -1]) == {"a": [2, 0], "b": [1]}
    assert known.owners_of([]) == {}
    assert known.terms.tolist() == [3, 3, 4, 0]
    names = np.array(["", *known.nodes])
    assert names[known.owner_index.take([3, 1, 1])].tolist() == ["", "b", "b"]


def test_an_index_stays_what_it_is() -> None:
    known = SliceMap(4)
    known.apply(PAGE)
    known.apply(replace(PAGE, version=6, nodes=("b", "z"), owners=(2, 1, 1, 0)))
    assert known.nodes == ["a", "b", "z"]
    assert known.owner_index.dtype == np.int32
    assert known.owner_index.tolist() == [3, 2, 2, 0]


def test_is_complete_when_every_page_has_come() -> None:
    known = SliceMap()
    for page in (2, 0):
        known.apply(small(page, 5, "a", (3,)))
        assert not known.is_complete
    known.apply(small(1, 4, "", ()))
    assert known.is_complete
    assert known.version == 5


def test_says_what_changed() -> None:
    known = SliceMap()
    assert known.apply(small(1, 5, "ab", (3, 3))).tolist() == [256, 257]
    assert known.apply(small(1, 6, "aab", (3, 4, 4))).tolist() == [257, 258]
    assert known.apply(small(1, 7, "aab", (5, 4, 4))).tolist() == []
    assert known.terms[256] == 5


def test_a_slice_loses_its_owner() -> None:
    """Also without a new term: a new balancer has found nobody who owns it."""
    known = SliceMap()
    known.apply(PAGE)
    assert known.by_node()
    gone = replace(PAGE, version=6, nodes=(), owners=(0,) * 4, terms=(3, 9, 0, 0))
    assert known.apply(gone).tolist() == [0, 1, 2]
    assert known.by_node() == {"": (0, 1, 2, 3)}


@pytest.mark.parametrize("version", [4, 5])
def test_a_late_page_changes_nothing(version: int) -> None:
    known = SliceMap()
    known.apply(PAGE)
    late = replace(PAGE, version=version, nodes=("c",), owners=(1,) * 4, terms=(9,) * 4)
    assert known.apply(late).tolist() == []
    assert known.owners == ["a", "b", "a", ""]


@pytest.mark.parametrize(
    "change",
    [
        {"page": 1},
        {"page": 2**31},
        {"slice_count": 5},
        {"slice_count": 0},
        {"slice_count": 2**32 - 1, "owners": (1,) * 256, "terms": (1,) * 256},
        {"owners": (3, 0, 0, 0)},
        {"owners": ()},
        {"terms": (1,)},
    ],
    ids=str,
)
def test_a_page_that_does_not_fit_is_left_alone(change: dict[str, Any]) -> None:
    for known in (SliceMap(), SliceMap(4)):
        known.apply(PAGE)
        assert known.apply(replace(PAGE, version=9, **change)).tolist() == []
        assert known.owners == ["a", "b", "a", ""]
        assert known.version == 5


def test_a_topic_that_is_cut_anew() -> None:
    free, fixed = SliceMap(), SliceMap(4)
    anew = MapPage("items", 0, 1, 9, 2, ("c",), (1, 1), (8, 8))
    for known in (free, fixed):
        known.apply(PAGE)
        known.apply(anew)
        known.apply(PAGE)
    assert free.owners == ["c", "c"]
    assert fixed.owners == ["a", "b", "a", ""]


# -- what nodes prove ----------------------------------------------------------------------------


def test_a_node_proves_that_it_owns_slices() -> None:
    known = SliceMap(4)
    known.apply(PAGE)
    assert known.learn((0, 1, 2, 3, 9), (7, 7, 4, 7, 7), "b").tolist() == [0, 3]
    assert known.owners == ["b", "b", "a", "b"]
    assert known.terms.tolist() == [7, 7, 4, 7]
    assert known.learn((0,), (6,), "a").tolist() == []
    assert known.learn((), (), "a").tolist() == []


def test_it_may_be_proven_before_any_page_has_come() -> None:
    known = SliceMap(4)
    assert known.learn((3,), (7,), "b").tolist() == [3]
    assert not known.is_complete
    assert known.apply(PAGE).tolist() == [0, 1, 2]
    assert known.owner(3) == "b"


def test_what_is_proven_stands_until_the_map_has_caught_up() -> None:
    known = SliceMap(4)
    known.learn((0,), (7,), "b")
    known.apply(replace(PAGE, version=8))  # written before the handover under term 7 was over
    assert known.owner(0) == "b"
    known.apply(replace(PAGE, version=9, owners=(2, 2, 1, 0), terms=(7, 3, 4, 0)))
    assert known.owner(0) == "b"
    known.apply(replace(PAGE, version=10, owners=(0, 2, 1, 0), terms=(0, 3, 4, 0)))
    assert known.owner(0) == ""


# -- in any order --------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32), moves=st.integers(0, 12), learns=st.booleans())
def test_whatever_the_network_does_one_repetition_mends_it(
    seed: int, moves: int, learns: bool
) -> None:
    rng = random.Random(seed)
    table, versions = Owners(SLICES), [0] * page_count(SLICES)
    written: list[MapPage] = []
    known, term = SliceMap(SLICES), 100

    def write(changed: set[int]) -> None:
        for page in changed:
            versions[page] = term
            written.append(table.page("items", page, 1, term))
        changed.clear()

    table.recover({})
    write(table.changed_pages)
    for _ in range(moves):
        term += 1
        slices = rng.sample(range(SLICES), rng.choice([1, 5, 300]))
        table.give(slices, rng.choice(("", *NODES)), term, 0.0)
        if learns and table.of[slices[0]] and rng.random() < 0.5:
            known.learn(slices, [term] * len(slices), table.of[slices[0]])
        term += 1
        write(table.changed_pages)
        for page in rng.choices(written, k=rng.randrange(4)):
            before = known.owners
            changed = known.apply(page)
            after = known.owners
            assert changed.tolist() == [s for s in range(SLICES) if before[s] != after[s]]
    for page in rng.sample(range(len(versions)), len(versions)):
        known.apply(table.page("items", page, 1, versions[page]))
    assert known.owners == table.of
    assert known.terms.tolist() == table.terms
    assert known.versions == versions
    rng.shuffle(written)
    for late in written:
        assert known.apply(late).tolist() == []
    assert known.owners == table.of
