"""``evenflow balancer``: assign slices to nodes and move them, until stopped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evenflow.cli.options import load_config
from evenflow.cli.running import StopSignal, seconds
from evenflow.slices.balancer.balancer import Balancer

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  evenflow balancer                            balance the topics of ./evenflow.toml
  evenflow balancer --domain 7 -v              in domain 7, telling every move
  evenflow balancer --set balancer.settle_s=3  listen longer before the first decision
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--for", metavar="TIME", type=seconds, dest="duration", help="stop by itself, as in 60s"
    )


def run(args: argparse.Namespace) -> int:
    """Run a balancer until a signal, the end of the time, or a fault."""
    config = load_config(args)
    stop = StopSignal()
    with Balancer(config=config) as balancer:
        topics = ", ".join(f"{topic.name} ({topic.slices} slices)" for topic in config.topics)
        print(f"balancing {topics} in domain {config.domain.id}", file=sys.stderr, flush=True)
        left = args.duration
        while not stop.wait(0.2) and not balancer.wait(0) and (left is None or left > 0):
            left = None if left is None else left - 0.2
    if balancer.error is not None:
        print(f"evenflow: error: the balancer failed: {balancer.error}", file=sys.stderr)
        return 1
    return 0
