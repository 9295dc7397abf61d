"""The mailbox's rules, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from evenflow.config import Config
from evenflow.domain.channels import Gone
from evenflow.mobile.groups.definition import definitions
from evenflow.mobile.groups.groups import Groups
from evenflow.mobile.mailbox.actions import (
    Forget,
    ForgetNodes,
    Keep,
    Kept,
    NoteHad,
    NotKept,
    NotPosted,
    Reply,
    Tick,
)
from evenflow.mobile.mailbox.core import HOUSEKEEPING_S, MailboxCore
from evenflow.mobile.mailbox.delivery import Post
from evenflow.mobile.mailbox.records import KeptLetter, KnownNode, Memory
from evenflow.mobile.mailbox.settings import MailboxSettings
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    GroupMembers,
    GroupRequest,
    MailReceipt,
    Positions,
    SendReply,
    SendRequest,
)

WALL = 1_800_000_000.0


class Box:
    """A core whose disk takes everything at once."""

    def __init__(self, memory: Memory | None = None, groups: Groups | None = None, **settings: Any):
        self.core = MailboxCore(
            "m1~1", MailboxSettings(**settings), groups or Groups(), memory or Memory()
        )
        self.now = 0.0
        self.said: list[Any] = []
        self.number = 0

    def tell(self, *events: Any) -> list[Any]:
        """Show events to the core; return what it does, then sends."""
        done = []
        for event in events:
            for action in self.core.handle(event, self.now, WALL + self.now):
                done.append(action)
                if isinstance(action, Keep):
                    done += self.core.handle(Kept(action.number), self.now, WALL + self.now)
        done += self.core.post(self.now)
        self.said += done
        return done

    def posts(self, *events: Any) -> list[Post]:
        return [action for action in self.tell(*events) if isinstance(action, Post)]

    def request(self, *nodes: str, group: str = "", **more: Any) -> SendRequest:
        self.number += 1
        fields = {"payload": b"hello", "lifetime_s": 60.0, "previous": 0, **more}
        return SendRequest(
            source=7, number=self.number, mailbox="m1~1", nodes=nodes, group=group,
            sender="dispatch", **fields,
        )  # fmt: skip

    def send(self, *nodes: str, group: str = "", **more: Any) -> SendReply:
        done = self.tell(self.request(*nodes, group=group, **more))
        [reply] = [
            one.message
            for one in done
            if isinstance(one, Reply) and isinstance(one.message, SendReply)
        ]
        return reply

    def wait(self, seconds: float) -> list[Post]:
        self.now += seconds
        return self.posts(Tick())


def attachment(node: str, gateway: str = "gw-1", connection: int = 1, **more: Any) -> Attachment:
    return Attachment(
        gateway, node, connection, more.get("attached", True), more.get("attributes", "{}"), WALL
    )


def receipt(gateway: str = "gw-1", returned: tuple[str, ...] = (), **had: int) -> MailReceipt:
    nodes = {name.replace("_", "-"): number for name, number in had.items()}
    return MailReceipt("m1~1", gateway, tuple(nodes), tuple(nodes.values()), returned)


def here(name: str) -> GatewayReport:
    return GatewayReport(name, (), 0, 100, False, ())


@pytest.fixture
def box() -> Box:
    """A mailbox with two gateways, and car-1 attached to the first."""
    box = Box()
    box.tell(here("gw-1"), here("gw-2"), attachment("car-1"))
    return box


# -- sending ---------------------------------------------------------------------------------------


def test_nothing_is_answered_or_sent_before_it_is_on_disk(box: Box) -> None:
    [keep] = box.core.handle(box.request("car-1"), 0.0, WALL)
    assert isinstance(keep, Keep)
    assert keep.expires == int((WALL + 60) * 1e6)
    assert box.core.post(0.0) == []
    done = box.core.handle(Kept(keep.number), 0.0, WALL)
    assert [type(one) for one in done] == [Reply]
    assert box.core.post(0.0) == [Post("gw-1", 1, ("car-1",), (0,))]


def test_what_the_disk_refuses_is_refused(box: Box) -> None:
    [keep] = box.core.handle(box.request("car-1"), 0.0, WALL)
    [reply] = box.core.handle(NotKept(keep.number, "no room"), 0.0, WALL)
    assert (reply.message.ok, reply.message.reason) == (False, "no room")
    assert box.core.post(0.0) == []
    assert box.core.letters.octets == 0
    assert box.send("car-1").ok, "it goes on"


def test_a_repeated_request_is_answered_and_not_held_again(box: Box) -> None:
    request = box.request("car-1")
    first = box.tell(request)
    again = box.tell(request)
    assert sum(isinstance(one, Keep) for one in (*first, *again)) == 1
    assert [one for one in first if isinstance(one, Reply)] == again


def test_it_is_remembered_across_a_restart() -> None:
    box = Box(Memory(newest=5, requests=[(7, 1, 3)]))
    [reply] = box.tell(box.request("car-1"))
    assert isinstance(reply, Reply)
    assert isinstance(reply.message, SendReply)
    assert (reply.message.ok, reply.message.recipients) == (True, 3)


def test_a_request_whose_predecessor_is_missing_is_left(box: Box) -> None:
    first, second = box.request("car-1"), box.request("car-1", previous=1)
    assert box.tell(second) == []
    assert len(box.posts(first, second)) == 2


@pytest.mark.parametrize(
    ("nodes", "more", "reason"),
    [
        ((), {}, "either nodes or a group"),
        (("car-1",), {"group": "*"}, "either nodes or a group"),
        (("car *",), {}, "no node can be called"),
        (("car-1",), {"lifetime_s": 0.0}, "makes no sense"),
        (("car-1",), {"lifetime_s": float("nan")}, "makes no sense"),
        (("car-1",), {"payload": b"x" * (256 << 10) + b"x"}, "mailbox.payload_bytes"),
        ((), {"group": "nowhere"}, "unknown group 'nowhere'"),
        (("car-1",) * 10_001, {}, "names more than 10000 nodes"),
    ],
)
def test_what_is_refused(box: Box, nodes: tuple[str, ...], more: Any, reason: str) -> None:
    reply = box.send(*nodes, **more)
    assert not reply.ok
    assert reason in reply.reason
    assert box.core.refused == 1


def test_all_is_for_those_who_are_there_or_were_not_long_ago() -> None:
    box = Box(Memory(nodes=[KnownNode("old", seen=WALL - 100)]), remember_s=50.0)
    assert "has no members" in box.send(group="*").reason
    box.tell(attachment("here"), attachment("away"), attachment("away", attached=False))
    assert box.send(group="*").recipients == 2
    box.wait(60.0)
    assert box.send(group="*").recipients == 1, "'away' is away for too long"


def test_a_node_that_was_away_for_long_is_forgotten_when_nothing_waits() -> None:
    box = Box(remember_s=50.0)
    box.tell(attachment("a"), attachment("a", attached=False))
    box.tell(attachment("b"), attachment("b", attached=False), box.request("b", lifetime_s=1e6))
    box.wait(HOUSEKEEPING_S + 1)
    assert [one for one in box.said if isinstance(one, ForgetNodes)] == [ForgetNodes(("a",))]
    assert box.core.directory.find("b") is not None


def test_a_group_is_what_it_is_when_the_message_is_sent() -> None:
    config = Config.load(None, {"mobile_groups.north.region": [[10, 0], [20, 0], [20, 10]]})
    box = Box(groups=Groups(definitions(config.mobile_groups)))
    box.tell(here("gw-1"), attachment("a"), attachment("b"))
    box.tell(Positions("gw-1", ("a", "b"), (19.0, 0.0), (1.0, 0.0)))
    [post] = box.posts(box.request(group="north"))
    assert post.nodes == ("a",)
    box.tell(Positions("gw-1", ("a", "b"), (0.0, 19.0), (0.0, 1.0)))
    [post] = box.posts(box.request(group="north"))
    assert post.nodes == ("b",)
    [reply] = box.tell(GroupRequest(9, "north"))
    assert reply.message == GroupMembers(9, "m1~1", "north", True, ("b",))
    [reply] = box.tell(GroupRequest(9, "south"))
    assert not reply.message.known


def test_who_moves_or_is_away_stays_in_its_group() -> None:
    config = Config.load(None, {"mobile_groups.buses.expression": 'node.kind == "bus"'})
    box = Box(groups=Groups(definitions(config.mobile_groups)))
    bus, gone = '{"kind": "bus"}', {"attached": False, "attributes": "{}"}
    box.tell(here("gw-1"), here("gw-2"), attachment("car-1", attributes=bus))
    box.tell(attachment("car-1", "gw-2", 2, attributes=bus), attachment("car-1", **gone))
    assert box.send(group="buses").recipients == 1, "it has moved"
    box.tell(attachment("car-1", "gw-1", 1, attributes='{"kind": "car"}'))
    assert box.send(group="buses").recipients == 1, "what an older connection says comes late"
    box.tell(attachment("car-1", "gw-1", **gone), attachment("car-1", "gw-2", 2, **gone))
    assert box.send(group="buses").recipients == 1, "it is away"


def test_a_group_leaves_out_for_whom_too_much_waits() -> None:
    box = Box(node_messages=2)
    box.tell(attachment("a"), attachment("b"))
    box.send("a")
    box.send("a")
    reply = box.send(group="*")
    assert (reply.ok, reply.recipients) == (True, 1)
    assert "left out: a" in reply.reason
    assert "2 messages wait already for a" in box.send("a").reason


def test_a_lifetime_is_cut_and_the_reply_says_so() -> None:
    box = Box(longest_s=10.0)
    box.tell(attachment("a"))
    assert "expires after 10 s" in box.send("a", lifetime_s=100.0).reason
    [keep] = [one for one in box.said if isinstance(one, Keep)]
    assert keep.expires - keep.time == 10_000_000


def test_names_that_no_node_can_have_are_not_noted(box: Box) -> None:
    box.tell(attachment("car 7"), attachment("car\n8"), Positions("gw-1", ("*",), (0.0,), (0.0,)))
    assert box.core.directory.not_noted == 3
    assert box.send(group="*").recipients == 1


# -- delivering ------------------------------------------------------------------------------------


def test_one_letter_to_many_goes_once_to_each_gateway() -> None:
    box = Box()
    box.tell(here("gw-1"), here("gw-2"))
    for number in range(10):
        box.tell(attachment(f"car-{number}", f"gw-{number % 2 + 1}"))
    posts = box.posts(box.request(group="*"))
    assert sorted((post.gateway, len(post.nodes)) for post in posts) == [("gw-1", 5), ("gw-2", 5)]


def test_each_names_the_one_before_that_is_still_to_be_had(box: Box) -> None:
    posts = box.posts(box.request("car-1"), box.request("car-2"), box.request("car-1"))
    assert posts == [Post("gw-1", 1, ("car-1",), (0,)), Post("gw-1", 3, ("car-1",), (1,))]
    box.tell(receipt(car_1=1))
    assert box.wait(2.0) == [Post("gw-1", 3, ("car-1",), (0,))]


def test_what_everybody_has_is_forgotten(box: Box) -> None:
    box.tell(attachment("car-2"), box.request("car-1", "car-2"))
    assert box.tell(receipt(car_1=1)) == [NoteHad("car-1", 1)]
    assert box.tell(receipt(car_2=1)) == [NoteHad("car-2", 1), Forget((1,))]
    assert box.core.letters.octets == 0
    assert box.wait(1e4) == []


def test_a_receipt_of_what_was_never_sent_counts_for_nothing(box: Box) -> None:
    box.tell(box.request("car-1"))
    assert box.tell(receipt(car_1=99)) == []
    assert box.core.impossible == 1
    assert len(box.core.letters) == 1


def test_silence_lets_it_be_sent_again_more_and_more_seldom(box: Box) -> None:
    box.tell(box.request("car-1"))
    again = Post("gw-1", 1, ("car-1",), (0,))
    assert box.wait(1.9) == []
    assert box.wait(0.2) == [again]
    assert box.wait(2.1) == []
    assert box.wait(2.1) == [again]
    assert box.wait(7.0) == []


def test_what_is_returned_is_sent_again_after_a_pause(box: Box) -> None:
    box.tell(box.request("car-1"))
    assert box.posts(receipt(returned=("car-1",))) == []
    assert len(box.wait(0.11)) == 1
    assert box.posts(receipt(returned=("car-1",))) == []
    assert box.wait(0.11) == []
    assert len(box.wait(0.11)) == 1


def test_what_a_gateway_returns_that_is_not_the_nodes_any_more_is_nothing(box: Box) -> None:
    box.tell(box.request("car-1"))
    assert len(box.posts(attachment("car-1", "gw-2", 2))) == 1
    assert box.tell(receipt("gw-1", returned=("car-1",))) == []
    assert box.core.delivery.returned == 0


def test_what_could_not_be_written_is_tried_again(box: Box) -> None:
    [post] = box.posts(box.request("car-1"))
    assert box.posts(NotPosted(post)) == []
    assert box.wait(0.11) == [post]


def test_a_node_that_moves_is_sent_to_where_it_is(box: Box) -> None:
    box.tell(box.request("car-1"))
    assert box.posts(attachment("car-1", "gw-2", 2)) == [Post("gw-2", 1, ("car-1",), (0,))]
    assert box.posts(attachment("car-1", "gw-1", 1)) == [], "an old connection counts no more"
    assert box.posts(attachment("car-1", "gw-1", 1, attached=False)) == []


def test_a_new_connection_to_the_same_gateway_begins_anew(box: Box) -> None:
    box.tell(box.request("car-1"))
    assert box.posts(attachment("car-1")) == [], "the same connection"
    assert len(box.posts(attachment("car-1", connection=2))) == 1


def test_a_gateway_that_is_gone_is_sent_nothing_until_it_is_back(box: Box) -> None:
    box.tell(box.request("car-1"), Gone(GatewayReport, ("gw-1",)))
    assert box.wait(30.0) == []
    assert len(box.posts(here("gw-1"))) == 1


def test_a_gateway_that_is_gone_takes_its_attachments_along(box: Box) -> None:
    box.tell(attachment("car-1", "gw-2", 2))
    box.tell(Gone(Attachment, ("gw-2", "car-1")))
    assert box.posts(box.request("car-1")) == [Post("gw-1", 1, ("car-1",), (0,))]
    box.tell(Gone(Attachment, ("gw-1", "car-1")))
    assert box.posts(box.request("car-1")) == []


def test_windows() -> None:
    box = Box(node_window=3, gateway_window=5)
    box.tell(here("gw-1"), attachment("a"), attachment("b"))
    for _ in range(4):
        box.tell(box.request("a"), box.request("b"))
    assert sum(isinstance(one, Post) for one in box.said) == 5
    assert len(box.posts(receipt(a=1))) == 1
    flight = [post.nodes[0] for post in box.said if isinstance(post, Post)]
    assert flight.count("b") <= 3


def test_expiry_takes_it_out_and_sends_what_followed_again(box: Box) -> None:
    box.tell(box.request("car-1", lifetime_s=1.0), box.request("car-1"))
    posts = box.wait(1.0)
    assert posts == [Post("gw-1", 2, ("car-1",), (0,))]
    assert Forget((1,)) in box.said


def test_what_waited_goes_on_after_a_restart() -> None:
    far = int((WALL + 1e6) * 1e6)
    kept = [KeptLetter(3, 0, far, 10, ("a", "b")), KeptLetter(5, 0, far, 10, ("a",))]
    box = Box(Memory(newest=8, letters=kept, nodes=[KnownNode("a", had=3), KnownNode("b", had=9)]))
    assert Forget((3,)) in box.tell(Tick()), "all have it"
    [post] = box.posts(here("gw-1"), attachment("a"))
    assert (post.number, post.previous) == (5, (0,))
    [post] = box.posts(box.request("a"))
    assert (post.number, post.previous) == (9, (5,))
