"""``evenflow devices``: the devices that bridges serve."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import rich_click as click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from evenflow.bridge.protocol.kinds import Role
from evenflow.cli.options import Shared, command
from evenflow.domain.channels import DEVICES, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.model.messages import DeviceRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES = """\
  evenflow devices                     name, bridge, entities, where it is
  evenflow devices --bridge b1         those of one bridge
  evenflow devices --json
"""
LOOK_S: Final = 1.5


@command("devices", examples=EXAMPLES)
@click.option("--bridge", metavar="NAME", help="those of this bridge only")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def devices(shared: Shared, *, bridge: str | None, as_json: bool) -> int:
    """List the devices on bridges, each with its entities."""
    config = shared.config()
    records: dict[tuple[str, str], DeviceRecord] = {}

    def hear(message: Any) -> None:
        if isinstance(message, DeviceRecord):
            records[message.bridge, message.guid] = message
        elif isinstance(message, Gone):
            records.pop(message.key, None)

    with Participant(config.domain) as participant:
        Listener(participant, [DEVICES], hear).listen(LOOK_S)
    rows = [row for row in map(as_row, newest(records.values())) if bridge in (None, row["bridge"])]
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


def as_row(record: DeviceRecord) -> dict[str, Any]:
    """A device as the listing shows it."""
    entities = zip(record.roles, record.reliable, record.topics, record.types, strict=True)
    return {
        "device": record.name,
        "guid": record.guid,
        "bridge": record.bridge,
        "session": record.session,
        "address": record.address,
        "heartbeat_ms": record.heartbeat_ms,
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
    table = Table("device", "bridge", "session", "entities", "address", box=SIMPLE)
    table.columns[-1].overflow = "fold"  # an address that is cut is of no use
    for row in rows:
        entities = "\n".join(f"{one['role']} {one['topic']}" for one in row["entities"])
        table.add_row(row["device"], row["bridge"], str(row["session"]), entities, row["address"])
    Console().print(table)
    print(f"{len(rows):,} devices")
