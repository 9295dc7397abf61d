"""``bridge --part rows``: memory, connections and messages, both modes side by side (section 5).

Tables 3 and 4 are the rows with one bridge, Figures 10 to 12 those with 500 devices, Figure 13 the
one with 20 bridges. Bridges, devices and a reader are real, in a network namespace of their own.

How is counted:

- *memory*: octets of one bridge's process that are its own (USS), the mean of all bridges, less
  what it had before the first device came; what it had is told beside it.
- *connections*: sessions of devices at bridges.
- *setup messages*: datagrams from the first CONNECT until all devices are served, at the bridges
  (both ways, heartbeats not counted) and from each device.
- *data, heartbeat and ring messages*: DDS messages for each round, in which every device publishes
  once; rounds are a second apart, or more where the machine is not fast enough. Data: samples that
  bridges wrote into the domain. Heartbeats: RTPS heartbeats of user entities, as they passed on the
  namespace's interface. Ring: reports and tables of bridges. Packets of RTPS are told beside them,
  and how many there were in a second in which nobody published.

The paper's heartbeats are periodic, of each entity to each node. Cyclone's writers send one when a
reader has not acknowledged, and liveliness is a matter of the process; so there are fewer here.
"""

from __future__ import annotations

import time
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from evenflow_experiments.bridge.baseline import C_DDSB, DDSB
from evenflow_experiments.bridge.stage import Stage
from evenflow_experiments.faults.hosts import require
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.bridge.stage import Look
    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

QUICK: Final = ((2, 50),)
FULL: Final = (*((1, devices) for devices in range(100, 501, 100)), (5, 500), (10, 500), (20, 500))
"""Bridges and devices."""
QUIET_S: Final = 5.0
ROUNDS: Final = 10
MOST_MORE_MEMORY: Final = 1.02
PAPER_KIB: Final = {
    DDSB: {100: 2_166, 200: 3_676, 300: 5_186, 400: 6_696, 500: 8_206},
    C_DDSB: {100: 2_279, 200: 3_789, 300: 5_299, 400: 6_809, 500: 8_319},
}
"""Table 3, in the paper's unit."""


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """Each mode with each size."""
    require()
    rows = []
    for bridges, devices in QUICK if given.quick else FULL:
        for mode in (DDSB, C_DDSB):
            progress(f"{mode}: {bridges} bridges, {devices} devices")
            with Stage(mode, bridges, devices) as stage:
                rows.append(row_of(stage, bridges, devices, 3 if given.quick else ROUNDS))
    return rows


def row_of(stage: Stage, bridges: int, devices: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Connect, wait, publish."""
    stage.connect(rounds)
    time.sleep(2.0)
    before = stage.look()
    sent = before.crowd["sent"]
    answers = before.crowd["received"] - sent.get("heartbeat", 0)
    time.sleep(QUIET_S)
    quiet = stage.look()
    stage.publish()
    after = stage.look()
    each = bridges if stage.mode == DDSB else 1
    return {
        "mode": stage.mode,
        "bridges": bridges,
        "devices": devices,
        "connections": sum(one["devices"] for one in before.bridges),
        "setup_messages": before.crowd["setup"] + answers,
        "device_messages": round(before.crowd["setup"] / devices, 2),
        "bridge_kib": round(_kib(before.bridges) - _kib(stage.empty)),
        "empty_kib": round(_kib(stage.empty)),
        "data_messages": round((_sum(after, "relayed") - _sum(quiet, "relayed")) / rounds),
        "heartbeat_messages": round(_rtps(quiet, after, "user_heartbeat") / rounds),
        "ring_messages": round((_sum(after, "ring_sent") - _sum(quiet, "ring_sent")) / rounds, 1),
        "rtps_packets": round(_rtps(quiet, after, "rtps") / rounds),
        "rtps_packets_quiet": round(_rtps(before, quiet, "rtps") / (quiet.at - before.at)),
        "paper_data_messages": devices * each,
        "paper_heartbeat_messages": devices * (bridges - 1) * each,
        "paper_kib": PAPER_KIB[stage.mode].get(devices) if bridges == 1 else None,
    }  # fmt: skip


def _kib(bridges: list[dict[str, Any]]) -> float:
    return fmean(one["kib"] for one in bridges)


def _sum(look: Look, what: str) -> int:
    return sum(one[what] for one in look.bridges)


def _rtps(begin: Look, end: Look, what: str) -> int:
    return end.packets.get(what, 0) - begin.packets.get(what, 0)


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the tables; return what should not be."""
    print_table(
        "Memory and connections",
        ["mode", "bridges", "devices", "connections", "setup messages", "of a device",
         "KiB of devices", "KiB before", "paper, memory"],
        [[row[key] for key in ("mode", "bridges", "devices", "connections", "setup_messages",
                               "device_messages", "bridge_kib", "empty_kib", "paper_kib")]
         for row in rows],
    )  # fmt: skip
    print_table(
        "DDS messages, for each time that every device publishes once",
        ["mode", "bridges", "devices", "data", "paper", "heartbeats", "paper", "ring",
         "RTPS packets", "a quiet second"],
        [[row[key] for key in ("mode", "bridges", "devices", "data_messages",
                               "paper_data_messages", "heartbeat_messages",
                               "paper_heartbeat_messages", "ring_messages", "rtps_packets",
                               "rtps_packets_quiet")]
         for row in rows],
    )  # fmt: skip
    return faults(rows)


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """What the figures should not be, in words."""
    wrong = []
    baseline = {(row["bridges"], row["devices"]): row for row in rows if row["mode"] == DDSB}
    for row in rows:
        where = f"{row['mode']}, {row['bridges']} bridges, {row['devices']} devices"
        each = row["bridges"] if row["mode"] == DDSB else 1
        if row["connections"] != row["devices"] * each:
            wrong.append(f"{where}: {row['connections']} connections")
        other = baseline.get((row["bridges"], row["devices"]))
        if row["mode"] == C_DDSB and other and row["bridges"] == 1:
            whole = row["bridge_kib"] + row["empty_kib"]
            most = MOST_MORE_MEMORY * (other["bridge_kib"] + other["empty_kib"])
            if whole > most:
                wrong.append(f"{where}: {whole} KiB, more than {most:.0f}")
    return wrong


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """Connections by bridges."""
    for mode in (DDSB, C_DDSB):
        own = [row for row in rows if row["mode"] == mode]
        axes.plot(
            [row["bridges"] for row in own], [row["connections"] for row in own], "o", label=mode
        )
    axes.set_xlabel("bridges")
    axes.set_ylabel("connections")
    axes.legend()


PART: Final = Part("rows", measure, show, draw)
