"""The mailbox's core: messages of the domain in, actions out.

``handle(event, now, wall)``: ``now`` is a clock that never jumps and decides on pauses; ``wall`` is
the time of day and decides what has expired, because that has to hold across restarts.

The way of a message: a request is looked at (:mod:`~.acceptance`), gets its number, and is to be
kept (:class:`~.actions.Keep`). When the shell says it is on disk, it enters the queues of its nodes
and the request is answered, in this order and never before. Then :mod:`~.delivery` has it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.channels import Gone
from evenflow.errors import UnknownName
from evenflow.mobile.mailbox.acceptance import Acceptance, Refused
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
from evenflow.mobile.mailbox.delivery import Delivery
from evenflow.mobile.mailbox.directory import Directory
from evenflow.mobile.mailbox.letters import Letter, Letters
from evenflow.mobile.mailbox.sources import Answer, Sources, Verdict
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    GroupMembers,
    GroupRequest,
    MailboxReport,
    MailReceipt,
    Positions,
    SendReply,
    SendRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.mobile.groups.groups import Groups
    from evenflow.mobile.mailbox.actions import Action
    from evenflow.mobile.mailbox.letters import MobileNode
    from evenflow.mobile.mailbox.records import Memory
    from evenflow.mobile.mailbox.settings import MailboxSettings

HOUSEKEEPING_S: Final = 60.0
"""How often nodes that are long gone are looked for."""


class MailboxCore:
    """Holds and delivers messages to mobile nodes.

    Args:
        mailbox: Its id, new for each disk.
        settings: Bounds, windows and pauses.
        groups: The groups of the configuration.
        memory: What was on disk.
    """

    def __init__(
        self, mailbox: str, settings: MailboxSettings, groups: Groups, memory: Memory
    ) -> None:
        self.id = mailbox
        self.groups = groups
        self.settings = settings
        self.letters = Letters()
        self.directory = Directory(settings.remember_s)
        self.delivery = Delivery(settings, self.letters)
        self.impossible = 0
        """Receipts of letters that were never sent."""
        self.refused = 0
        """Requests that were refused."""
        self._acceptance = Acceptance(settings, self.directory, groups, self.letters)
        self._sources = Sources()
        self._number = memory.newest
        self._staged: OrderedDict[int, tuple[SendRequest, Letter, str]] = OrderedDict()
        self._next_housekeeping = 0.0
        self._actions: list[Action] = []
        self._handlers: dict[type[Any], Callable[[Any, float, float], None]] = {
            SendRequest: self._on_request,
            Kept: self._on_kept,
            NotKept: self._on_not_kept,
            NotPosted: self._on_not_posted,
            MailReceipt: self._on_receipt,
            Attachment: self._on_attachment,
            GatewayReport: self._on_gateway,
            Positions: self._on_positions,
            GroupRequest: self._on_group_request,
            Gone: self._on_gone,
            Tick: self._on_tick,
        }
        self._recover(memory)

    def handle(self, event: Any, now: float, wall: float) -> list[Action]:
        """Take in an event; return what is to be done."""
        self._handlers[type(event)](event, now, wall)
        return self._take_actions()

    def post(self, now: float) -> list[Action]:
        """Send what may be sent; after a batch of events, so that nodes share letters."""
        self._actions.extend(self.delivery.post(now))
        return self._take_actions()

    @property
    def timer(self) -> float:
        """When a `Tick` has something to do, by the clock that never jumps."""
        return self.delivery.timer

    def report(self) -> MailboxReport:
        """What there is to say about this mailbox."""
        letters = self.letters
        return MailboxReport(
            self.id, letters.messages, letters.waiting, letters.oldest, letters.octets,
            self.settings.octets,
        )  # fmt: skip

    # -- sending ----------------------------------------------------------------------------------

    def _on_request(self, request: SendRequest, now: float, wall: float) -> None:
        del now
        verdict = self._sources.judge(request)
        if verdict is Verdict.REPEATED:
            answer = self._sources.answer_to(request.source, request.number)
            if answer is not None:
                self._reply(request, answer)
        elif verdict is Verdict.NEW:
            try:
                self._stage(request, wall)
            except Refused as refusal:
                self._refuse(request, str(refusal))

    def _stage(self, request: SendRequest, wall: float) -> None:
        accepted = self._acceptance.look_at(request, wall)
        self._number += 1
        time = int(wall * 1e6)
        expires = time + int(min(request.lifetime_s, self.settings.longest_s) * 1e6)
        size = len(request.payload)
        letter = Letter(self._number, time, expires, size, accepted.recipients)
        self.letters.octets += accepted.cost
        for node in letter.recipients:
            node.staged += 1
        self._staged[letter.number] = (request, letter, accepted.remark)
        names = tuple(node.name for node in accepted.recipients)
        self._actions.append(
            Keep(
                letter.number, request.source, request.number, request.sender, request.group,
                time, expires, names, request.payload,
            )
        )  # fmt: skip

    def _on_kept(self, kept: Kept, now: float, wall: float) -> None:
        del now, wall
        for request, letter, remark in self._unstaged(kept.number):
            self.letters.add(letter)
            for node in letter.recipients:
                self.delivery.queue_changed(node)
            self._answer(request, Answer(True, remark, len(letter.recipients)))  # noqa: FBT003

    def _on_not_kept(self, not_kept: NotKept, now: float, wall: float) -> None:
        del now, wall
        for request, letter, _ in self._unstaged(not_kept.number):
            self.letters.octets -= letter.cost
            self._refuse(request, not_kept.reason)

    def _unstaged(self, number: int) -> list[tuple[SendRequest, Letter, str]]:
        found = []
        while self._staged and next(iter(self._staged)) <= number:
            found.append(self._staged.popitem(last=False)[1])
            for node in found[-1][1].recipients:
                node.staged -= 1
        return found

    def _refuse(self, request: SendRequest, reason: str) -> None:
        self.refused += 1
        self._answer(request, Answer(False, reason, 0))  # noqa: FBT003

    def _answer(self, request: SendRequest, answer: Answer) -> None:
        self._sources.answered(request.source, request.number, answer)
        self._reply(request, answer)

    def _reply(self, request: SendRequest, answer: Answer) -> None:
        self._actions.append(
            Reply(
                SendReply(
                    request.source, request.number, self.id, answer.ok, answer.reason,
                    answer.recipients,
                )
            )
        )  # fmt: skip

    # -- delivering -------------------------------------------------------------------------------

    def _on_receipt(self, receipt: MailReceipt, now: float, wall: float) -> None:
        del wall
        for name, number in zip(receipt.nodes, receipt.received, strict=True):
            node = self.directory.find(name)
            if number > self._number:
                self.impossible += 1
            elif node is not None and self.delivery.received(node, number, now):
                self._actions.append(NoteHad(name, number))
        for name in receipt.returned:
            node = self.directory.find(name)
            if node is not None:
                self.delivery.give_back(node, receipt.gateway, now)

    def _on_not_posted(self, event: NotPosted, now: float, wall: float) -> None:
        del wall
        for name in event.post.nodes:
            node = self.directory.find(name)
            if node is not None:
                self.delivery.give_back(node, event.post.gateway, now)

    def _on_tick(self, _: Tick, now: float, wall: float) -> None:
        self.delivery.drop_expired(int(wall * 1e6))
        self.delivery.tick(now)
        if now >= self._next_housekeeping:
            self._next_housekeeping = now + HOUSEKEEPING_S
            gone = self.directory.forget_long_gone(wall)
            for name in gone:
                self.groups.forget(name)
            if gone:
                self._actions.append(ForgetNodes(tuple(gone)))

    # -- who is where -----------------------------------------------------------------------------

    def _on_gateway(self, report: GatewayReport, now: float, wall: float) -> None:
        del now, wall
        self.delivery.gateway_heard(report.gateway)

    def _on_attachment(self, said: Attachment, now: float, wall: float) -> None:
        del now
        node = self.directory.note(said.node)
        if node is None:
            return
        before = node.places.get(said.gateway)
        place = self.directory.attach(node, said, wall)
        anew = said.attached and place == said.gateway and before != said.connection
        if anew or place != node.gateway:
            self.delivery.place(node, place)
        # Who goes is described as before: it may be attached elsewhere, or only away.
        if said.attached and place == said.gateway:
            self.groups.describe(said.node, said.attributes)
        self._actions.append(NoteNodes((said.node,)))

    def _on_gone(self, gone: Gone, now: float, wall: float) -> None:
        del now
        if gone.message_type is GatewayReport:
            self.delivery.gateway_gone(gone.key[0])
        elif gone.message_type is Attachment:
            gateway, name = gone.key
            node = self.directory.find(name)
            if node is not None:
                self._leave(node, gateway, wall)

    def _leave(self, node: MobileNode, gateway: str, wall: float) -> None:
        place = self.directory.detach(node, gateway, wall)
        if place != node.gateway:
            self.delivery.place(node, place)
        self._actions.append(NoteNodes((node.name,)))

    def _on_positions(self, positions: Positions, now: float, wall: float) -> None:
        del now
        for name in positions.nodes:
            node = self.directory.note(name)
            if node is not None:
                node.seen = wall
        self._actions.append(NoteNodes(positions.nodes))
        self.groups.move(positions.nodes, positions.latitudes, positions.longitudes)

    def _on_group_request(self, request: GroupRequest, now: float, wall: float) -> None:
        del now
        try:
            members, known = self._acceptance.members(request.group, wall), True
        except UnknownName:
            members, known = [], False
        self._actions.append(
            Reply(
                GroupMembers(request.request, self.id, request.group, known, tuple(sorted(members)))
            )
        )

    # -- the disk ---------------------------------------------------------------------------------

    def _recover(self, memory: Memory) -> None:
        for known in memory.nodes:
            node = self.directory.note(known.name)
            if node is not None:
                node.had, node.seen = known.had, known.seen
                self.groups.describe(known.name, known.attributes)
        placed = [known for known in memory.nodes if known.place is not None]
        self.groups.move(
            [known.name for known in placed],
            [known.place[0] for known in placed if known.place],
            [known.place[1] for known in placed if known.place],
        )
        for kept in memory.letters:
            waiting = [node for node in map(self.directory.note, kept.nodes) if node is not None]
            waiting = [node for node in waiting if node.had < kept.number]
            letter = Letter(kept.number, kept.time, kept.expires, kept.octets, tuple(waiting))
            if waiting:
                self.letters.octets += letter.cost
                self.letters.add(letter)
            else:
                self.letters.forgotten.append(kept.number)
        for source, number, recipients in memory.requests:
            self._sources.answered(source, number, Answer(True, "", recipients))  # noqa: FBT003

    def _take_actions(self) -> list[Action]:
        if self.letters.forgotten:
            self._actions.append(Forget(tuple(self.letters.forgotten)))
            self.letters.forgotten.clear()
        actions, self._actions = self._actions, []
        return actions
