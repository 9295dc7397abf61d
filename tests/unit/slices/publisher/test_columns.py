"""Items as columns: every way to give them, and bringing them into an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import UsageError
from evenflow.model.batch import Item
from evenflow.model.encoding import encode_sample
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.sample import Sample
from evenflow.slices.publisher.columns import (
    Table,
    header_column,
    number_column,
    payload_column,
    sender_column,
)
from evenflow.slices.publisher.gathering import Columns

ITEMS = [b"one", b"", b"three"]


def contents(column: Any) -> list[bytes]:
    return [bytes(one) for one in column.to_pylist()]


def rows_of(columns: Columns) -> list[Item]:
    encoded = encode_sample(1, 1, 1, [0], [len(columns.ids)], [1], *columns)
    return list(Sample(encoded).rows)


@pytest.mark.parametrize(
    "given",
    [
        ITEMS,
        pa.array(ITEMS),
        pa.array(ITEMS, pa.large_binary()),
        pa.chunked_array([ITEMS[:1], ITEMS[1:]]),
        pa.array(["one", "", "three"]),
        pa.array(["one", "", "three"], pa.large_string()),
        pa.array([b"zero", *ITEMS])[1:],
    ],
)
def test_payloads_of_any_length(given: Any) -> None:
    assert contents(payload_column(given)) == ITEMS


@pytest.mark.parametrize(
    "given",
    [
        np.array([[1, 2], [3, 4]], np.uint8),
        np.array([[1, 9, 2, 9], [3, 9, 4, 9]], np.uint8)[:, ::2],
        pa.array([b"\1\2", b"\3\4"], pa.binary(2)),
    ],
)
def test_payloads_of_one_length(given: Any) -> None:
    assert contents(payload_column(given)) == [b"\1\2", b"\3\4"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pa.array([1, 2]), "Arrow type int64"),
        (pa.array([b"x", None]), "1 payloads are null"),
        (np.zeros(3), "one payload a row"),
        (np.zeros((3, 2)), "one payload a row"),
        ([b"x", 3], "payloads must be bytes"),
        (["\ud800"], "payloads must be bytes"),
        (7, "payloads must be bytes"),
    ],
)
def test_wrong_payloads_are_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        payload_column(given)


@pytest.mark.parametrize(
    "given",
    [
        ["a", "b", "a"],
        np.array(["a", "b", "a"]),
        pa.array(["a", "b", "a"]),
        pa.array(["a", "b", "a"], pa.large_string()),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.chunked_array([["a"], ["b", "a"]]),
    ],
)
def test_senders(given: Any) -> None:
    assert sender_column(given, 3).to_pylist() == ["a", "b", "a"]


def test_one_sender_is_everybodys() -> None:
    assert sender_column("a", 3).to_pylist() == ["a", "a", "a"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([None], "null"),
        ([3], "must be strings"),
        (pa.array([1.5]), "must be strings"),
        (["\ud800"], "must be strings"),
        ("\ud800", "must be strings"),
        (np.array([3]), "must be strings"),
        (3, "must be strings"),
    ],
)
def test_wrong_senders_are_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sender_column(given, 1)


@pytest.mark.parametrize(
    "given", [[1, 2], np.array([1, 2], np.uint8), pa.array([1, 2]), pa.chunked_array([[1], [2]])]
)
def test_numbers(given: Any) -> None:
    column = number_column("ids", given)
    assert column.dtype == np.int64
    assert column.tolist() == [1, 2]


@pytest.mark.parametrize(
    "given",
    [[1.5], ["1"], pa.array([1, None]), np.array([2**63], np.uint64), [True], [[1]], [2**70]],
)
def test_wrong_numbers_are_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="ids must be a column of whole numbers"):
        number_column("ids", given)


_item = st.builds(
    Item,
    st.sampled_from(["", "a", "größe"]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**62),
    st.binary(max_size=5),
    st.just({}) | st.dictionaries(st.sampled_from(["a", "größe"]), st.binary(max_size=3)),
)


@given(st.lists(_item, min_size=1, max_size=30), st.data())
def test_items_keep_their_columns_in_any_order(items: list[Item], data: st.DataObject) -> None:
    table = Table(
        number_column("ids", [item.id for item in items]),
        number_column("times", [item.time for item in items]),
        sender_column([item.sender for item in items], len(items)),
        payload_column([item.payload for item in items]),
        header_column([item.headers for item in items], len(items)),
    )
    assert table.lengths().tolist() == [
        len(item.sender.encode()) + len(item.payload) + pairs_bytes(given_headers(item.headers))
        for item in items
    ]
    start = data.draw(st.integers(0, len(items) - 1))
    end = data.draw(st.integers(start + 1, len(items)))
    order = data.draw(st.permutations(range(end - start)))
    for rows in (table.rows(start, end), table.rows(start, end).copied()):
        assert rows_of(rows.columns(np.array(order))) == [items[start + row] for row in order]


_MAPS = pa.map_(pa.string(), pa.binary())


@pytest.mark.parametrize(
    "given",
    [
        [{"a": b"1", "b": b"2"}, None, {}, {"a": "3"}],
        pa.array([[("a", b"1"), ("b", b"2")], None, [], [("a", b"3")]], _MAPS),
        pa.array(
            [[("a", "1"), ("b", "2")], None, [], [("a", "3")]],
            pa.map_(pa.large_string(), pa.large_string()),
        ),
        pa.array([[("x", b"")], [("a", b"1"), ("b", b"2")], None, [], [("a", b"3")]], _MAPS)[1:],
        pa.chunked_array([pa.array([[("a", b"1"), ("b", b"2")], None], _MAPS),
                          pa.array([[], [("a", b"3")]], _MAPS)]),
    ],
)  # fmt: skip
def test_headers_as_maps_and_as_arrow(given: Any) -> None:
    headers = header_column(given, 4)
    assert headers is not None
    assert list(headers.maps()) == [(0, {"a": b"1", "b": b"2"}), (3, {"a": b"3"})]


def test_no_headers_and_one_map_for_all() -> None:
    assert header_column(None, 2) is header_column({}, 2) is header_column([{}, None], 2) is None
    assert header_column(pa.array([None, []], _MAPS), 2) is None
    assert header_column(pa.array([], _MAPS), 0) is header_column({"a": b"1"}, 0) is None
    headers = header_column({"a": b"1"}, 2)
    assert headers is not None
    assert list(headers.maps()) == [(0, {"a": b"1"}), (1, {"a": b"1"})]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{}], "1 rows for 2 payloads"),
        (pa.array([1, 2]), "give maps from strings to binary"),
        (pa.array([[("a", None)], []], _MAPS), "1 headers are null"),
        (pa.array([[("a", b""), ("a", b"")], []], _MAPS), "a name twice"),
        (pa.array([[("", b"")], []], _MAPS), "^headers: .*a name 1 to 255 bytes"),
        (pa.array([[("a", bytes(1 << 15))], []], _MAPS), "may have 64, of 16384 bytes"),
        (pa.array([[(str(n), b"") for n in range(65)], []], _MAPS), "an item may have 64,"),
    ],
)
def test_wrong_headers_are_refused(given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        header_column(given, 2)


def test_payloads_of_one_length_are_brought_into_an_order_too() -> None:
    table = Table(
        number_column("ids", [0, 1, 2]),
        number_column("times", [0, 1, 2]),
        sender_column("a", 3),
        payload_column(np.array([[1, 2], [3, 4], [5, 6]], np.uint8)),
    )
    columns = table.rows(1, 3).columns(np.array([1, 0]))
    assert rows_of(columns) == [Item("a", 2, 2, b"\5\6"), Item("a", 1, 1, b"\3\4")]


def test_tables_joined_are_one_after_the_other() -> None:
    tables = [
        Table(np.array([1, 2]), np.array([5, 6]), sender_column(["a", "b"], 2), payload)
        for payload in (
            payload_column(np.array([[1], [2]], np.uint8)),
            payload_column([b"x", b""]),
            payload_column(pa.array(["y", "z"])),
        )
    ]
    joined = Table.joined(tables)
    assert joined.ids.tolist() == [1, 2] * 3
    assert joined.times.tolist() == [5, 6] * 3
    assert joined.senders.to_pylist() == ["a", "b"] * 3
    assert contents(joined.payloads) == [b"\1", b"\2", b"x", b"", b"y", b"z"]
    columns = joined.columns(np.arange(6))
    assert bytes(columns.payloads) == b"\1\2xyz"


def test_a_table_joined_with_none_is_itself() -> None:
    table = Table(np.array([1]), np.array([5]), sender_column("a", 1), payload_column([b"x"]))
    assert Table.joined([table]) is table


def test_a_copied_table_does_not_change_with_what_it_was_made_of() -> None:
    ids, times = np.array([1, 2]), np.array([3, 4])
    payloads = np.array([[1], [2]], np.uint8)
    table = Table(ids, times, sender_column("a", 2), payload_column(payloads)).copied()
    for column in (ids, times, payloads):
        column.fill(9)
    assert (table.ids.tolist(), table.times.tolist()) == ([1, 2], [3, 4])
    assert contents(table.payloads) == [b"\1", b"\2"]


def test_a_dictionary_of_more_names_than_items_is_cut_to_those_that_occur() -> None:
    names = pa.array([f"car-{number}" for number in range(1_000)])
    cars = pa.DictionaryArray.from_arrays(pa.array([7, 3, 7], pa.int32()), names)
    column = sender_column(cars, 3)
    assert column.to_pylist() == ["car-7", "car-3", "car-7"]
    assert len(column.dictionary) == 2
