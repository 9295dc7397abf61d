"""A sliced topic that is overloaded thins itself and recovers: real processes, a real domain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.integration.two_balancers import NAMES, leader, roles, settled

from evenflow.autonomic.knowledge.history import History
from evenflow.config import Config
from evenflow.domain.channels import SEPARATIONS, USES
from evenflow.domain.cyclone import Participant
from evenflow.processes import LocalCluster
from evenflow.qos.loop.rate_view import RateView
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

SENDERS = 20
PAYLOAD = bytes(2_000)
PACE_S = 0.005
"""Between two items of a sender: far more than the slow application can process."""
PAUSE_S = 0.01
"""What the application takes for an item."""
SETTINGS = {
    "topics.items.slices": 8,
    "topics.items.thin": "source",
    "topics.alarms.slices": 8,
    "balancer.analyze_s": 0.5,
    "balancer.settle_s": 0.5,
    "publisher.retention_bytes": 1 << 20,
    "node.cache_bytes": 1 << 20,
    "qos.performance_ratio": 0.3,
    "qos.margin": 0.2,
    "qos.separation_most_s": 2.0,
    "qos.report_s": 0.1,
    "qos.period_s": 0.2,
    "qos.calm_s": 1.0,
}


class Stream:
    """Publishes as fast as its pace, and counts what it is told of each item."""

    def __init__(self, topic, config):
        self.offered = self.let_through = 0
        self.publisher = Publisher(topic, config=config)
        self._stop = Event()
        self._thread = Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _publish(self):
        while not self._stop.wait(PACE_S):
            for sender in range(SENDERS):
                number = self.offered
                self.let_through += self.publisher.publish(
                    PAYLOAD, sender=f"sender-{sender}", id=number
                )
                self.offered += 1

    def stop(self):
        self._stop.set()
        self._thread.join()


@pytest.fixture
def cluster(domain_id, tmp_path):
    file = tmp_path / "evenflow.toml"
    given = {**SETTINGS, "domain.id": domain_id, "history.path": str(tmp_path / "history.db")}
    file.write_text(Config.load(None, given).as_toml(), encoding="utf-8")
    with LocalCluster(Config.load(file), log_dir=tmp_path) as cluster:
        for name in NAMES:
            cluster.start_balancer(name)
        beside = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        for topic in ("items", "alarms"):
            env = {
                "EVENFLOW_PAUSE": str(PAUSE_S),
                "EVENFLOW_RECORD": str(tmp_path / topic),
                "PYTHONPATH": beside,
            }
            cluster.start_node(f"n-{topic}", "recorder:record", "--topic", topic, env=env)
        yield cluster


def qos(cluster):
    """What ``evenflow qos --json`` says, by topic."""
    done = subprocess.run(
        [sys.executable, "-m", "evenflow", "qos", "--json", "--config", str(cluster.config.file)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return {row["topic"]: row for row in json.loads(done.stdout)["topics"]}


def recorded(folder, topic):
    file = folder / topic
    return Counter(map(int, file.read_text().split())) if file.exists() else Counter()


STANDING_STILL = """
    import sys
    from evenflow.config import Config
    from evenflow.slices.publisher.publisher import Publisher

    publisher = Publisher("items", config=Config.load(sys.argv[1]))
    print("up", flush=True)
    sys.stdin.readline()
"""


def test_a_process_that_stood_still_for_a_moment_takes_part_again(
    domain_id, tmp_path, python, eventually
):
    """It is taken for gone, and nothing that it tells ever changes."""
    file = tmp_path / "evenflow.toml"
    given = {"domain.id": domain_id, "topics.items.thin": "source", "qos.report_s": 0.1}
    file.write_text(Config.load(None, given).as_toml(), encoding="utf-8")
    config, view = Config.load(file), RateView()
    process = python(STANDING_STILL, file)
    assert process.stdout.readline() == "up\n"
    with Participant(config.domain) as participant:
        readers = [participant.reader(channel) for channel in (USES, SEPARATIONS)]

        def known():
            for reader in readers:
                for message in reader.take():
                    view.handle(message)
            return len(view.uses("items")) + len(view.targets("items"))

        eventually(lambda: known() == 2, "it takes part")
        process.send_signal(signal.SIGSTOP)
        # Longer than its liveliness, and not as long as its participant's lease.
        eventually(lambda: known() == 0, "it is taken for gone")
        process.send_signal(signal.SIGCONT)
        eventually(lambda: known() == 2, "it takes part again")


def test_an_overloaded_topic_is_thinned_by_itself_until_the_load_ends(
    cluster, tmp_path, eventually
):
    items, alarms = Stream("items", cluster.config), Stream("alarms", cluster.config)
    thinning = items.publisher._shell._thinning

    eventually(lambda: thinning.separation_s > 0, "an overload leads to a separation", 60)
    eventually(lambda: settled(cluster), "one balancer leads")
    former = leader(cluster)
    [successor] = set(NAMES) - {former}
    cluster.signal(former, signal.SIGSTOP)
    eventually(lambda: roles(cluster)[successor] == "leads", "the other one takes over", 30)
    assert thinning.separation_s > 0, "a change of balancers does not lift a separation"
    # What is let through is less than can be processed: what is retained becomes less.
    eventually(lambda: items.publisher.stats.retained_bytes < 200_000, "the delay falls", 60)
    seen = qos(cluster)
    assert seen["items"]["thinned"] > 0
    assert (seen["items"]["policy"], len(seen["items"]["where"])) == ("source", 1)
    assert (seen["alarms"]["policy"], seen["alarms"]["where"]) == ("never", [])
    cluster.signal(former, signal.SIGCONT)
    eventually(lambda: settled(cluster) and leader(cluster) == successor, "it stands by")
    assert thinning.separation_s > 0, "what it had ordered before is over"

    for stream in (items, alarms):
        stream.stop()
    eventually(lambda: thinning.separation_s == 0, "full rate returns when the load is gone", 60)
    assert all(items.publisher.publish(b"x", sender="one", id=-1 - n) for n in range(5))
    for stream in (items, alarms):
        stream.publisher.close(120)
        stats = stream.publisher.stats
        assert stats.thinned == stream.offered - stream.let_through
    assert items.publisher.stats.thinned > 0
    assert alarms.publisher.stats.thinned == 0

    processed = recorded(tmp_path, "items")
    assert set(processed.values()) == {1}, "what was let through is processed once"
    assert len(processed) == items.let_through + 5
    assert recorded(tmp_path, "alarms") == Counter(range(alarms.offered))

    with History(cluster.config.history_file) as history:
        stories = [s for s in history.stories() if s.plan.event_id == "separation-differs"]
    assert stories
    assert all(action.kind == "separate" for s in stories for action in s.plan.actions)
    assert any("level" in story.plan.reason for story in stories)
