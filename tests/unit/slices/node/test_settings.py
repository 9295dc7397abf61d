"""A node's settings: what the configuration says, in the units of the core."""

from __future__ import annotations

from dataclasses import replace

from evenflow.config import NodeConfig
from evenflow.slices.node.settings import NodeSettings


def test_the_defaults_are_those_of_the_configuration() -> None:
    assert NodeSettings.from_config(NodeConfig(), serving=False) == NodeSettings()


def test_milliseconds_become_seconds() -> None:
    config = NodeConfig(
        deliver_items=9,
        cache_bytes=1 << 21,
        commit_ms=50,
        report_ms=2_000,
        lease_s=7.0,
        stall_s=3.0,
    )
    assert NodeSettings.from_config(config, serving=True) == replace(
        NodeSettings(),
        deliver_items=9,
        cache_bytes=1 << 21,
        commit_every=0.05,
        report_every=2.0,
        lease=7.0,
        stall=3.0,
        serving=True,
    )
