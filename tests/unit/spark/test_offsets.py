"""Offsets: a position and what was left out up to it, as Spark keeps and shows them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ids import Position
from evenflow.spark.offsets import Thinned, left_out_of, offset_of, position_of, thinned

counts = st.dictionaries(st.integers(0, 2**63), st.integers(1, 2**53), max_size=4)
positions = st.dictionaries(st.integers(1, 2**63), st.integers(1, 2**53), max_size=4).map(Position)


@given(positions, counts)
def test_an_offset_gives_back_what_is_in_it(position: Position, left_out: dict[int, int]) -> None:
    offset = json.loads(json.dumps(offset_of(position, left_out)))
    assert position_of(offset) == position
    assert left_out_of(offset) == left_out
    assert json.dumps(offset_of(position_of(offset), left_out_of(offset))) == json.dumps(offset)


def test_where_nothing_is_left_out_an_offset_is_a_position() -> None:
    position = Position({7: 3})
    assert offset_of(position, {0: 0, 7: 0}) == position.to_json()
    assert left_out_of(position.to_json()) == {}


def test_a_progress_tells_of_the_batch_and_of_all() -> None:
    start = offset_of(Position({7: 3}), {7: 10})
    end = offset_of(Position({7: 4}), {0: 5, 7: 12})
    for form in (dict, json.dumps):
        ours = {"startOffset": form(start), "endOffset": form(end)}
        others = [
            {"startOffset": None, "endOffset": "17"},
            {"startOffset": "not JSON", "endOffset": {"thinned": 3}},
            {},
        ]
        assert thinned({"sources": [ours, *others]}) == Thinned(items=7, total=17)
    assert thinned({}) == Thinned(0, 0)
