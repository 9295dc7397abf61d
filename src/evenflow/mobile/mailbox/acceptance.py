"""Which requests are refused, and who the recipients of the others are.

A group is what it is when the message is sent: who joins it later does not get the message, and
who leaves it does. A node for which too much waits is left out of a group, and the reply says so; a
message to such a node alone is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

from evenflow.domain.channels import is_node
from evenflow.errors import EvenflowError, UnknownName
from evenflow.mobile.mailbox.letters import cost_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.mobile.groups.groups import Groups
    from evenflow.mobile.mailbox.directory import Directory
    from evenflow.mobile.mailbox.letters import Letters, MobileNode
    from evenflow.mobile.mailbox.settings import MailboxSettings
    from evenflow.model.messages import SendRequest

EVERYBODY: Final = "*"
"""The group of all nodes that are known."""
MOST_NAMED: Final = 10_000
"""Nodes that one request may name; a group may have more."""
MOST_SENDER: Final = 1_000
"""Characters of a sender's name, as frames have it."""
_SHOWN: Final = 5


class Refused(EvenflowError):
    """A request that a mailbox does not take; the text says why."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that a mailbox takes."""

    recipients: tuple[MobileNode, ...]
    cost: int
    remark: str
    """What the sender should know; empty: nothing."""


class Acceptance:
    """Looks at requests."""

    def __init__(
        self, settings: MailboxSettings, directory: Directory, groups: Groups, letters: Letters
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._groups = groups
        self._letters = letters

    def look_at(self, request: SendRequest, wall: float) -> Accepted:
        """Accept a request, or raise `Refused`."""
        self._check(request)
        names = self._names(request, wall)
        if not names:
            raise Refused(f"group {request.group!r} has no members now")
        nodes, full = self._with_room(names)
        if not nodes:
            raise Refused(
                f"{self._settings.node_messages} messages wait already for {_some(full)}"
                " (mailbox.node_messages)"
            )
        cost = cost_of(len(request.payload), (node.name for node in nodes))
        if self._letters.octets + cost > self._settings.octets:
            raise Refused(
                f"the mailbox is full: {self._letters.octets} of {self._settings.octets} bytes"
                " (mailbox.bytes)"
            )
        return Accepted(tuple(nodes), cost, self._remark(request, nodes, full))

    def members(self, group: str, wall: float) -> list[str]:
        """The nodes of a group now; `UnknownName` when there is none of this name."""
        if group == EVERYBODY:
            around = self._directory.is_around
            return [node.name for node in self._directory if around(node, wall)]
        found = self._groups.members(group)
        listed = next(one.members for one in self._groups.definitions if one.name == group)
        return sorted(name for name in found if name in listed or self._is_around(name, wall))

    def _is_around(self, name: str, wall: float) -> bool:
        node = self._directory.find(name)
        return node is not None and self._directory.is_around(node, wall)

    def _check(self, request: SendRequest) -> None:
        if bool(request.nodes) == bool(request.group):
            raise Refused("it must name either nodes or a group")
        most = self._settings.payload_octets
        if len(request.payload) > most:
            raise Refused(
                f"{len(request.payload)} bytes are more than {most} (mailbox.payload_bytes)"
            )
        if not isfinite(request.lifetime_s) or request.lifetime_s <= 0:
            raise Refused(f"a lifetime of {request.lifetime_s:g} s makes no sense")
        if len(request.sender) > MOST_SENDER:
            raise Refused(f"the sender's name is longer than {MOST_SENDER} characters")
        if len(request.nodes) > MOST_NAMED:
            raise Refused(f"it names more than {MOST_NAMED} nodes: make a group of them")
        odd = [name for name in request.nodes if not is_node(name)]
        if odd:
            raise Refused(f"no node can be called {odd[0]!r}")

    def _names(self, request: SendRequest, wall: float) -> Iterable[str]:
        if not request.group:
            return dict.fromkeys(request.nodes)
        try:
            return self.members(request.group, wall)
        except UnknownName as error:
            raise Refused(str(error)) from None

    def _with_room(self, names: Iterable[str]) -> tuple[list[MobileNode], list[str]]:
        nodes, full = [], []
        for name in names:
            node = self._directory.note(name)
            if node is None or len(node.queue) + node.staged >= self._settings.node_messages:
                full.append(name)
            else:
                nodes.append(node)
        return nodes, full

    def _remark(self, request: SendRequest, nodes: list[MobileNode], full: list[str]) -> str:
        remarks = []
        if request.lifetime_s > self._settings.longest_s:
            remarks.append(f"expires after {self._settings.longest_s:g} s (mailbox.longest_s)")
        if full:
            remarks.append(
                f"left out: {_some(full)}, for whom {self._settings.node_messages} messages wait"
            )
        strange = [node.name for node in nodes if not (node.seen or node.places)]
        if strange:
            remarks.append(f"never seen here: {_some(strange)}")
        return "; ".join(remarks)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
