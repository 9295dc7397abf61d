"""A dead letter: the item as it was, the reason, and one letter for each item."""

from __future__ import annotations

import pytest

from evenflow.errors import DecodeError
from evenflow.errors.telling import MOST_CHARACTERS
from evenflow.model.batch import Item
from evenflow.model.given_headers import given_headers
from evenflow.model.sample import Sample
from evenflow.slices.dead_letters.letter import (
    DeadLetter,
    decode_letter,
    encode_letter,
    letter_of,
    once,
)
from evenflow.testing.samples import encode_items

ITEM = Item("car-7", 12, 1_700_000_000_000_000, b"\x00\xff{", {"trace": b"\x01\xff"})


def letter(number: int = 5, *, error: str = "bad", tries: int = 6) -> DeadLetter:
    [batch] = Sample(encode_items(9, 1, 1, {3: (number, [ITEM])})).batches()
    return letter_of("items", batch, ValueError(error), tries=tries, node="n~1", at=4)


def test_it_brings_the_item_back_as_it_was_published() -> None:
    one = decode_letter(encode_letter(letter()))
    assert one.item == ITEM
    assert one.identity == ("items", "0000000000000009", 3, 5)
    assert (one.error, one.tries, one.node, one.at) == ("ValueError: bad", 6, "n~1", 4)


def test_a_letter_from_before_headers_is_read() -> None:
    plain = ITEM._replace(headers={})
    [batch] = Sample(encode_items(9, 1, 1, {3: (1, [plain])})).batches()
    old = encode_letter(letter_of("items", batch, ValueError(), tries=1, node="n", at=4))
    assert b"headers" not in old
    assert decode_letter(old).item == plain


def test_its_own_headers_say_why_and_where_from() -> None:
    assert letter().told() == {
        "evenflow.dead.topic": "items",
        "evenflow.dead.error": "ValueError: bad",
        "evenflow.dead.node": "n~1",
    }


def test_of_two_letters_of_an_item_one_counts() -> None:
    letters = [letter(5), letter(6), letter(5, tries=1)]
    assert list(once(letters)) == letters[:2]


def test_a_long_error_is_cut() -> None:
    assert len(letter(error="x" * 10_000).error) == MOST_CHARACTERS


def test_an_error_whose_text_no_letter_could_carry_is_told_all_the_same() -> None:
    one = letter(error="half a character: \udcff")
    assert decode_letter(encode_letter(one)).error == "ValueError: half a character: \\udcff"
    given_headers(one.told())


@pytest.mark.parametrize("payload", [b"", b"{}", b"\xff", encode_letter(letter())[:-9], b"[1]"])
def test_what_is_no_letter_is_refused(payload: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_letter(payload)


def test_a_payload_that_is_not_base64_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode_letter(encode_letter(letter()).replace(b'"payload":"', b'"payload":"*'))
