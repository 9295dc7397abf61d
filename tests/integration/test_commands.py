"""The commands of an operator, on a running cluster of real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from evenflow.config import Config
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]

SLICES = 20


@pytest.fixture
def cluster(domain_id, tmp_path):
    config = Config.load(None, {"domain.id": domain_id, "topics.items.slices": SLICES})
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        yield cluster


def evenflow(cluster, *command):
    """Run a command in the cluster's domain."""
    options = ["--domain", str(cluster.config.domain.id), "--set", f"topics.items.slices={SLICES}"]
    return subprocess.run(
        [sys.executable, "-m", "evenflow", *command, *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def owned(cluster):
    """How many slices each node owns, by name; empty while nobody has assigned them."""
    listing = evenflow(cluster, "slices", "--json")
    if listing.returncode:
        return {}
    counts = {}
    for row in json.loads(listing.stdout)["slices"]:
        name = NodeId(row["node"]).name
        counts[name] = counts.get(name, 0) + 1
    return counts


def start_two_nodes(cluster):
    cluster.start_balancer()
    cluster.start_node("one", "evenflow.apps:discard")
    cluster.start_node("two", "evenflow.apps:discard")
    assert wait_until(lambda: owned(cluster) == {"one": 10, "two": 10}, 30)


def test_a_move_by_hand_is_done_listed_and_kept(cluster):
    start_two_nodes(cluster)
    moved = evenflow(
        cluster, "slices", "move", "--from", "one", "--to", "two", "--count", "4", "--json"
    )
    assert moved.returncode == 0, moved.stderr
    [receipt] = json.loads(moved.stdout)["moves"]
    assert (receipt["outcome"], len(receipt["slices"])) == ("done", 4)
    assert receipt["repeated"] == 0
    assert owned(cluster) == {"one": 6, "two": 14}
    listed = json.loads(evenflow(cluster, "slices", "--moves", "--json").stdout)["moves"]
    assert receipt in listed
    nodes = json.loads(evenflow(cluster, "nodes", "--json").stdout)["nodes"]
    assert sorted(node["slices"] for node in nodes) == [6, 14]


def test_a_move_that_cannot_be_is_refused_with_the_reason(cluster):
    start_two_nodes(cluster)
    for options, reason in (
        (("--from", "one", "--to", "three", "--count", "1"), "there is no node three"),
        (("--from", "one", "--to", "one", "--count", "1"), "the same node"),
        (("--from", "one", "--to", "two", "--count", "11"), "owns 10 slices, 11 were asked for"),
        (("--from", "one", "--to", "two"), "--count N or --slices"),
    ):
        refused = evenflow(cluster, "slices", "move", *options)
        assert refused.returncode == 2
        assert reason in refused.stderr
    assert owned(cluster) == {"one": 10, "two": 10}


def test_without_a_balancer_the_commands_say_so(cluster):
    listing = evenflow(cluster, "slices")
    assert listing.returncode == 2
    assert "start 'evenflow balancer' first" in listing.stderr
    move = evenflow(cluster, "slices", "move", "--from", "a", "--to", "b", "--count", "1")
    assert move.returncode == 2
    assert "no balancer is running" in move.stderr
    nodes = evenflow(cluster, "nodes")
    assert nodes.returncode == 0
    assert "no node is running" in nodes.stdout


def test_a_second_balancer_stands_by(cluster):
    cluster.start_balancer()
    assert wait_until(lambda: "balancing" in cluster.log("balancer"), 15)
    second = evenflow(cluster, "balancer", "--for", "2s")
    assert second.returncode == 0
    assert "standing by items" in second.stderr
    assert "balancing" not in second.stderr


def test_a_balancer_that_begins_to_lead_with_a_damaged_disk_says_so(cluster, tmp_path):
    state = tmp_path / "state"
    disk = ["--set", f"balancer.state_dir={state}"]
    cluster.start("balancer", ["balancer", *disk])
    assert wait_until(lambda: "balancing" in cluster.log("balancer"), 15)
    cluster.start("standby", ["balancer", *disk])
    assert wait_until(lambda: "standing by" in cluster.log("standby"), 15)
    (folder,) = state.glob("domain-*")
    (folder / "items.writers.json").write_text('{"cut')
    cluster.kill("balancer")
    assert cluster.processes["standby"].wait(30) == 2
    told = cluster.log("standby").splitlines()[-1]
    assert "the balancer cannot go on" in told
    assert "repair or remove the files of topic 'items'" in told
    assert "Traceback" not in cluster.log("standby")


def test_a_second_node_of_one_name_is_refused_unless_the_first_is_dead(cluster):
    start_two_nodes(cluster)
    second = evenflow(cluster, "node", "--name", "one", "--app", "evenflow.apps:discard")
    assert second.returncode == 2
    pid = cluster.processes["one"].pid
    assert f"is running already, as process {pid} of" in second.stderr
    cluster.kill("one")
    again = ("node", "--name", "one", "--app", "evenflow.apps:discard", "--for", "1s")
    assert evenflow(cluster, *again).returncode == 0


def test_up_refuses_a_domain_in_which_somebody_works(cluster):
    cluster.start_balancer()
    assert wait_until(lambda: "balancing" in cluster.log("balancer"), 15)
    refused = evenflow(cluster, "up", "--for", "1s")
    assert refused.returncode == 2, refused.stderr
    assert "a balancer works there already" in refused.stderr


def test_a_node_that_leaves_with_items_says_so(cluster):
    served = ["--set", "topics.items.served=true"]
    cluster.start("balancer", ["balancer", *served])
    node = subprocess.Popen(
        [sys.executable, "-m", "evenflow", "node", "--serve", "--name", "solo", *served,
         "--domain", str(cluster.config.domain.id), "--set", f"topics.items.slices={SLICES}"],
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert wait_until(lambda: owned(cluster) == {"solo": SLICES}, 30)
        evenflow(cluster, "publish", "--size", "10", "--count", "50", "--within", "2s", *served)
        node.send_signal(signal.SIGINT)
        _, said = node.communicate(timeout=20)
    finally:
        node.kill()
    assert "has left with 50 items of items that no node took over" in said


def test_an_unknown_topic_is_refused_by_qos(cluster):
    refused = evenflow(cluster, "qos", "--topic", "nope")
    assert refused.returncode == 2
    assert "no topic 'nope'" in refused.stderr
    assert "known: items" in refused.stderr
