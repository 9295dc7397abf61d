"""``evenflow balancer``: assign slices to nodes and move them, until stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from evenflow.bridge.balancing.manager import RingManager
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail, say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal
from evenflow.cli.values import seconds
from evenflow.errors import EvenflowError
from evenflow.errors.words import counted
from evenflow.metrics.catalogue import BALANCED_TOPIC, BALANCER
from evenflow.mobile.poa.manager import PoaManager
from evenflow.qos.loop.companion import QosCompanion
from evenflow.slices.balancer.balancer import Balancer

if TYPE_CHECKING:
    from evenflow.autonomic.companion import Companion
    from evenflow.config import Config
    from evenflow.slices.balancer.membership.leadership import Leadership

EXAMPLES = """\
  evenflow balancer                             the topics of ./evenflow.toml
  evenflow balancer --domain 7 -v               in domain 7, telling every move
  evenflow balancer --set balancer.settle_s=3   listen longer before deciding

Several may run in a domain. One of them leads; the others stand by, order
nothing, and one of them goes on some seconds after the leader is gone.
"""


@command("balancer", examples=EXAMPLES)
@click.option("--for", "left", metavar="TIME", type=seconds, help="stop by itself, as in 60s")
@metrics_option
def balancer(shared: Shared, left: float | None, metrics: str | None) -> int:
    """Assign slices to nodes and move them, or stand by while another balancer does.

    Gateways of mobile nodes and bridges of devices are kept even, and topics thinned, by the same
    loop.
    """
    config = shared.config()
    stop = StopSignal()
    with (
        Metering("balancer", metrics, config) as metering,
        Balancer(config=config, companions=companions_of(config)) as running,
    ):
        metering.show(BALANCER, lambda: [((), running)])
        metering.show(
            BALANCED_TOPIC, lambda: [((name,), core) for name, core in running.cores.items()]
        )
        topics = ", ".join(
            f"{topic.name} ({counted(topic.slices, 'slice')})" for topic in config.topics
        )
        told = ""
        while not stop.wait(0.2) and not running.wait(0) and (left is None or left > 0):
            left = None if left is None else left - 0.2
            told = _tell_role(running.leadership, topics, config.domain.id, told)
    if running.error is None:
        return 0
    fail(f"the balancer cannot go on: {running.error}")
    return 2 if isinstance(running.error, EvenflowError) else 1


def companions_of(config: Config) -> list[Companion]:
    """What else is kept even by the loop."""
    return [PoaManager(config.monitor.ranges), QosCompanion(config.qos), RingManager()]


def _tell_role(leadership: Leadership, topics: str, domain_id: int, told: str) -> str:
    """Say whether it balances or stands by, when that is news."""
    role = "balancing" if leadership.leads else "standing by"
    if role == told or not leadership.reason:
        return told
    why = "" if leadership.leads else f": {leadership.reason}"
    say(f"{role} {topics} in domain {domain_id}{why}")
    return role
