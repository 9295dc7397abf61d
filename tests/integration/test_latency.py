"""Latency between processes is a property of each, and shown."""

from __future__ import annotations

import pytest

from evenflow.autonomic.agent import Agent
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain]


def test_agents_measure_the_way_to_one_another(domain_id):
    config = Config.load(None, {"domain.id": domain_id, "monitor.period_s": 0.1})
    with (
        Participant(config.domain) as one,
        Participant(config.domain) as other,
        Agent("first", config, one),
        Agent("second", config, other),
    ):
        observer = Observer(one)

        def measured():
            observer.look(0.1)
            return all("latency_ms" in observer.properties.get(s, {}) for s in ("first", "second"))

        assert wait_until(measured, 40)
        assert all(0 < read["latency_ms"] < 5_000 for read in observer.properties.values())
