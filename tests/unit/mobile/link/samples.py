"""Frames of every kind, and what chance makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.mobile.link import frames as f

if TYPE_CHECKING:
    import random

NODE_FRAMES: Final = (
    f.Hello(
        "token", "car-1", "0123456789abcdef", 3, {"kind": "bus", "seats": 40.0}, (1.5, 2.5), {}
    ),
    f.Items("items", 1, (1_000, 2_000), (b"one", b"two" * 100)),
    f.Settle("gateway-1", "items"),
    f.Received("mailbox-1", 17),
    f.Attributes({"kind": "bus", "full": True}),
    f.Position((-22.9, -43.2)),
    f.Outcome("order", ok=True, reason="", milliseconds=12.5, in_flight=3),
    f.Ping(),
    f.Pong(),
    f.Bye("done", retry=False),
)
GATEWAY_FRAMES: Final = (
    f.Welcome("gateway-1", {"items": 7}, ("quic://h:1",), ("items",), 1 << 16, 5.0),
    f.Safe("items", 9),
    f.Settled("gateway-2", "items", 4),
    f.Alternatives(("tls://h:2", "quic://h:1")),
    f.Handover("order", ("quic://h:3",), 2.0),
    f.Message("mailbox-1", 5, 4, "ops", 1_000, "", b"payload"),
    f.Ping(),
    f.Pong(),
    f.Bye("done"),
)


def mutated(original: bytes, rng: random.Random) -> bytes:
    """Return bytes that were changed, cut, doubled, swapped or made up."""
    changed = bytearray(original)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(6):
            case 0 if changed:
                changed[at % len(changed)] = rng.randrange(256)
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = rng.randbytes(rng.randint(1, 20))
            case 3:
                del changed[at : at + rng.randint(1, 8)]
            case 4:
                changed[at:at] = changed[: rng.randint(0, 40)]
            case _:
                changed[at:] = rng.randbytes(len(changed) - at)
    return bytes(changed)
