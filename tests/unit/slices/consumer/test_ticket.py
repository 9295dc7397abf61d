from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.ids import Position
from evenflow.model.selection import Selection
from evenflow.slices.consumer.ticket import (
    Range,
    Split,
    decode_question,
    decode_ticket,
    encode_question,
    encode_ticket,
)

NUMBERS = st.integers(0, (1 << 64) - 1)
POSITIONS = st.dictionaries(NUMBERS, NUMBERS, max_size=5).map(Position)
SPLITS = st.dictionaries(
    NUMBERS, st.builds(Split, NUMBERS, st.integers(0, 1 << 31), NUMBERS, NUMBERS), max_size=3
)
RANGES = st.builds(
    Range,
    st.lists(st.integers(0, 1 << 31), max_size=9).map(tuple),
    POSITIONS,
    POSITIONS,
    st.dictionaries(st.tuples(st.integers(0, 1 << 31), NUMBERS), NUMBERS, max_size=5),
    SPLITS,
    SPLITS,
    st.booleans(),
    st.builds(
        Selection,
        st.none() | st.frozensets(st.integers(0, 1 << 31), max_size=3),
        st.none() | st.frozensets(st.text(max_size=3), max_size=3),
        st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    ),
)


@given(st.text(max_size=10), RANGES)
def test_comes_back_as_it_was(topic: str, asked: Range) -> None:
    assert decode_ticket(encode_ticket(topic, asked)) == (topic, asked)


@given(st.text(max_size=10), RANGES, NUMBERS)
def test_a_question_comes_back_as_it_was(topic: str, asked: Range, number: int) -> None:
    assert decode_question(encode_question(topic, asked, number)) == (topic, asked, number)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_in_words(encoded: bytes) -> None:
    for decode in (decode_ticket, decode_question):
        with pytest.raises(DecodeError):
            decode(encoded)


SOUND = {
    "topic": "items",
    "slices": [1],
    "start": {},
    "end": {"00000000000000aa": 3},
    "after": {"00000000000000aa": [[1], [7]]},
}


def test_the_example_is_sound() -> None:
    topic, asked = decode_ticket(json.dumps(SOUND).encode())
    assert topic == "items"
    assert asked == Range((1,), Position(), Position({0xAA: 3}), {(1, 0xAA): 7})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", 5),
        ("slices", 1),
        ("slices", [-1]),
        ("slices", ["1"]),
        ("slices", [True]),
        ("start", []),
        ("start", {"aa": 1}),
        ("start", {"00000000000000AA": 1}),
        ("end", {"00000000000000aa": -1}),
        ("end", {"00000000000000aa": 1.5}),
        ("end", {"00000000000000aa": 1 << 64}),
        ("after", []),
        ("after", {"aa": [[1], [7]]}),
        ("after", {"00000000000000aa": [[1]]}),
        ("after", {"00000000000000aa": [[1], [7, 8]]}),
        ("after", {"00000000000000aa": [[1, 2], [7]]}),
        ("after", {"00000000000000aa": [[-1], [7]]}),
        ("after", {"00000000000000aa": [[1], [-7]]}),
        ("after", {"00000000000000aa": [[1], [1 << 64]]}),
        ("taken", {"aa": [1, 2, 3, 4]}),
        ("taken", {"00000000000000aa": [1, 2, 3]}),
        ("upto", {"00000000000000aa": [1, -2, 3, 4]}),
        ("upto", {"00000000000000aa": [1, 2, 1 << 64, 4]}),
        ("more", 1),
    ],
)
def test_a_wrong_field_is_refused(field: str, value: object) -> None:
    with pytest.raises(DecodeError):
        decode_ticket(json.dumps({**SOUND, field: value}).encode())
