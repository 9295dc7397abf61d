"""A simulated mailbox: its core, and the disk of :mod:`evenflow.testing.mail.models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.domain.channels import Gone
from evenflow.mobile.groups.groups import Groups
from evenflow.mobile.mailbox import actions
from evenflow.mobile.mailbox.core import MailboxCore
from evenflow.mobile.mailbox.delivery import Post
from evenflow.mobile.mailbox.settings import MailboxSettings
from evenflow.model.messages import Attachment, GatewayReport, Mail, SendRequest
from evenflow.testing.mail.models import SimDisk
from evenflow.testing.virtual_time import Process

if TYPE_CHECKING:
    from evenflow.testing.mobile.domain import SimDomain
    from evenflow.testing.virtual_time import VirtualTime

NAME = "m1~000001"
TICK_S = 0.25
LIFETIME_S = 1e6


class SimMailbox(Process):
    """The mailbox."""

    def __init__(self, time: VirtualTime, domain: SimDomain) -> None:
        Process.__init__(self, NAME)
        self._time = time
        self._domain = domain
        self._disk = SimDisk()
        self.core: MailboxCore | None = None
        self._requests = 0
        domain.join(self, self.tell, (GatewayReport, Attachment))

    def start(self) -> None:
        """Start it; what is on its disk goes on."""
        self.life += 1
        self.alive = True
        self.core = MailboxCore(NAME, MailboxSettings(), Groups(), self._disk.memory())
        self._tick()

    def kill(self) -> None:
        """``kill -9``: some of what it had not synced is gone."""
        self.alive = self.stopped = False
        self.core = None
        if self._time.random.random() < 0.5:
            self._disk.flush()
        self._disk.notes.clear()

    def _tick(self) -> None:
        self.tell(actions.Tick())
        if self.core is not None:
            self._domain.write(self, self.core.report())
        self._time.later(TICK_S, self._tick, self)

    def tell(self, event: Any) -> None:
        """Something happens to it."""
        if self.core is None or (
            isinstance(event, Gone) and event.message_type not in (GatewayReport, Attachment)
        ):
            return
        self._perform(self.core.handle(event, self._time.now, self._time.wall))
        if self.core is not None:
            self._perform(self.core.post(self._time.now))
        if self._time.random.random() < 0.3:
            self._disk.flush()

    def send(self, nodes: tuple[str, ...], payload: bytes) -> None:
        """Somebody sends a message; it is repeated while the mailbox is there."""
        if self.core is None or self.stopped:
            return
        self._requests += 1
        self.tell(SendRequest(7, self._requests, 0, NAME, nodes, "", "op", LIFETIME_S, payload))

    @property
    def unread(self) -> int:
        """Messages that are not had."""
        return 0 if self.core is None else self.core.letters.messages

    def sent_to(self, node: str) -> list[int]:
        """Numbers of all messages to a node that were ever held."""
        return [one.number for one in self._disk.kept if node in one.nodes]

    def _perform(self, done: list[Any]) -> None:
        for action in done:
            match action:
                case actions.Keep():
                    self._disk.letters[action.number] = action
                    self._disk.kept.append(action)
                    self.tell(actions.Kept(action.number))
                case Post():
                    self._post(action)
                case actions.Reply():
                    pass
                case _:
                    self._disk.notes.append(action)

    def _post(self, post: Post) -> None:
        letter = self._disk.letters.get(post.number)
        if letter is None:
            return
        numbers = (post.number,) * len(post.nodes)
        mail = Mail(
            NAME, post.nodes, numbers, post.previous, letter.sender, letter.group, letter.time,
            letter.expires, letter.payload,
        )  # fmt: skip
        self._domain.write(self, mail, post.gateway)
