"""Ids have one form, and positions one set of rules."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.ids import NodeId, Position, WriterId

POSITIONS = st.dictionaries(st.integers(0, 5), st.integers(0, 9)).map(Position)
ANY_POSITIONS = st.dictionaries(
    st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1), max_size=5
).map(Position)


@given(st.integers(0, (1 << 64) - 1))
def test_a_writer_comes_back_from_its_text(number: int) -> None:
    writer = WriterId(number)
    assert (len(str(writer)), WriterId.parse(str(writer))) == (16, number)
    assert f"{writer}" == str(writer) == WriterId.text(number)


@pytest.mark.parametrize("text", ["", "aa", "00000000000000AA", "00000000000000aa\n", "g" * 16])
def test_what_is_no_writer_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="16 hexadecimal digits"):
        WriterId.parse(text)


def test_a_node_has_a_name_and_a_run() -> None:
    node = NodeId.of("rack-1.node", "0a1b2c")
    assert (node, node.name, node.run) == ("rack-1.node~0a1b2c", "rack-1.node", "0a1b2c")
    assert (NodeId("bare").name, NodeId("bare").run) == ("bare", "")
    assert isinstance(node, str)


def test_a_writer_that_is_not_named_is_at_0_and_naming_it_there_says_nothing() -> None:
    position = Position({1: 5, 2: 0})
    assert (position[1], position[2], position[3]) == (5, 0, 0)
    assert (1 in position, 2 in position) == (True, False)
    assert position == Position({1: 5}) == {1: 5} == position
    assert {1: 5, 2: 0} == position != {1: 6}
    assert hash(position) == hash(Position({1: 5}))
    assert position != "position"


@given(POSITIONS, POSITIONS)
def test_the_further_of_two_covers_both_and_nothing_beyond(one: Position, other: Position) -> None:
    both = one.merged(other)
    assert both == other.merged(one)
    assert both.covers(one)
    assert both.covers(other)
    assert all(epoch in (one[writer], other[writer]) for writer, epoch in both.items())


@given(POSITIONS, POSITIONS)
def test_a_capped_position_is_covered_by_both(one: Position, other: Position) -> None:
    capped = one.capped(other)
    assert capped == other.capped(one)
    assert one.covers(capped)
    assert other.covers(capped)
    assert one.covers(other) is (capped == other)


@given(POSITIONS, POSITIONS)
def test_one_that_covers_another_is_no_epoch_behind(one: Position, other: Position) -> None:
    assert one.covers(other) is (one.epochs_behind(other) <= 0)


def test_writers_can_be_left_out() -> None:
    assert Position({1: 5, 2: 3}).without([2, 7]) == {1: 5}


@given(ANY_POSITIONS)
def test_all_forms_of_a_position_lead_back_to_it(position: Position) -> None:
    assert Position.parse(str(position)) == position
    assert Position.from_json(position.to_json()) == position
    assert Position.of(*position.columns()) == position
    assert pickle.loads(pickle.dumps(position)) == position


def test_equal_positions_have_equal_texts() -> None:
    assert str(Position({2: 1, 1: 7})) == str(Position({1: 7, 2: 1, 3: 0}))
    assert str(Position({0xAB: 7})) == '{"00000000000000ab":7}'
    assert str(Position()) == "{}"


@pytest.mark.parametrize(
    "found",
    [
        [1],
        None,
        {"aa": 1},
        {1: 1},
        {"00000000000000AA": 1},
        {"00000000000000aa": -1},
        {"00000000000000aa": 1.5},
        {"00000000000000aa": "1"},
        {"00000000000000aa": True},
        {"00000000000000aa": 1 << 64},
    ],
)
def test_what_is_no_position_is_refused_in_words(found: object) -> None:
    with pytest.raises(DecodeError, match="position"):
        Position.from_json(found)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "[" * 100_000, b'{"\xff": 1}'])
def test_text_that_is_no_position_is_refused_in_words(text: str | bytes) -> None:
    with pytest.raises(DecodeError, match="position"):
        Position.parse(text)
