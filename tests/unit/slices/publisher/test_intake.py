"""What callers give: defaults, encodings, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import AssignmentError, UsageError
from evenflow.model.batch import Int32s, Item
from evenflow.slices.assignment import HashAssignment, RandomAssignment, assignment_of
from evenflow.slices.publisher.gathering import LATER
from evenflow.slices.publisher.intake import _MOST_SENDERS, Intake


class FixedClock:
    def monotonic(self) -> float:
        return 0.0

    def wall(self) -> float:
        return 12.5


def intake(assignment: Any = "modulo:id") -> Intake:
    return Intake("items", 10, assignment_of(assignment), FixedClock())


def item(taken: Intake, payload: Any, sender: str = "a") -> Item:
    (encoded, name, item_id, time, _), _ = taken.row(payload, sender, None, None)
    return Item(name, item_id, time, encoded)


def slice_of(taken: Intake, payload: Any, sender: str = "a", item_id: int = 1) -> int:
    return taken.row(payload, sender, item_id, 1)[0][-1]


def test_ids_count_on_over_items_and_columns() -> None:
    taken = intake()
    assert item(taken, b"").id == 1
    assert taken.table([b"", b""], "a", None, None).ids.tolist() == [2, 3]
    assert item(taken, b"").id == 4


def test_times_are_now_in_microseconds() -> None:
    taken = intake()
    assert item(taken, b"").time == 12_500_000
    assert taken.table([b""], "a", None, None).times.tolist() == [12_500_000]


def test_items_without_sender_are_this_process() -> None:
    taken = intake()
    sender = item(taken, b"", "").sender
    assert sender
    assert taken.table([b""], "", None, None).senders.to_pylist() == [sender]


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
    assert item(intake(), payload).payload == expected


@pytest.mark.parametrize("sender", ["", "someone", "größe"])
def test_the_bytes_of_name_and_payload_are_counted(sender: str) -> None:
    row, size = intake().row("°x", sender, 1, 1)
    assert size == len(row[0]) + len(row[1].encode())


def test_keys_of_a_mapping_are_fields_and_the_items_own_win() -> None:
    assert slice_of(intake("modulo:n"), {"n": 13}) == 3
    assert slice_of(intake("hash:sender"), {"sender": "b"}) == HashAssignment("sender").assign(
        {"sender": "a"}, 10
    )
    assert slice_of(intake(lambda fields, _: fields["id"]), {"id": 3}, item_id=5) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((3, "", None, None), "give bytes, str or a mapping"),
        (({"x": object()}, "", None, None), "cannot be written as JSON"),
        ((b"", "", 1 << 63, None), "id is 9223372036854775808"),
        ((b"", "", 1.0, None), "id is 1.0"),
        ((b"", "", None, "now"), "time is 'now'"),
        ((b"", "\ud800", None, None), "give a string"),
        ((b"", 3, None, None), "sender is 3: give a string"),
        ((b"", b"car", None, None), "sender is b'car': give a string"),
        (("\ud800", "", None, None), "UTF-8"),
        (({"x": "\ud800"}, "", None, None), "cannot be written as JSON"),
    ],
)
@pytest.mark.parametrize("assignment", ["modulo:id", "hash:sender", "random"])
def test_wrong_items_are_refused(arguments: tuple[Any, ...], said: str, assignment: str) -> None:
    taken = intake(assignment)
    for _ in range(2):  # what was refused is not remembered
        with pytest.raises(UsageError, match=said):
            taken.row(*arguments)
    assert taken.refused == 0


@pytest.mark.parametrize(
    ("senders", "ids", "said"),
    [
        ("", np.array([1, 2]), "ids: 2 rows for 1 payloads"),
        (["a", "b"], None, "senders: 2 rows for 1 payloads"),
        (["\ud800"], None, "senders must be strings"),
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
        taken.row(b"", "a", 1, 1)
    table = taken.table([b"x", b"y"], "a", [7, 8], None)
    with pytest.raises(AssignmentError, match="item 7 of 'a' on topic 'items'"):
        taken.slices(table, {})
    with pytest.raises(AssignmentError, match="item 8 of 'a' on topic 'items'"):
        taken.slices_of_mappings(table, [{"n": 1}, {}])
    assert taken.refused == 3


# -- slices at once, by the sender, or later -------------------------------------------------------

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "größe", "c" * 40]),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-(2**63), 2**63 - 1),
    ),
    min_size=1,
)


@pytest.mark.parametrize("spec", ["hash:id", "modulo:id", "hash:time", "modulo:time"])
@given(rows=ROWS)
def test_items_that_get_their_slices_later_get_the_same(
    spec: str, rows: list[tuple[str, int, int]]
) -> None:
    taken = intake(spec)
    given = [taken.row(b"x", *row)[0] for row in rows]
    assert {one[-1] for one in given} == {LATER}
    columns = {
        "id": np.array([row[1] for row in rows]),
        "sender": [row[0] for row in rows],
        "time": np.array([row[2] for row in rows]),
    }
    expected = [
        taken.assignment.assign({"sender": sender, "id": item_id, "time": time}, 10)
        for sender, item_id, time in rows
    ]
    assert taken.slices_of_columns(columns).tolist() == expected


@given(st.integers(0, 2**64 - 1), st.integers(1, 50))
def test_chance_gives_the_same_slices_later(seed: int, count: int) -> None:
    taken = intake(RandomAssignment(seed))
    assert slice_of(taken, b"") == LATER
    single = RandomAssignment(seed)
    found = taken.slices_of_columns({"id": np.arange(count)})
    assert found.tolist() == [single.assign({}, 10) for _ in range(count)]


@given(rows=ROWS)
def test_the_table_of_senders_gives_what_the_assignment_gives(
    rows: list[tuple[str, int, int]],
) -> None:
    taken = intake("hash:sender")
    for sender, item_id, time in rows:
        expected = taken.assignment.assign({"sender": sender}, 10)
        assert taken.row({"sender": "other"}, sender, item_id, time)[0][-1] == expected


def test_the_table_of_senders_is_bounded() -> None:
    taken = intake("hash:sender")
    taken._known = dict.fromkeys(map(str, range(_MOST_SENDERS)), 0)
    assert slice_of(taken, b"", "someone new") == slice_of(taken, b"", "someone new")
    assert len(taken._known) == 1


@pytest.mark.parametrize("assignment", ["modulo:n", "hash:n", "geo:lat,lon", lambda *_: None])
def test_an_assignment_that_may_refuse_is_asked_at_once(assignment: Any) -> None:
    taken = intake(assignment)
    with pytest.raises(AssignmentError, match="gets no slice"):
        taken.row(b"", "a", 1, 1)
    assert taken.refused == 1


class Wild:
    """A program's own assignment, which gives whatever it was told to."""

    def __init__(self, slices: Any) -> None:
        self.slices = slices

    def assign(self, fields: Any, slice_count: int) -> int:
        found: int = self.slices[0]
        return found

    def assign_columns(self, columns: Any, slice_count: int) -> Int32s:
        found: Int32s = self.slices
        return found


@pytest.mark.parametrize("slice_id", [-1, 10, 2**40])
def test_a_slice_that_does_not_exist_is_refused_whatever_gave_it(slice_id: int) -> None:
    taken = intake(Wild([slice_id, 3]))
    with pytest.raises(AssignmentError, match=f"item 7 of 'a' .* gave {slice_id}; slices are 0 to"):
        taken.row(b"", "a", 7, 1)
    with pytest.raises(AssignmentError, match=f"item 7 of 'a' .* gave {slice_id}; slices are 0 to"):
        taken.slices(taken.table([b"x", b"y"], "a", [7, 8], None), {})
    assert taken.refused == 2


@pytest.mark.parametrize("slices", [[1], [1.0, 2.0], [[1, 2]], None, ["a", "b"]])
def test_slices_that_are_no_column_of_whole_numbers_are_refused(slices: Any) -> None:
    taken = intake(Wild(slices))
    with pytest.raises(AssignmentError, match="2 items got"):
        taken.slices(taken.table([b"x", b"y"], "a", None, None), {})


@pytest.mark.parametrize("slices", [[1, 9], (1, 9), np.array([1, 9], np.uint64)])
def test_slices_may_be_any_column_of_whole_numbers(slices: Any) -> None:
    taken = intake(Wild(slices))
    found = taken.slices(taken.table([b"x", b"y"], "a", None, None), {})
    assert (found.dtype.name, found.tolist()) == ("int32", [1, 9])


def test_no_items_need_no_slices() -> None:
    taken = intake(Wild([]))
    assert len(taken.slices(taken.table([], "a", None, None), {})) == 0
