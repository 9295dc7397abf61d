"""What callers give: defaults, encodings, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenflow.errors import AssignmentError, UsageError
from evenflow.slices.assignment import assignment_of
from evenflow.slices.publisher.intake import Intake


class FixedClock:
    def monotonic(self) -> float:
        return 0.0

    def wall(self) -> float:
        return 12.5


def intake(assignment: Any = "modulo:id") -> Intake:
    return Intake("items", 10, assignment_of(assignment), FixedClock())


def test_ids_count_on_over_items_and_columns() -> None:
    taken = intake()
    assert taken.item(b"", "a", None, None)[1].id == 1
    assert taken.table([b"", b""], "a", None, None).ids.tolist() == [2, 3]
    assert taken.item(b"", "a", None, None)[1].id == 4


def test_times_are_now_in_microseconds() -> None:
    taken = intake()
    assert taken.item(b"", "a", None, None)[1].time == 12_500_000
    assert taken.table([b""], "a", None, None).times.tolist() == [12_500_000]


def test_items_without_sender_are_this_process() -> None:
    taken = intake()
    _, item = taken.item(b"", "", None, None)
    assert item.sender
    assert taken.table([b""], "", None, None).senders.to_pylist() == [item.sender]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"\0x", b"\0x"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        ("größe", "größe".encode()),
        ({"n": 1, "unit": "°"}, '{"n":1,"unit":"°"}'.encode()),
    ],
)
def test_payloads(payload: Any, expected: bytes) -> None:
    assert intake().item(payload, "a", 1, 1)[1].payload == expected


def test_keys_of_a_mapping_are_fields_and_the_items_own_win() -> None:
    assert intake("modulo:n").item({"n": 13}, "a", 1, 1)[0] == 3
    assert intake("modulo:id").item({"id": 13}, "a", 5, 1)[0] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((3, "", None, None), "give bytes, str or a mapping"),
        (({"x": object()}, "", None, None), "cannot be written as JSON"),
        ((b"", "", 1 << 63, None), "id is 9223372036854775808"),
        ((b"", "", 1.0, None), "id is 1.0"),
        ((b"", "", None, "now"), "time is 'now'"),
    ],
)
def test_wrong_items_are_refused(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        intake().item(*arguments)


@pytest.mark.parametrize(
    ("senders", "ids", "said"),
    [
        ("", np.array([1, 2]), "ids: 2 rows for 1 payloads"),
        (["a", "b"], None, "senders: 2 rows for 1 payloads"),
    ],
)
def test_columns_of_unequal_length_are_refused(senders: Any, ids: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        intake().table([b"x"], senders, ids, None)


def test_fields_must_be_as_many_as_payloads() -> None:
    taken = intake("modulo:f")
    table = taken.table([b"x", b"y"], "", None, None)
    assert taken.slices(table, {"f": np.array([3, 14])}).tolist() == [3, 4]
    with pytest.raises(UsageError, match="field 'f': 1 rows for 2 payloads"):
        taken.slices(table, {"f": [1]})


def test_an_item_without_a_slice_is_counted_and_named() -> None:
    taken = intake("modulo:n")
    with pytest.raises(AssignmentError, match="item 1 of 'a' on topic 'items' gets no slice"):
        taken.item(b"", "a", 1, 1)
    table = taken.table([b"x", b"y"], "a", [7, 8], None)
    with pytest.raises(AssignmentError, match="item 7 of 'a' on topic 'items'"):
        taken.slices(table, {})
    with pytest.raises(AssignmentError, match="item 8 of 'a' on topic 'items'"):
        taken.slices_of_mappings(table, [{"n": 1}, {}])
    assert taken.refused == 3
