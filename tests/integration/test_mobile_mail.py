"""Messages to real clients at real gateways: killed mailbox, killed gateway, expiry, groups."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from evenflow.access.keys import init_keys
from evenflow.cli.mobile.mailbox import seen_mailboxes
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.errors import SendRefused
from evenflow.mobile import Messenger, connect
from evenflow.processes import LocalCluster, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]


class Edge:
    """Two gateways and a mailbox as processes, and clients of this one."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.folder = folder
        self.clients = []
        file = folder / "evenflow.toml"
        file.write_text(cluster.config.as_toml(), encoding="utf-8")
        issued = subprocess.run(
            [sys.executable, "-m", "evenflow", "token", "issue", "car-*", "--publish", "items",
             "--config", str(file)],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        self.token = issued.stdout.split()[-1]
        self.addresses = {}

    def start(self, name):
        if name.startswith("m"):
            self.cluster.start(name, ["mailbox", "--name", name])
            assert wait_until(lambda: "holds messages" in self.cluster.log(name), 30)
            return
        listen = self.addresses.get(name, "tls://127.0.0.1:0")
        before = len(self.cluster.log(name)) if name in self.addresses else 0
        self.cluster.start(name, ["gateway", "--name", name, "--listen", listen])
        pattern = re.compile(r"listens at (\S+)")
        said = lambda: pattern.search(self.cluster.log(name), before)  # noqa: E731
        assert wait_until(said, 30), self.cluster.log(name)
        self.addresses[name] = said().group(1)

    def restart(self, name):
        self.cluster.kill(name)
        self.start(name)

    def connect(self, node, **more):
        got = []
        client = connect(
            list(self.addresses.values()),
            node=node,
            token=self.token,
            trust=self.folder / "keys" / "ca.pem",
            on_message=lambda message: got.append(message.payload.decode()),
            **more,
        )
        self.clients.append(client)
        return client, got


@pytest.fixture
def edge(domain_id, tmp_path):
    config = Config.load(
        None,
        {
            "domain.id": domain_id,
            "access.dir": str(tmp_path / "keys"),
            "gateway.state_dir": str(tmp_path / "gateways"),
            "mailbox.state_dir": str(tmp_path / "mail"),
            "mailbox.repeat_s": 0.5,
            "mobile_groups.buses.expression": 'node.kind == "bus"',
            "mobile_groups.north.region": [[10, 0], [20, 0], [20, 10], [10, 10]],
        },
    )
    init_keys(tmp_path / "keys")
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        running = Edge(cluster, tmp_path)
        for name in ("g1", "g2", "m1"):
            running.start(name)
        yield running
        for client in running.clients:
            client.close()


def test_a_stream_of_messages_through_deaths_of_everybody(edge, eventually):
    """The mailbox and both gateways are killed in turn; each message comes once, in order."""
    _, got = edge.connect("car-1")
    with Messenger("dispatch", config=edge.cluster.config) as messenger:
        sent = []
        for name in ("", "m1", "g1", "m1", "g2", "g1", ""):
            first = len(sent)
            sent += [
                messenger.submit(str(number), to="car-1", timeout_s=90)
                for number in range(first, first + 50)
            ]
            if name:
                edge.restart(name)
        for one in sent:
            assert one.result(90).recipients == 1
        eventually(lambda: len(got) >= len(sent), "all messages", timeout_s=60)
        assert got == [str(number) for number in range(len(sent))]


def test_groups_and_expiry_with_real_clients(edge, eventually):
    bus, of_bus = edge.connect("car-1", attributes={"kind": "bus"}, position=(15.0, 5.0))
    _, of_car = edge.connect("car-2", attributes={"kind": "car"}, position=(0.0, 0.0))
    with Messenger("dispatch", config=edge.cluster.config) as messenger:

        def reaches(count, **whom):
            return lambda: messenger.send("hello", **whom).recipients == count

        eventually(reaches(2, all=True), "both are known")
        eventually(reaches(1, group="buses"), "the bus is one")
        eventually(reaches(1, group="north"), "the bus is in the north")
        bus.set_position(0.0, 0.0)
        bus.set_attributes({"kind": "car"})
        messenger.send("end", to=["car-1", "car-2"])
        eventually(lambda: of_bus[-1:] == of_car[-1:] == ["end"], "what was sent")
        for group in ("north", "buses"):
            eventually(lambda group=group: is_empty(messenger, group), f"it has left {group}")
        assert of_bus.count("hello") > of_car.count("hello") > 0
        messenger.send("too late", to="car-9", expires_s=0.3)
        messenger.send("in time", to="car-9")
        with Participant(edge.cluster.config.domain) as participant:
            eventually(lambda: waiting(participant) == [1], "the first expires")
        _, of_late = edge.connect("car-9")
        eventually(lambda: of_late == ["in time"], "what has not expired")


def is_empty(messenger, group):
    try:
        messenger.send("hello", group=group)
    except SendRefused as refused:
        return "no members" in refused.reason
    return False


def waiting(participant):
    """How many messages wait at each mailbox."""
    return [report.messages for report in seen_mailboxes(participant, 0.3)]
