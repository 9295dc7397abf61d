"""A stable hash of a field: even whatever the values look like.

The hash is the same on every machine, in every run and in every release, so that all publishers
of a topic put one sender into one slice. It is defined by

- ``mix(n)``, the finalizer of SplitMix64, a bijection of 64-bit numbers;
- a whole number (modulo 2**64): ``mix(n)``;
- bytes, or a string as its UTF-8 bytes: ``mix(crc32(bytes) + 2**32 * length)``.

The slice is the hash modulo the slice count. Columns of numbers are hashed by NumPy at once;
columns of strings are hashed once for each distinct value (Arrow dictionary encoding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from evenflow.model.batch import Int32s
from evenflow.slices.assignment.base import (
    FieldColumns,
    Fields,
    assign_rows,
    clean_numbers,
    field_name,
    field_of,
    is_integer,
    refusal,
)

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_FIRST: Final = 0xBF58_476D_1CE4_E5B9
_SECOND: Final = 0x94D0_49BB_1331_11EB


def mix(number: int) -> int:
    """Spread a number over all 64 bits."""
    number &= _MASK
    number = (number ^ number >> 30) * _FIRST & _MASK
    number = (number ^ number >> 27) * _SECOND & _MASK
    return number ^ number >> 31


def mix_all(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread each number of an array."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(_FIRST)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(_SECOND)
    return numbers ^ numbers >> np.uint64(31)


def stable_hash(value: int | str | bytes) -> int:
    """Return the 64-bit hash of a whole number, a string or bytes."""
    if isinstance(value, str):
        value = value.encode(errors="surrogatepass")
    if isinstance(value, bytes):
        return mix(crc32(value) + (len(value) << 32))
    return mix(int(value))


@dataclass(frozen=True, slots=True)
class HashAssignment:
    """``hash:FIELD``."""

    field: str

    def assign(self, fields: Fields, slice_count: int) -> int:
        """Return the slice of one item."""
        value = field_of(fields, self.field)
        if not (isinstance(value, str | bytes) or is_integer(value)):
            raise refusal(
                fields,
                f"field {self.field!r} is {value!r}, not a whole number, a string or bytes;"
                " mend the item, or choose another field",
            )
        return stable_hash(value) % slice_count

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        column = columns.get(self.field)
        numbers = clean_numbers(column)
        if numbers is not None and numbers.dtype.kind != "f":
            wide = numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.uint64)
            return (mix_all(wide.view(np.uint64)) % np.uint64(slice_count)).astype(np.int32)
        words = _clean_words(column)
        if words is None:
            return assign_rows(self, columns, slice_count)
        slices = (_hash_words(words.dictionary) % np.uint64(slice_count)).astype(np.int32)
        found: Int32s = slices[words.indices.to_numpy()]
        return found


def parse_hash(argument: str) -> HashAssignment:
    """Make the assignment that ``hash:argument`` stands for."""
    return HashAssignment(field_name(argument, "hash:FIELD"))


def _hash_words(words: Any) -> npt.NDArray[np.uint64]:
    """The `stable_hash` of each word of an Arrow array; their checksums alone are made one by one.

    It is made for every table that is published, and a dictionary may have thousands of words.
    """
    octets = [word.encode() if isinstance(word, str) else word for word in words.to_pylist()]
    sums = np.array([crc32(word) for word in octets], np.uint64)
    lengths = np.array([len(word) for word in octets], np.uint64)
    return mix_all(sums + (lengths << np.uint64(32)))


def _clean_words(column: Any) -> Any:
    """Return a column of strings or bytes as an Arrow dictionary; None when it is anything else."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and needed for columns alone

    if isinstance(column, np.ndarray) and column.dtype.kind in "US" and column.ndim == 1:
        # Through a list, because Arrow would cut bytes at their first zero.
        column = pa.array(column.tolist(), pa.string() if column.dtype.kind == "U" else pa.binary())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array) or column.null_count:
        return None
    if not isinstance(column, pa.DictionaryArray):
        if not _is_words(column.type):
            return None
        column = column.dictionary_encode()
    words = column.dictionary
    return column if _is_words(words.type) and not words.null_count else None


def _is_words(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
        )
    )
