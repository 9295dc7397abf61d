"""Brokers as processes on the loopback interface: killed, returned, moved between, and healed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from pathlib import Path

import pytest

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.cli import main
from evenflow.config import Config
from evenflow.domain.channels import PROPERTIES, Gone
from evenflow.domain.cyclone import Participant
from evenflow.errors import ClosedError, EvenflowError, OverlayError, StoreTimeout
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.processes import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

PLACES = [(0.2, 0.3), (0.7, 0.2), (0.5, 0.6), (0.15, 0.8), (0.85, 0.75)]


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Brokers that no test kills; each test has topics of its own."""
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path_factory.mktemp("standing"), silence_s=3.0) as brokers:
        brokers.start_all()
        yield brokers


@pytest.fixture
def brokers(tmp_path):
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path, silence_s=1.5) as brokers:
        brokers.start_all()
        yield brokers


def client_of(brokers: LocalBrokers) -> Client:
    return Client(list(brokers.addresses.values()), timeout_s=40)


class Writer(threading.Thread):
    """Publishes numbered messages to some topics until it is told to stop."""

    def __init__(self, brokers: LocalBrokers, topics: list[str], level: int) -> None:
        super().__init__(daemon=True)
        self.topics, self.level = topics, level
        self.client = client_of(brokers)
        self.acknowledged = dict.fromkeys(topics, 0)
        self.error: Exception | None = None
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            while not self._ending.is_set():
                for topic in self.topics:
                    number = self.acknowledged[topic] + 1
                    self.client.publish(topic, b"%d" % number, level=self.level)
                    self.acknowledged[topic] = number
        except EvenflowError as error:
            self.error = error

    def await_more(self, count: int, patience_s: float = 60.0) -> None:
        """Wait until every topic has this many acknowledged messages more than it has now."""
        wanted = {topic: before + count for topic, before in self.acknowledged.items()}
        deadline = time.monotonic() + patience_s
        while any(self.acknowledged[topic] < number for topic, number in wanted.items()):
            assert self.error is None, self.error
            assert time.monotonic() < deadline, (wanted, self.acknowledged)
            time.sleep(0.02)

    def end(self) -> dict[str, int]:
        self._ending.set()
        self.join(60)
        self.client.close()
        assert self.error is None, self.error
        return self.acknowledged


def check_all_there(brokers: LocalBrokers, acknowledged: dict[str, int]) -> None:
    with client_of(brokers) as client:
        for topic, count in acknowledged.items():
            found = [int(m.payload) for m in client.read(topic, 0, time.time_ns())]
            assert found == list(range(1, count + 1)), topic


def test_a_late_reader_gets_the_past_then_the_present(standing) -> None:
    with client_of(standing) as client, client_of(standing) as other:
        begin = time.time_ns()
        client.publish_all("meters", [b"%d" % number for number in range(1000)])
        messages = other.subscribe("meters", start=begin)
        past = [int(next(messages).payload) for _ in range(1000)]
        client.publish("meters", b"1000")
        assert [*past, int(next(messages).payload)] == list(range(1001))
        middle = list(other.read("meters", begin, time.time_ns()))
        times = [message.time for message in middle]
        assert times == sorted(set(times))
        part = list(other.read("meters", times[10], times[20]))
        assert part == middle[10:20]
        assert list(other.read("meters", 5, 5)) == []


def test_brokers_die_and_return_and_nothing_acknowledged_is_lost(brokers) -> None:
    topics = [f"topic-{number}" for number in range(8)]
    writer = Writer(brokers, topics, level=2)
    for victim in ("b2", "b0"):
        writer.await_more(5)
        brokers.await_settled()
        brokers.kill(victim)
        writer.await_more(5)
        brokers.await_settled()
        brokers.start(victim)
    writer.await_more(5)
    acknowledged = writer.end()
    statuses = brokers.await_settled()
    # Two copies of each topic and not one more: nobody holds a stale one.
    assert sum(status.shelves for status in statuses) == 2 * len(topics)
    check_all_there(brokers, acknowledged)


def test_at_level_three_a_second_broker_may_die_after_the_third_copy(brokers) -> None:
    topics = [f"topic-{number}" for number in range(8)]
    writer = Writer(brokers, topics, level=3)
    for victim in ("b1", "b2", "b3"):
        writer.await_more(3)
        brokers.await_settled()
        brokers.kill(victim)
    writer.await_more(3)
    acknowledged = writer.end()
    brokers.await_settled()
    check_all_there(brokers, acknowledged)


def test_a_subscriber_sees_everything_once_while_the_topic_moves_ten_times(standing) -> None:
    begin = time.time_ns()
    writer = Writer(standing, ["moving"], level=2)
    seen: list[int] = []
    with client_of(standing) as subscriber, client_of(standing) as operator:

        def follow() -> None:
            with contextlib.suppress(ClosedError):  # the end of this test
                for message in subscriber.subscribe("moving", start=begin):
                    seen.append(int(message.payload))  # noqa: PERF401 - as they come

        reading = threading.Thread(target=follow, daemon=True)
        reading.start()
        for number in range(9):
            x, y = PLACES[number % len(PLACES)]
            delegates = operator.move("moving", Coordinate(x + 0.01 * number, y))
            assert len(delegates.entries) == number + 2
        assert operator.retire("moving").current == delegates.home
        count = writer.end()["moving"]
        deadline = time.monotonic() + 20
        while len(seen) < count:
            assert time.monotonic() < deadline, (len(seen), count)
            time.sleep(0.01)
        assert seen == list(range(1, count + 1))
        check_all_there(standing, {"moving": count})


@pytest.mark.domain
def test_brokers_balance_by_themselves_and_tell_why(tmp_path, capsys, domain_id) -> None:
    history = str(tmp_path / "history.db")
    config = Config.load(
        None, {"history.path": history, "domain.id": domain_id, "monitor.period_s": 0.2}
    )
    options = ["--balance-every", "500ms", "--monitor"]
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path, silence_s=1.5, options=options, config=config) as brokers:
        brokers.start_all()
        topics = [f"topic-{number}" for number in range(10)]
        with client_of(brokers) as client:
            for topic in topics:
                client.publish_all(topic, [b"x" * 1000] * 4, level=2)
        await_moves(tmp_path / "history.db", 2)
        brokers.await_settled()
        assert await_load(config) > 0
        with client_of(brokers) as client:
            for topic in topics:
                assert len(list(client.read(topic, 0, time.time_ns()))) == 4
    set_path = ["--set", f"history.path={tmp_path / 'history.db'}"]
    assert main(["history", "--json", *set_path]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    made = [plan for plan in plans if plan["outcome"] == "done"]
    assert made
    assert made[0]["event"]["event"] == "store-imbalance"
    assert made[0]["event"]["seen"]["highest_there_after"] > 0
    assert made[0]["actions"][0]["does"].startswith("topic topic-")


def await_load(config: Config, patience_s: float = 20.0) -> float:
    """Wait until the monitoring service has heard of a broker's load."""
    deadline = time.monotonic() + patience_s
    with Participant(config.domain) as participant:
        reader = participant.reader(PROPERTIES)
        while time.monotonic() < deadline:
            for report in reader.take():
                if isinstance(report, Gone):
                    continue
                seen = dict(zip(report.names, report.values, strict=True))
                assert report.source.startswith("broker/b")
                if seen.get("broker_load") and seen["broker_bytes"] and seen["broker_topics"]:
                    return seen["broker_load"]
            time.sleep(0.05)
    raise AssertionError("no broker tells its load")


def await_moves(path: Path, count: int, patience_s: float = 40.0) -> None:
    deadline = time.monotonic() + patience_s
    with History(path) as history:
        while sum(story.outcome is PlanState.DONE for story in history.stories()) < count:
            assert time.monotonic() < deadline, history.entries()
            time.sleep(0.1)


def test_old_messages_and_too_many_expire(tmp_path) -> None:
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES[:3])}
    options = ["--keep-for", "6s", "--keep-bytes", "5000"]
    with LocalBrokers(places, tmp_path, silence_s=1.5, options=options) as brokers:
        brokers.start_all()
        with client_of(brokers) as client:
            client.publish_all("meters", [b"%04d" % number * 250 for number in range(20)])

            def kept() -> list[int]:
                return [int(m.payload[:4]) for m in client.read("meters", 0, time.time_ns())]

            await_that(lambda: kept() == [15, 16, 17, 18, 19], "the newest 5,000 bytes")
            await_that(lambda: kept() == [], "nothing after six seconds")
            client.publish("meters", b"0020")
            assert kept() == [20]


def await_that(condition, what: str, patience_s: float = 30.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_client_may_say_what_is_not_needed_and_what_is_young_stays(standing) -> None:
    with client_of(standing) as client:
        client.publish_all("trimmed", [b"%d" % number for number in range(20)])
        client.trim("trimmed", client.now("trimmed"))
        client.publish("trimmed", b"20")
        assert len(list(client.read("trimmed"))) == 21
    statuses = standing.await_settled()
    assert sum(status.refused + status.damaged for status in statuses) == 0


def test_who_publishes_again_under_the_same_number_stores_nothing_twice(standing) -> None:
    async def publish(payloads: list[bytes]) -> None:
        async with AsyncClient(list(standing.addresses.values())) as client:
            client.publish_as("again", 7)
            await client.publish_all("again", payloads)
            with pytest.raises(OverlayError, match="publishes already"):
                client.publish_as("again", 8)

    asyncio.run(publish([b"1", b"2"]))
    asyncio.run(publish([b"1", b"2", b"3"]))
    with client_of(standing) as client:
        found = [message.payload for message in client.read("again", 0, time.time_ns())]
    assert found == [b"1", b"2", b"3"]


def test_a_client_that_is_closed_tells_who_waits_for_it(standing):
    client = client_of(standing)
    client.ensure("closing")
    said = []

    def wait():
        try:
            next(client.subscribe("closing"))
        except EvenflowError as error:
            said.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    client.now("closing")
    client.close()
    waiting.join(20)
    assert not waiting.is_alive()
    assert isinstance(said[0], ClosedError)


def broker_command(name: str, listen: str, contact: str, folder: Path) -> list[str]:
    return [
        "broker", "--name", name, "--at", "0.4,0.4", "--listen", listen, "--contact", contact,
        "--data", str(folder),
    ]  # fmt: skip


def test_a_second_broker_of_one_name_or_at_one_port_is_refused(standing, tmp_path, capsys) -> None:
    first, taken = standing.addresses["b0"], standing.addresses["b1"]
    assert main(broker_command("b1", "127.0.0.1:0", first, tmp_path)) == 2
    assert f"a broker called b1 is running already, at {taken}:" in capsys.readouterr().err
    assert main(broker_command("new", taken, first, tmp_path)) == 2
    err = capsys.readouterr().err
    assert f"cannot listen at {taken}: another program listens there: stop it, or" in err
    assert "Errno" not in err


def test_a_broker_that_is_ended_says_goodbye_and_who_waits_for_it_is_told(tmp_path) -> None:
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES[:3])}
    with LocalBrokers(places, tmp_path, silence_s=60.0) as brokers:  # nobody is missed by himself
        brokers.start_all()
        left = brokers.addresses["b1"]
        assert brokers.stop("b1") == 0
        others = ("b0", "b2")
        assert wait_until(lambda: all("b1 has left" in brokers.log(one) for one in others), 20)
        assert not any("died" in brokers.log(one) for one in others)
        addresses = list(brokers.addresses.values())
        with Client(addresses, timeout_s=2) as client, pytest.raises(StoreTimeout) as raised:
            list(client.read("nowhere"))
        assert "b0, b2 know no topic 'nowhere'" in str(raised.value)
        assert f"b1 at {left} (has left); start them again" in str(raised.value)
    with Client(addresses, timeout_s=1) as client, pytest.raises(StoreTimeout) as raised:
        list(client.read("nowhere"))
    assert "no broker answers at" in str(raised.value)
    assert addresses[0] in str(raised.value) or addresses[1] in str(raised.value)
