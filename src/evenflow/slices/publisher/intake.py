"""What callers give a publisher, made into items that have a slice.

Defaults are filled in (sender, id, time), payloads are encoded, wrong input is refused before
anything of the call is published, and items that get no slice are counted.

An error that depends on an item comes to the caller who gave it. So an assignment that may refuse
an item, because it looks into the payload or is a program's own, is asked at once. One that looks
at nothing but what every item has cannot refuse any: then single items get their slices later, all
that have gathered in one go, or, by their sender, from a table of the senders met before.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from operator import index
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import AssignmentError, UsageError
from evenflow.model.batch import Int32s, Item
from evenflow.model.given_headers import GivenHeaders, given_headers, pairs_bytes
from evenflow.model.payload import Payload, encode_payload
from evenflow.slices.assignment import HashAssignment, refuses_nothing
from evenflow.slices.publisher.gathering import LATER, Row

if TYPE_CHECKING:
    import numpy.typing as npt

    from evenflow.clock import Clock
    from evenflow.slices.assignment import Assignment
    from evenflow.slices.publisher.columns import Table

_LIMIT: Final = 1 << 63
_MOST_SENDERS: Final = 100_000
"""Senders whose slices are remembered."""


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
        self._wall = clock.wall
        self._sender = f"{socket.gethostname()}-{os.getpid()}"
        self._sender_bytes = _name_bytes(self._sender)
        self._counting = Lock()
        self._next_id = 1
        self._by_sender = assignment == HashAssignment("sender")
        self._known: dict[str, int] = {}
        """Slices of senders, when that is what the slice depends on."""
        self._later = LATER if refuses_nothing(assignment) else None

    def row(
        self,
        payload: Payload,
        sender: str,
        item_id: int | None,
        time: int | None,
        headers: GivenHeaders | None = None,
    ) -> tuple[Row, int]:
        """Return one item, whose slice may be ``LATER``, and the bytes of what varies in it."""
        if not sender:
            sender, name_bytes = self._sender, self._sender_bytes
        elif type(sender) is str and sender.isascii():
            name_bytes = len(sender)
        else:
            name_bytes = _name_bytes(sender)
        encoded = payload if type(payload) is bytes else encode_payload(payload)
        item_id = self._take_ids(1) if item_id is None else _whole("id", item_id)
        time = int(self._wall() * 1e6) if time is None else _whole("time", time)
        slice_id = self._known.get(sender) if self._by_sender else self._later
        if slice_id is None:
            slice_id = self._slice_of(Item(sender, item_id, time, encoded), payload)
            if self._by_sender:
                self._remember(sender, slice_id)
        size = name_bytes + len(encoded)
        if headers:
            pairs = given_headers(headers)
            return (encoded, sender, item_id, time, slice_id, pairs), size + pairs_bytes(pairs)
        return (encoded, sender, item_id, time, slice_id), size

    def _take_ids(self, count: int) -> int:
        """Give out ids for so many items; return the first."""
        with self._counting:
            first = self._next_id
            self._next_id = first + count
        return first

    def _remember(self, sender: str, slice_id: int) -> None:
        if len(self._known) >= _MOST_SENDERS:
            self._known.clear()
        self._known[sender] = slice_id

    def table(
        self, payloads: Any, senders: Any, ids: Any, times: Any, headers: Any = None
    ) -> Table:
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
            columns.header_column(headers, count),
        )
        for name in ("ids", "times", "senders"):
            check_length(name, getattr(table, name), count)
        return table

    def slices(self, table: Table, more: Mapping[str, Any]) -> Int32s:
        """Return the slices of many items; the assignment sees ``more`` columns too."""
        for name, column in more.items():
            check_length(f"field {name!r}", column, len(table))
        try:
            found = self.assignment.assign_columns({**more, **table.fields()}, self.slice_count)
            return self._checked(np.asarray(found), table)
        except AssignmentError as error:
            raise self._refusal(error) from error.__cause__

    def slices_of_columns(self, fields: Mapping[str, Any]) -> Int32s:
        """Return the slices of items that an assignment cannot refuse."""
        return self.assignment.assign_columns(fields, self.slice_count)

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
            found = self.assignment.assign(fields, self.slice_count)
        except AssignmentError as error:
            raise self._refusal(error) from error.__cause__
        if not 0 <= found < self.slice_count:
            raise self._refusal(self._no_slice(found, item.sender, item.id))
        return found

    def _checked(self, found: npt.NDArray[Any], table: Table) -> Int32s:
        """The slices that an assignment gave many items: a program's own may give anything."""
        if found.shape != (len(table),) or (found.size and found.dtype.kind not in "iu"):
            reason = f"{len(table)} items got {found.dtype} of shape {found.shape} for slices"
            raise AssignmentError(reason)
        wrong = (found < 0) | (found >= self.slice_count)
        if wrong.any():
            row = int(wrong.argmax())
            name = table.senders[row].as_py()
            raise self._no_slice(int(found[row]), name, int(table.ids[row]))
        return found.astype(np.int32, copy=False)

    def _no_slice(self, found: int, sender: str, item_id: int) -> AssignmentError:
        reason = f"the assignment gave {found}; slices are 0 to {self.slice_count - 1}"
        return AssignmentError(reason, sender=sender, id=item_id)

    def _refusal(self, error: AssignmentError) -> AssignmentError:
        with self._counting:
            self.refused += 1
        return AssignmentError(error.reason, topic=self.topic, sender=error.sender, id=error.id)

    def _now(self) -> int:
        return int(self._wall() * 1e6)


def _name_bytes(sender: Any) -> int:
    """The bytes of a sender's name; one that cannot travel is refused."""
    try:
        return len(str.encode(sender))
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"sender is {sender!r}: give a string ({error})") from None


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
