"""A dead letter: an item that an application could not process, with the reason, as JSON.

It is an item of the topic ``TOPIC.dead`` under the sender, id and time of the item itself. What is
in it names the item for good: topic, slice, writer and number. A node that dies after it has put an
item aside and before that counts as committed leaves it to another node, which may put it aside
again; so of letters that name the same item, one counts (:func:`once`).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.errors import DecodeError
from evenflow.errors.telling import error_text
from evenflow.model.batch import Item
from evenflow.model.ids import WriterId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.model.batch import Batch

TOPIC: Final = "evenflow.dead.topic"
ERROR: Final = "evenflow.dead.error"
NODE: Final = "evenflow.dead.node"
"""Headers of a letter."""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item, where it was, and why it could not be processed."""

    topic: str
    slice: int
    writer: str
    """16 hexadecimal digits."""
    number: int
    sender: str
    id: int
    time: int
    """Microseconds since 1970."""
    payload: str
    """Base64."""
    error: str
    tries: int
    """How often the application failed on it alone."""
    node: str
    """Where."""
    at: int
    """When it was put aside, in microseconds since 1970."""
    headers: dict[str, str] = {}
    """Base64, by name."""

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """What names the item: topic, writer, slice, number."""
        return self.topic, self.writer, self.slice, self.number

    @property
    def item(self) -> Item:
        """The item as it was published."""
        headers = {name: base64.b64decode(value) for name, value in self.headers.items()}
        return Item(self.sender, self.id, self.time, base64.b64decode(self.payload), headers)

    def told(self) -> dict[str, str]:
        """What its own headers say: why, and where the item is from, without a look inside."""
        return {TOPIC: self.topic, ERROR: self.error, NODE: self.node}


_DECODER: Final = msgspec.json.Decoder(DeadLetter)


def letter_of(
    topic: str, batch: Batch, error: BaseException, *, tries: int, node: str, at: int
) -> DeadLetter:
    """What is put aside of a batch of one item."""
    [item] = batch
    return DeadLetter(
        topic=topic,
        slice=batch.slice,
        writer=WriterId.text(batch.writer),
        number=batch.first,
        sender=item.sender,
        id=item.id,
        time=item.time,
        payload=base64.b64encode(item.payload).decode(),
        error=error_text(error),
        tries=tries,
        node=node,
        at=at,
        headers={name: base64.b64encode(value).decode() for name, value in item.headers.items()},
    )


def encode_letter(letter: DeadLetter) -> bytes:
    """A letter as the payload of an item."""
    return msgspec.json.encode(letter)


def decode_letter(payload: bytes) -> DeadLetter:
    """The letter in a payload; `DecodeError` when there is none."""
    try:
        letter = _DECODER.decode(payload)
        for encoded in (letter.payload, *letter.headers.values()):
            base64.b64decode(encoded, validate=True)
    except (msgspec.DecodeError, ValueError) as error:
        raise DecodeError(f"no dead letter: {error}") from None
    return letter


def once(letters: Iterable[DeadLetter]) -> Iterator[DeadLetter]:
    """Letters without those of items of which there was one before."""
    seen = set()
    for letter in letters:
        if letter.identity not in seen:
            seen.add(letter.identity)
            yield letter
