"""Headers: what goes in comes out, cut and joined in any way; what does not fit is refused."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.errors import DecodeError, UsageError
from evenflow.model.batch import Item
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.headers import (
    BLOCK_BYTES,
    Headers,
    check_headers,
    decode_headers,
    headers_of,
    joined_headers,
    repeated_headers,
)
from evenflow.model.item_headers import (
    MOST_HEADER_BYTES,
    MOST_HEADERS,
    MOST_NAME_BYTES,
    check_block,
    encode_pairs,
)
from evenflow.model.sample import Sample
from evenflow.testing.samples import encode_items

some_hundred = settings(max_examples=min(300, settings.default.max_examples))
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
MAP = st.just({}) | st.dictionaries(NAME, st.binary(max_size=9), max_size=5)
MAPS = st.lists(MAP, max_size=12)
Maps = list[dict[str, bytes]]


def columns(maps: Maps) -> Headers | None:
    return headers_of([given_headers(one) for one in maps])


def maps_of(headers: Headers | None, count: int) -> Maps:
    found: Maps = [{} for _ in range(count)]
    if headers is not None:
        check_headers(headers)
        assert decode_headers(headers.encode(), count).encode() == headers.encode()
        for row, one in headers.maps():
            found[row] = one
            assert headers.of(row) == one
    return found


@some_hundred
@given(MAPS)
def test_headers_come_back_as_they_were(maps: Maps) -> None:
    headers = columns(maps)
    assert maps_of(headers, len(maps)) == maps
    assert (headers is None) == (not any(maps))
    if headers is not None:
        sizes = [pairs_bytes(given_headers(one)) for one in maps]
        assert np.diff(headers.ends(len(maps))).tolist() == sizes
        assert len(headers.encode()) + 3 <= headers.octets == sum(sizes) + BLOCK_BYTES


@some_hundred
@given(MAPS, st.data())
def test_headers_are_cut_taken_and_joined(maps: Maps, data: st.DataObject) -> None:
    headers, count = columns(maps), len(maps)
    begin = data.draw(st.integers(0, count))
    end = data.draw(st.integers(begin, count))
    if headers is not None:
        part = headers.part(begin, end)
        assert maps_of(part, end - begin) == maps[begin:end]
        rows = data.draw(st.lists(st.integers(0, count - 1)))
        taken = headers.taken(np.array(rows, np.int64))
        assert maps_of(taken, len(rows)) == [maps[row] for row in rows]
    parts = [(columns(maps[a:b]), b - a) for a, b in ((0, begin), (begin, end), (end, count))]
    assert maps_of(joined_headers(parts), count) == maps


@some_hundred
@given(MAP, st.integers(0, 5))
def test_the_same_headers_for_all(one: dict[str, bytes], count: int) -> None:
    assert maps_of(repeated_headers(given_headers(one), count), count) == [one] * count


def test_no_headers_cost_nothing() -> None:
    items = [Item("s", number, 0, b"payload") for number in range(10)]
    plain = encode_items(1, 1, 1, {0: (1, items)})
    headed = encode_items(1, 1, 1, {0: (1, [items[0]._replace(headers={"a": b"b"}), *items[1:]])})
    assert Sample(plain).headers_at == 0
    assert len(headed) - len(plain) <= pairs_bytes(((b"a", b"b"),)) + BLOCK_BYTES + 3


def test_text_is_sent_as_utf_8_and_items_can_be_pickled() -> None:
    given_as = {"größe": "10 µm", "raw": bytearray(b"\0\xff"), "view": memoryview(b"v")}
    [item] = Sample(
        encode_items(1, 1, 1, {0: (1, [Item("s", 1, 1, b"", given_as)])})  # type: ignore[arg-type]
    ).rows
    expected = {"größe": "10 µm".encode(), "raw": b"\0\xff", "view": b"v"}
    assert item.headers == expected
    assert pickle.loads(pickle.dumps(item)) == item


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"": b"x"}, "the name of a header has 0 bytes"),
        ({"x" * (MOST_NAME_BYTES + 1): b""}, "has 256 bytes"),
        ({"\ud800": b""}, "give a string"),
        ({1: b""}, "the name of a header is 1"),
        ({"a": 1}, "header 'a' is of type int"),
        ({"a": None}, "header 'a' is of type NoneType"),
        ({"a": "\ud800"}, "header 'a' is no text"),
        ({str(n): b"" for n in range(MOST_HEADERS + 1)}, "65 headers: an item may have 64"),
        ({"a": bytes(MOST_HEADER_BYTES)}, "belongs into the payload"),
        ([("a", b"")], "headers of type list"),
    ],
)
def test_what_cannot_be_a_header_is_refused(wrong: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        given_headers(wrong)  # type: ignore[arg-type]


def of_pairs(rows: list[int], names: list[bytes], values: list[bytes]) -> Headers:
    ends = [np.cumsum([0, *map(len, words)]).astype(np.int32) for words in (names, values)]
    return Headers(np.array(rows, np.int32), ends[0], b"".join(names), ends[1], b"".join(values))


@pytest.mark.parametrize(
    "headers",
    [
        of_pairs([0, 0], [b"a", b"a"], [b"1", b"2"]),
        of_pairs([0, 0, 0], [b"a", b"b", b"a"], [b"1", b"2", b"3"]),
        of_pairs([1, 0], [b"a", b"b"], [b"1", b"2"]),
        of_pairs([3], [b"a"], [b"1"]),
        of_pairs([-1], [b"a"], [b"1"]),
        of_pairs([0], [b""], [b"1"]),
        of_pairs([0], [b"\xff"], [b"1"]),
        of_pairs([0, 1], [b"\xc3", b"\xbc"], [b"1", b"2"]),
        of_pairs([0], [b"a" * 256], [b"1"]),
        of_pairs([0], [b"a"], [bytes(MOST_HEADER_BYTES)]),
        of_pairs([0] * 65, [b"%d" % n for n in range(65)], [b""] * 65),
    ],
    ids=[
        "twice",
        "apart",
        "order",
        "row",
        "negative",
        "empty",
        "bytes",
        "character",
        "long",
        "large",
        "many",
    ],
)
def test_headers_that_nobody_may_send_are_refused(headers: Headers) -> None:
    with pytest.raises(DecodeError, match="headers"):
        decode_headers(headers.encode(), 3)


@given(MAPS.filter(any), st.integers(0, 1 << 32))
@some_hundred
def test_damage_is_refused_or_harmless(maps: Maps, seed: int) -> None:
    items = [Item("s", number, 0, b"p", one) for number, one in enumerate(maps)]
    encoded = bytearray(encode_items(1, 1, 1, {0: (1, items)}))
    sample, rng = Sample(bytes(encoded)), random.Random(seed)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(sample.headers_at, len(encoded))
        encoded[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    try:
        found = Sample(bytes(encoded))
    except DecodeError:
        return
    assert [item.payload for item in found.rows] == [b"p"] * len(maps)
    assert all(len(item.headers) <= MOST_HEADERS for item in found.rows)


# -- one item, without NumPy -----------------------------------------------------------------------


@given(st.dictionaries(NAME, st.binary(max_size=50), max_size=9))
@some_hundred
def test_one_item_has_the_same_block_by_itself(headers: dict[str, bytes]) -> None:
    pairs = tuple((name.encode(), value) for name, value in headers.items())
    columns = headers_of([pairs])
    block = encode_pairs(pairs)
    assert block == (b"" if columns is None else columns.encode())
    if block:
        check_block(block)


@given(st.dictionaries(NAME, st.binary(max_size=5), min_size=1, max_size=4), st.data())
@some_hundred
def test_one_item_is_refused_what_a_sample_of_it_is_refused(
    headers: dict[str, bytes], data: st.DataObject
) -> None:
    block = bytearray(encode_pairs(tuple((n.encode(), v) for n, v in headers.items())))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(block) - 1))
        block[at] ^= 1 << data.draw(st.integers(0, 7))
    if data.draw(st.booleans()):
        del block[data.draw(st.integers(0, len(block) - 1)) :]

    def is_refused(check: Callable[[], object]) -> bool:
        try:
            check()
        except DecodeError:
            return True
        return False

    by_columns = is_refused(lambda: decode_headers(bytes(block), 1))
    assert is_refused(lambda: check_block(bytes(block))) == by_columns
