"""The operator's book of tokens: which were issued, in a file beside the keys; never the tokens.

One line of JSON for each, so that issuing only appends.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

REGISTER: Final = "tokens.jsonl"


class Issued(msgspec.Struct, frozen=True):
    """A token that was issued."""

    id: str
    subject: str
    publish: tuple[str, ...]
    receive: bool
    send: bool
    issued: float
    expires: float


def note(folder: Path, token: Issued) -> None:
    """Add a token to the book."""
    path = folder / REGISTER
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(opened, "ab") as file:
            file.write(msgspec.json.encode(token) + b"\n")
    except OSError as error:
        raise StorageError(str(path), f"cannot be written: {error.strerror}") from None


def issued(folder: Path) -> list[Issued]:
    """Return all tokens that were issued, the oldest first."""
    path = folder / REGISTER
    try:
        lines = path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Issued) for line in lines if line]
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise StorageError(str(path), f"cannot be read: {error}") from None
