"""Stock DDS programs that know nothing of Evenflow read and write its items, and plain topics."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from cyclonedds.idl import IdlStruct

from evenflow import Balancer, Node, Publisher, Subscriber
from evenflow.domain import enter
from evenflow.processes import wait_until
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter, Policies

pytestmark = [pytest.mark.domain, pytest.mark.processes]
EXAMPLE = Path(__file__).parents[2] / "examples" / "foreign"
ON_LOOPBACK = (
    "<General><Interfaces><NetworkInterface name='lo' multicast='true'/></Interfaces></General>"
)
ITEMS = 600


@pytest.fixture
def on_our_interface(monkeypatch):
    """Stock programs are told where the domain is, as docs/domain.md says."""
    monkeypatch.setenv("CYCLONEDDS_URI", ON_LOOPBACK)


@pytest.fixture
def stock(on_our_interface):
    """Start a program of the example; it must not import us."""
    started = []

    def start(program, *arguments):
        guarded = (
            f"import runpy, sys; sys.path.insert(0, {str(EXAMPLE)!r}); sys.argv[0] = {program!r}\n"
            "sys.modules['evenflow'] = None\n"
            f"runpy.run_path({str(EXAMPLE / program)!r}, run_name='__main__')"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", guarded, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_foreign_program_publishes_and_another_reads_while_a_node_is_killed(
    items_config, stock, doomed
):
    seen = set()
    with (
        Balancer(config=items_config),
        Node("items", lambda batch: seen.update(batch.ids.tolist()), config=items_config) as node,
        Subscriber("items", reliable=True, config=items_config) as subscriber,
    ):
        victim = doomed()
        assert wait_until(lambda: len(node.slices) == 4, 20)
        reading = stock("read.py", items_config.domain.id, "items")
        publishing = stock("publish.py", items_config.domain.id, "items", 8, ITEMS)
        assert wait_until(lambda: len(seen) > ITEMS // 6, 30)
        victim.kill()
        assert publishing.stdout.readline() == f"committed {ITEMS}\n"
        with Publisher("items", config=items_config) as publisher:
            publisher.publish("ours", sender="car-7", id=9_999)
        assert wait_until(lambda: 9_999 in seen, 20)
        rows = iter(lambda: reading.stdout.readline().split(), [])
        found = set()
        for sender, number, payload in rows:
            found.add((sender, int(number), payload))
            if number == "9999":
                break
        assert ("car-7", 9_999, "ours") in found
        assert wait_until(lambda: subscriber.stats.received >= ITEMS, 20), subscriber.stats
        # What was written before the reader was connected it does not get.
        assert {("foreign", n, "hello") for n in range(ITEMS // 2, ITEMS)} <= found


def test_a_foreign_publisher_that_nobody_commits_says_what_it_waits_for(items_config, stock):
    publishing = stock("publish.py", items_config.domain.id, "items", 8, 3)
    line = publishing.stderr.readline()
    assert line.startswith("waiting: 3 items are not committed for 5 s; does a node")


@dataclass
class Reading(IdlStruct, typename="Reading"):
    sensor: str
    celsius: float


STOCK_PLAIN = """
import sys, time
from dataclasses import dataclass
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

@dataclass
class Reading(IdlStruct, typename="Reading"):
    sensor: str
    celsius: float

participant = DomainParticipant(int(sys.argv[1]))
qos = Qos(Policy.Reliability.Reliable(10**9), Policy.Durability.TransientLocal,
          Policy.History.KeepLast(10))
reader = DataReader(participant, Topic(participant, "readings", Reading), qos)
writer = DataWriter(participant, Topic(participant, "echoes", Reading), qos)
while True:
    for one in reader.take(10):
        writer.write(Reading(one.sensor, one.celsius + 1.0))
    time.sleep(0.01)
"""


@pytest.mark.usefixtures("on_our_interface")
def test_topics_of_the_users_own_types_go_both_ways(items_config, python):
    readings = PlainTopic("readings", Reading, Policies(depth=10), durable=True)
    echoes = PlainTopic("echoes", Reading, Policies(depth=10), durable=True)
    python(STOCK_PLAIN, items_config.domain.id)
    with (
        enter(items_config.domain) as domain,
        PlainWriter(domain, readings) as writer,
        PlainReader(domain, echoes) as reader,
    ):
        writer.write(Reading("boiler", 20.5))
        found = []
        assert wait_until(lambda: found.extend(reader.take()) or found, 20)
    assert [(one.sensor, one.celsius) for one in found] == [("boiler", 21.5)]
