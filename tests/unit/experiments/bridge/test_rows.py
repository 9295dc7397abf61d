"""The figures of bridges: what is counted on the wire, and what the rows should not be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from evenflow_experiments.bridge.baseline import C_DDSB, DDSB
from evenflow_experiments.bridge.packets import ACKNACK, DATA, HEARTBEAT, count
from evenflow_experiments.bridge.rows import faults


def packet(payload: bytes, protocol: int = 17) -> bytes:
    """An IP packet."""
    header = bytearray(20)
    header[0], header[9] = 0x45, protocol
    return bytes(header) + bytes(8) + payload


def submessage(kind: int, writer: int, size: int = 20) -> bytes:
    """A submessage of a writer of this kind, little endian."""
    body = bytearray(size)
    body[11 if kind == DATA else 7] = writer
    return bytes((kind, 1)) + size.to_bytes(2, "little") + bytes(body)


def test_submessages_are_counted_by_kind_and_writer() -> None:
    counts: Counter[str] = Counter()
    rtps = b"RTPS" + bytes(16)
    user, built_in = 0x03, 0xC2
    count(packet(rtps + submessage(DATA, user) + submessage(HEARTBEAT, user)), counts)
    count(packet(rtps + submessage(DATA, built_in) + submessage(ACKNACK, built_in)), counts)
    count(packet(b"EF" + bytes(30)), counts)
    count(packet(rtps, protocol=6), counts)
    assert counts == {
        "udp": 3, "rtps": 2, "user_data": 1, "user_heartbeat": 1,
        "discovery_data": 1, "discovery_acknack": 1,
    }  # fmt: skip


@pytest.mark.parametrize("end", [0, 3, 10])
def test_what_is_cut_short_ends_the_count(end: int) -> None:
    counts: Counter[str] = Counter()
    count(packet(b"RTPS" + bytes(16) + submessage(DATA, 3)[:end]), counts)
    assert counts["rtps"] == 1


def row(mode: str, bridges: int, connections: int, kib: int) -> dict[str, Any]:
    return {
        "mode": mode, "bridges": bridges, "devices": 10, "connections": connections,
        "bridge_kib": kib, "empty_kib": 1_000,
    }  # fmt: skip


def test_what_the_figures_should_be() -> None:
    assert faults([row(DDSB, 2, 20, 100), row(C_DDSB, 2, 10, 300)]) == []
    assert faults([row(DDSB, 1, 10, 100), row(C_DDSB, 1, 10, 110)]) == []


def test_what_they_should_not_be() -> None:
    (many,) = faults([row(C_DDSB, 2, 20, 100)])
    assert "20 connections" in many
    (much,) = faults([row(DDSB, 1, 10, 100), row(C_DDSB, 1, 10, 200)])
    assert "1200 KiB" in much
