"""RTPS on an interface: submessages counted as they pass, by kind.

A program for a network namespace of its own, in which nobody else sends::

    python -m evenflow_experiments.bridge.packets lo

It reads every packet of the interface (``AF_PACKET``, as root) and looks into those that begin with
``RTPS``. At every line of input it prints the counts so far, and ends with it.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections import Counter
from typing import Final

DATA, HEARTBEAT, ACKNACK = 0x15, 0x07, 0x06
KINDS: Final = {DATA: "data", HEARTBEAT: "heartbeat", ACKNACK: "acknack"}
_ALL: Final = 3
"""``ETH_P_ALL``."""
_ETHERNET: Final = 14
_UDP: Final = 17
_OUTGOING: Final = 4
"""On the loopback every packet passes twice; those that go out count."""
_RTPS_HEADER: Final = 20
_WRITER_KIND: Final = {DATA: 15, HEARTBEAT: 11, ACKNACK: 11}
"""Where the kind of the writer is, counted from the first octet of the submessage."""
_BUILT_IN: Final = 0xC0


def count(packet: bytes, counts: Counter[str]) -> None:
    """Count what is in an IP packet."""
    header = (packet[0] & 15) * 4
    if packet[9] != _UDP:
        return
    counts["udp"] += 1
    payload = packet[header + 8 :]
    if payload[:4] != b"RTPS":
        return
    counts["rtps"] += 1
    at = _RTPS_HEADER
    while at + 4 <= len(payload):
        kind, flags = payload[at], payload[at + 1]
        size = int.from_bytes(payload[at + 2 : at + 4], "little" if flags & 1 else "big")
        if kind in KINDS:
            place = at + _WRITER_KIND[kind]
            built_in = place < len(payload) and payload[place] & _BUILT_IN == _BUILT_IN
            counts[f"{'discovery' if built_in else 'user'}_{KINDS[kind]}"] += 1
        if size == 0:
            break
        at += 4 + size


def main(interface: str) -> None:
    """The program."""
    counts: Counter[str] = Counter()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        raw.bind((interface, 0))
        raw.setblocking(False)  # noqa: FBT003 - so it is called
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([raw, sys.stdin], [], [])
            if raw in ready:
                _drain(raw, counts)
            if sys.stdin in ready:
                if not sys.stdin.readline():
                    return
                print(json.dumps(counts), flush=True)


def _drain(raw: socket.socket, counts: Counter[str]) -> None:
    for _ in range(1_000):
        try:
            frame, where = raw.recvfrom(65_535)
        except BlockingIOError:
            return
        if where[2] == _OUTGOING and len(frame) > _ETHERNET + 28:
            count(frame[_ETHERNET:], counts)


if __name__ == "__main__":
    main(sys.argv[1])
