"""State of a durable topic survives ``kill -9`` of its node: each item is in it exactly once."""

from __future__ import annotations

import json

import pytest

from evenflow import Config, Publisher
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.processes import LocalCluster, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
SLICES = 8
PLACES = {"b1": Coordinate(0.2, 0.3), "b2": Coordinate(0.7, 0.2), "b3": Coordinate(0.5, 0.8)}
FILE = """
[domain]
id = {domain}
[topics.items]
slices = 8
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


def test_counts_are_exact_after_nodes_were_killed(domain_id, tmp_path, brokers, monkeypatch):
    addresses = json.dumps(list(brokers.addresses.values()))
    path = tmp_path / "evenflow.toml"
    path.write_text(FILE.format(domain=domain_id, brokers=addresses))
    (tmp_path / "counting.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENFLOW_CONFIG", str(path))
    config = Config.load(path)
    node = ["node", "--app", "counting:counts.on_new_data"]
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
        cluster.start("node-0", [*node, "--name", "node-0"])
        for number in range(3):
            publish(200)
            assert committed()
            cluster.start(f"node-{number + 1}", [*node, "--name", f"node-{number + 1}"])
            assert wait_until(lambda: "processes items" in cluster.log(f"node-{number + 1}"), 60)  # noqa: B023
            publish(300)
            cluster.kill(f"node-{number}")
            publish(50)
        assert committed()
        expected = {s: list(range(s, published, SLICES)) for s in range(SLICES)}
        assert wait_until(lambda: states(tmp_path) == expected, 10), states(tmp_path)
