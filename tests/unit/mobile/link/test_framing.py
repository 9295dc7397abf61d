"""A stream of frames is read whole, in order, within its bounds, or is refused; nothing else."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.link import frames as f
from evenflow.mobile.link.connection import Limits
from evenflow.mobile.link.framing import FROM_GATEWAY, FROM_NODE, BadFrame, FrameReader, encode

from .samples import GATEWAY_FRAMES, NODE_FRAMES, mutated

SIDES = [(FROM_NODE, NODE_FRAMES), (FROM_GATEWAY, GATEWAY_FRAMES)]


def taken(reader: FrameReader) -> list[object]:
    found: list[object] = []
    while (frame := reader.next()) is not None:
        found.append(frame)
    return found


@pytest.mark.parametrize(("decoder", "samples"), SIDES)
@given(step=st.integers(1, 60), rng=st.randoms(use_true_random=False))
def test_a_stream_is_cut_into_its_frames_wherever_it_breaks(
    decoder: msgspec.msgpack.Decoder, samples: tuple, step: int, rng: random.Random
) -> None:
    sent = [rng.choice(samples) for _ in range(8)]
    stream = b"".join(map(encode, sent))
    reader, found = FrameReader(decoder, Limits()), []
    for at in range(0, len(stream), step):
        reader.feed(stream[at : at + step])
        found += taken(reader)
    assert found == sent
    assert reader.held_bytes == 0


@given(
    sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=30),
    step=st.integers(1, 2_000),
    rng=st.randoms(use_true_random=False),
)
def test_who_stops_when_it_is_full_holds_little_and_waits_for_nothing(
    sizes: list[int], step: int, rng: random.Random
) -> None:
    limits = Limits(received_bytes=1_000, frame_bytes=4_000, first_frame_bytes=4_000)
    sent = [f.Items("items", 1, (0,), (bytes(size),)) for size in sizes]
    stream = b"".join(map(encode, sent))
    reader, found, at = FrameReader(FROM_NODE, limits), [], 0
    while len(found) < len(sent):
        if reader.full:
            frame = reader.next()
            assert frame is not None, "full, and no frame to take: it would wait for ever"
            found.append(frame)
        elif at < len(stream):
            reader.feed(stream[at : at + step])
            at += step
        else:
            found += taken(reader)
        assert reader.held_bytes <= limits.received_bytes + limits.frame_bytes + 4 + step
        if rng.random() < 0.3 and (frame := reader.next()) is not None:
            found.append(frame)
    assert found == sent


def test_a_frame_that_is_too_large_is_refused_by_its_length_alone() -> None:
    reader = FrameReader(FROM_NODE, Limits(frame_bytes=100, first_frame_bytes=100))
    reader.feed(b"\x00\x00\x00\x65")
    with pytest.raises(BadFrame, match="101 bytes") as refused:
        reader.next()
    assert refused.value.oversized


def test_the_first_frame_has_a_bound_of_its_own() -> None:
    limits = Limits(frame_bytes=1_000, first_frame_bytes=100)
    large = f.Attributes({"text": "x" * 500})
    reader = FrameReader(FROM_NODE, limits)
    reader.feed(encode(large))
    with pytest.raises(BadFrame, match="at most 100"):
        reader.next()
    reader = FrameReader(FROM_NODE, limits)
    reader.feed(encode(f.Ping()) + encode(large))
    assert taken(reader) == [f.Ping(), large]


def test_what_is_larger_than_any_frame_is_not_sent() -> None:
    with pytest.raises(ValueError, match="at most"):
        encode(f.Items("items", 1, (0,), (bytes(f.MOST_FRAME),)))


@pytest.mark.parametrize(
    "content",
    [
        ["safe", "items", 1],  # a gateway's frame, from a node
        ["settle", "a name\n", "items"],
        ["settle", "gateway\n", "items"],
        ["settle", "g\0", "items"],
        ["settle", "g*", "items"],
        ["items", "items", 0, [1], [b""]],
        ["items", "items", 1, [], []],
        ["items", "items", 1, [1, 2], [b""]],
        ["items", "items", 1, [1 << 63], [b""]],
        ["items", "items", 1, [0] * 1_001, [b""] * 1_001],
        ["position", [91.0, 0.0]],
        ["position", [float("nan"), 0.0]],
        ["attributes", {"x": float("inf")}],
        ["attributes", {"x": [1]}],
        ["hello", "t", "n", "0123456789abcde\n", 1, {}, None, {}],
        ["hello", "t", "n"],
        [],
        {},
        "hello",
        None,
    ],
)
def test_a_frame_that_does_not_fit_is_refused(content: object) -> None:
    data = msgspec.msgpack.encode(content)
    reader = FrameReader(FROM_NODE, Limits())
    reader.feed(len(data).to_bytes(4, "big") + data)
    with pytest.raises(BadFrame) as refused:
        reader.next()
    assert not refused.value.oversized


@pytest.mark.parametrize(
    "content", [b"", b"\xc1", b"\x91" * 90_000, b"\x93\xa6settle\xa1\xff\xa1t"]
)
def test_bytes_that_are_no_message_are_refused(content: bytes) -> None:
    reader = FrameReader(FROM_NODE, Limits())
    reader.feed(len(content).to_bytes(4, "big") + content)
    with pytest.raises(BadFrame):
        reader.next()


@pytest.mark.parametrize(("decoder", "samples"), SIDES)
def test_random_and_mutated_frames_are_frames_or_are_refused(
    decoder: msgspec.msgpack.Decoder, samples: tuple
) -> None:
    """50,000 for each side: what comes out is a frame of that side, or BadFrame; memory is flat."""
    rng = random.Random(11)
    wires = [encode(frame) for frame in samples]
    kinds = tuple(type(frame) for frame in samples)
    outcomes = {"taken": 0, "refused": 0}
    limits = Limits(frame_bytes=10_000, first_frame_bytes=10_000)
    for number in range(50_000):
        original = rng.choice(wires)
        wire = rng.randbytes(rng.randrange(200)) if number % 5 == 0 else mutated(original, rng)
        reader = FrameReader(decoder, limits)
        reader.feed(wire)
        try:
            found = taken(reader)
        except BadFrame:
            outcomes["refused"] += 1
            continue
        assert all(isinstance(frame, kinds) for frame in found)
        outcomes["taken"] += 1
    assert min(outcomes.values()) > 1_000
