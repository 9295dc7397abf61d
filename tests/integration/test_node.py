"""A node in its domain: errors of the application, publishers that do not fit, leaving."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import pytest

from evenflow import Balancer, Config, Node, Publisher
from evenflow.cli import main
from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.errors import DeliveryTimeout, DomainError
from evenflow.model.batch import Item
from evenflow.processes import wait_until
from evenflow.testing.samples import encode_items

pytestmark = [pytest.mark.domain]


def configured(domain_id, **overrides):
    return Config.load(
        None,
        {"domain.id": domain_id, "topics.items.slices": 8, "topics.items.assignment": "hash:id"}
        | overrides,
    )


@pytest.fixture
def config(domain_id):
    return configured(domain_id)


def test_items_arrive_in_order_of_their_sender(config):
    seen = {}

    def note(batch):
        for item in batch:
            seen.setdefault(batch.slice, []).append(item.id)

    with Balancer(config=config), Node("items", note, config=config) as node:
        with Publisher("items", config=config) as publisher:
            for number in range(1, 501):
                publisher.publish({"n": number}, sender="car", id=number)
        assert node.items == 500
    assert sorted(n for ids in seen.values() for n in ids) == list(range(1, 501))
    assert all(ids == sorted(ids) for ids in seen.values())


def test_only_an_item_that_fails_again_and_again_is_skipped_and_only_if_asked_for(domain_id):
    config = configured(domain_id, **{"topics.items.on_error": "skip", "node.retry_ms": 1})
    done = set()

    def fail_on_seven(batch):
        if 7 in batch.ids:
            raise ValueError("seven")
        done.update(batch.ids.tolist())

    with Balancer(config=config), Node("items", fail_on_seven, config=config) as node:
        with Publisher("items", config=config) as publisher:
            publisher.publish_many([b""] * 50, ids=range(1, 51))
        assert node.items == 50
        assert done == set(range(1, 51)) - {7}
        assert (node.failed, node.error) == (1, None)
        assert node.retried > config.node.retries


def test_by_default_a_node_whose_application_fails_stops_and_the_items_go_to_another(domain_id):
    config = configured(domain_id, **{"node.retry_ms": 1})
    done = []

    def fail(batch):
        raise ValueError("broken")

    with Balancer(config=config):
        broken = Node("items", fail, name="broken", config=config)
        with Publisher("items", config=config) as publisher:
            publisher.publish(b"", id=1)
            assert broken.wait(20)
            assert isinstance(broken.error, ValueError)
            broken.close()
            with Node("items", done.append, name="sound", config=config):
                publisher.close(30)
    assert [item.id for batch in done for item in batch] == [1]


def test_a_publisher_that_cuts_the_topic_otherwise_is_refused_and_named(config, caplog):
    wrong = replace(config, topics=(replace(config.topics[0], slices=9),))
    with Balancer(config=config), Node("items", print, config=config) as node:
        publisher = Publisher("items", config=wrong)
        publisher.publish(b"", id=1)
        assert wait_until(lambda: "use the same topics.items.slices" in caplog.text, 15)
        assert node.items == 0
        with pytest.raises(DeliveryTimeout, match="uncommitted"):
            publisher.close(0.1)


def test_the_last_node_leaves_without_waiting_for_anybody(config):
    with Balancer(config=config):
        node = Node("items", print, config=config)
        assert wait_until(lambda: len(node.slices) == 8, 15)
        assert node.leave(timeout_s=3600) is False


def test_the_last_node_commits_what_its_application_had_in_hand(config):
    begun, seen = threading.Event(), []

    def slow(batch):
        begun.set()
        time.sleep(0.5)
        seen.extend(batch.ids.tolist())

    with Balancer(config=config):
        node = Node("items", slow, config=config)
        with Publisher("items", config=config) as publisher:
            publisher.publish(b"", id=1)
            assert begun.wait(20)
            node.leave()
            publisher.close(10.0)
    assert seen == [1]


def test_what_a_publisher_left_that_was_killed_in_its_first_epoch_is_processed(domain_id, python):
    config = configured(domain_id, **{"node.writer_silence_s": 4.0})
    program = """
        import os, signal, sys
        from evenflow import Config, Publisher
        settings = {"domain.id": int(sys.argv[1]), "topics.items.slices": 8,
                    "topics.items.assignment": "hash:id", "publisher.epoch_ms": 60_000}
        publisher = Publisher("items", config=Config.load(None, settings))
        publisher.publish_many([b""] * 50)
        publisher.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    with Balancer(config=config), Node("items", lambda _: None, config=config) as node:
        assert wait_until(lambda: len(node.slices) == 8, 20)
        for _ in range(3):
            python(program, config.domain.id).wait(30)
        # Those that did not answer in time are waited for, until nobody has heard them for long.
        assert wait_until(
            lambda: node.items == 150 and not node._core.writers.ledger.preparing(), 60
        )
        assert wait_until(lambda: len(node._core.writers.ledger.cuts) == 3, 60)
        assert len(node._core.writers.ledger.cuts) == 3


def test_items_of_a_writer_that_does_not_speak_the_protocol_are_told(config, caplog, capsys):
    with Balancer(config=config), Node("items", print, config=config) as node:
        assert wait_until(lambda: len(node.slices) == 8, 20)
        with Participant(config.domain) as participant:
            writer = participant.writer(data("items"), node.id)
            assert wait_until(lambda: writer.matched() == 1, 20)
            writer.write_encoded(encode_items(77, 1, 1, {3: (1, [Item("s", 1, 0, b"x")] * 2)}))
            assert wait_until(lambda: "says nothing else" in caplog.text, 30)
            assert caplog.text.count("says nothing else") == 1
            options = ["--domain", str(config.domain.id)]

            def told():
                capsys.readouterr()
                assert main(["nodes", *options]) == 0
                return "2 items of 1 writers wait for ever" in capsys.readouterr().err

            assert wait_until(told, 20)
        assert node.items == 0


@pytest.mark.parametrize("served", [False, True])
def test_a_closed_node_leaves_nothing_in_a_participant_that_others_use(domain_id, served):
    config = configured(domain_id, **{"topics.items.served": served})
    with Participant(config.domain) as shared:
        before = shared.endpoints
        with Node("items", None if served else len, config=config, participant=shared) as node:
            assert wait_until(lambda: node.report is not None, 10.0)
        assert shared.endpoints == before
        node.close()


def test_a_closed_balancer_leaves_nothing_in_a_participant_that_others_use(config):
    with Participant(config.domain) as shared:
        before = shared.endpoints
        with Balancer(config=config, participant=shared) as balancer:
            assert wait_until(lambda: balancer.leadership.leads, 10.0)
        assert shared.endpoints == before


def test_a_node_that_cannot_begin_leaves_nothing_open(domain_id):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = configured(domain_id, **{"topics.items.served": True, "node.flight_port": port})
        with Participant(config.domain) as shared:
            with pytest.raises(DomainError, match=str(port)):
                Node("items", None, config=config, participant=shared)
            assert shared.endpoints == 0


def test_a_balancer_that_cannot_begin_leaves_nothing_open(config, monkeypatch):
    def fail(*_):
        raise OSError("no disk")

    monkeypatch.setattr(Balancer, "_begin_loop", fail)
    with Participant(config.domain) as shared:
        with pytest.raises(OSError, match="no disk"):
            Balancer(config=config, participant=shared)
        assert shared.endpoints == 0
