"""State of a durable topic survives ``kill -9`` of its node: each item is in it exactly once."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from evenflow import Config, Publisher
from evenflow.errors import DeliveryTimeout
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.processes import LocalCluster, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
SLICES = 8
NODE = ["node", "--app", "counting:counts.on_new_data"]
PLACES = {"b1": Coordinate(0.2, 0.3), "b2": Coordinate(0.7, 0.2), "b3": Coordinate(0.5, 0.8)}
FILE = """
[domain]
id = {domain}
[topics.items]
slices = {slices}
assignment = "modulo:id"
durable = true
[node]
snapshot_ms = 200
[store]
brokers = {brokers}
"""
APP = """
import json, pathlib

class Counts:
    def __init__(self):
        self.ids = {}

    def on_new_data(self, batch):
        self.ids[batch.slice] += batch.ids.tolist()
        for slice_id, ids in self.ids.items():
            path = pathlib.Path(f"slice-{slice_id}.json")
            draft = path.with_suffix(f".{id(self)}")
            draft.write_text(json.dumps(ids))
            draft.replace(path)

    def give(self, slice_id):
        return json.dumps(self.ids[slice_id]).encode()

    def take(self, slice_id, state):
        self.ids[slice_id] = [] if state is None else json.loads(state)

    def forget(self, slice_id):
        del self.ids[slice_id]

counts = Counts()
"""


@pytest.fixture
def brokers(tmp_path):
    with LocalBrokers(PLACES, tmp_path) as brokers:
        brokers.start_all()
        yield brokers


def states(folder):
    """The state of each slice, as its owner wrote it down last."""
    return {
        slice_id: sorted(json.loads((folder / f"slice-{slice_id}.json").read_text()))
        for slice_id in range(SLICES)
        if (folder / f"slice-{slice_id}.json").exists()
    }


@pytest.fixture
def configured(domain_id, tmp_path, brokers, monkeypatch):
    """Makes the file of a topic with a number of slices, for all who are started from now on."""
    path = tmp_path / "evenflow.toml"
    (tmp_path / "counting.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENFLOW_CONFIG", str(path))

    def configure(slices=SLICES):
        addresses = json.dumps(list(brokers.addresses.values()))
        path.write_text(FILE.format(domain=domain_id, brokers=addresses, slices=slices))
        return Config.load(path)

    return configure


def test_counts_are_exact_after_nodes_were_killed(tmp_path, configured):
    config = configured()
    with (
        LocalCluster(config, log_dir=tmp_path) as cluster,
        Publisher("items", config=config) as publisher,
    ):
        published = 0

        def publish(count):
            nonlocal published
            for _ in range(count):
                publisher.publish(b"x", id=published)
                published += 1

        def committed():
            done = wait_until(lambda: publisher.committed == published, 60)
            return done or pytest.fail(str({n: cluster.log(n)[-2_000:] for n in cluster.processes}))

        cluster.start("balancer", ["balancer"])
        cluster.start("node-0", [*NODE, "--name", "node-0"])
        for number in range(3):
            publish(200)
            assert committed()
            cluster.start(f"node-{number + 1}", [*NODE, "--name", f"node-{number + 1}"])
            assert wait_until(lambda: "processes items" in cluster.log(f"node-{number + 1}"), 60)  # noqa: B023
            publish(300)
            cluster.kill(f"node-{number}")
            publish(50)
        assert committed()
        expected = {s: list(range(s, published, SLICES)) for s in range(SLICES)}
        assert wait_until(lambda: states(tmp_path) == expected, 10), states(tmp_path)


def test_states_of_another_number_of_slices_are_given_to_nobody(tmp_path, configured):
    """The node ends and says what to do; with the old number all goes on where it was."""

    def run(slices, ids):
        """Publish items to one node; whether all were committed, how it ended, its log."""
        config = configured(slices)
        with LocalCluster(config, log_dir=tmp_path) as cluster:
            cluster.start("balancer", ["balancer"])
            node = cluster.start("node", [*NODE, "--name", "node"])
            publisher = Publisher("items", config=config)
            for number in ids:
                publisher.publish(b"x", id=number)
            wait_until(lambda: node.poll() is not None or publisher.committed == len(ids), 60)
            ended = publisher.committed == len(ids), node.poll(), cluster.log("node")
            with suppress(DeliveryTimeout):
                publisher.close(1.0)
            return ended

    done, code, log = run(8, range(80))
    assert (done, code) == (True, None), log
    done, code, log = run(4, range(1_000, 1_080))
    assert (done, code) == (False, 2), log
    assert "from 8 slices by modulo:id, and the file has 4 slices by modulo:id" in log
    assert "Traceback" not in log
    done, code, log = run(8, range(80, 160))
    assert (done, code) == (True, None), log
    assert states(tmp_path) == {s: list(range(s, 160, SLICES)) for s in range(SLICES)}
