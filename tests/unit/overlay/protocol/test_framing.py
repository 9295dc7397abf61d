"""Frames survive everything that a damaged or malicious stream can bring."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.overlay.protocol.codec import LINK
from evenflow.overlay.protocol.framing import LARGEST_FRAME, Deframer, frame
from evenflow.overlay.protocol.messages import Heartbeat

from .samples import LINKS, mutated


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_a_stream_is_cut_into_its_frames_wherever_it_breaks(step: int, rng: random.Random) -> None:
    sent = [LINK.encode(rng.choice(LINKS)) for _ in range(5)]
    stream = b"".join(map(frame, sent))
    deframer, found = Deframer(), []
    for at in range(0, len(stream), step):
        found.extend(deframer.feed(stream[at : at + step]))
    assert found == sent


@pytest.mark.parametrize("length", [0, 4, LARGEST_FRAME + 1, 0xFFFFFFFF])
def test_a_frame_of_impossible_length_ends_the_stream(length: int) -> None:
    with pytest.raises(DecodeError, match=f"a frame of {length} bytes"):
        list(Deframer().feed(length.to_bytes(4, "little") + bytes(8)))


def test_what_does_not_fit_a_frame_is_not_framed() -> None:
    assert len(frame(bytes(LARGEST_FRAME - 4))) == LARGEST_FRAME + 4
    with pytest.raises(DecodeError, match="at most"):
        frame(bytes(LARGEST_FRAME - 3))


def test_the_checksum_is_that_of_the_content() -> None:
    content = LINK.encode(Heartbeat(3))
    assert frame(content)[4:8] == zlib.crc32(content).to_bytes(4, "little")


def test_mutated_frames_are_refused_and_do_no_harm() -> None:
    """100,000 damaged frames: none is taken for a message."""
    rng = random.Random(5)
    frames = [frame(LINK.encode(message)) for message in LINKS]
    taken = 0
    for _ in range(100_000):
        original = rng.choice(frames)
        changed = mutated(original, rng)
        try:
            found = list(Deframer().feed(changed))
        except DecodeError:
            continue
        taken += sum(frame(content) not in frames for content in found)
    assert taken == 0
