"""What an operator sees of running processes without asking them: metrics and the log."""

from __future__ import annotations

import json
import re
from urllib.request import urlopen

import pytest

from evenflow.access.keys import init_keys
from evenflow.cli.output.log import VARIABLE
from evenflow.config import Config
from evenflow.metrics import catalogue
from evenflow.processes import LocalCluster, free_ports, wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]

JSON_LOG = {VARIABLE: "json"}


@pytest.fixture
def cluster(domain_id, tmp_path):
    brokers = [f"127.0.0.1:{free_ports(1)[0]}"]
    config = Config.load(
        None,
        {
            "domain.id": domain_id,
            "topics.items.slices": 20,
            "topics.fleet.durable": True,
            "topics.fleet.served": True,
            "gateway.topics": ["items"],
            "store.brokers": brokers,
            "store.level": 1,
            "publisher.retention_bytes": 1 << 20,
            "access.dir": str(tmp_path / "keys"),
        },
    )
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        yield cluster


def metrics_of(cluster, name):
    """What a process shows: values by name and labels; empty while it shows nothing."""
    found = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", cluster.log(name))
    if found is None:
        return {}
    with urlopen(found[1], timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def events_of(cluster, name):
    """The events in a process's log; every line of it must be JSON."""
    lines = [json.loads(line) for line in cluster.log(name).splitlines()]
    return [(one["level"], one["event"]) for one in lines if "event" in one]


def test_counters_of_a_stream_and_a_death_in_the_log(cluster):
    cluster.start("balancer", ["balancer", "--metrics", "0"], JSON_LOG)
    for name in ("one", "two"):
        app = ["--app", "evenflow.apps:discard", "--metrics", "0"]
        cluster.start(name, ["node", "--name", name, *app])
    nodes = 'evenflow_balancer_nodes{topic="items"}'
    unowned = 'evenflow_balancer_unowned_slices{topic="items"}'
    assert wait_until(
        lambda: (found := metrics_of(cluster, "balancer")).get(nodes) == 2 and not found[unowned],
        30,
    )
    command = ["publish", "--size", "10", "--count", "500", "--for", "60s", "--rate", "2000"]
    cluster.start("publisher", [*command, "--metrics", "0"])
    assert cluster.processes["publisher"].wait(60) == 0, cluster.log("publisher")

    def processed():
        return sum(
            value
            for name in ("one", "two")
            for key, value in metrics_of(cluster, name).items()
            if key.startswith('evenflow_node_items_total{node="')
        )

    assert wait_until(lambda: processed() == 500, 20)
    cluster.kill("one")
    assert wait_until(lambda: ("warning", "takeover-done") in events_of(cluster, "balancer"), 20)
    assert ("warning", "node-died") in events_of(cluster, "balancer"), cluster.log("balancer")
    found = metrics_of(cluster, "balancer")
    assert found['evenflow_balancer_deaths_total{topic="items"}'] == 1
    assert found["evenflow_balancer_leads"] == 1
    taken = 'evenflow_balancer_moves_total{cause="takeover",outcome="done",topic="items"}'
    assert found[taken] >= 1


def test_a_blocked_publisher_says_so_and_is_scraped_meanwhile(cluster):
    command = ["publish", "--size", "1000", "--count", "5000", "--within", "1s", "--quiet"]
    cluster.start("publisher", [*command, "--metrics", "0"], JSON_LOG)
    assert wait_until(
        lambda: ("warning", "publisher-blocked") in events_of(cluster, "publisher"), 30
    )
    assert "no node reads this topic" in cluster.log("publisher")
    found = metrics_of(cluster, "publisher")
    assert 0 < found['evenflow_publisher_uncommitted_items{topic="items"}'] < 5_000
    assert found['evenflow_publisher_committed_items_total{topic="items"}'] == 0


def test_every_other_process_answers_a_scrape(cluster):
    init_keys(cluster.config.access_folder)
    broker = cluster.config.store.brokers[0]
    commands = {
        "broker": (["--name", "b", "--listen", broker, "--data", "store"], catalogue.BROKER),
        "gateway": (["--name", "g", "--listen", "quic://127.0.0.1:0"], catalogue.GATEWAY),
        "mailbox": (["--name", "m"], catalogue.MAILBOX),
        "bridge": (["--name", "d", "--listen", "127.0.0.1:0", "--group", "none"], catalogue.BRIDGE),
        "balancer": ([], catalogue.BALANCED_TOPIC),
        "archive": ([], catalogue.ARCHIVER),
    }
    cluster.start("node", ["node", "--serve", "--topic", "fleet"])
    for name, (options, _) in commands.items():
        cluster.start(name, [name, *options, "--metrics", "0"])

    def shown(name, panel):
        names = {key.partition("{")[0] for key in metrics_of(cluster, name)}
        # What has labels of its own may have nothing to say yet.
        return {one.name for one in panel.metrics if not one.labels} <= names

    for name, (_, panel) in commands.items():
        assert wait_until(lambda name=name, panel=panel: shown(name, panel), 30), cluster.log(name)
