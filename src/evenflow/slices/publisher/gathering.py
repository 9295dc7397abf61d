"""Items that are accepted and not yet in a sample.

A single item is appended to a plain list, which is all that ``publish`` does with it; whoever takes
the items out works on whole columns from there. Items that came as tables wait beside them, in the
order in which everything came.
"""

from __future__ import annotations

from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from evenflow.model.batch import Int32s, Int64s, Item, offsets_of
from evenflow.model.headers import headers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenflow.model.headers import Headers
    from evenflow.model.item_headers import Pairs
    from evenflow.slices.publisher.columns import Table

    AssignColumns = Callable[[Mapping[str, Any]], Int32s]

T = TypeVar("T")

LATER = -1
"""The slice of an item that gets it with all the others."""
Row = tuple[bytes, str, int, int, int] | tuple[bytes, str, int, int, int, "Pairs"]
"""One item on its way into a sample: payload, sender, id, time, slice; and headers if it has some:
those without take no notice of them."""


class Columns(NamedTuple):
    """Items in columns. Offsets have one entry more than there are items and start at 0."""

    ids: Int64s
    times: Int64s
    sender_offsets: Int32s
    senders: bytes | memoryview
    payload_offsets: Int32s
    payloads: bytes | memoryview
    headers: Headers | None = None

    def part(self, start: int, end: int) -> Columns:
        """The items ``start`` to ``end - 1``, sharing the bytes of the whole."""
        if start == 0 and end == len(self.ids):
            return self
        sender_offsets = self.sender_offsets[start : end + 1]
        payload_offsets = self.payload_offsets[start : end + 1]
        return Columns(
            self.ids[start:end],
            self.times[start:end],
            sender_offsets - sender_offsets[0],
            memoryview(self.senders)[sender_offsets[0] : sender_offsets[-1]],
            payload_offsets - payload_offsets[0],
            memoryview(self.payloads)[payload_offsets[0] : payload_offsets[-1]],
            None if self.headers is None else self.headers.part(start, end),
        )


class Singles:
    """Items that came one by one."""

    __slots__ = ("_columns", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._columns: _Given | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def assigned(self, assign: AssignColumns) -> Int32s:
        """The slices of all items; those that have none yet get theirs."""
        given = self._given()
        if given.slices[0] == LATER:
            return assign({"id": given.ids, "sender": given.senders, "time": given.times})
        return np.array(given.slices, np.int32)

    def columns(self, order: Int64s) -> Columns:
        """The items in an order, as a sample carries them."""
        given = self._given()
        payloads = _picked(given.payloads, order)
        return Columns(
            given.ids[order],
            given.times[order],
            *_names(given.senders, order),
            offsets_of(list(map(len, payloads))),
            b"".join(payloads),
            None if given.headers is None else headers_of(_picked(given.headers, order)),
        )

    def table(self) -> Table:
        """The items as a table, to be joined with others."""
        from evenflow.slices.publisher import columns  # noqa: PLC0415 - Arrow, for tables alone

        given = self._given()
        return columns.Table(
            given.ids,
            given.times,
            columns.sender_column(given.senders, len(self)),
            columns.payload_column(given.payloads),
            None if given.headers is None else headers_of(given.headers),
        )

    def _given(self) -> _Given:
        """The items as columns, made once: no more come when they are asked for."""
        if self._columns is None:
            payloads, senders, ids, times, slices, *headers = _transposed(self.rows)
            numbers = np.array(ids, np.int64), np.array(times, np.int64)
            self._columns = _Given(payloads, senders, *numbers, slices, *headers)
        return self._columns


def _transposed(rows: list[Row]) -> Any:
    """Rows as columns; the last is there only if a row has headers."""
    try:
        return list(zip(*rows, strict=True))
    except ValueError:  # some have, and some have not
        return zip_longest(*rows)


class _Given(NamedTuple):
    """Single items as columns, in the order in which they came."""

    payloads: tuple[bytes, ...]
    senders: tuple[str, ...]
    ids: Int64s
    times: Int64s
    slices: tuple[int, ...]
    headers: tuple[Pairs | None, ...] | None = None
    """Of each item; None when no item has any."""


def _names(senders: tuple[str, ...], order: Int64s) -> tuple[Int32s, bytes]:
    """The offsets and the bytes of senders' names; mostly all items of a program have the same."""
    if senders.count(senders[0]) == len(senders):
        name, count = senders[0].encode(), len(senders)
        return np.arange(count + 1, dtype=np.int32) * np.int32(len(name)), name * count
    names = list(map(str.encode, _picked(senders, order)))
    return offsets_of(list(map(len, names))), b"".join(names)


def _picked(values: Sequence[T], order: Int64s) -> Sequence[T]:
    """Values in an order, picked in C."""
    if len(values) == 1:
        return values
    picked: Sequence[T] = itemgetter(*order.tolist())(values)
    return picked


class Gathering:
    """What waits to be put into samples."""

    __slots__ = ("_parts", "_singles", "count", "quiet_count", "quiet_size", "size")

    def __init__(self) -> None:
        self._singles = Singles()
        self._parts: list[tuple[Singles | Table, Int32s | None]] = []
        self.count = 0
        """Items."""
        self.size = 0
        """Bytes that they take, at most."""
        self.quiet_count = self.quiet_size = 0
        """Up to so many items and bytes, another item only waits: nothing has to be decided."""

    def offer(self, row: Row, size: int) -> bool:
        """Let one item wait, if that is all there is to do about it; see :meth:`append`."""
        size += self.size
        if self.count >= self.quiet_count or size > self.quiet_size:
            return False
        self._singles.rows.append(row)
        self.count += 1
        self.size = size
        return True

    def append(self, row: Row, size: int) -> None:
        """Let one item wait; its slice may be :data:`LATER`, that of all items or of none."""
        self._singles.rows.append(row)
        self.count += 1
        self.size += size

    def add(self, table: Table, slices: Int32s, size: int) -> None:
        """Let items wait that nobody changes any more."""
        if self._singles:
            self._parts.append((self._singles, None))
            self._singles = Singles()
        self._parts.append((table, slices))
        self.count += len(table)
        self.size += size

    def take_one(self) -> tuple[Item, int, Pairs] | None:
        """Take the item that waits, its slice and headers, if it is alone and came as one."""
        if self.count != 1 or not self._singles:
            return None
        singles, self._singles = self._singles, Singles()
        self._emptied()
        payload, sender, item_id, time, slice_id, *headers = singles.rows[0]
        return Item(sender, item_id, time, payload), slice_id, headers[0] if headers else ()

    def take(self, assign: AssignColumns) -> tuple[Singles | Table, Int32s]:
        """Take all items, in the order in which they came, and their slices."""
        parts, singles = self._parts, self._singles
        self._parts, self._singles = [], Singles()
        self._emptied()
        if not parts:
            return singles, singles.assigned(assign)
        if singles:
            parts.append((singles, None))
        tables = [part.table() if isinstance(part, Singles) else part for part, _ in parts]
        slices = [
            part.assigned(assign) if isinstance(part, Singles) else given for part, given in parts
        ]
        return tables[0].joined(tables), np.concatenate(slices)  # type: ignore[arg-type]

    def _emptied(self) -> None:
        self.count = self.size = self.quiet_count = self.quiet_size = 0

    def __bool__(self) -> bool:
        return self.count > 0
