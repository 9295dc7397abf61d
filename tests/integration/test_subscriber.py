"""A program that reads along gets every item once, while slices move and a node is killed."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from evenflow import AsyncSubscriber, Balancer, Node, Publisher, Subscriber
from evenflow.errors import ClosedError, ConfigError
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
ITEMS = 3_000


def test_every_item_once_while_a_node_is_killed(items_config, doomed):
    with (
        Balancer(config=items_config),
        Node("items", lambda _: None, config=items_config) as node,
        Subscriber("items", reliable=True, config=items_config) as subscriber,
    ):
        victim = doomed()
        assert wait_until(lambda: len(node.slices) == 4, 20)
        with Publisher("items", config=items_config) as publisher:
            assert wait_until(lambda: subscriber.publishers >= 2, 20)
            for number in range(ITEMS):
                publisher.publish(b"x", sender=f"car-{number % 7}", id=number)
                if number == ITEMS // 2:
                    publisher.flush()
                    victim.kill()
        found = Counter()
        while found.total() < ITEMS:
            batch = subscriber.receive(10.0)
            assert batch is not None, (found.total(), subscriber.stats)
            found.update(batch.ids.tolist())
        assert found == Counter(range(ITEMS))
        assert subscriber.stats.dropped == subscriber.stats.damaged == 0
    with pytest.raises(ClosedError):
        subscriber.receive()


def test_asyncio_some_senders_and_a_program_that_does_not_fetch(items_config):
    async def receive():
        async with (
            AsyncSubscriber("items", senders=["car-1"], config=items_config) as some,
            AsyncSubscriber("items", queue_bytes=1, config=items_config) as lazy,
        ):
            await asyncio.to_thread(publish, some)
            found = []
            while (batch := await some.receive(1.0)) is not None:
                found += [(item.sender, item.id) for item in batch]
            asyncio.get_running_loop().call_later(0.1, lambda: closing.append(close(some)))
            async for batch in some:  # until it is closed
                found.append(batch)
            await asyncio.gather(*closing)
            return found, lazy.stats

    closing = []

    def close(subscriber):
        return asyncio.ensure_future(subscriber.close())

    def publish(subscriber):
        with Publisher("items", config=items_config) as publisher:
            assert wait_until(lambda: subscriber.publishers, 20)
            for number in range(200):
                publisher.publish(b"x", sender=f"car-{number % 4}", id=number)
                if number % 50 == 49:
                    publisher.flush()  # several samples

    with Balancer(config=items_config), Node("items", lambda _: None, config=items_config) as node:
        assert wait_until(lambda: len(node.slices) == 8, 20)
        found, stats = asyncio.run(receive())
    assert found
    assert {sender for sender, _ in found} == {"car-1"}
    assert len(found) == len(set(found))
    assert stats.dropped > 0
    assert stats.dropped < stats.received <= 200


def test_what_cannot_be_wanted_is_refused(items_config):
    with pytest.raises(ConfigError, match="below 8"):
        Subscriber("items", slices=[8], config=items_config)
    with pytest.raises(ConfigError, match="a list"):
        Subscriber("items", senders="car-7", config=items_config)
