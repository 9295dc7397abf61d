"""``evenflow tail`` and ``evenflow topics``: looking on, without taking part."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from evenflow import Balancer, Config, Node, Publisher
from evenflow.cli import main
from evenflow.errors import DeliveryTimeout
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
FILE = """
[domain]
id = {}
[topics.items]
slices = 8
[topics.fleet]
slices = 4
served = true
"""


@pytest.fixture
def config(domain_id, tmp_path):
    (tmp_path / "evenflow.toml").write_text(FILE.format(domain_id))
    return Config.load(tmp_path / "evenflow.toml")


def tail(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "evenflow", "tail", *arguments, "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_tail_shows_what_comes_and_holds_nobody_up(config):
    with Balancer(config=config), Node("items", lambda _: None, config=config) as node:
        assert wait_until(lambda: len(node.slices) == 8, 20)
        looking = tail("items", "--sender", "car-7", "--count", "1")
        with Publisher("items", config=config) as publisher:
            number = 0
            while looking.poll() is None:
                number += 1
                publisher.publish(b"x", sender="car-8", id=number)
                publisher.publish(b"y", sender="car-7", id=number)
                looking_ended = wait_until(lambda: looking.poll() is not None, 0.2)
                assert number < 300, "tail shows nothing"
        assert looking_ended
        assert node.items == 2 * number
        assert len(node.slices) == 8
    row = json.loads(looking.communicate()[0])
    assert (row["sender"], row["payload"]) == ("car-7", "y")


def test_tail_of_a_served_topic_shows_what_is_kept_and_registers_nobody(config, capsys):
    with Balancer(config=config), Node("fleet", None, config=config) as node:
        assert wait_until(lambda: len(node.slices) == 4, 20)
        publisher = Publisher("fleet", config=config)
        publisher.publish_many([b"x"] * 20, senders="car", ids=list(range(20)))
        publisher.flush()
        out, _ = tail("fleet", "--from", "10m", "--count", "20").communicate(timeout=60)
        assert sorted(json.loads(line)["id"] for line in out.splitlines()) == list(range(20))
        capsys.readouterr()
        assert main(["topics", "--json"]) == 0
        rows = {row["topic"]: row for row in json.loads(capsys.readouterr().out)["topics"]}
        assert rows["fleet"] | {"items_s": 0} == {
            "topic": "fleet",
            "kind": "served",
            "slices": 4,
            "publishers": 1,
            "items_s": 0,
            "nodes": 1,
            "backlog_items": 20,
            "balanced": True,
            "consumers": [],
        }
        assert rows["items"]["kind"] == "processed"
        assert main(["topics", "--topic", "fleet", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["topics"]
        assert row["topic"] == "fleet"
        assert main(["topics"]) == 0
        assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())
        with pytest.raises(DeliveryTimeout, match="uncommitted"):
            publisher.close(0.0)
        assert main(["consumers", "--topic", "fleet"]) == 0
        assert main(["consumers", "--topic", "items"]) == 1
        assert "topic items is not served" in capsys.readouterr().err
        assert main(["nodes", "--topic", "fleet"]) == 0
        assert "topic fleet" in capsys.readouterr().out
