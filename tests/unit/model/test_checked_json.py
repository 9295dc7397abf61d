from __future__ import annotations

import msgspec
import pytest

from evenflow.errors import DecodeError
from evenflow.model.checked_json import CheckedJson, Whole, encode_json, fits


class Pair(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    count: Whole


PAIRS = CheckedJson("pair", Pair)


def test_reads_what_it_writes() -> None:
    assert PAIRS.decode(encode_json(Pair("a", 3))) == Pair("a", 3)
    assert PAIRS.convert({"name": "a", "count": 3}) == Pair("a", 3)


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\xff",
        b'{"name": "\xff", "count": 1}',
        b"[" * 100_000,
        b'{"name": "a"}',
        b'{"name": "a", "count": 1, "more": 1}',
        b'{"name": "a", "count": -1}',
        b'{"name": "a", "count": true}',
        b'{"name": "a", "count": 1.5}',
    ],
)
def test_what_does_not_fit_says_what_was_read_and_how_large_it_was(encoded: bytes) -> None:
    with pytest.raises(DecodeError, match="pair: ") as caught:
        PAIRS.decode(encoded)
    assert caught.value.size == len(encoded)


def test_what_others_have_read_is_checked_too() -> None:
    with pytest.raises(DecodeError, match="pair: "):
        PAIRS.convert({"name": "a", "count": "3"})


def test_numbers_have_64_bits() -> None:
    assert fits("count", (1 << 64) - 1) == (1 << 64) - 1
    with pytest.raises(DecodeError, match=r"count: .* 64 bits"):
        fits("count", 1 << 64)
