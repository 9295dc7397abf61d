"""A mailbox in a real domain: messages survive it, follow nodes, expire; the commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from tests.integration.standin_gateway import SomeNode, StandInGateway

from evenflow.config import Config
from evenflow.errors import ConfigError, NoMailbox, SendRefused, SendTimeout, StorageError
from evenflow.mobile import AsyncMessenger, Messenger
from evenflow.mobile.mailbox.mailbox import Mailbox
from evenflow.processes import LocalCluster, wait_until

pytestmark = pytest.mark.domain


@pytest.fixture
def config(domain_id):
    groups = {
        "mobile_groups.north.region": [[10, 0], [20, 0], [20, 10], [10, 10]],
        "mobile_groups.buses.expression": 'node.kind == "bus"',
        "mobile_groups.chosen.members": ["car-1", "car-2"],
    }
    return Config.load(None, {"domain.id": domain_id, "mailbox.repeat_s": 0.3, **groups})


@pytest.fixture
def gateways(config):
    with (
        StandInGateway("gw-1", config.domain) as one,
        StandInGateway("gw-2", config.domain) as two,
    ):
        yield one, two


@pytest.fixture
def mailbox(config):
    with Mailbox("m1", config=config) as running:
        yield running


@pytest.fixture
def messenger(config):
    with Messenger("dispatch", config=config) as running:
        yield running


def numbers(count, start=0):
    return [str(number) for number in range(start, start + count)]


def test_messages_reach_a_node_in_order(gateways, mailbox, messenger, eventually):
    car = SomeNode("car-1")
    gateways[0].attach(car)
    for text in numbers(50):
        sent = messenger.send(text, to="car-1")
        assert (sent.mailbox, sent.recipients) == (mailbox.id, 1)
    eventually(lambda: len(car.got) == 50, "all messages")
    assert car.texts == numbers(50)
    assert {(sender, group) for sender, group, _ in car.got} == {("dispatch", "")}
    eventually(lambda: mailbox.report.messages == 0, "nothing waits any more")


def test_a_node_that_moves_in_the_middle_of_a_stream(gateways, mailbox, messenger, eventually):
    car = SomeNode("car-1")
    gateways[0].attach(car)
    for round_ in range(6):
        for text in numbers(20, 20 * round_):
            messenger.send(text, to="car-1")
        gateways[(round_ + 1) % 2].attach(car)
        gateways[round_ % 2].detach(car)
    eventually(lambda: len(car.got) >= 120, "all messages")
    assert car.texts == numbers(120)


def test_messages_wait_for_a_node_that_is_away(gateways, mailbox, messenger, eventually):
    car = SomeNode("car-1")
    sent = messenger.send("hello", to="car-1")
    assert "never seen here: car-1" in sent.remark
    eventually(lambda: mailbox.report.waiting == 1, "it is told that something waits")
    gateways[1].attach(car)
    eventually(lambda: car.texts == ["hello"], "the message")


def test_a_message_expires(gateways, mailbox, messenger, eventually):
    car = SomeNode("car-1")
    messenger.send("too late", to="car-1", expires_s=0.2)
    messenger.send("in time", to="car-1")
    eventually(lambda: mailbox.report.messages == 1, "the first expires")
    gateways[0].attach(car)
    eventually(lambda: len(car.got) > 0, "the second")
    assert car.texts == ["in time"]


def test_expiry_lets_the_next_ones_through(gateways, mailbox, messenger, eventually):
    """What was sent after an expired one named it as the one before: it is sent again."""
    car = SomeNode("car-1")
    gateways[0].attach(car)
    gateways[0].silent = True
    messenger.send("too late", to="car-1", expires_s=0.5)
    messenger.send("in time", to="car-1")
    eventually(lambda: mailbox.report.messages == 1, "the first expires")
    gateways[0].silent = False
    eventually(lambda: car.texts == ["in time"], "the second")


def test_one_message_to_many_travels_once(gateways, mailbox, messenger, eventually):
    cars = [SomeNode(f"car-{number}") for number in range(500)]
    for car in cars:
        gateways[0].attach(car)
    eventually(lambda: len(mailbox._core.directory) == 500, "all are known")
    sent = messenger.send("to all", all=True)
    assert sent.recipients == 500
    eventually(lambda: all(car.texts == ["to all"] for car in cars), "everybody has it")
    assert gateways[0].samples == 1


def test_groups_are_kept_current(gateways, mailbox, messenger, eventually, config):
    one, two = SomeNode("car-1"), SomeNode("car-2")
    gateways[0].attach(one, kind="bus")
    gateways[0].attach(two, kind="car")
    gateways[0].move({"car-1": (0.0, 0.0), "car-2": (15.0, 5.0)})
    eventually(lambda: mailbox._core.groups.places.get("car-2"), "positions")
    assert messenger.send("north", group="north").recipients == 1
    assert messenger.send("buses", group="buses").recipients == 1
    assert messenger.send("chosen", group="chosen").recipients == 2
    eventually(lambda: two.texts == ["north", "chosen"], "what is for car-2")
    eventually(lambda: one.texts == ["buses", "chosen"], "what is for car-1")
    gateways[0].move({"car-2": (0.0, 0.0)})
    eventually(lambda: not mailbox._core.groups.members("north"), "car-2 has left")
    with pytest.raises(SendRefused, match="group 'north' has no members now"):
        messenger.send("north", group="north")
    with pytest.raises(SendRefused, match="unknown group 'nort'; did you mean 'north'"):
        messenger.send("?", group="nort")


def test_without_a_mailbox_it_is_said(messenger):
    with pytest.raises(NoMailbox, match="evenflow mailbox --name"):
        messenger.send("hello", to="car-1")


def test_a_mailbox_that_is_full_says_so(config, eventually):
    small = Config.load(
        None,
        {"domain.id": config.domain.id, "mailbox.bytes": 1 << 20, "mailbox.payload_bytes": 500_000,
         "mailbox.node_messages": 5},
    )  # fmt: skip
    with Mailbox("m1", config=small), Messenger("dispatch", config=small) as messenger:
        with pytest.raises(SendRefused, match=r"mailbox\.payload_bytes"):
            messenger.send(b"x" * 500_001, to="car-1")
        messenger.send(b"x" * 400_000, to="car-1")
        messenger.send(b"x" * 400_000, to="car-1")
        with pytest.raises(SendRefused, match="the mailbox is full"):
            messenger.send(b"x" * 400_000, to="car-1")
        for _ in range(3):
            messenger.send("y", to="car-1")
        with pytest.raises(SendRefused, match="5 messages wait already for car-1"):
            messenger.send("y", to="car-1")
        assert "left out: car-1" in messenger.send("y", to=["car-1", "car-2"]).remark


def test_a_folder_has_one_mailbox(mailbox, config):
    with pytest.raises(StorageError, match="uses it: stop that one"):
        Mailbox("m1", config=config)
    with pytest.raises(ConfigError, match=r"mailbox\.name"):
        Mailbox("../m1", config=config)


def test_from_asyncio(gateways, mailbox, config, eventually):
    car = SomeNode("car-1")
    gateways[0].attach(car)

    async def send_many():
        async with AsyncMessenger("dispatch", config=config) as messenger:
            return await asyncio.gather(
                *(messenger.send(text, to="car-1") for text in numbers(200))
            )

    assert len(asyncio.run(send_many())) == 200
    eventually(lambda: len(car.got) == 200, "all messages")
    assert car.texts == numbers(200)


def test_a_full_disk_refuses_and_goes_on(gateways, mailbox, messenger, eventually):
    car = SomeNode("car-1")
    messenger.send("before", to="car-1")
    base = mailbox._disk._base
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(SendRefused, match="the disk refuses it"):
        messenger.send(b"x" * 100_000, to="car-1")
    gateways[0].attach(car)
    eventually(lambda: car.texts == ["before"], "what is held is delivered meanwhile")
    base.execute("PRAGMA max_page_count = 1000000")
    messenger.send("after", to="car-1")
    eventually(lambda: car.texts == ["before", "after"], "it goes on")


def test_a_sender_goes_to_another_mailbox_when_its_own_is_gone(gateways, config, eventually):
    car = SomeNode("car-1")
    gateways[0].attach(car)
    boxes = {box.id: box for box in (Mailbox(name, config=config) for name in ("m1", "m2"))}
    with Messenger("dispatch", config=config) as messenger:
        first = messenger.send("1", to="car-1").mailbox
        assert messenger.send("2", to="car-1").mailbox == first
        boxes.pop(first).close()
        second = messenger.send("3", to="car-1").mailbox
        assert second in boxes
        eventually(lambda: "3" in car.texts, "the message by way of the other")
    boxes.pop(second).close()


@pytest.mark.processes
def test_kill_9_of_the_mailbox(gateways, config, messenger, tmp_path, eventually):
    """Sending goes on through it; nothing is lost, nothing comes twice, order holds."""
    car, away = SomeNode("car-1"), SomeNode("car-2")
    gateways[0].attach(car)
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        start = ["mailbox", "--name", "m1", "--set", f"mailbox.state_dir={tmp_path}/mail"]
        cluster.start("m1", start)
        assert wait_until(lambda: "holds messages" in cluster.log("m1"), 30)
        pending = []
        for round_ in range(4):
            pending += [
                messenger.submit(text, to=["car-1", "car-2"], timeout_s=60)
                for text in numbers(40, 40 * round_)
            ]
            wait_until(pending[-20].done, 20)
            cluster.kill("m1")
            cluster.start("m1", start)
        for one in pending:
            assert one.result(60).recipients == 2
        eventually(lambda: len(car.got) >= 160, "all messages")
        gateways[1].attach(away)
        eventually(lambda: len(away.got) >= 160, "all messages of who was away")
        assert car.texts == away.texts == numbers(160)
        assert cluster.stop("m1") == 0, cluster.log("m1")


@pytest.mark.processes
def test_a_mailbox_that_does_not_answer(config, messenger, tmp_path, eventually):
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start("m1", ["mailbox", "--name", "m1"])
        assert wait_until(lambda: "holds messages" in cluster.log("m1"), 30)
        messenger.send("hello", to="car-1", timeout_s=20)
        cluster.kill("m1")
        with pytest.raises((SendTimeout, NoMailbox)):
            messenger.send("hello", to="car-1", timeout_s=2)


@pytest.mark.processes
def test_the_commands(gateways, mailbox, config, tmp_path, eventually):
    def evenflow(*command):
        file = tmp_path / "evenflow.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "evenflow", *command, "--config", str(file)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    car = SomeNode("car-1")
    gateways[0].attach(car, kind="bus")
    eventually(lambda: mailbox._core.groups.members("buses"), "the node is known")
    sent = evenflow("send", "--to", "car-1", "--expires", "1h", "come home")
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout == f"mailbox {mailbox.id} has it, for 1 node\n"
    file = tmp_path / "message"
    file.write_bytes(b"from a file")
    assert evenflow("send", "--group", "buses", "--file", str(file)).returncode == 0
    eventually(lambda: car.texts == ["come home", "from a file"], "both messages")
    assert evenflow("send", "--to", "car-9", "later", "--json").returncode == 0
    refused = evenflow("send", "--group", "north", "nobody")
    assert refused.returncode == 1
    assert "group 'north' has no members now" in refused.stderr
    assert evenflow("send", "to nobody").returncode == 2
    assert evenflow("send", "--all").returncode == 2
    [row] = json.loads(evenflow("mailboxes", "--json").stdout)["mailboxes"]
    assert (row["mailbox"], row["messages"], row["nodes"]) == ("m1", 1, 1)
    listed = json.loads(evenflow("groups", "--json").stdout)["groups"]
    members = {one["group"]: one["members"] for one in listed}
    assert members == {"north": [], "buses": ["car-1"], "chosen": ["car-1", "car-2"]}
    assert "car-1" in evenflow("groups", "--group", "*").stdout
    mailbox.close()
    gone = evenflow("send", "--to", "car-1", "hello")
    assert gone.returncode == 1
    assert "no mailbox is there" in gone.stderr
    assert "no mailbox is running" in evenflow("mailboxes").stdout
