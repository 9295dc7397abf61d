"""Replies of owners that follow one another: to each item once, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import UsageError
from evenflow.model.batch import Batch, Item
from evenflow.model.sample import Sample
from evenflow.slices.node.application.replies import MESSAGE_BYTES, MOST_BYTES, answers, messages_of
from evenflow.slices.subscriber.replies import AnsweredItems, Reply
from evenflow.testing.samples import encode_items


def batch(first: int, count: int) -> Batch:
    items = [Item("car", 100 + n, 0, b"x") for n in range(first, first + count)]
    return Sample(encode_items(7, 1, 1, {3: (first, items)})).batches()[0]


def answered(heard: AnsweredItems, one: Batch, node: str = "n") -> list[Reply]:
    """An application answers each item of a batch twice, from behind."""
    one.replies = []
    for row in reversed(range(one.count)):
        one.reply(row, f"a{one.first + row}")
        one.reply(row, b"b", {"to": f"{one.first + row}"} if row % 2 else None)
    made = answers(one, one.count)
    return [r for message in messages_of("t", node, one, made) for r in heard.news(message)]


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 9)), max_size=20))
def test_each_item_is_answered_once_however_often_it_is_processed(
    runs: list[tuple[int, int]],
) -> None:
    """Each owner begins behind what is committed, at or before where the one before it was."""
    heard = AnsweredItems()
    found: list[Reply] = []
    reached = 0
    for back, count in runs:
        first = max(1, reached + 1 - back)
        found += answered(heard, batch(first, count))
        reached = max(reached, first + count - 1)
    assert [one.number for one in found] == [n for n in range(1, reached + 1) for _ in "ab"]
    assert [one.payload for one in found[::2]] == [b"a%d" % n for n in range(1, reached + 1)]
    assert all((one.sender, one.id) == ("car", 100 + one.number) for one in found)
    assert all(one.headers in ({}, {"to": b"%d" % one.number}) for one in found)
    assert not any(one.headers for one in found[::2])


def test_replies_with_headers_have_theirs() -> None:
    found = answered(AnsweredItems(), batch(1, 3))
    assert [dict(one.headers) for one in found] == [{}, {}, {}, {"to": b"2"}, {}, {}]


def test_what_the_application_did_not_reach_is_not_answered() -> None:
    one = batch(1, 4)
    one.replies = [(3, b"late", None), (0, b"early", None)]
    assert [made.payload for made in answers(one, 2)] == [b"early"]
    assert answers(one, 0) == []


def test_messages_are_bounded_and_replies_to_one_item_stay_together() -> None:
    one = batch(1, 3)
    one.replies = [(row, bytes(MESSAGE_BYTES // 2), None) for row in (0, 1, 1, 2)]
    numbers = [message.numbers for message in messages_of("t", "n", one, answers(one, 3))]
    assert numbers == [(1,), (2, 2), (3,)]


def test_bad_replies_are_refused() -> None:
    one = batch(1, 2)
    with pytest.raises(UsageError, match="on_new_data"):
        one.reply(0, b"x")
    one.replies = []
    with pytest.raises(UsageError, match="row 2 of a batch of 2"):
        one.reply(2, b"x")
    one.reply(1, bytes(MOST_BYTES + 1))
    with pytest.raises(UsageError, match="at most"):
        answers(one, 2)
    one.replies = [(0, b"x", {"": b""})]
    with pytest.raises(UsageError, match="name of a header"):
        answers(one, 2)
