"""The mailbox: a :class:`~evenflow.mobile.mailbox.core.MailboxCore` on DDS and a disk.

One thread. It takes what has arrived, shows it to the core, writes down what is to be kept in one
synced transaction for all that came together, then answers and sends. So a reply is never ahead of
the disk, and the more is sent at once the less each message costs.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.config.section import NAME
from evenflow.domain.channels import (
    ATTACHMENTS,
    GATEWAYS,
    GROUP_MEMBERS,
    GROUP_REQUESTS,
    MAIL,
    MAIL_RECEIPTS,
    MAILBOXES,
    POSITIONS,
    SEND_REPLIES,
    SEND_REQUESTS,
    Gone,
    is_node,
)
from evenflow.domain.cyclone import Participant
from evenflow.errors import ConfigError, StorageError
from evenflow.mobile.groups.definition import definitions
from evenflow.mobile.groups.groups import Groups
from evenflow.mobile.mailbox.actions import (
    Forget,
    ForgetNodes,
    Keep,
    Kept,
    NoteHad,
    NoteNodes,
    NotKept,
    NotPosted,
    Reply,
    Tick,
)
from evenflow.mobile.mailbox.core import MailboxCore
from evenflow.mobile.mailbox.delivery import Post
from evenflow.mobile.mailbox.disk import MailDisk
from evenflow.mobile.mailbox.records import KnownNode
from evenflow.mobile.mailbox.settings import MailboxSettings
from evenflow.model.messages import GatewayReport, SendReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenflow.domain.cyclone import Writer
    from evenflow.mobile.mailbox.actions import Action
    from evenflow.model.messages import MailboxReport

_LOG = logging.getLogger(__name__)

TICK_S: Final = 0.25
"""How often it looks at the clock when nothing arrives."""
REPORT_S: Final = 0.5
"""How soon it tells of changes."""
HEARTBEAT_S: Final = 5.0
"""How often it says that it is there when nothing changes."""
FLUSH_S: Final = 0.2
"""How soon it writes down what was had."""
NODES_S: Final = 10.0
"""How often it writes down what is known of nodes: those that move change all the time."""
TAKE: Final = 64
"""Requests in one transaction, at the most: each may be large."""


class Mailbox(Closing):
    """A mailbox of a domain.

    Args:
        name: Its name; its folder is called so.
        config: The configuration.
        participant: The process's place in the domain; None: one of its own.

    Raises:
        ConfigError: The name will not do, or a group of the configuration is faulty.
        StorageError: Its folder is in use, or cannot be used.
        DomainError: It cannot enter the domain.
    """

    def __init__(
        self, name: str, *, config: Config | None = None, participant: Participant | None = None
    ) -> None:
        if not re.fullmatch(NAME, name):
            raise ConfigError(
                "mailbox.name", name, "must be a letter, then letters, digits, _ or -"
            )
        self.config = Config.of(config)
        groups = Groups(definitions(self.config.mobile_groups))
        self.error: BaseException | None = None
        """Why it stopped, when it did not stop by request."""
        with ExitStack() as opened:
            self._disk = opened.enter_context(MailDisk(self.config.mail_folder / name, name))
            self.id = self._disk.id
            settings = MailboxSettings.from_config(self.config.mailbox)
            self._core = MailboxCore(self.id, settings, groups, self._disk.load())
            self._participant = participant or opened.enter_context(Participant(self.config.domain))
            self._join()
            self._opened = opened.pop_all()
        self._mail: dict[str, Writer] = {}
        self._changed: set[str] = set()
        self._next_flush = self._next_report = self._next_heartbeat = 0.0
        self._next_nodes = time.monotonic() + NODES_S
        self.report = self._core.report()
        """What it last told of itself."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name=f"mailbox {name}", daemon=True)
        self._thread.start()

    def _join(self) -> None:
        """Open what it hears and tells by."""
        self._waiter = self._participant.waiter()
        channels = ((GATEWAYS, ()), (ATTACHMENTS, ()), (POSITIONS, ()), (MAIL_RECEIPTS, (self.id,)))
        self._readers = [self._participant.reader(one, where) for one, where in channels]
        self._requests = [
            self._participant.reader(one, (self.id,)) for one in (GROUP_REQUESTS, SEND_REQUESTS)
        ]
        for reader in (*self._readers, *self._requests):
            self._waiter.attach(reader)
        self._replies = self._participant.writer(SEND_REPLIES)
        self._members = self._participant.writer(GROUP_MEMBERS)
        self._reports = self._participant.writer(MAILBOXES)

    # -- the surface ------------------------------------------------------------------------------

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; False when the time was up."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Write down what is noted, and leave the domain."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._waiter.wake()
        self._thread.join()
        self._note_nodes()
        self._opened.close()

    def sensors(self) -> dict[str, Callable[[], float]]:
        """What it counts, for its monitors."""
        return {
            "mail_messages": lambda: self.report.messages,
            "mail_nodes": lambda: self.report.waiting,
            "mail_bytes": lambda: self.report.octets,
            "mail_oldest_s": lambda: _age(self.report),
        }

    @property
    def nodes_not_noted(self) -> int:
        """Times that a node was not noted: there are too many, or none can be called so."""
        return self._core.directory.not_noted

    @property
    def malformed_attributes(self) -> int:
        """Attributes of nodes that could not be read."""
        return self._core.groups.malformed

    # -- the loop ---------------------------------------------------------------------------------

    def _guarded(self) -> None:
        """A thread must not die unseen: whatever ends it ends the mailbox."""
        try:
            while not self._stopping.is_set():
                wait = min(self._core.timer - time.monotonic(), TICK_S)
                self._waiter.wait(max(wait, 0.0))
                self._turn()
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the mailbox
            _LOG.exception("mailbox %s ends", self.id)
            self.error = error

    def _turn(self) -> None:
        """Take what has arrived, let the core decide, do what it says."""
        now, wall = time.monotonic(), time.time()
        actions: list[Action] = []
        for message in self._taken():
            actions += self._core.handle(message, now, wall)
        actions += self._core.handle(Tick(), now, wall)
        self._perform(actions, now, wall)
        self._perform(self._core.post(now), now, wall)
        self._flush(now)
        self._tell(now)

    def _flush(self, now: float) -> None:
        if now < self._next_flush:
            return
        self._next_flush = now + FLUSH_S
        if now >= self._next_nodes:
            self._next_nodes = now + NODES_S
            self._note_nodes()
        if not self._disk.flush():
            _LOG.warning("mailbox %s: the disk takes no notes; trying again", self.id)

    def _taken(self) -> Iterable[Any]:
        for reader in self._readers:
            for message in reader.take():
                if isinstance(message, Gone) and message.message_type is GatewayReport:
                    self._hang_up(message.key[0])
                yield message
        for reader in self._requests:
            yield from reader.take(TAKE)

    def _perform(self, actions: Sequence[Action], now: float, wall: float) -> None:
        keeps = [action for action in actions if isinstance(action, Keep)]
        for action in actions:
            if not isinstance(action, Keep):
                self._do(action, now, wall)
        if keeps:
            self._perform(self._kept(keeps, now, wall), now, wall)

    def _kept(self, keeps: list[Keep], now: float, wall: float) -> list[Action]:
        newest = keeps[-1].number
        try:
            self._disk.keep(keeps)
        except StorageError as error:
            _LOG.warning("mailbox %s refuses %d messages: %s", self.id, len(keeps), error)
            return self._core.handle(NotKept(newest, str(error)), now, wall)
        return self._core.handle(Kept(newest), now, wall)

    def _do(self, action: Action, now: float, wall: float) -> None:
        match action:
            case Post():
                if not self._post(action):
                    self._perform(self._core.handle(NotPosted(action), now, wall), now, wall)
            case Reply(message):
                writer = self._replies if isinstance(message, SendReply) else self._members
                writer.write(message)
            case Forget(numbers):
                self._disk.forget(numbers)
            case NoteHad(node, number):
                self._disk.note_had(node, number)
            case NoteNodes(nodes):
                self._changed.update(nodes)
            case ForgetNodes(nodes):
                self._changed.difference_update(nodes)
                self._disk.forget_nodes(nodes)

    def _post(self, post: Post) -> bool:
        """Write a letter to a gateway; False when it cannot be written now."""
        if not is_node(post.gateway):
            return False
        writer = self._mail.get(post.gateway)
        if writer is None:
            writer = self._mail[post.gateway] = self._participant.writer(MAIL, post.gateway)
        mail = self._disk.mail(self.id, post)
        return mail is None or (writer.matched() > 0 and writer.write(mail))

    def _hang_up(self, gateway: str) -> None:
        writer = self._mail.pop(gateway, None)
        if writer is not None:
            writer.close()

    def _note_nodes(self) -> None:
        groups = self._core.groups
        for name in self._changed:
            node = self._core.directory.find(name)
            if node is not None:
                self._disk.note_node(
                    KnownNode(
                        name, node.had, node.seen, groups.attributes(name), groups.places.get(name)
                    )
                )
        self._changed.clear()

    def _tell(self, now: float) -> None:
        report = self._core.report()
        changed = report != self.report and now >= self._next_report
        if changed or now >= self._next_heartbeat:
            self.report = report
            self._next_report, self._next_heartbeat = now + REPORT_S, now + HEARTBEAT_S
            self._reports.write(report)


def _age(report: MailboxReport) -> float:
    """Seconds since the oldest message was sent."""
    return max(0.0, time.time() - report.oldest / 1e6) if report.oldest else 0.0
