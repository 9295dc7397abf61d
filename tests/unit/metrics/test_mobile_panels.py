"""What a gateway and a mailbox count can be seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from evenflow.metrics.catalogue import GATEWAY, MAILBOX
from evenflow.mobile.gateway.downlink import Downlink
from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.mobile.groups.groups import Groups
from evenflow.mobile.link.connection import Counts
from evenflow.mobile.mailbox.directory import Directory
from evenflow.mobile.mailbox.mailbox import Mailbox
from evenflow.model.messages import MailboxReport

if TYPE_CHECKING:
    from evenflow.metrics.panel import Panel


def shown(panel: Panel, thing: Any) -> dict[str, float]:
    return {one.name.removeprefix("evenflow_"): one.values(thing)[()] for one in panel.metrics}


def test_a_gateway_shows_what_it_passed_on_and_what_it_did_not_take() -> None:
    downlink = Downlink("north", None, GatewaySettings(), bool, [])  # type: ignore[arg-type]
    downlink.passed_on, downlink.given_back = 5, 2
    gateway = SimpleNamespace(
        nodes=1,
        items=2,
        uncommitted=3,
        core=SimpleNamespace(held=4, downlink=downlink),
        counts=(Counts(malformed=1, migrated=2), Counts(malformed=3)),
        revocations_not_noted=6,
    )
    found = shown(GATEWAY, gateway)
    assert (found["gateway_messages_total"], found["gateway_returned_messages_total"]) == (5, 2)
    assert found["gateway_malformed_connections_total"] == 4
    assert found["gateway_migrations_total"] == 2
    assert found["gateway_revocations_not_noted_total"] == 6


def test_a_mailbox_shows_what_it_did_not_note() -> None:
    mailbox = object.__new__(Mailbox)
    mailbox.report = MailboxReport("box", 1, 2, 0, 3, 4)
    directory, groups = Directory(1.0), Groups(())
    directory.note("no node is called so")
    groups.malformed = 7
    mailbox._core = SimpleNamespace(directory=directory, groups=groups)  # type: ignore[assignment]
    found = shown(MAILBOX, mailbox)
    assert (found["mailbox_messages"], found["mailbox_oldest_seconds"]) == (1, 0)
    assert found["mailbox_nodes_not_noted_total"] == 1
    assert found["mailbox_malformed_attributes_total"] == 7
