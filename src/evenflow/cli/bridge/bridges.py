"""``evenflow bridges``: those that are there, their ring; draining one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.autonomic.execute.operator_order import order
from evenflow.bridge.balancing.arcs_action import process_of
from evenflow.bridge.shell.executors import DRAIN
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import number, print_table
from evenflow.cli.values import seconds
from evenflow.domain.channels import ARCS, BRIDGES, PROPERTIES, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import DomainError, UsageError, did_you_mean
from evenflow.model.messages import ArcTable, BridgeReport, PropertyReport

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES = """\
  evenflow bridges                     devices, messages a second, CPU, address
  evenflow bridges ring                who follows whom on the circle
  evenflow bridges drain b1            its devices go to others
  evenflow bridges drain b1 --off      it takes devices again
  evenflow bridges --json
"""
COLUMNS: Final = (
    "bridge", number("devices"), number("messages/s", 2), number("cpu %", 3), number("refused", 1),
    "address",
)  # fmt: skip
RING_COLUMNS: Final = (
    "bridge", "predecessor", "successor", number("points", 2), number("arcs", 3),
    number("devices", 1),
)  # fmt: skip
LOOK_S: Final = 1.5


@dataclass(slots=True)
class Seen:
    """What is known of the bridges of a domain."""

    reports: dict[str, BridgeReport] = field(default_factory=dict)
    properties: dict[str, dict[str, float]] = field(default_factory=dict)
    tables: dict[str, ArcTable] = field(default_factory=dict)

    def take(self, message: Any) -> None:
        """Take in what was heard."""
        match message:
            case BridgeReport():
                self.reports[message.bridge] = message
            case ArcTable():
                self.tables[message.bridge] = message
            case PropertyReport():
                values = dict(zip(message.names, message.values, strict=True))
                self.properties[message.source] = values
            case Gone() if message.message_type is BridgeReport:
                self.reports.pop(message.key[0], None)

    @property
    def present(self) -> list[BridgeReport]:
        """The bridges that have not ended, by name."""
        return [one for _, one in sorted(self.reports.items()) if not one.leaving]


@command("bridges", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["ring", "drain"]), required=False)
@click.argument("name", required=False)
@click.option("--off", is_flag=True, help="with drain: take devices again")
@click.option("--within", metavar="TIME", type=seconds, default="10s", help="how long to try (10s)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def bridges(
    shared: Shared, *, action: str | None, name: str | None, off: bool, within: float,
    as_json: bool,
) -> int:  # fmt: skip
    """List the bridges and their ring; drain one."""
    config = shared.config()
    if off and action != "drain":
        raise UsageError("--off belongs to drain: evenflow bridges drain NAME --off")
    if (action == "drain") != bool(name):
        raise UsageError("drain, and nothing else, takes a bridge: evenflow bridges drain NAME")
    with Participant(config.domain) as participant:
        seen = Seen()
        Listener(participant, (BRIDGES, ARCS, PROPERTIES), seen.take).listen(LOOK_S)
        if action is None:
            show(seen, as_json=as_json)
        elif action == "ring":
            show_ring(seen, as_json=as_json)
        else:
            _drain(participant, seen, str(name), on=not off, within=within)
    return 0


def as_row(report: BridgeReport, properties: dict[str, float]) -> dict[str, Any]:
    """A bridge as the listing shows it."""
    return {
        "bridge": report.bridge,
        "devices": report.devices,
        "messages_s": round(properties.get("bridge_messages_s", 0.0), 1),
        "cpu": round(properties.get("process_cpu", 0.0), 1),
        "refused": int(properties.get("bridge_refused", 0)),
        "draining": not report.points,
        "host": report.host,
        "pid": report.pid,
        "addresses": list(report.addresses),
    }


def show(seen: Seen, *, as_json: bool) -> None:
    """Print the listing."""
    rows = [as_row(one, seen.properties.get(process_of(one.bridge), {})) for one in seen.present]
    if as_json:
        print(json.dumps({"bridges": rows}, indent=2))
        return
    if not rows:
        print("no bridge is running in this domain")
        return
    print_table(COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    name = f"{row['bridge']} (draining)" if row["draining"] else row["bridge"]
    figures = (f"{row['devices']:,}", f"{row['messages_s']:,.1f}", f"{row['cpu']:.0f}")
    return [name, *figures, f"{row['refused']:,}", "\n".join(row["addresses"])]


def ring_rows(reports: Iterable[BridgeReport]) -> list[dict[str, Any]]:
    """Bridges in the order of the circle, as far as they name one another."""
    left = {one.bridge: one for one in reports}
    rows = []
    name = min(left, default="")
    while left:
        report = left.pop(name, None) or left.pop(min(left))
        rows.append(
            {
                "bridge": report.bridge,
                "predecessor": report.predecessor,
                "successor": report.successor,
                "points": report.points,
                "devices": report.devices,
                "arcs": {
                    f"{end:016x}": count
                    for end, count in zip(report.arcs, report.arc_devices, strict=True)
                },
                "table": [report.table_term, report.table_number],
            }
        )
        name = report.successor
    return rows


def show_ring(seen: Seen, *, as_json: bool) -> None:
    """Print the ring."""
    rows = ring_rows(seen.present)
    newest = max(seen.tables.values(), key=lambda one: (one.term, one.number), default=None)
    given = (
        {
            f"{end:016x}": newest.bridges[taker]
            for end, taker in zip(newest.arcs, newest.takers, strict=True)
        }
        if newest
        else {}
    )
    if as_json:
        print(json.dumps({"ring": rows, "given_away": given}, indent=2))
        return
    if not rows:
        print("no bridge is running in this domain")
        return
    cells = [
        (
            row["bridge"],
            row["predecessor"] or "-",
            row["successor"] or "-",
            f"{row['points']}",
            f"{len(row['arcs'])}",
            f"{row['devices']:,}",
        )
        for row in rows
    ]
    print_table(RING_COLUMNS, cells)
    if given:
        print(f"{len(given)} arcs were given away by plans (--json names them)")


def _drain(participant: Participant, seen: Seen, name: str, *, on: bool, within: float) -> None:
    report = next((one for one in seen.present if one.bridge == name), None)
    if report is None:
        hint = did_you_mean(name, seen.reports)
        raise DomainError(f"bridge {name}", f"is not running in this domain{hint}")
    order(participant, process_of(name), DRAIN, {"on": on}, within)
    others = [one for one in seen.present if one.bridge != name and one.points]
    if not on:
        print(f"{name} takes devices again")
    elif report.devices and not others:
        print(f"{name} takes no new devices; its {report.devices} stay: no other bridge takes any")
    else:
        print(f"{name} takes no new devices; {report.devices} go to other bridges")
