"""Items as columns, on their way from a publisher's caller into batches.

The columns of many items are laid out exactly as a batch carries them, so a run of consecutive
items is a view that can be encoded without touching one of them.
"""

from __future__ import annotations

from typing import NamedTuple

from evenflow.model.batch import Int32s, Int64s


class Columns(NamedTuple):
    """Items in columns. Offsets have one entry more than there are items and start at 0."""

    ids: Int64s
    times: Int64s
    sender_offsets: Int32s
    senders: memoryview
    payload_offsets: Int32s
    payloads: memoryview

    def part(self, start: int, end: int) -> Columns:
        """The items ``start`` to ``end - 1``, sharing the bytes of the whole."""
        sender_offsets = self.sender_offsets[start : end + 1]
        payload_offsets = self.payload_offsets[start : end + 1]
        return Columns(
            self.ids[start:end],
            self.times[start:end],
            sender_offsets - sender_offsets[0],
            self.senders[sender_offsets[0] : sender_offsets[-1]],
            payload_offsets - payload_offsets[0],
            self.payloads[payload_offsets[0] : payload_offsets[-1]],
        )
