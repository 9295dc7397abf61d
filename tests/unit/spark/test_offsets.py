"""Offsets: by topic a point and what was left out up to it, as Spark keeps and shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.ids import Position
from evenflow.slices.consumer.splits import Point, Split
from evenflow.spark.offsets import Place, Thinned, offset_of, places_in, places_of, thinned

WRITERS = st.integers(1, 2**63)
COUNTS = st.dictionaries(st.integers(0, 2**63), st.integers(1, 2**53), max_size=4)
POSITIONS = st.dictionaries(WRITERS, st.integers(1, 2**53), max_size=4).map(Position)
SPLITS = st.dictionaries(
    WRITERS,
    st.builds(
        Split,
        st.integers(1, 2**53),
        st.integers(0, 2**32 - 1),
        st.integers(1, 2**53),
        st.integers(1, 2**53),
    ),
    max_size=3,
)
PLACES = st.builds(Place, st.builds(Point, POSITIONS, SPLITS), COUNTS)


@given(st.dictionaries(st.sampled_from(["fleet", "thinned", "split"]), PLACES, max_size=3))
def test_an_offset_gives_back_what_is_in_it(places: dict[str, Place]) -> None:
    offset = json.loads(json.dumps(offset_of(places)))
    topics = ["fleet", "thinned", "split"]
    assert places_of(offset, topics) == places
    assert json.dumps(offset_of(places_of(offset, topics))) == json.dumps(offset)


@given(POSITIONS, COUNTS)
def test_an_offset_of_a_former_version_is_of_the_only_topic(
    position: Position, left_out: dict[int, int]
) -> None:
    names = {0: "ended"} | {w: f"{w:016x}" for w in left_out if w}
    bare: dict[str, Any] = dict(position.to_json())
    if left_out:
        bare["thinned"] = {names[w]: n for w, n in left_out.items()}
    if not bare:
        assert places_of(bare, ["fleet"]) == {}
        return
    assert places_of(bare, ["fleet"]) == {"fleet": Place(Point(position), left_out)}
    with pytest.raises(DecodeError, match="checkpointLocation of its own"):
        places_of(bare, ["fleet", "other"])


def test_a_topic_that_is_new_begins_and_one_that_is_gone_is_told() -> None:
    place = Place(Point(Position({7: 4})))
    offset = offset_of({"fleet": place, "old": place})
    with pytest.raises(DecodeError, match=r"'old'.*failOnDataLoss"):
        places_in(offset, ["fleet", "new"], fail_on_loss=True)
    found = places_in(offset, ["fleet", "new"], fail_on_loss=False)
    assert found == {"fleet": place, "new": Place()}


@pytest.mark.parametrize(
    "inner",
    [
        5,
        {"a": 1},
        {"00000000000000aa": -1},
        {"split": {"00000000000000aa": [1, 2, 3]}},
        {"split": {"00000000000000aa": [1, 2, 3, 1 << 64]}},
        {"thinned": {"nobody": 1}},
    ],
)
def test_what_is_no_offset_is_refused(inner: Any) -> None:
    with pytest.raises(DecodeError):
        places_of({"fleet": inner, "other": {}}, ["fleet", "other"])


def test_a_progress_tells_of_the_batch_and_of_all() -> None:
    start = {"00000000000000aa": 3, "thinned": {"00000000000000aa": 10}}
    end = offset_of({"fleet": Place(Point(Position({7: 4})), {0: 5, 7: 12})})
    for form in (dict, json.dumps):
        ours = {"startOffset": form(start), "endOffset": form(end)}
        others = [
            {"startOffset": None, "endOffset": "17"},
            {"startOffset": "not JSON", "endOffset": {"thinned": 3}},
            {},
        ]
        assert thinned({"sources": [ours, *others]}) == Thinned(items=7, total=17)
    assert thinned({}) == Thinned(0, 0)
