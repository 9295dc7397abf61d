"""``evenflow devices``: the devices that bridges serve."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.bridge.protocol.kinds import Role
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, number, print_table
from evenflow.domain.channels import DEVICE_COUNTS, DEVICES, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.model.messages import DeviceCounts, DeviceRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES = """\
  evenflow devices                     bridge, entities, messages, address
  evenflow devices --bridge b1         those of one bridge
  evenflow devices --json
"""
COLUMNS: Final = (
    "device", "bridge", Column("entities", 2), number("from it", 3), number("to it", 4),
    number("lost", 5), Column("address", 1),
)  # fmt: skip
LOOK_S: Final = 1.5
COUNTED: Final = ("received", "sent", "lost")
Counts = tuple[int, int, int]
"""Samples from a device, to it, and lost, in its session."""


@command("devices", examples=EXAMPLES)
@click.option("--bridge", metavar="NAME", help="those of this bridge only")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def devices(shared: Shared, *, bridge: str | None, as_json: bool) -> int:
    """List the devices on bridges, each with its entities."""
    config = shared.config()
    records: dict[tuple[str, str], DeviceRecord] = {}
    counts: dict[tuple[str, str], Counts] = {}

    def hear(message: Any) -> None:
        match message:
            case DeviceRecord():
                records[message.bridge, message.guid] = message
            case DeviceCounts():
                figures = zip(message.received, message.sent, message.lost, strict=True)
                for guid, some in zip(message.guids, figures, strict=True):
                    counts[message.bridge, guid] = some
            case Gone():
                records.pop(message.key, None)

    with Participant(config.domain) as participant:
        Listener(participant, [DEVICES, DEVICE_COUNTS], hear).listen(LOOK_S)
    rows = [
        as_row(record, counts.get((record.bridge, record.guid)))
        for record in newest(records.values())
        if bridge in (None, record.bridge)
    ]
    show(rows, as_json=as_json, by=f"by bridge {bridge}" if bridge else "in this domain")
    return 0


def newest(records: Iterable[DeviceRecord]) -> list[DeviceRecord]:
    """The record of each device that counts, by name."""
    found: dict[str, DeviceRecord] = {}
    for one in records:
        known = found.get(one.guid)
        if known is None or (one.run, one.session) > (known.run, known.session):
            found[one.guid] = one
    return sorted(found.values(), key=lambda one: (one.name, one.guid))


def as_row(record: DeviceRecord, counts: Counts | None) -> dict[str, Any]:
    """A device as the listing shows it; without counts where its bridge told none in time."""
    received, sent, lost = counts or (None, None, None)
    entities = zip(record.roles, record.reliable, record.topics, record.types, strict=True)
    return {
        "device": record.name,
        "guid": record.guid,
        "bridge": record.bridge,
        "session": record.session,
        "address": record.address,
        "heartbeat_ms": record.heartbeat_ms,
        "received": received,
        "sent": sent,
        "lost": lost,
        "entities": [
            {
                "role": _role(role),
                "topic": topic,
                "type": type_,
                "reliable": bool(reliable),
            }
            for role, reliable, topic, type_ in entities
        ],
    }


def _role(number: int) -> str:
    return Role(number).name.lower() if number in tuple(Role) else str(number)


def show(rows: list[dict[str, Any]], *, as_json: bool, by: str) -> None:
    """Print the listing."""
    if as_json:
        print(json.dumps({"devices": rows}, indent=2))
        return
    if not rows:
        print(f"no device is served {by}")
        return
    print_table(COLUMNS, [_cells(row) for row in rows])
    print(f"{len(rows):,} devices")


def _cells(row: dict[str, Any]) -> list[str]:
    entities = "\n".join(f"{one['role']} {one['topic']}" for one in row["entities"])
    counts = ["-" if row[key] is None else f"{row[key]:,}" for key in COUNTED]
    return [row["device"], row["bridge"], entities, *counts, row["address"]]
