from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.link.quic_retry import VALID_S, check_token, make_token

KEY, HERE, THERE = b"k" * 32, ("10.0.0.1", 5), ("10.0.0.1", 6)


def test_a_token_is_good_where_and_while_it_is() -> None:
    token = make_token(KEY, HERE, b"first", b"new-one", 100.0)
    assert check_token(KEY, HERE, token, 101.0) == (b"first", b"new-one")
    assert check_token(KEY, THERE, token, 101.0) is None
    assert check_token(b"other", HERE, token, 101.0) is None
    assert check_token(KEY, HERE, token, 100.0 + VALID_S + 1) is None
    assert check_token(KEY, HERE, token, 99.0) is None


@given(st.binary(max_size=80))
def test_whatever_else_is_none(token: bytes) -> None:
    assert check_token(KEY, HERE, token, 100.0) is None


@given(st.integers(0, 45), st.integers(1, 255))
def test_a_changed_token_is_none(at: int, change: int) -> None:
    token = bytearray(make_token(KEY, HERE, b"12345678", b"abcdefgh", 100.0))
    token[at % len(token)] ^= change
    assert check_token(KEY, HERE, bytes(token), 100.0) is None
