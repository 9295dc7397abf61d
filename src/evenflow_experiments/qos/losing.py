"""``qos --part loss``: the relay loses what equations 1 and 2 say, counted at the receiver.

Numbered packets go through a real relay. Rate and bursts are counted from the numbers that arrive,
not from what the relay says. Few packets are on their way at a time, so that no buffer overflows.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import ExperimentError
from evenflow.testing.loss.gilbert_elliott import GilbertElliott
from evenflow.testing.loss.relay import LossyRelay
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

MODELS: Final = ((0.01, 2.0), (0.05, 5.0), (0.1, 3.0), (0.2, 8.0))
PACKETS: Final = 1_000_000
QUICK_PACKETS: Final = 100_000
FLIGHT: Final = 200
"""Packets on their way at a time."""
TOLERANCE: Final = 0.05
PATIENCE_S: Final = 10.0


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """Send packets through a relay for each model."""
    packets = QUICK_PACKETS if given.quick else PACKETS
    rows = []
    for plr, abl in MODELS:
        lost, bursts = count_losses(GilbertElliott(plr, abl), packets)
        rows.append(
            {
                "plr": plr, "abl": abl, "packets": packets,
                "measured_plr": round(lost / packets, 6), "measured_abl": round(lost / bursts, 4),
            }
        )  # fmt: skip
        progress(f"{packets:,} packets at {plr:g} in bursts of {abl:g}: {lost:,} lost")
    return rows


def count_losses(model: GilbertElliott, packets: int) -> tuple[int, int]:
    """Packets lost and bursts of them, as the receiver sees it."""
    with _udp() as far, _udp() as near, LossyRelay(far.getsockname(), model, seed=2) as relay:
        lost = bursts = expected = 0
        for first in range(0, packets, FLIGHT):
            end = min(first + FLIGHT, packets)
            for number in range(first, end):
                near.sendto(b"%d" % number, relay.address)
            _wait_for(relay, end)
            for _ in range(end - expected - (relay.there.lost - lost)):
                number = int(far.recv(32))
                bursts += number > expected
                lost += number - expected
                expected = number + 1
        bursts += packets > expected
        lost += packets - expected
    if relay.refused:
        raise ExperimentError("qos", f"{relay.refused} packets could not be passed on")
    return lost, bursts


def _wait_for(relay: LossyRelay, packets: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while relay.there.packets < packets:
        if time.monotonic() > until:
            raise ExperimentError("qos", f"the relay saw {relay.there.packets} of {packets}")
        time.sleep(0)


def _udp() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    one.bind(("127.0.0.1", 0))
    one.settimeout(PATIENCE_S)
    return one


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the rows; say which are off."""
    print_table(
        "Loss in bursts through the relay (QoS adaptation, equations 1 and 2)",
        ["packets", "paper PLR", "PLR", "paper ABL", "ABL"],
        [
            [row["packets"], row["plr"], row["measured_plr"], row["abl"], row["measured_abl"]]
            for row in rows
        ],
    )
    return [
        f"{name} is {row[f'measured_{name}']:g} instead of {row[name]:g}"
        for row in rows
        for name in ("plr", "abl")
        if row["packets"] >= PACKETS
        and abs(row[f"measured_{name}"] - row[name]) > TOLERANCE * row[name]
    ]


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """What was measured over what was asked for."""
    for name, marker in (("plr", "o"), ("abl", "s")):
        ratios = [row[f"measured_{name}"] / row[name] for row in rows]
        axes.plot([row["plr"] for row in rows], ratios, marker, label=name.upper())
    axes.axhspan(1 - TOLERANCE, 1 + TOLERANCE, alpha=0.15)
    axes.set(xlabel="packet loss rate", ylabel="measured / asked for", title="Loss in bursts")
    axes.legend()


PART: Final = Part("loss", measure, show, draw)
