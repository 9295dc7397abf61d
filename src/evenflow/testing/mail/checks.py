"""What has to hold of a mailbox and its surroundings: in the end, and at any time."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from evenflow.errors import NoMailbox, SendRefused
from evenflow.mobile.mailbox.sources import TOO_OLD
from evenflow.mobile.messenger.core import Sent

if TYPE_CHECKING:
    from evenflow.testing.mail.world import MailWorld


def check(world: MailWorld) -> None:
    """In the end: each message once, in order, to whom it is for."""
    kept = [int(one.payload) for one in world.disk.kept]
    assert len(kept) == len(set(kept)), "a message is held twice"
    assert kept == sorted(kept), "messages of a sender are not in order"
    assert world.messenger.unanswered == 0
    for ticket, result in world.results.items():
        if isinstance(result, Sent):
            assert ticket in kept, "said to be on disk, and is not"
        elif isinstance(result, NoMailbox | SendRefused):
            assert ticket not in kept, "said to be refused, and is held"
            # A mailbox that was killed does not remember why it refused something.
            assert world.lives or TOO_OLD.reason not in str(result), "refused without a reason"
    assert set(world.results) == set(world.tickets)
    for node in world.nodes.values():
        numbers = [number for number, _ in node.got]
        assert numbers == sorted(set(numbers)), f"{node.name}: twice, or out of order"
        due = [one for one in world.disk.kept if node.name in one.nodes]
        assert set(numbers) <= {one.number for one in due}, "somebody else's message"
        lasting = [one.number for one in due if one.expires > (world.wall + 60) * 1e6]
        lacking = set(lasting) - set(numbers)
        assert not lacking, f"{node.name} has not got {sorted(lacking)}"
    assert world.core is not None
    assert len(world.core.letters) == world.core.letters.messages == 0
    assert world.core.letters.octets == world.core.letters.waiting == 0
    world.disk.flush()
    assert not world.disk.letters, "the disk keeps what nobody waits for"


def check_books(world: MailWorld) -> None:
    """At any time: the counts are what they count, and within their bounds."""
    if world.core is None:
        return
    letters, delivery = world.core.letters, world.core.delivery
    nodes = list(world.core.directory)
    assert letters.messages == sum(len(node.queue) for node in nodes)
    assert letters.waiting == sum(bool(node.queue) for node in nodes)
    for gateway in delivery._gateways.values():  # noqa: SLF001
        counts = [bisect_right(node.queue, node.sent) for node in gateway.nodes]
        assert gateway.flight == sum(counts) <= world.settings.gateway_window
        assert gateway.octets == sum(node.flight_octets for node in gateway.nodes)
        assert max(counts, default=0) <= world.settings.node_window
    for node in nodes:
        assert len(node.queue) <= world.settings.node_messages
        under_way = node.queue[: bisect_right(node.queue, node.sent)]
        assert node.flight_octets == sum(letters[number].octets for number in under_way)
        assert node.gateway or not node.sent
