"""What the Python client refuses at once: a bridge would drop it without a word."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.device.evenflow_device import (
    ADOPT,
    ITEMS,
    PUBLISHER,
    REFUSED,
    Device,
    DeviceCore,
    Entity,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def device() -> Iterator[Device]:
    one = Device("d")
    yield one
    one.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "name"),
        ({"name": "ü" * 33}, "name"),
        ({"guid": b"short"}, "GUID"),
        ({"key": bytes(31)}, "key"),
        ({"heartbeat_ms": 50}, "heartbeat"),
        ({"heartbeat_ms": 60_001}, "heartbeat"),
        ({"run": (1 << 53) + 1}, "run"),
        ({"keep": 0}, "keep"),
    ],
)
def test_a_device_that_no_bridge_would_take(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Device(**({"name": "d"} | change))


@pytest.mark.parametrize(
    "line",
    ["T", "T()", "T(a u8", "T(a)", "T(a u8,)", "T(a  u8)", "T(a u7)", "T(a text256)", "(a u8)"],
)
def test_a_type_that_is_none(device: Device, line: str) -> None:
    with pytest.raises(ValueError, match="type"):
        device.publisher("t", line)


def test_an_entity_that_cannot_be(device: Device) -> None:
    device.items("t")
    with pytest.raises(ValueError, match="items of t"):
        device.items("t")
    for topic in ("", "t" * 129):
        with pytest.raises(ValueError, match="topic"):
            device.items(topic)


def entity(role: int, line: str, key: bytes = b"") -> Entity:
    return Entity(DeviceCore("d", 1, key=key), role, "t", line, 1)


@pytest.mark.parametrize("values", [(), (1,), (1, "a", 2), ("a", 1), (1, 2), (1, "a" * 9)])
def test_values_that_are_not_of_the_type(values: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="T"):
        entity(PUBLISHER, "T(a u8, b text8)").publish(*values)


def test_what_fits_into_no_datagram() -> None:
    texts = "T(a text, b text, c text, d text, e text)"
    with pytest.raises(ValueError, match="too large"):
        entity(PUBLISHER, texts).publish(*["x" * 255] * 5)
    for key, most in ((b"", 1_151), (bytes(32), 1_127)):
        items = entity(ITEMS, "", key)
        assert items.send(bytes(most))
        with pytest.raises(ValueError, match="too large"):
            items.send(bytes(most + 1))


def test_an_address_that_is_none_is_not_sent_to() -> None:
    core = DeviceCore("d", 1, direct=True)
    core.poll(0)
    address = b"10.0.0.1:70000"
    body = struct.pack(">BQQH", 4, 1, 0, 0) + bytes((len(address),)) + address
    header = struct.pack(">2sBBBB12sIH", b"EF", 1, REFUSED, 0, 0, core.guid, core.session, 0)
    core.receive(header + body, "bridge", 1)
    assert core.poll(1) == []


@pytest.mark.parametrize(("beyond", "taken"), [(1, True), (2, False), (0xFFFFFFFF, False)])
def test_a_device_counts_its_own_sessions(beyond: int, taken: bool) -> None:
    """A forged offer cannot take it to the end of the numbers."""
    core = DeviceCore("d", 7)
    core.poll(0)
    session = min(core.session + beyond, 0xFFFFFFFF)
    head = struct.pack(">3sBBB12sIH", b"EF\x01", ADOPT, 0, 0, core.guid, session, 0)
    core.receive(head + struct.pack(">QQB", 7, 1, 0) + b"\x02b1", ("bridge", 1), 10)
    assert core.serving is taken
