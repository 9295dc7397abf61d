"""Items that wait: taken in the order in which they came, with the slices they were given."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Int32s, Item
from evenflow.model.encoding import encode_sample
from evenflow.model.given_headers import given_headers
from evenflow.model.sample import Sample
from evenflow.slices.publisher.gathering import LATER, Columns, Gathering

from .items import item, no_assignment, size_of, table_of


def append(gathering: Gathering, one: Item, slice_id: int = 0) -> None:
    sender, item_id, time, payload, headers = one
    row = payload, sender, item_id, time, slice_id
    gathering.append((*row, given_headers(headers)) if headers else row, size_of(one))


def headed(number: int) -> Item:
    """An item, of which every third has headers."""
    return item(number)._replace(headers={} if number % 3 else {"number": b"%d" % number})


def by_id(fields: Mapping[str, Any]) -> Int32s:
    found: Int32s = (fields["id"] % 10).astype(np.int32)
    return found


def rows_of(columns: Columns) -> list[Item]:
    encoded = encode_sample(1, 1, 1, [0], [len(columns.ids)], [1], *columns)
    return list(Sample(encoded).rows)


def test_counts_what_waits() -> None:
    gathering = Gathering()
    assert not gathering
    append(gathering, item(1))
    gathering.add(*table_of([(0, 2), (1, 3)]))
    assert (gathering.count, gathering.size) == (3, 3 * size_of(item()))
    gathering.take(no_assignment)
    assert (gathering.count, gathering.size, bool(gathering)) == (0, 0, False)


def test_one_item_alone_is_taken_as_it_is() -> None:
    gathering = Gathering()
    assert gathering.take_one() is None
    append(gathering, item(7), 3)
    assert gathering.take_one() == (item(7), 3, ())
    append(gathering, item(7)._replace(headers={"a": b"b"}), 3)
    assert gathering.take_one() == (item(7), 3, ((b"a", b"b"),))
    assert (gathering.count, gathering.size, gathering.take_one()) == (0, 0, None)


def test_several_items_or_a_table_are_not_one_item_alone() -> None:
    gathering = Gathering()
    gathering.add(*table_of([(0, 1)]))
    assert gathering.take_one() is None
    gathering.take(no_assignment)
    append(gathering, item(1))
    append(gathering, item(2))
    assert gathering.take_one() is None


def test_items_without_a_slice_get_theirs_together() -> None:
    gathering = Gathering()
    asked: list[dict[str, Any]] = []

    def assign(fields: Mapping[str, Any]) -> Int32s:
        asked.append(dict(fields))
        return by_id(fields)

    for number in (13, 25):
        append(gathering, Item(f"s{number}", number, -number, b""), LATER)
    _, slices = gathering.take(assign)
    assert slices.tolist() == [3, 5]
    [fields] = asked
    assert {name: list(column) for name, column in fields.items()} == {
        "id": [13, 25],
        "sender": ["s13", "s25"],
        "time": [-13, -25],
    }


def test_tables_keep_their_slices_between_items_that_get_them_later() -> None:
    gathering = Gathering()
    append(gathering, item(13), LATER)
    gathering.add(*table_of([(9, 2), (8, 3)]))
    append(gathering, item(25), LATER)
    taken, slices = gathering.take(by_id)
    assert slices.tolist() == [3, 9, 8, 5]
    assert [one.id for one in rows_of(taken.columns(np.arange(4)))] == [13, 2, 3, 25]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1), st.randoms())
def test_everything_is_taken_in_the_order_in_which_it_came(
    steps: list[tuple[bool, int]], random: Any
) -> None:
    gathering = Gathering()
    numbers = count()
    with_headers: set[int] = set()
    for as_table, some in steps:
        ids = [next(numbers) for _ in range(some)]
        if as_table:
            gathering.add(*table_of([(number % 5, number) for number in ids]))
        else:
            for number in ids:
                append(gathering, headed(number), number % 5)
                with_headers.add(number)
    total = next(numbers)
    taken, slices = gathering.take(no_assignment)
    assert len(taken) == len(slices) == total
    assert slices.tolist() == [number % 5 for number in range(total)]
    order = random.sample(range(total), total)
    columns = taken.columns(np.array(order))
    expected = [headed(number) if number in with_headers else item(number) for number in order]
    assert rows_of(columns) == expected
    start = random.randrange(total)
    end = random.randint(start + 1, total)
    assert rows_of(columns.part(start, end)) == expected[start:end]
