"""``evenflow gateways``: those that are there; draining one, giving one up."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.autonomic.execute.operator_order import order
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import number, print_table
from evenflow.cli.values import seconds
from evenflow.domain.channels import (
    GATEWAYS,
    PROPERTIES,
    Gone,
)
from evenflow.domain.cyclone import Participant
from evenflow.errors import DomainError, PlanError, UsageError, did_you_mean
from evenflow.mobile.gateway.shell.executors import DRAIN, FORGET
from evenflow.model.messages import GatewayReport, PropertyReport

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES = """\
  evenflow gateways                    nodes, items a second, addresses, outbox
  evenflow gateways drain g1           its nodes go elsewhere, it takes no more
  evenflow gateways drain g1 --off     it takes nodes again
  evenflow gateways forget g1          give it up: it will never return

Forget a gateway only when its disk is gone for good: the items that nodes had
sent it and that it had not confirmed are sent again, and may come twice. It
must not be started again under that name.
"""
COLUMNS: Final = (
    "gateway", number("nodes"), number("items/s", 2), number("cpu %", 3), number("outbox", 1),
    "addresses",
)  # fmt: skip
LOOK_S: Final = 1.0


@dataclass(slots=True)
class Seen:
    """What is known of the gateways of a domain."""

    reports: dict[str, GatewayReport] = field(default_factory=dict)
    properties: dict[str, dict[str, float]] = field(default_factory=dict)

    def take(self, messages: Iterable[Any]) -> None:
        """Take in what was heard."""
        for message in messages:
            match message:
                case GatewayReport():
                    self.reports[message.gateway] = message
                case PropertyReport():
                    values = dict(zip(message.names, message.values, strict=True))
                    self.properties[message.source] = values
                case Gone() if message.message_type is GatewayReport:
                    self.reports.pop(message.key[0], None)


@command("gateways", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["drain", "forget"]), required=False)
@click.argument("name", required=False)
@click.option("--off", is_flag=True, help="with drain: take nodes again")
@click.option("--within", metavar="TIME", type=seconds, default="10s", help="how long to try (10s)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def gateways(
    shared: Shared, *, action: str | None, name: str | None, off: bool, within: float,
    as_json: bool,
) -> int:  # fmt: skip
    """List the gateways; drain one, or give one up."""
    config = shared.config()
    if off and action != "drain":
        raise UsageError("--off belongs to drain: evenflow gateways drain NAME --off")
    if action and not name:
        raise UsageError(f"say which gateway: evenflow gateways {action} NAME")
    with Participant(config.domain) as participant:
        seen = look_around(participant)
        if action is None:
            show(seen, as_json=as_json)
        elif action == "drain":
            _drain(participant, seen, str(name), on=not off, within=within)
        else:
            _forget(participant, seen, str(name), within=within)
    return 0


def look_around(participant: Participant, patience_s: float = LOOK_S) -> Seen:
    """What the gateways of a domain say within a moment."""
    waiter = participant.waiter()
    readers = [participant.reader(GATEWAYS), participant.reader(PROPERTIES)]
    for reader in readers:
        waiter.attach(reader)
    seen, end = Seen(), time.monotonic() + patience_s
    while (left := end - time.monotonic()) > 0:
        waiter.wait(left)
        for reader in readers:
            seen.take(reader.take())
    return seen


def as_row(report: GatewayReport, properties: dict[str, float]) -> dict[str, Any]:
    """A gateway as the listing shows it."""
    return {
        "gateway": report.gateway,
        "nodes": report.nodes,
        "most_nodes": report.most_nodes,
        "items_s": round(properties.get("mobile_items_s", 0.0), 1),
        "cpu": round(properties.get("process_cpu", 0.0), 1),
        "outbox_items": int(properties.get("mobile_outbox_items", 0)),
        "draining": report.draining,
        "retiring": report.retiring,
        "host": report.host,
        "pid": report.pid,
        "addresses": list(report.addresses),
        "forgotten": list(report.forgotten),
    }


def show(seen: Seen, *, as_json: bool) -> None:
    """Print the listing."""
    rows = [
        as_row(report, seen.properties.get(name, {}))
        for name, report in sorted(seen.reports.items())
    ]
    forgotten = sorted({name for row in rows for name in row["forgotten"]})
    if as_json:
        print(json.dumps({"gateways": rows, "forgotten": forgotten}, indent=2))
        return
    if not rows:
        print("no gateway is running in this domain")
        return
    print_table(COLUMNS, [_cells(row) for row in rows])
    if forgotten:
        print(f"given up: {', '.join(forgotten)}")


def _cells(row: dict[str, Any]) -> list[str]:
    how = next((how for how in ("retiring", "draining") if row[how]), "")
    name = f"{row['gateway']} ({how})" if how else row["gateway"]
    figures = (f"{row['nodes']:,}", f"{row['items_s']:,.1f}", f"{row['cpu']:.0f}")
    return [name, *figures, f"{row['outbox_items']:,}", "\n".join(row["addresses"])]


def _drain(participant: Participant, seen: Seen, name: str, *, on: bool, within: float) -> None:
    report = seen.reports.get(name)
    if report is None:
        hint = did_you_mean(name, seen.reports)
        raise DomainError(f"gateway {name}", f"is not running in this domain{hint}")
    order(participant, name, DRAIN, {"on": on}, within)
    others = [one for one in seen.reports.values() if one.gateway != name and not one.draining]
    if not on:
        print(f"{name} takes nodes again")
    elif report.nodes and not others:
        print(f"{name} takes no new nodes; its {report.nodes} stay: no other gateway takes any")
    else:
        print(f"{name} takes no new nodes; {report.nodes} are told to go to other gateways")


def _forget(participant: Participant, seen: Seen, name: str, *, within: float) -> None:
    if name in seen.reports:
        raise PlanError(f"{name} is running: stop it first, or drain it; nothing is given up then")
    if not seen.reports:
        raise DomainError("forget", "no gateway is running that could remember it: start one")
    first = min(seen.reports)
    order(participant, first, FORGET, {"gateway": name}, within)
    print(f"{name} is given up; gateways tell one another, beginning with {first}")
