"""``evenflow balancer``: assign slices to nodes and move them, until stopped."""

from __future__ import annotations

import sys

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.running import StopSignal
from evenflow.cli.values import seconds
from evenflow.slices.balancer.balancer import Balancer

EXAMPLES = """\
  evenflow balancer                             the topics of ./evenflow.toml
  evenflow balancer --domain 7 -v               in domain 7, telling every move
  evenflow balancer --set balancer.settle_s=3   listen longer before deciding
"""


@command("balancer", examples=EXAMPLES)
@click.option("--for", "left", metavar="TIME", type=seconds, help="stop by itself, as in 60s")
def balancer(shared: Shared, left: float | None) -> int:
    """Assign slices to nodes and move them, until a signal, the end of the time, or a fault."""
    config = shared.config()
    stop = StopSignal()
    with Balancer(config=config) as running:
        topics = ", ".join(f"{topic.name} ({topic.slices} slices)" for topic in config.topics)
        print(f"balancing {topics} in domain {config.domain.id}", file=sys.stderr, flush=True)
        while not stop.wait(0.2) and not running.wait(0) and (left is None or left > 0):
            left = None if left is None else left - 0.2
    if running.error is not None:
        print(f"evenflow: error: the balancer failed: {running.error}", file=sys.stderr)
        return 1
    return 0
