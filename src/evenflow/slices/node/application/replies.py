"""What an application answers to the items of a batch, as messages to their publisher.

Replies are ordered by the numbers of their items, whatever order the application made them in: who
listens knows by the numbers what it has had (:mod:`evenflow.slices.subscriber.replies`). Those to
one item stay in one message, so they are heard together or not at all.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.errors import UsageError
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.headers import headers_of
from evenflow.model.messages import ItemReplies
from evenflow.model.payload import encode_payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.batch import Batch, Item
    from evenflow.model.item_headers import Pairs

MESSAGE_BYTES: Final = 256 * 1024
"""Payloads in one message, unless those to one item are more."""
MOST_BYTES: Final = 1 << 20
"""Largest reply."""


class Answer(NamedTuple):
    """A reply, and the item it is to."""

    item: Item
    number: int
    payload: bytes
    headers: Pairs = ()


def answers(batch: Batch, rows: int) -> list[Answer]:
    """What was answered to the first rows of a batch, in their order.

    Raises:
        UsageError: A reply cannot be sent, or is too large.
    """
    made = sorted((row, at) for at, (row, *_) in enumerate(batch.replies or ()) if row < rows)
    if not made:
        return []
    items = list(batch)
    found = []
    for row, at in made:
        _, given, headers = (batch.replies or [])[at]
        payload = encode_payload(given)
        if len(payload) > MOST_BYTES:
            raise UsageError(f"a reply of {len(payload):,} bytes: at most {MOST_BYTES:,} are sent")
        found.append(Answer(items[row], batch.first + row, payload, given_headers(headers)))
    return found


def messages_of(topic: str, node: str, batch: Batch, made: list[Answer]) -> Iterator[ItemReplies]:
    """Replies as messages of bounded size."""
    part: list[Answer] = []
    size = 0
    for _, to_item in groupby(made, itemgetter(1)):
        group = list(to_item)
        group_size = sum(len(one.payload) + pairs_bytes(one.headers) for one in group)
        if part and size + group_size > MESSAGE_BYTES:
            yield _message(topic, node, batch, part)
            part, size = [], 0
        part += group
        size += group_size
    if part:
        yield _message(topic, node, batch, part)


def _message(topic: str, node: str, batch: Batch, part: list[Answer]) -> ItemReplies:
    headers = headers_of([one.headers for one in part])
    return ItemReplies(
        topic,
        batch.writer,
        node,
        batch.slice,
        tuple(one.number for one in part),
        tuple(one.item.sender for one in part),
        tuple(one.item.id for one in part),
        tuple(len(one.payload) for one in part),
        b"".join(one.payload for one in part),
        b"" if headers is None else headers.encode(),
    )
