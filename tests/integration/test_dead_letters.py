"""Dead letters: put aside with the reason, kept whatever dies, published again."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import pytest

from evenflow import Balancer, Config, Node, Publisher
from evenflow.cli import main
from evenflow.errors import EvenflowError, PublishTimeout
from evenflow.processes import wait_until
from evenflow.slices.dead_letters.reading import list_letters

pytestmark = [pytest.mark.domain]


@pytest.fixture
def config(domain_id, tmp_path):
    return Config.load(
        None,
        {
            "domain.id": domain_id,
            "topics.items.slices": 8,
            "topics.items.assignment": "hash:id",
            "topics.items.on_error": "dead",
            "node.retry_ms": 1,
            "node.dead_dir": str(tmp_path / "dead"),
            "balancer.state_dir": str(tmp_path / "state"),
        },
    )


class Application:
    """Cannot process some items, for now."""

    def __init__(self, *refused: int) -> None:
        self.refused = set(refused)
        self.processed: list[int] = []

    def __call__(self, batch) -> None:
        if self.refused.intersection(batch.ids.tolist()):
            raise ValueError("not yet")
        self.processed += batch.ids.tolist()


@contextlib.contextmanager
def node_of(config, application):
    with (
        Node("items", application, config=config) as node,
        Node("items.dead", None, config=config),
    ):
        yield node


def publish(config, *numbers):
    with Publisher("items", config=config) as publisher:
        payloads = [f"payload {number}".encode() for number in numbers]
        publisher.publish_many(payloads, senders="car", ids=list(numbers))


def command(config, capsys, *arguments):
    options = ("--domain", str(config.domain.id), "--set", 'topics.items.on_error="dead"')
    cut = ("--set", "topics.items.slices=8", "--set", 'topics.items.assignment="hash:id"')
    capsys.readouterr()
    assert main(["dead", *arguments, "--json", *options, *cut]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_cannot_be_processed_is_put_aside_and_published_again(config, capsys):
    application = Application(7, 9)
    with Balancer(config=config), node_of(config, application) as node:
        publish(config, *range(1, 21))
        assert sorted(set(application.processed)) == [n for n in range(1, 21) if n not in {7, 9}]
        assert (node.dead, node.failed, node.error) == (2, 2, None)
        assert wait_until(lambda: len(list_letters("items", config)) == 2, 20)
        letters = {one["id"]: one for one in command(config, capsys, "list")["letters"]}
        assert letters.keys() == {7, 9}
        assert letters[7]["error"] == "ValueError: not yet"
        assert (letters[7]["sender"], letters[7]["topic"]) == ("car", "items")
        assert letters[7]["tries"] == config.node.retries + 1
        application.refused.clear()
        assert command(config, capsys, "replay") == {"topic": "items", "replayed": 2}
        assert {7, 9} <= set(application.processed)
        assert command(config, capsys, "list")["letters"] == []


@pytest.mark.timeout(60)
def test_a_replay_of_what_fails_again_at_once_ends_and_leaves_new_letters(config, capsys):
    application = Application(7, 9)
    with Balancer(config=config), node_of(config, application):
        publish(config, *range(1, 21))
        assert wait_until(lambda: len(list_letters("items", config)) == 2, 20)
        before = {one.identity for one in list_letters("items", config)}
        assert command(config, capsys, "replay")["replayed"] >= 2
        assert wait_until(lambda: len(list_letters("items", config)) == 2, 20)
        again = list_letters("items", config)
        assert sorted(one.id for one in again) == [7, 9]
        assert before.isdisjoint(one.identity for one in again)


def test_letters_outlive_every_process_and_can_be_dropped(config, capsys):
    with Balancer(config=config), node_of(config, Application(3)) as node:
        publish(config, *range(1, 6))
        assert node.dead == 1
    # The same disk, everybody else anew.
    with Balancer(config=config), node_of(config, Application()):
        assert wait_until(lambda: [one.id for one in list_letters("items", config)] == [3], 40)
        assert command(config, capsys, "drop") == {"topic": "items", "dropped": 1}
        assert command(config, capsys, "list")["letters"] == []


def test_a_node_that_cannot_put_aside_stops_and_says_so_and_commits_nothing(config):
    with Balancer(config=config):
        node = Node("items", Application(3), config=config)

        def full(*_):
            raise PublishTimeout("items.dead", 0.0, 1, 1)

        node._dead.put_aside = full
        publisher = Publisher("items", config=config)
        publisher.publish(b"", id=3)
        assert node.wait(20)
        assert isinstance(node.error, PublishTimeout)
        assert publisher.committed == 0
        node.close()
        with contextlib.suppress(Exception):
            publisher.close(0.0)


def test_letters_of_a_node_that_was_killed_are_taken_up_by_the_next(tmp_path, domain_id):
    """By the command, which serves the letters beside the items."""
    (tmp_path / "evenflow.toml").write_text(
        f"[domain]\nid = {domain_id}\n[topics.items]\non_error = 'dead'\n[node]\nretry_ms = 1\n"
    )
    (tmp_path / "picky.py").write_text(
        "def work(batch):\n    if 7 in batch.ids:\n        raise ValueError('seven')\n"
    )
    config = Config.load(tmp_path / "evenflow.toml")

    def start():
        return subprocess.Popen(
            [sys.executable, "-m", "evenflow", "node", "--app", "picky:work"], cwd=tmp_path
        )

    def letters():
        with contextlib.suppress(EvenflowError):
            return [one.id for one in list_letters("items", config)]
        return None

    with Balancer(config=config):
        node = start()
        try:
            publish(config, 6, 7, 8)
            node.kill()
            node.wait()
            node = start()
            assert wait_until(lambda: letters() == [7], 60)
        finally:
            node.kill()
            node.wait()
