"""Mobile nodes, gateways and a mailbox in one process, under virtual time.

The cores are the real ones; links, disks and the domain are models in which everything may go
wrong. :meth:`MobileCluster.check` is what must hold when all is quiet: every item was accepted
exactly once and in order for each node and topic, every message handled exactly once and in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from evenflow.mobile.gateway import events
from evenflow.mobile.link.framing import FROM_GATEWAY, FROM_NODE
from evenflow.model.messages import Attachment, GatewayReport, MailboxReport
from evenflow.testing.invariants import Violation
from evenflow.testing.mobile.client import SimClient
from evenflow.testing.mobile.domain import SimDomain
from evenflow.testing.mobile.gateway import SimGateway
from evenflow.testing.mobile.link import SimLink
from evenflow.testing.mobile.mailbox import SimMailbox
from evenflow.testing.virtual_time import VirtualTime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.edge.actions import Accept
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.testing.virtual_time import Process


class _Ends:
    """Both ends of a link."""

    def __init__(
        self, link: SimLink, client: SimClient, client_link: int, gateway: SimGateway
    ) -> None:
        self.link = link
        self.client = client
        self.client_link = client_link
        self._life = client.life
        self.gateway = gateway
        self.made = False
        self.said: tuple[str, bool] | None = None
        """What the gateway said when it hung up, and whether to try again."""

    @property
    def has_client(self) -> bool:
        """Whether the client that dialled it still lives, and no later one in its place."""
        return self.client.alive and self.client.life == self._life


class MobileCluster:
    """Everything."""

    def __init__(
        self,
        seed: int,
        settings: GatewaySettings,
        *,
        clients: int = 3,
        gateways: int = 3,
        encoded: bool = False,
    ) -> None:
        self.time = VirtualTime(seed)
        self.random = self.time.random
        self.domain = SimDomain(self.time)
        self.gateways = {
            name: SimGateway(self, name, settings)
            for name in (f"g{number}" for number in range(1, gateways + 1))
        }
        addresses = [one.address for one in self.gateways.values()]
        self.clients = {}
        for number in range(1, clients + 1):
            self.random.shuffle(addresses)
            client = SimClient(self, number, addresses)
            self.clients[client.name] = client
        self.mailbox = SimMailbox(self.time, self.domain)
        self.accepted: dict[tuple[str, str], list[tuple[str, bytes]]] = {}
        """By node and topic: which gateway accepted what, in the order of time."""
        self.encoded = self.domain.encoded = encoded
        """Whether frames and messages travel as bytes."""
        self.broken: set[tuple[str, str]] = set()
        """Paths between clients and gateways that are broken."""
        self._links: dict[int, _Ends] = {}
        self._numbers = 0
        self._start()

    def _start(self) -> None:
        for gateway in self.gateways.values():
            self.domain.join(
                gateway,
                lambda message, one=gateway: one.tell(_event(message)),  # type: ignore[misc]
                (GatewayReport, Attachment, MailboxReport),
            )
            gateway.start()
        self.mailbox.start()
        for client in self.clients.values():
            client.start()

    @property
    def now(self) -> float:
        """The time."""
        return self.time.now

    @property
    def wall(self) -> float:
        """The time of day."""
        return self.time.wall

    @property
    def processes(self) -> Iterator[Process]:
        """Everybody."""
        yield from self.gateways.values()
        yield from self.clients.values()
        yield self.mailbox

    def slow_disk(self) -> float:
        """How long the disk takes for one step."""
        return 0.001 if self.time.calm else self.random.choice([0.0, 0.002, 0.002, 0.2])

    # -- links -------------------------------------------------------------------------------------

    def dial(self, client: SimClient, number: int, address: str, timeout_s: float) -> None:
        """A client wants a link."""
        gateway = next(one for one in self.gateways.values() if one.address == address)
        if (client.name, gateway.name) in self.broken or gateway.stopped:
            late = self.random.uniform(0.0, timeout_s)
            self._refuse(client, number, late)
        elif not gateway.alive:
            self._refuse(client, number, self.time.latency())
        else:
            self._numbers += 1
            link = SimLink(self.time, self._numbers, client, gateway)
            ends = self._links[self._numbers] = _Ends(link, client, number, gateway)
            ends.link.carry(up=True, do=lambda: self._make(ends))
            self.time.later(timeout_s, lambda: self._give_up(ends), client)

    def _refuse(self, client: SimClient, number: int, late: float) -> None:
        self.time.later(
            late, lambda: client.on_unlinked(number, "cannot be reached", said=False), client
        )

    def _give_up(self, ends: _Ends) -> None:
        """A link that is not made in time never will be."""
        if not ends.made and not ends.link.cut and ends.has_client:
            ends.link.cut = True
            ends.client.on_unlinked(ends.client_link, "no answer", said=False)

    def _make(self, ends: _Ends) -> None:
        if ends.link.cut:
            return
        ends.made = True
        ends.gateway.on_link(ends.link.number)
        if not ends.has_client:
            self.cut_link(ends.link.number)
            return
        ends.link.carry(
            up=False, do=lambda: ends.client.on_linked(ends.client_link, ends.link.number)
        )

    def send_up(self, number: int, frame: Any) -> None:
        """A client sends a frame."""
        ends = self._links[number]
        frame = FROM_NODE.decode(msgspec.msgpack.encode(frame)) if self.encoded else frame
        ends.link.carry(up=True, do=lambda: ends.gateway.on_frame(number, frame))

    def send_down(self, number: int, frame: Any) -> None:
        """A gateway sends a frame."""
        from evenflow.mobile.client.events import Arrived  # noqa: PLC0415

        ends = self._links[number]
        frame = FROM_GATEWAY.decode(msgspec.msgpack.encode(frame)) if self.encoded else frame
        arrived = Arrived(ends.client_link, frame)
        if ends.has_client:
            ends.link.carry(up=False, do=lambda: ends.client.tell(arrived))

    def hang_up(self, number: int, reason: str, *, retry: bool) -> None:
        """A gateway ends a link and says why; that may arrive or not."""
        ends = self._links[number]

        def say() -> None:
            ends.said = (reason, retry)

        ends.link.carry(up=False, do=say)
        self.time.later(2 * self.time.latency(), lambda: self.cut_link(number))

    def cut_link(self, number: int) -> None:
        """A link is over; each end notices by and by."""
        ends = self._links[number]

        def notice(up: bool) -> None:  # noqa: FBT001
            if up:
                if ends.made:
                    ends.gateway.on_lost(number)
            elif not ends.has_client:
                pass
            elif ends.said is not None:
                reason, retry = ends.said
                ends.client.on_unlinked(ends.client_link, reason, retry=retry, said=True)
            else:
                ends.client.on_unlinked(ends.client_link, "lost", said=False)

        ends.link.break_off(notice)

    def break_path(self, client: str, gateway: str) -> None:
        """A client does not reach a gateway any more."""
        self.broken.add((client, gateway))
        for number, ends in self._links.items():
            if (ends.client.name, ends.gateway.name) == (client, gateway):
                self.cut_link(number)

    def live_links(self) -> list[int]:
        """Links that are not cut."""
        return [number for number, ends in self._links.items() if not ends.link.cut]

    # -- the domain, and what comes out ------------------------------------------------------------

    def write(self, gateway: SimGateway, message: Any, to: str) -> None:
        """A gateway tells the domain something."""
        self.domain.write(gateway, message, to)

    def on_accepted(self, gateway: SimGateway, unit: Accept) -> None:
        """A unit is on disk: from now on it is delivered, whatever happens."""
        for chunk in unit.chunks:
            items = self.accepted.setdefault((chunk.client, unit.topic), [])
            items += [(gateway.name, payload) for payload in chunk.payloads]

    # -- the end -----------------------------------------------------------------------------------

    def heal(self) -> None:
        """Nothing goes wrong any more."""
        self.time.calm = True
        self.broken.clear()
        self.domain.cuts.clear()
        for process in self.processes:
            if process.stopped:
                self.time.go_on(process)
        for gateway in self.gateways.values():
            if not gateway.alive:
                gateway.start()
            gateway.tell(events.Drain(on=False))
        if not self.mailbox.alive:
            self.mailbox.start()
        for client in self.clients.values():
            if not client.alive:
                client.start()

    def settle(self, seconds: float = 300.0) -> None:
        """Heal everything, and wait until nothing is on its way."""
        self.heal()
        end = self.now + seconds
        while self.now < end:
            self.time.run(self.now + 1.0)
            if self.is_quiet:
                # What is still under way must not change anything.
                self.time.run(self.now + 30.0)
                self.check()
                return
        raise Violation(f"not quiet after {seconds:g} s: {self._unsettled()}")

    @property
    def is_quiet(self) -> bool:
        """Whether everything that was published is safe, and every message had."""
        empty = all(one.core and not one.core.buffer.items for one in self.clients.values())
        return empty and not self.mailbox.unread

    def _unsettled(self) -> str:
        held = {
            one.name: [
                (queue.topic, queue.safe, queue.sent, queue.holder, len(queue.waiting))
                for queue in one.core.buffer.topics.values()
                if queue.unsettled or queue.waiting
            ]
            for one in self.clients.values()
            if one.core and one.core.buffer.items
        }
        return f"items {held}, messages {self.mailbox.unread}"

    def check(self) -> None:
        """Raise `Violation` unless everything came exactly once and in order."""
        for client in self.clients.values():
            for topic, published in client.published.items():
                found = self.accepted.get((client.name, topic), [])
                if [payload for _, payload in found] != published:
                    raise Violation(f"{client.name} {topic}: {_difference(published, found)}")
            numbers = [number for _, number, _ in client.got]
            if client.forgot:  # what it had and could not say comes again
                numbers = list(dict.fromkeys(numbers))
            sent = self.mailbox.sent_to(client.name)
            if numbers != sent:
                raise Violation(f"{client.name}: messages {sent} were handled as {numbers}")
        for gateway in self.gateways.values():
            core = gateway.core
            assert core is not None
            if core.held:
                raise Violation(f"{gateway.name} holds {core.held} bytes")


def _difference(published: list[bytes], found: list[tuple[str, bytes]]) -> str:
    payloads = [payload for _, payload in found]
    twice = [one for one in found if payloads.count(one[1]) > 1]
    lost = [payload for payload in published if payload not in set(payloads)]
    return f"lost {lost}, twice {twice}, order {payloads != published}"


def _event(message: Any) -> events.Event:
    from evenflow.domain.channels import Gone  # noqa: PLC0415

    if isinstance(message, Gone):
        return events.NotHeard(message.message_type, message.key[0])
    return events.Heard(message)
