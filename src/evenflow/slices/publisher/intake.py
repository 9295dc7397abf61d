"""What callers give a publisher, made into items that have a slice.

Defaults are filled in (sender, id, time), payloads are encoded, wrong input is refused before
anything of the call is published, and items that get no slice are counted.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from operator import index
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import AssignmentError, UsageError
from evenflow.model.batch import Int32s, Item

if TYPE_CHECKING:
    from evenflow.clock import Clock
    from evenflow.slices.assignment import Assignment
    from evenflow.slices.publisher.columns import Table

Payload = bytes | bytearray | memoryview | str | Mapping[str, Any]
"""What callers may give: bytes, a string (sent as UTF-8), or a mapping (sent as JSON)."""
_LIMIT: Final = 1 << 63


class Intake:
    """Makes items; any thread may ask.

    Args:
        topic: The topic, for errors.
        slice_count: How many slices there are.
        assignment: Gives the items their slices.
        clock: The time of items without one.
    """

    def __init__(self, topic: str, slice_count: int, assignment: Assignment, clock: Clock) -> None:
        self.topic = topic
        self.slice_count = slice_count
        self.assignment = assignment
        self.refused = 0
        """Items that got no slice."""
        self._clock = clock
        self._sender = f"{socket.gethostname()}-{os.getpid()}"
        self._counting = Lock()
        self._next_id = 1

    def item(
        self, payload: Payload, sender: str, item_id: int | None, time: int | None
    ) -> tuple[int, Item]:
        """Return one item and its slice."""
        item = Item(
            sender or self._sender,
            self._take_ids(1) if item_id is None else _whole("id", item_id),
            self._now() if time is None else _whole("time", time),
            encode_payload(payload),
        )
        return self._slice_of(item, payload), item

    def table(self, payloads: Any, senders: Any, ids: Any, times: Any) -> Table:
        """Return many items as columns."""
        from evenflow.slices.publisher import columns  # noqa: PLC0415 - Arrow, for columns alone

        column = columns.payload_column(payloads)
        count = len(column)
        if ids is None:
            first = self._take_ids(count)
            ids = np.arange(first, first + count)
        if times is None:
            times = np.full(count, self._now())
        if isinstance(senders, str):
            senders = senders or self._sender
        table = columns.Table(
            columns.number_column("ids", ids),
            columns.number_column("times", times),
            columns.sender_column(senders, count),
            column,
        )
        for name in ("ids", "times", "senders"):
            check_length(name, getattr(table, name), count)
        return table

    def slices(self, table: Table, more: Mapping[str, Any]) -> Int32s:
        """Return the slices of many items; the assignment sees ``more`` columns too."""
        for name, column in more.items():
            check_length(f"field {name!r}", column, len(table))
        try:
            return self.assignment.assign_columns({**more, **table.fields()}, self.slice_count)
        except AssignmentError as error:
            raise self._refusal(error) from error.__cause__

    def slices_of_mappings(self, table: Table, payloads: Sequence[Payload]) -> Int32s:
        """Return the slices of many items whose payloads were given as mappings."""
        names = table.senders.to_pylist()
        rows = zip(names, table.ids.tolist(), table.times.tolist(), payloads, strict=True)
        slices = [
            self._slice_of(Item(name, item_id, time, b""), payload)
            for name, item_id, time, payload in rows
        ]
        return np.array(slices, np.int32)

    def _slice_of(self, item: Item, payload: Payload) -> int:
        fields = {"id": item.id, "sender": item.sender, "time": item.time}
        if isinstance(payload, Mapping):
            fields = {**payload, **fields}
        try:
            return self.assignment.assign(fields, self.slice_count)
        except AssignmentError as error:
            raise self._refusal(error) from error.__cause__

    def _refusal(self, error: AssignmentError) -> AssignmentError:
        with self._counting:
            self.refused += 1
        return AssignmentError(error.reason, topic=self.topic, sender=error.sender, id=error.id)

    def _take_ids(self, count: int) -> int:
        with self._counting:
            first = self._next_id
            self._next_id += count
        return first

    def _now(self) -> int:
        return int(self._clock.wall() * 1e6)


def _whole(name: str, value: Any) -> int:
    try:
        number = index(value)
    except TypeError:
        number = _LIMIT
    if not -_LIMIT <= number < _LIMIT:
        raise UsageError(f"{name} is {value!r}: give a whole number of 64 bits")
    return number


def check_length(name: str, column: Any, count: int) -> None:
    """Refuse a column that is not as long as the payloads."""
    if len(column) != count:
        raise UsageError(f"{name}: {len(column)} rows for {count} payloads; give one for each")


def encode_payload(payload: Payload) -> bytes:
    """Return the bytes that travel."""
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, Mapping):
        try:
            return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise UsageError(f"the payload cannot be written as JSON: {error}") from None
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise UsageError(f"a payload of type {type(payload).__name__}: give bytes, str or a mapping")
