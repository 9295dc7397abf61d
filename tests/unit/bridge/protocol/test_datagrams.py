"""Datagrams: what is encoded is decoded, and nothing else is taken for one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bridge.protocol.strategies import bodies, guids, runs, sessions

from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.decoding import decode
from evenflow.bridge.protocol.encoding import encode
from evenflow.bridge.protocol.keys import is_genuine, seal, session_key
from evenflow.bridge.protocol.kinds import MOST_DATAGRAM
from evenflow.errors import DecodeError

GUID = bytes(range(12))
KEY = bytes(range(32))


@given(guids, sessions, st.integers(0, 65535), bodies)
def test_what_is_encoded_is_decoded(guid: bytes, session: int, number: int, body: dg.Body) -> None:
    data = encode(guid, session, number, body)
    assert len(data) <= MOST_DATAGRAM
    assert decode(data) == dg.Datagram(guid, session, number, body)


@given(guids, sessions, bodies, runs)
def test_a_sealed_one_has_its_counter(
    guid: bytes, session: int, body: dg.Body, counter: int
) -> None:
    data = seal(encode(guid, session, 0, body, sealed=True), KEY, counter)
    assert decode(data) == dg.Datagram(guid, session, 0, body, counter)
    assert is_genuine(data, KEY)


@given(st.binary(max_size=1300))
def test_noise_is_no_datagram(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(data)


@given(bodies, st.integers(0, 1 << 30))
def test_a_changed_one_is_a_datagram_or_refused(body: dg.Body, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        data = bytearray(encode(GUID, 1, 0, body))
        data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            found = decode(bytes(data))
        except DecodeError:
            continue
        assert encode(found.guid, found.session, found.number, found.body) == bytes(data)


@given(bodies, st.integers(0, 30))
def test_one_that_is_cut_or_longer_is_refused(body: dg.Body, cut: int) -> None:
    open_ended = isinstance(body, (dg.Data, dg.Item))
    data = encode(GUID, 1, 0, body)
    if not open_ended:
        with pytest.raises(DecodeError):
            decode(data + b"x")
    with pytest.raises(DecodeError):
        decode(data[: min(cut, 23)])


@given(bodies, st.data())
def test_every_bit_is_sealed(body: dg.Body, data: st.DataObject) -> None:
    sealed = bytearray(seal(encode(GUID, 1, 0, body, sealed=True), KEY, 9))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    assert not is_genuine(bytes(sealed), KEY)


def test_the_key_of_a_session_is_that_of_nothing_else() -> None:
    known = session_key(KEY, GUID, 1, 2, 3)
    others = [
        session_key(bytes(32), GUID, 1, 2, 3),
        session_key(KEY, bytes(12), 1, 2, 3),
        session_key(KEY, GUID, 2, 2, 3),
        session_key(KEY, GUID, 1, 3, 3),
        session_key(KEY, GUID, 1, 2, 4),
    ]
    assert known not in others
    assert len(known) == 32


def test_what_does_not_fit_is_refused_here() -> None:
    with pytest.raises(ValueError, match="at most 1200"):
        encode(GUID, 1, 0, dg.Data(0, 0, bytes(1300)))
    with pytest.raises(ValueError, match="GUID"):
        encode(b"short", 1, 0, dg.Bye())
