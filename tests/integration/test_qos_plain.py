"""Plain topics on a real domain: what is counted, limits, filters, and changes under load."""

from __future__ import annotations

import http.client
import json
import math
import os
import random
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.plain_topics import DEEP, KEPT, LIMITED, LIVE, Place

from evenflow.domain import channels, cyclone
from evenflow.domain.cyclone import Participant
from evenflow.errors import ClosedError, QosError, WriterFull
from evenflow.model.messages import MoveReply
from evenflow.processes import free_ports
from evenflow.qos.consistency import Policies
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter, Thin
from evenflow.qos.plain import reader as plain_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.config import DomainConfig

pytestmark = pytest.mark.domain


READER = """
    import sys, time
    from evenflow.config import DomainConfig
    from evenflow.domain import enter
    from evenflow.qos.plain import PlainReader
    from tests.integration.plain_topics import TOPICS

    config = DomainConfig(id=int(sys.argv[1]))
    with enter(config) as domain, PlainReader(domain, TOPICS[sys.argv[2]]) as reader:
        print("up", flush=True)
        taken = 0
        for line in sys.stdin:
            if line == "count\\n":
                taken += len(reader.take(100_000))
                print(taken, flush=True)
            else:
                wanted, end = int(line), time.monotonic() + 20
                while taken < wanted and time.monotonic() < end:
                    reader.wait(0.1)
                    taken += len(reader.take())
                print(taken, flush=True)
"""


@pytest.fixture
def python(python: Callable[..., Any]) -> Callable[..., Any]:
    """Start programs that find the topics of the tests."""
    root = Path(__file__).parents[2]
    find = "import sys\nsys.path.insert(0, sys.argv.pop())\n"
    return lambda program, *arguments: python(find + dedent(program), *arguments, root)


@pytest.fixture
def domain(domain_config: DomainConfig) -> Iterator[Participant]:
    with Participant(domain_config) as participant:
        yield participant


def ask(process: Any, order: object) -> int:
    process.stdin.write(f"{order}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def write(writer: PlainWriter, count: int) -> None:
    for number in range(count):
        writer.write(Place("a", number))


def begin(writer: PlainWriter, reader: Any, eventually: Callable[..., None]) -> int:
    """Write until a reader's process has something; return how many samples it never gets.

    A volatile reader has nothing from before a writer's first heartbeat, matched or not.
    """
    assert reader.stdout.readline() == "up\n"
    eventually(writer.matched)

    def is_heard() -> bool:
        writer.write(Place("a", -1))
        return ask(reader, "count") > 0

    eventually(is_heard, "the reader has something")
    eventually(lambda: writer.use().used == 0, "and all that was written since")
    return writer.stats.written - ask(reader, "count")


def fill(writer: PlainWriter) -> bool:
    """Write until the writer is full; whether it stays so for as long as a write waits."""
    before = writer.stats.written
    with pytest.raises(WriterFull, match="50 of 50 samples"):
        write(writer, 1_000)
    use = writer.use()
    return writer.stats.written == before and (use.used, use.ratio) == (50, 1.0)


# -- what is counted -------------------------------------------------------------------------------


def monitored(port: int, topic: str) -> tuple[int, int]:
    """Of a writer of this process, as Cyclone tells it: samples written and acknowledged by all.

    Cyclone's monitor listens on all interfaces, whatever interface its domain has; no setting says
    otherwise (11.0.1). It is there for this test alone, and tells numbers and names of topics.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.putrequest("GET", "/")
    connection.endheaders()
    found = json.loads(connection.getresponse().read())
    connection.close()
    writers = [w for p in found["participants"] for w in p["writers"] if w.get("topic") == topic]
    assert len(writers) == 1
    return writers[0]["seq"], writers[0]["whc"]["max_drop_seq"]


def test_used_is_what_cyclone_itself_says(
    domain_config: DomainConfig,
    python: Callable[..., Any],
    eventually: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port, plain_xml = free_ports(1)[0], cyclone.cyclone_xml

    def with_monitor(config: DomainConfig, *, apart: cyclone.Apart = cyclone.Apart.NO) -> str:
        return plain_xml(config, apart=apart).replace(
            "<AckDelay>", f"<MonitorPort>{port}</MonitorPort><AckDelay>"
        )

    monkeypatch.setattr(cyclone, "cyclone_xml", with_monitor)
    with Participant(domain_config) as domain, PlainWriter(domain, LIVE) as writer:
        reader = python(READER, domain_config.id, "live")
        assert reader.stdout.readline() == "up\n"
        eventually(writer.matched)
        for number in range(100):
            writer.write(Place(f"car-{number % 3}", number))
        eventually(lambda: writer.use().used == 0, "all is acknowledged")
        assert monitored(port, "live") == (100, 100)
        reader.send_signal(signal.SIGSTOP)
        os.waitpid(reader.pid, os.WUNTRACED)  # all its threads stand still
        for number in range(70):
            writer.write(Place(f"car-{number % 3}", number))
        written, acknowledged = monitored(port, "live")
        assert writer.use().used == written - acknowledged == 70
        reader.send_signal(signal.SIGCONT)
        eventually(lambda: writer.use().used == 0, "all is acknowledged again")
        assert monitored(port, "live") == (170, 170)


@pytest.mark.parametrize("seed", range(5))
def test_a_late_reader_is_given_what_is_kept(
    domain: Participant, eventually: Callable[..., None], seed: int
) -> None:
    chance = random.Random(seed)
    with PlainWriter(domain, KEPT) as writer:
        for number in range(chance.randrange(5, 80)):
            writer.write(Place(f"car-{chance.randrange(6)}", number))
        kept = writer.use().kept
        given: list[Place] = []
        with PlainReader(domain, KEPT) as late:
            eventually(lambda: given.extend(late.take()) or len(given) >= kept, "history")
            assert late.take() == []
        assert len(given) == kept
        assert kept <= writer.use().kept_most


# -- limits ----------------------------------------------------------------------------------------


def test_a_slow_reader_fills_the_writer_to_its_limit_and_no_further(
    domain: Participant, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    with PlainWriter(domain, LIMITED, block_s=0.05) as writer:
        reader = python(READER, domain.config.id, "limited")
        missed = begin(writer, reader, eventually)
        attempts = 0

        def is_full() -> bool:
            nonlocal attempts
            attempts += 1
            return fill(writer)

        eventually(is_full, "the writer is full")
        written = writer.stats.written - missed
        # The reader has its fill, what waits before it, and the writer its limit. They may be the
        # same samples: a reader that is full at once acknowledges none of them.
        assert 50 <= written <= 200
        assert writer.stats.rejected == attempts
        assert writer.stats.longest_block_s >= 0.05
        assert ask(reader, written) == written
        eventually(lambda: writer.use().used == 0, "the writer is empty")
        writer.write(Place("a", 0))


def test_a_writer_that_never_pauses_gets_room_at_its_limit(
    domain: Participant, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    """Cyclone asks for acknowledgements late; a writer that waits for room is acknowledged."""
    with PlainWriter(domain, LIMITED, block_s=5.0) as writer:
        reader = python(READER, domain.config.id, "limited")
        missed = begin(writer, reader, eventually)
        reader.stdin.write(f"{writer.stats.written - missed + 1_000}\n")
        reader.stdin.flush()
        write(writer, 1_000)
        assert writer.stats.rejected == 0
        assert writer.stats.blocked_s > 0
        assert int(reader.stdout.readline()) == writer.stats.written - missed


def test_a_full_reader_holds_up_nobody_else(
    domain: Participant, domain_config: DomainConfig, python: Callable[..., Any],
    eventually: Callable[..., None],
) -> None:  # fmt: skip
    """Cyclone receives for a process in one thread, which waits for a full reader."""
    program = """
        import sys
        from evenflow.config import DomainConfig
        from evenflow.domain import channels, enter
        from evenflow.model.messages import MoveReply
        from evenflow.qos.plain import PlainWriter
        from evenflow.errors import WriterFull
        from tests.integration.plain_topics import LIMITED, Place

        with enter(DomainConfig(id=int(sys.argv[1]))) as domain:
            replies = domain.writer(channels.REPLIES)
            writer = PlainWriter(domain, LIMITED, block_s=0.01)
            while not (writer.matched() and replies.matched()):
                pass
            for number in range(500):
                try:
                    writer.write(Place("a", number))
                except WriterFull:
                    break
            for number in range(100):
                replies.write(MoveReply("topic", number, True, "", 1))
            print(number, flush=True)
            sys.stdin.readline()
    """
    replies = domain.reader(channels.REPLIES)
    with PlainReader(domain, LIMITED):
        other = python(program, domain_config.id)
        other.stdout.readline()
        got: list[MoveReply] = []
        eventually(lambda: got.extend(replies.take()) or len(got) == 100, "our own channel")


# -- policies --------------------------------------------------------------------------------------


def test_policies_that_do_not_go_together_are_refused_in_words(domain: Participant) -> None:
    with pytest.raises(QosError, match="history of 20 does not fit into max_samples = 10"):
        PlainTopic("bad", Place, Policies(depth=20, max_samples=10))
    in_time = PlainTopic("timed", Place, Policies(deadline_s=1.0))
    with pytest.raises(QosError, match="separation of 2 s is not below the deadline"):
        PlainReader(domain, in_time, separation_s=2.0)
    with pytest.raises(QosError, match="which is ours"):
        PlainTopic("evenflow/epochs", Place)


def test_a_separation_stays_below_the_deadline(domain: Participant) -> None:
    with PlainReader(domain, PlainTopic("timed", Place, Policies(deadline_s=1.0))) as reader:
        reader.set_separation(5.0)
        assert 0.99 < reader.separation_s < 1.0


def test_a_topic_that_is_never_thinned(domain: Participant) -> None:
    alarms = PlainTopic("alarms", Place, thin=Thin.NEVER)
    with pytest.raises(QosError, match="never thinned"):
        PlainReader(domain, alarms, separation_s=0.1)
    with PlainReader(domain, alarms) as reader:
        with pytest.raises(QosError, match="never thinned"):
            reader.set_separation(0.1)
        reader.set_separation(0.0)
        assert reader.separation_s == 0.0


@pytest.mark.parametrize("absurd", [math.nan, math.inf, -1.0, 1e300, 1e10])
def test_a_separation_that_is_no_time_is_refused_and_the_reader_goes_on(
    domain: Participant, eventually: Callable[..., None], absurd: float
) -> None:
    with PlainWriter(domain, LIVE) as writer, PlainReader(domain, LIVE) as reader:
        with pytest.raises(QosError, match="the separation is"):
            reader.set_separation(absurd)
        with pytest.raises(QosError, match="the separation is"):
            PlainReader(domain, LIVE, separation_s=absurd)
        eventually(writer.matched)
        writer.write(Place("a", 1))
        eventually(lambda: len(reader.take()) == 1)
        assert (reader.separation_s, reader.changes) == (0.0, 0)


def test_changes_take_over_no_more_than_a_bound_while_nobody_takes(
    domain: Participant, eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_reader, "MOST_WAITING", 100)
    with PlainWriter(domain, LIVE) as writer, PlainReader(domain, LIVE) as reader:
        eventually(writer.matched)

        def change() -> None:
            for number in range(20):
                write(writer, 30)
                reader.set_separation(0.0 if number % 2 else 1e-6)

        with pytest.raises(QosError, match="samples wait to be taken"):
            change()
        assert len(reader.take(1_000)) <= 130
        change_again = 0.5
        reader.set_separation(change_again)
        assert reader.separation_s == change_again


def test_a_closed_writer_is_not_full(domain: Participant, python: Callable[..., Any],
    eventually: Callable[..., None],
) -> None:  # fmt: skip
    with PlainWriter(domain, LIMITED, block_s=0.05) as writer:
        reader = python(READER, domain.config.id, "limited")
        assert reader.stdout.readline() == "up\n"
        eventually(writer.matched)
        eventually(lambda: fill(writer), "the writer is full")
    assert (writer.use().used, writer.use().used_most) == (0, 0)


def test_what_is_closed_says_so(domain_config: DomainConfig) -> None:
    with Participant(domain_config) as domain:
        writer, reader = PlainWriter(domain, LIVE), PlainReader(domain, LIVE)
    with pytest.raises(ClosedError):
        writer.write(Place("a", 1))
    with pytest.raises(ClosedError):
        reader.take()


# -- the filter, and a change of it ----------------------------------------------------------------


def test_the_filter_counts_per_instance_and_lets_the_first_through(
    domain: Participant, eventually: Callable[..., None]
) -> None:
    with (
        PlainWriter(domain, LIVE) as writer,
        PlainReader(domain, LIVE, separation_s=60.0) as reader,
    ):
        eventually(writer.matched)
        for number in range(10):
            for car in ("a", "b"):
                writer.write(Place(car, number))
        assert sorted((one.car, one.number) for one in reader.take()) == [("a", 0), ("b", 0)]
        assert reader.filtered == 18


@pytest.mark.parametrize("topic", [LIVE, DEEP], ids=lambda topic: topic.name)
def test_a_separation_changed_fifty_times_under_load(
    domain: Participant,
    python: Callable[..., Any],
    eventually: Callable[..., None],
    topic: PlainTopic,
) -> None:
    """Nothing twice; and of what lies between two samples, none that a filter would let through."""
    program = """
        import select, sys, time
        from evenflow.config import DomainConfig
        from evenflow.domain import enter
        from evenflow.qos.plain import PlainWriter
        from tests.integration.plain_topics import TOPICS, Place

        config = DomainConfig(id=int(sys.argv[1]))
        with enter(config) as domain, PlainWriter(domain, TOPICS[sys.argv[2]]) as writer:
            # A volatile reader has nothing from before a writer's first heartbeat, matched or not.
            while not select.select([sys.stdin], [], [], 0.01)[0]:
                writer.write(Place("begin", -1))
            sys.stdin.readline()
            end = time.monotonic() + float(sys.argv[3])
            number = 0
            while time.monotonic() < end:
                writer.write(Place(f"car-{number % 3}", number))
                number += 1
                time.sleep(0.001)
            writer.wait_acknowledged(5)
            print(number, flush=True)
            sys.stdin.readline()
    """
    chance = random.Random(7)
    separations = [chance.choice([0.0, 0.005, 0.02, 0.1]) for _ in range(51)]
    everything: list[Place] = []
    passed: list[Place] = []
    with PlainReader(domain, topic) as all_of_it, PlainReader(domain, topic) as changing:
        writer = python(program, domain.config.id, topic.name, 4.0)
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                changing.wait(0.01)
                passed.extend(changing.take())
                everything.extend(all_of_it.take())

        reading = threading.Thread(target=read)
        reading.start()
        eventually(lambda: passed and everything, "both read")
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for separation in separations:
            time.sleep(0.06)
            changing.set_separation(separation)
        written = int(writer.stdout.readline())
        time.sleep(0.3)
        done.set()
        reading.join()
        passed.extend(changing.take(100_000))
        everything.extend(all_of_it.take(100_000))
    assert changing.changes >= 30
    numbers = [one.number for one in everything if one.car != "begin"]
    assert len(numbers) == written, "the reference has everything"
    numbers = [one.number for one in passed if one.car != "begin"]
    assert len(set(numbers)) == len(numbers), "nothing twice"
    largest = int(max(separations) * 1e9)
    for car in ("car-0", "car-1", "car-2"):
        all_times = sorted(o.sample_info.source_timestamp for o in everything if o.car == car)
        times = sorted(o.sample_info.source_timestamp for o in passed if o.car == car)
        assert times[0] == all_times[0]
        for before, after in pairwise(times):
            between = [t for t in all_times if before < t < after]
            # The filter in effect would have let it through, whichever of them it was.
            assert not [t for t in between if t - before >= largest]
