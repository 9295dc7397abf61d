"""Two balancers as real processes: one leads, also when one stood still; nothing lost or twice."""

from __future__ import annotations

import signal
import time
from collections import Counter
from threading import Lock

import pytest
from tests.integration.two_balancers import NAMES, leader, roles, settled

from evenflow.config import Config
from evenflow.domain.channels import BEATS
from evenflow.domain.cyclone import Participant
from evenflow.model.messages import Beat
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(120)]


def test_of_two_balancers_one_leads_also_after_it_stood_still(domain_id, tmp_path):
    config = Config.load(None, {"domain.id": domain_id, "topics.items.slices": 20})
    seen, lock = Counter(), Lock()

    def note(batch):
        with lock:
            seen.update(item.id for item in batch)

    published = 0
    with (
        LocalCluster(config, log_dir=tmp_path) as cluster,
        Node("items", note, config=config, name="a"),
        Node("items", note, config=config, name="b"),
        Publisher("items", config=config) as publisher,
        Participant(config.domain) as participant,
    ):
        beats = participant.reader(BEATS)

        def publish(count):
            nonlocal published
            for _ in range(count):
                published += 1
                publisher.publish(b"x", id=published)

        for name in NAMES:
            cluster.start_balancer(name)
        assert wait_until(lambda: settled(cluster), 20), [cluster.log(name) for name in NAMES]
        publish(500)
        former = leader(cluster)
        cluster.signal(former, signal.SIGSTOP)
        [successor] = set(NAMES) - {former}
        assert wait_until(lambda: roles(cluster)[successor] == "leads", 20), cluster.log(successor)
        publish(500)
        cluster.signal(former, signal.SIGCONT)
        assert wait_until(lambda: settled(cluster) and leader(cluster) == successor, 20)
        beats.take()
        time.sleep(1.0)
        assert len({beat.balancer for beat in beats.take() if isinstance(beat, Beat)}) == 1
        publish(500)
        publisher.flush(30)
        assert wait_until(lambda: len(seen) == published, 20)
    assert set(seen) == set(range(1, published + 1))
    assert max(seen.values()) == 1
