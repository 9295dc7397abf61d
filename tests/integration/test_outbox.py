"""Publishers and sinks that are killed, with an outbox: everything arrives, and once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenflow.config import Config
from evenflow.errors import OutboxRefused
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.outbox.kills import SETTINGS, Kills

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

SLICES = 8


def configured(domain_id: int, **more: float) -> Config:
    topic = {"topics.items.slices": SLICES, "topics.items.assignment": "hash:id"}
    return Config.load(None, {"domain.id": domain_id} | topic | more)


@pytest.fixture
def config(domain_id: int) -> Config:
    return configured(domain_id)


def test_a_publisher_that_is_killed_loses_and_repeats_nothing(
    domain_id: int, tmp_path: Path
) -> None:
    config = configured(domain_id, **SETTINGS)
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        kills = Kills("test", config, cluster, tmp_path, items_per_s=5_000, seed=5)
        kills.set_up()
        for _ in range(4):
            kills.strike()
        figures = kills.finish()
    assert figures["kills"] == 4
    assert figures["on_disk_alone"] > 0
    assert figures["published"] > 1_000
    assert (figures["lost"], figures["repeated"]) == (0, 0)


@pytest.fixture
def arrived(domain_id: int, eventually: Callable[..., None]) -> Iterator[list[int]]:
    """What a node of the topic was given, by the ids of the items."""
    found: list[int] = []
    config = configured(domain_id, **{"node.writer_silence_s": 8.0})
    with (
        Balancer(config=config),
        Node("items", lambda b: found.extend(item.id for item in b), config=config) as node,
    ):
        eventually(lambda: len(node.slices) == SLICES, "it has all slices")
        yield found


DRIVER = """
    import os, signal, sys
    from pathlib import Path
    import pyarrow as pa
    from pyspark.sql.types import BinaryType, StructField, StructType
    from evenflow.config import Config
    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.spark.options import SinkOptions
    from evenflow.spark.sink import StreamWriter

    domain, slices, folder, moment = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    config = Config.load(None, {
        "domain.id": domain, "topics.items.slices": slices, "topics.items.assignment": "hash:id"})
    flush = Publisher.flush

    def die(publisher, timeout=None):
        if moment != "before":
            flush(publisher, timeout)
        if moment == "after":
            print("published", flush=True)
            sys.stdin.readline()
        if moment != "never":
            os.kill(os.getpid(), signal.SIGKILL)

    Publisher.flush = die
    writer = StreamWriter(
        SinkOptions("items", config, Path(folder), name="alerts"),
        StructType([StructField("payload", BinaryType())]))
    batch = pa.record_batch({"payload": pa.array([b"%d" % n for n in range(300)], pa.binary())})
    for number in (7, 8):
        writer.commit([writer.write(iter([batch]))], number)
    print("committed", flush=True)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_driver_that_dies_between_publication_and_note_publishes_once(
    config: Config,
    tmp_path: Path,
    arrived: list[int],
    moment: str,
    eventually: Callable[..., None],
) -> None:
    """Its sink has published a batch (and the node has processed it, or not); Spark knows nothing.

    The next driver is given that batch again, and another one behind it: when that one is there, so
    is whatever came again of the first.
    """

    def drive(moment: str) -> str:
        arguments = [config.domain.id, SLICES, tmp_path / "outbox", moment]
        command = [sys.executable, "-c", textwrap.dedent(DRIVER), *map(str, arguments)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as driver:
            if moment == "after":
                assert driver.stdout is not None
                assert driver.stdout.readline() == "published\n"
                eventually(lambda: len(arrived) == 300, "the first batch is processed", 30.0)
            return driver.communicate("go\n")[0]

    assert drive(moment) == ""
    assert drive("never") == "committed\n"
    # A driver that ends before the node has asked where its numbers start is a writer that nobody
    # hears: then they are processed when it is cut, after node.writer_silence_s.
    first, second = ([(batch << 32) + rank for rank in range(300)] for batch in (7, 8))
    eventually(lambda: set(second) <= set(arrived), "the second batch is there", 60.0)
    assert sorted(arrived) == [*first, *second]


def test_a_second_process_is_refused(config: Config, tmp_path: Path) -> None:
    program = """
        import sys
        from evenflow.config import Config
        from evenflow.slices.publisher.publisher import Publisher
        settings = {"domain.id": int(sys.argv[1]), "topics.items.slices": int(sys.argv[2])}
        Publisher("items", config=Config.load(None, settings), outbox=sys.argv[3])
        print("open", flush=True)
        sys.stdin.read()
    """
    arguments = map(str, (config.domain.id, SLICES, tmp_path / "outbox"))
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(OutboxRefused, match=f"process {holder.pid} on"):
            Publisher("items", config=config, outbox=tmp_path / "outbox")
        holder.kill()
    assert wait_until(lambda: holder.poll() is not None, 10.0)
    Publisher("items", config=config, outbox=tmp_path / "outbox").close()
