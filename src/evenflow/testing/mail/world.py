"""A mailbox, its gateways and nodes and a messenger in one process, under random schedules.

The cores of mailbox and messenger are the real ones. Disk, gateways and nodes are models of what
``docs/mobile.md`` says of them. Every message may be late, lost or repeated, in any order; nodes
move, gateways die, the mailbox is killed and started again, and loses what it had not synced.

What has to hold is in :mod:`~evenflow.testing.mail.checks`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from evenflow.domain.channels import Gone
from evenflow.mobile.groups.groups import Groups
from evenflow.mobile.mailbox import actions as mailbox_actions
from evenflow.mobile.mailbox.actions import Keep, Kept, NotKept, NotPosted
from evenflow.mobile.mailbox.core import MailboxCore
from evenflow.mobile.mailbox.delivery import Post
from evenflow.mobile.messenger import core as messenger_core
from evenflow.mobile.messenger.core import Message, MessengerCore
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    MailboxReport,
    MailReceipt,
    SendReply,
    SendRequest,
)
from evenflow.testing.mail.checks import check_books
from evenflow.testing.mail.models import WALL, SimDisk, SimGateway, SimNode

if TYPE_CHECKING:
    from random import Random

    from evenflow.mobile.mailbox.settings import MailboxSettings

MAILBOX = "m1~000001"
FOREVER_S = 1e6
TICK_S = 0.05


class MailWorld:
    """Everything, under virtual time."""

    def __init__(
        self, rng: Random, *, nodes: int = 4, gateways: int = 3, settings: MailboxSettings
    ) -> None:
        self.rng = rng
        self.now = 0.0
        self.settings = settings
        self.disk = SimDisk()
        self.nodes = {name: SimNode(name) for name in (f"car-{n}" for n in range(nodes))}
        self.gateways = {name: SimGateway(name) for name in (f"gw-{n}" for n in range(gateways))}
        self.messenger = MessengerCore(rng.getrandbits(64), "dispatch")
        self.results: dict[int, Any] = {}
        self.tickets: dict[int, Message] = {}
        self.disk_is_full = False
        self.calm = False
        """Whether nothing is lost, late or repeated any more."""
        self.core: MailboxCore | None = None
        self.lives: list[MailboxCore] = []
        """The mailbox's former ones."""
        self._air: list[tuple[float, int, str, Any]] = []
        self._sequence = 0
        self._in_order: dict[Any, float] = {}
        self.start_mailbox()
        for gateway in self.gateways.values():
            self._to_mailbox(self._report(gateway), key=gateway.name)

    @property
    def wall(self) -> float:
        """The time of day."""
        return WALL + self.now

    def some_node(self) -> str:
        """Any node."""
        return self.rng.choice(list(self.nodes))

    def some_gateway(self) -> str:
        """Any gateway."""
        return self.rng.choice(list(self.gateways))

    # -- what may happen --------------------------------------------------------------------------

    def send(self, nodes: tuple[str, ...], group: str, lifetime_s: float) -> None:
        """Somebody sends a message."""
        ticket = len(self.tickets) + 1
        message = Message(f"{ticket}".encode(), nodes, group, lifetime_s)
        self.tickets[ticket] = message
        self._messenger(messenger_core.Submit(ticket, message, self.now + 60.0))

    def attach(self, name: str, gateway: str) -> None:
        """A node connects to a gateway; its old one finds out by and by."""
        node = self.nodes[name]
        if not self.gateways[gateway].alive:
            return
        old, node.gateway = node.gateway, gateway
        node.connection += 1
        self.gateways[gateway].attached[name] = node.connection
        self.gateways[gateway].held.pop(name, None)
        self._announce(gateway, name, attached=True)
        # What the node has is told to the mailbox with the Hello.
        self._to_mailbox(MailReceipt(MAILBOX, gateway, (name,), (node.received,), ()))
        if old and old != gateway:
            self._later(old, ("leave", name, node.connection))

    def detach(self, name: str) -> None:
        """A node loses its connection."""
        node = self.nodes[name]
        old, node.gateway = node.gateway, ""
        if old:
            self._later(old, ("leave", name, node.connection + 1))

    def kill_gateway(self, name: str) -> None:
        """A gateway dies with all that it holds."""
        gateway = self.gateways[name]
        if not gateway.alive:
            return
        gateway.alive = False
        for node in self.nodes.values():
            if node.gateway == name:
                node.gateway = ""
        attached, gateway.attached, gateway.held = list(gateway.attached), {}, {}
        self._to_mailbox(Gone(GatewayReport, (name,)), key=name)
        for one in attached:
            self._to_mailbox(Gone(Attachment, (name, one)), key=(name, one))

    def start_gateway(self, name: str) -> None:
        """A gateway is there again."""
        gateway = self.gateways[name]
        gateway.alive = True
        self._to_mailbox(self._report(gateway), key=name)

    def kill_mailbox(self) -> None:
        """``kill -9``: what was not flushed is lost, or a part of it."""
        assert self.core is not None
        self.lives.append(self.core)
        self.core = None
        if self.rng.random() < 0.5:
            self.disk.flush()
        self.disk.notes.clear()
        # What was written to it, or by it, goes with its reader and its writer; states are kept.
        self._air = [one for one in self._air if not isinstance(one[3], SendRequest | SendReply)]
        heapq.heapify(self._air)
        self._messenger(Gone(MailboxReport, (MAILBOX,)))

    def start_mailbox(self) -> None:
        """The mailbox is there again, with what is on its disk."""
        if self.core is not None:
            return
        self.core = MailboxCore(MAILBOX, self.settings, Groups(), self.disk.memory())
        self._messenger(self.core.report())
        for gateway in self.gateways.values():
            if gateway.alive:
                self._to_mailbox(self._report(gateway), key=gateway.name)
                for name in gateway.attached:
                    self._announce(gateway.name, name, attached=True)

    def advance(self, seconds: float) -> None:
        """Let time pass; everything that is due happens."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + TICK_S)
            while self._air and self._air[0][0] <= self.now:
                _, _, to, what = heapq.heappop(self._air)
                self._arrive(to, what)
            self._messenger(messenger_core.Tick())
            self._mailbox(mailbox_actions.Tick())
            check_books(self)

    def heal(self) -> None:
        """All come back, nothing is lost any more; then wait until everything has arrived."""
        self.calm = True
        self.disk_is_full = False
        self.start_mailbox()
        for name in self.gateways:
            if not self.gateways[name].alive:
                self.start_gateway(name)
        for name, node in self.nodes.items():
            if not node.gateway:
                self.attach(name, self.rng.choice(list(self.gateways)))
        self.advance(1.0)
        deadline = self.now + 4 * self.settings.longest_pause_s + 120.0
        while self.now < deadline and not self._is_quiet():
            self.advance(1.0)

    def _is_quiet(self) -> bool:
        assert self.core is not None
        waiting = self.messenger.unanswered or len(self.core.letters)
        return not waiting and not self._air

    # -- between them -----------------------------------------------------------------------------

    def _arrive(self, to: str, what: Any) -> None:
        if to == "mailbox":
            self._mailbox(what)
        elif to == "messenger":
            self._messenger(what)
        else:
            self._gateway(self.gateways[to], what)

    def _mailbox(self, event: Any) -> None:
        if self.core is None:
            return
        self._perform(self.core.handle(event, self.now, self.wall))
        if self.core is not None:
            self._perform(self.core.post(self.now))
        if self.rng.random() < 0.3:
            self.disk.flush()

    def _perform(self, actions: list[Any]) -> None:
        for action in actions:
            if self.core is None:  # killed while it was at it
                return
            match action:
                case Keep():
                    self._keep(self.core, action)
                case Post():
                    if not self.calm and self.rng.random() < 0.05:
                        self._perform(self.core.handle(NotPosted(action), self.now, self.wall))
                    else:
                        self._later(action.gateway, action)
                case mailbox_actions.Reply(message):
                    self._later("messenger", message)
                case _:
                    self.disk.notes.append(action)

    def _keep(self, core: MailboxCore, keep: Keep) -> None:
        if self.disk_is_full:
            refused = NotKept(keep.number, "the disk is full")
            self._perform(core.handle(refused, self.now, self.wall))
            return
        self.disk.letters[keep.number] = keep
        self.disk.kept.append(keep)
        if not self.calm and self.rng.random() < 0.02:
            self.kill_mailbox()  # between the disk and the answer
            return
        self._perform(core.handle(Kept(keep.number), self.now, self.wall))

    def _messenger(self, event: Any) -> None:
        failed = False
        for action in self.messenger.handle(event, self.now):
            match action:
                case messenger_core.Write(request):
                    failed = failed or (not self.calm and self.rng.random() < 0.05)
                    if failed:
                        self.messenger.handle(messenger_core.NotWritten(request.number), self.now)
                    else:
                        self._to_mailbox(request)
                case messenger_core.Done(ticket, result):
                    assert ticket not in self.results
                    self.results[ticket] = result

    def _gateway(self, gateway: SimGateway, what: Any) -> None:
        if not gateway.alive:
            return
        match what:
            case Post():
                self._take_in(gateway, what)
            case ("leave", name, connection):
                if gateway.attached.get(name, connection) < connection:
                    del gateway.attached[name]
                    gateway.held.pop(name, None)
                    self._announce(gateway.name, name, attached=False)
            case ("give", name):
                self._give(gateway, name)

    def _take_in(self, gateway: SimGateway, post: Post) -> None:
        letter = self.disk.letters.get(post.number)
        if letter is None:
            return
        returned = []
        for name, previous in zip(post.nodes, post.previous, strict=True):
            held = gateway.held.setdefault(name, {})
            has_room = len(held) < gateway.most or post.number in held
            follows = previous in held or previous <= self.nodes[name].received
            if name in gateway.attached and has_room and follows:
                held[post.number] = (previous, letter.expires, letter.payload)
                self._later(gateway.name, ("give", name))
            else:
                returned.append(name)
        if returned:
            self._to_mailbox(MailReceipt(MAILBOX, gateway.name, (), (), tuple(returned)))

    def _give(self, gateway: SimGateway, name: str) -> None:
        """Give a node what is held for it, as far as the connection lasts."""
        node = self.nodes[name]
        held = gateway.held.get(name, {})
        connected = node.gateway == gateway.name
        if not connected or gateway.attached.get(name) != node.connection:
            return
        for number in sorted(held):
            if not self.calm and self.rng.random() < 0.1:
                return
            previous, expires, payload = held[number]
            if expires > self.wall * 1e6:
                node.take(number, previous, payload)
            if expires <= self.wall * 1e6 or number <= node.received:
                del held[number]
        receipt = MailReceipt(MAILBOX, gateway.name, (name,), (node.received,), ())
        self._to_mailbox(receipt)

    def _announce(self, gateway: str, name: str, *, attached: bool) -> None:
        connection = self.gateways[gateway].attached.get(name, 0)
        said = Attachment(gateway, name, connection, attached, "{}", self.wall)
        self._to_mailbox(said, key=(gateway, name))

    @staticmethod
    def _report(gateway: SimGateway) -> GatewayReport:
        return GatewayReport(gateway.name, (), len(gateway.attached), 100, False, ())  # noqa: FBT003

    def _to_mailbox(self, message: Any, key: Any = None) -> None:
        self._later("mailbox", message, key)

    def _later(self, to: str, what: Any, key: Any = None) -> None:
        """Send; states (with a key) arrive in order and are not lost, all else may be."""
        if key is None and not self.calm:
            if self.rng.random() < 0.1:
                return
            if self.rng.random() < 0.1:
                self._put(self.now + self.rng.expovariate(0.5), to, what)
        when = self.now + (0.001 if self.calm else self.rng.expovariate(10.0))
        if key is not None:
            when = self._in_order[key] = max(when, self._in_order.get(key, 0.0) + 1e-6)
        self._put(when, to, what)

    def _put(self, when: float, to: str, what: Any) -> None:
        self._sequence += 1
        heapq.heappush(self._air, (when, self._sequence, to, what))
