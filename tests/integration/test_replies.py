"""Replies of a node's application to the program that published: each once, over a ``kill -9``."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from evenflow import AsyncPublisher, AsyncReplies, Balancer, Node, Publisher, Replies
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
ANSWER = "lambda batch: [batch.reply(row, b'doomed') for row in range(len(batch))]"
ITEMS = 1_000


def answer(batch):
    for row, item in enumerate(batch):
        batch.reply(row, {"seen": item.id})


def test_each_item_is_answered_once_while_a_node_is_killed(items_config, doomed):
    with Balancer(config=items_config), Node("items", answer, config=items_config) as node:
        victim = doomed(ANSWER)
        assert wait_until(lambda: len(node.slices) == 4, 20)
        with Publisher("items", config=items_config) as publisher, Replies(publisher) as replies:
            found = []
            for number in range(ITEMS):
                publisher.publish(b"x", sender=f"car-{number % 7}", id=number)
                if number == ITEMS // 2:
                    publisher.flush()
                    assert wait_until(lambda: replies.stats.received > ITEMS // 4, 20)
                    victim.kill()
            while len(found) < ITEMS:
                reply = replies.receive(15.0)
                assert reply is not None, (len(found), replies.stats)
                found.append(reply)
            assert Counter(reply.id for reply in found) == Counter(range(ITEMS))
            assert all(reply.sender == f"car-{reply.id % 7}" for reply in found)
            assert {reply.payload for reply in found} > {b"doomed"}
            assert replies.stats.dropped == replies.stats.damaged == 0
        assert node.replied >= ITEMS // 4


def test_asyncio_and_who_does_not_listen_holds_nobody_up(items_config):
    async def ask():
        async with (
            AsyncPublisher("items", config=items_config) as publisher,
            AsyncReplies(publisher) as replies,
        ):
            await publisher.publish(b"x", sender="car-7", id=12)
            return await replies.receive(20.0)

    with Balancer(config=items_config), Node("items", answer, config=items_config) as node:
        assert wait_until(lambda: len(node.slices) == 8, 20)
        reply = asyncio.run(ask())
        assert (reply.sender, reply.id, reply.payload) == ("car-7", 12, b'{"seen":12}')
        with Publisher("items", config=items_config) as deaf:
            deaf.publish(b"x")
        assert node.unheard == 1
