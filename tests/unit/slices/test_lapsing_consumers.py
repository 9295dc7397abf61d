"""Consumers that are released, by an operator or by the file, while something else goes wrong.

Each fault that was seen once is here as it was seen; then everything at any time
(:mod:`evenflow.testing.consumers.lapses`). Those that expire have a module of their own.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.consumers.cluster import LapsingCluster
from evenflow.testing.consumers.lapses import lapsing_schedule
from evenflow.testing.outages import PATIENCE
from evenflow.testing.schedules import calm

THOROUGH = settings().max_examples >= 80
pytestmark = pytest.mark.timeout(900)


def said(number: int, *, ended: bool = False) -> ConsumerCommit:
    return ConsumerCommit("items", "adhoc", number, (), (), ended)


def test_a_publisher_that_hears_old_news_of_one_that_was_released_does_not_wait_for_it() -> None:
    """A node has not heard that it was released when the publisher is started; then it hears."""
    settings = NodeSettings(serving=True)
    cluster = LapsingCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.declare("late")
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    calm(cluster, 2.0)
    deaf = next(iter(cluster.nodes))
    cluster.balancers.declared = ()
    cluster.kill_balancer()
    balancer = cluster.start_balancer()
    cluster.network.cut(balancer, deaf, both=False)
    calm(cluster, 2.0)
    publisher = cluster.start_publisher()
    calm(cluster, 2.0)
    cluster.network.heal()
    cluster.publish(publisher, 0)
    cluster.settle()
    assert cluster.publishers[publisher].uncommitted == 0


def test_who_is_named_by_others_alone_is_dropped_when_they_do_so_no_more() -> None:
    consumers = Consumers()
    consumers.on_ledger(["audit"])
    consumers.learn(["audit", "adhoc"])
    consumers.on_ledger(["audit"])
    for _ in range(2):
        assert consumers.names() == ("adhoc", "audit"), "the ledger may be late: it was just named"
        consumers.learn(["audit"])
        consumers.on_ledger(["audit"])
    assert consumers.names() == ("audit",)


def test_a_node_passes_on_whom_it_knows_itself_and_no_rumours() -> None:
    consumers = Consumers()
    consumers.learn(["audit", "rumour"])
    consumers.on_ledger(["audit"])
    consumers.commit(said(3))
    assert consumers.names() == ("adhoc", "audit", "rumour")
    assert consumers.named() == ("adhoc", "audit")


def test_one_that_is_about_to_register_is_kept_for_while_it_says_so() -> None:
    consumers = Consumers()
    consumers.on_ledger(["audit"])
    for _ in range(3):
        consumers.commit(said(3))
        consumers.on_ledger(["audit"])
        consumers.on_ledger(["audit"])
        assert "adhoc" in consumers.names(), "a word may be a little late"
    consumers.on_ledger(["audit"])
    assert "adhoc" not in consumers.names()
    consumers.commit(said(9))
    assert "adhoc" in consumers.names(), "it never was released by a ledger: it begins anew"


def test_one_that_a_ledger_released_is_registered_by_a_ledger_alone() -> None:
    consumers = Consumers()
    consumers.commit(said(3))
    consumers.on_ledger(["adhoc"])
    consumers.on_ledger([])
    consumers.commit(said(4))
    assert consumers.names() == ()
    consumers.on_ledger(["adhoc"])
    assert consumers.names() == ("adhoc",)


@pytest.mark.parametrize("block", range(2))
def test_anything_at_any_time(block: int) -> None:
    """More of them: ``python -m evenflow.testing.consumers.lapses FIRST COUNT``."""
    count = 15 if THOROUGH else 5
    for seed in range(block * count, (block + 1) * count):
        try:
            lapsing_schedule(seed)
        except Exception as error:
            error.add_note(f"lapsing_schedule({seed})")
            raise


@pytest.mark.parametrize("seed", [219])
def test_a_rumour_of_one_that_was_released_dies(seed: int) -> None:
    lapsing_schedule(seed)
