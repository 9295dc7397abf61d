"""``evenflow config``: check the configuration and print what is in force.

It looks at all that a process of the domain would look at when it starts: names of algorithms and
planners, callables, the network interface, files, addresses of brokers. All that is wrong
is told at once, a line each.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

from evenflow.autonomic.execute.node_starter import NodeStarter
from evenflow.autonomic.knowledge.history import History
from evenflow.cli.balancer import companions_of
from evenflow.cli.node import load_application
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail
from evenflow.domain.settings import check_interface
from evenflow.errors import ConfigError, EvenflowError
from evenflow.overlay.protocol.connection import parse_address
from evenflow.slices.assignment import assignment_of
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.settings import BalancerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config, TopicConfig

FAILED: Final = 2
EXAMPLES: Final = """\
  evenflow config                                  what is in force, as TOML
  evenflow config --config site.toml --json        the same as JSON
  evenflow config --set topics.items.slices=1000   try a value
"""


@command("config", examples=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of TOML")
def config(shared: Shared, *, as_json: bool) -> int:
    """Check the configuration and print it."""
    found, faults = shared.examine()
    told = [str(one) for one in faults]
    if found is not None:
        told += [str(one) for one in check(found)]
    for one in told:
        fail(one)
    if told or found is None:
        return FAILED
    print(json.dumps(found.as_tables(), indent=2) if as_json else found.as_toml())
    return 0


def check(config: Config) -> list[EvenflowError]:
    """Return all that a process of this configuration would refuse when it starts."""
    checks: list[Callable[[Config], None]] = [
        check_planners,  # and the algorithm
        lambda config: check_interface(config.domain),
        check_application,
        *(partial(check_topic, topic) for topic in config.topics),
        *(partial(check_broker, broker) for broker in config.store.brokers),
        check_durable,
    ]
    found: list[EvenflowError] = []
    for one in checks:
        try:
            one(config)
        except EvenflowError as error:
            found.append(error)
    return found


def check_application(config: Config) -> None:
    """Import the application, if there is one."""
    if config.node.app:
        load_application(config.node.app)


def check_topic(topic: TopicConfig, config: Config) -> None:
    """Look at what a topic names."""
    assignment_of(topic.assignment)
    folder = config.file.parent if config.file else Path()
    if topic.avro_schema and not (folder / topic.avro_schema).is_file():
        raise ConfigError(topic.key("avro_schema"), topic.avro_schema, "there is no such file")


def check_broker(broker: str, _: Config) -> None:
    """Read the address of a broker."""
    try:
        parse_address(broker)
    except ValueError as error:
        raise ConfigError("store.brokers", broker, str(error)) from None


def check_durable(config: Config) -> None:
    """A durable topic needs brokers."""
    durable = [topic.name for topic in config.topics if topic.durable]
    if durable and not config.store.brokers:
        raise ConfigError(
            "store.brokers",
            list(config.store.brokers),
            f"must name brokers (HOST:PORT), for these topics are durable: {', '.join(durable)}",
        )


def check_planners(config: Config) -> None:
    """Make every planner, as a balancer would when it begins."""
    settings = BalancerSettings.from_config(config.balancer)
    cores = {
        topic.name: BalancerCore(topic.name, topic.slices, settings, 0.0, 0.0)
        for topic in config.all_topics
    }
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-config-") as folder,
        History(Path(folder) / "history.db") as history,
        closing(NodeStarter(config, dict)) as starter,
    ):
        SliceAutonomy(config, cores, history, starter, 0.0, 0.0, companions_of(config))
