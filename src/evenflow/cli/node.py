"""``evenflow node``: a processing node that runs an application, until stopped."""

from __future__ import annotations

import gc
import importlib
import sys
import traceback
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import rich_click as click

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import Surroundings
from evenflow.autonomic.execute.service import ExecutorService
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail, say, warn
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal
from evenflow.cli.values import seconds
from evenflow.domain.channels import REPORTS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import ConfigError, NameTaken
from evenflow.errors.words import counted
from evenflow.metrics.catalogue import APPLICATION, NODE
from evenflow.model.ids import NodeId
from evenflow.slices.node.application.callables import check_application
from evenflow.slices.node.node import Node
from evenflow.slices.node.sensors import node_sensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.config import Config
    from evenflow.model.messages import NodeReport
    from evenflow.slices.node.application.replying import SendsMany
    from evenflow.slices.node.application.snapshotting import StateStore

EXAMPLES = """\
  evenflow node --app myapp:on_new_data              the first configured topic
  evenflow node --app myapp:work --topic images --name cam-1
  evenflow node --app evenflow.apps:echo --for 60s   print items for a minute
  evenflow node --serve --topic fleet                keep items for Spark

The application is called with a batch; 'for item in batch' gives (sender, id,
time, payload). It may have a mapping 'properties' of names to callables that
give numbers: they are monitored.
"""
PROPERTIES = "properties"
"""The attribute of an application that holds its own properties."""

LISTEN_S: Final = 0.5
"""How long a node that was given a name listens for another of this name."""

SWITCH_S: Final = 0.0005
"""How long a thread of a node keeps Python's lock while others wait for it; Python has 5 ms."""


@command("node", examples=EXAMPLES)
@click.option("--app", metavar="MODULE:CALLABLE", help="what to do with items (else node.app)")
@click.option("--serve", is_flag=True, help="no application: keep items for consumers (Spark)")
@click.option(
    "--topic", "topics", metavar="T", multiple=True, help="topic to process (may be repeated)"
)
@click.option("--name", metavar="NAME", default="", help="name of the node (host-pid)")
@click.option("--for", "duration", metavar="TIME", type=seconds, help="leave by itself, as in 60s")
@click.option(
    "--leave-within", metavar="TIME", type=seconds, default="10s",
    help="how long to wait at the end until all slices are given away (10s)",
)  # fmt: skip
@metrics_option
def node(
    shared: Shared, *, app: str | None, serve: bool, topics: tuple[str, ...], name: str,
    duration: float | None, leave_within: float, metrics: str | None,
) -> int:  # fmt: skip
    """Process the items of slices with an application; one node for each topic, until stopped."""
    config = shared.config()
    design(config)
    application = None if serve else load_application(app or config.node.app)
    topics = tuple(dict.fromkeys(topics)) or (config.topics[0].name,)
    for topic in topics:
        config.topic(topic)
    stop = StopSignal()
    # A busy application holds Python's lock; the loop, which hands slices over, gets it soon.
    sys.setswitchinterval(SWITCH_S)
    with (
        Metering("node", metrics, config) as metering,
        Participant(config.domain) as participant,
        ExitStack() as running,
    ):
        served = _with_dead_letters(config, topics, serve=serve)
        if name:
            refuse_second(name, served, participant)
        nodes = [
            # Where one does not begin, those before it end.
            running.enter_context(
                Node(
                    topic,
                    None if config.topic(topic).is_dead else application,
                    name=name,
                    config=_with_port_of(config, number),
                    participant=participant,
                    messenger=_messenger(config, topic, participant),
                    snapshots=_snapshots(config, topic),
                )
            )
            for number, topic in enumerate(served)
        ]
        # What is imported stays: collecting garbage need not look through it, every few seconds.
        gc.collect()
        gc.freeze()
        does = "serves" if serve else "processes"
        say(f"{nodes[0].id} {does} {', '.join(topics)}")
        properties = getattr(application, PROPERTIES, {})
        metering.show(NODE, lambda: _reporting(nodes))
        metering.show(APPLICATION, lambda: [((name,), one) for name, one in properties.items()])
        sensors = {**node_sensors(nodes), **properties}
        surroundings = Surroundings(nodes[0].id, config, application)
        with (
            Agent(nodes[0].id, config, participant, sensors),
            ExecutorService(surroundings, participant),
        ):
            _run_until_stopped(nodes, stop, duration)
        for each in nodes:
            _leave(each, leave_within)
    faults = [each.error for each in nodes if each.error is not None]
    for fault in faults:
        fail(f"the node stopped: {fault if isinstance(fault, ConfigError) else repr(fault)}")
    if any(isinstance(fault, ConfigError) for fault in faults):
        return 2  # to be started again it needs another file
    return 1 if faults else 0


def refuse_second(name: str, topics: Sequence[str], participant: Participant) -> None:
    """Listen for a node of this name; one that was killed says nothing any more.

    Raises:
        NameTaken: There is one, and orders by name would reach either of the two.
    """
    Listener(participant, [REPORTS], lambda report: check_alone(report, name, topics)).listen(
        LISTEN_S
    )


def check_alone(report: NodeReport | Gone, name: str, topics: Sequence[str]) -> None:
    """Raise `NameTaken` when this is the report of a node of one of these topics with this name."""
    if isinstance(report, Gone) or report.leaving:
        return
    if report.topic in topics and NodeId(report.node).name == name:
        raise NameTaken(
            f"node {name} of topic {report.topic!r}",
            f"is running already, as process {report.pid} of {report.host}: start this one under"
            " another --name, or stop that one first",
        )


def _reporting(nodes: list[Node]) -> list[tuple[tuple[str, ...], Node]]:
    """The nodes that have something to say, each after its topic and name."""
    return [((one.topic.name, NodeId(one.id).name), one) for one in nodes if one.report is not None]


def _messenger(config: Config, topic: str, participant: Participant) -> SendsMany | None:
    """What takes the replies to mobile nodes, of a topic that has them."""
    if config.topic(topic).replies != "mobile":
        return None
    from evenflow.mobile import Messenger  # noqa: PLC0415 - an extra

    return Messenger(topic, config=config, participant=participant)


def _snapshots(config: Config, topic: str) -> StateStore | None:
    """Where the application's states are kept, of a topic that keeps them."""
    if not config.topic(topic).keeps_state:
        return None
    from evenflow.durable.states import StateSnapshots  # noqa: PLC0415 - few topics need a store

    return StateSnapshots(topic, config)


def _leave(node: Node, within_s: float) -> None:
    """Give everything away; say when nobody has taken it."""
    if node.leave(within_s):
        return
    left = node.vitals().backlog_items
    if left:
        warn(
            f"{node.id} has left with {counted(left, 'item')} of {node.topic.name} that no"
            " node took over: publishers that still run send them again, those of others are lost"
        )
    if behind := node.states_behind:
        warn(
            f"{node.id} has left before the newest state of {counted(behind, 'slice')} of"
            f" {node.topic.name} was stored: what is in no snapshot is processed again, as far as"
            " its publishers still run"
        )


def _with_dead_letters(config: Config, topics: tuple[str, ...], *, serve: bool) -> tuple[str, ...]:
    """The topics, and those of their dead letters, which the same process serves."""
    found = [] if serve else [config.topic(topic) for topic in topics]
    dead = [one.dead_name for one in found if one.on_error == "dead"]
    return (*topics, *(name for name in dead if name not in topics))


def _with_port_of(config: Config, number: int) -> Config:
    """Each topic is read at a port of its own: where one is set, at that one and those above."""
    port = config.node.flight_port
    if not port:
        return config
    return replace(config, node=replace(config.node, flight_port=port + number))


def _run_until_stopped(nodes: list[Node], stop: StopSignal, left: float | None) -> None:
    while not stop.wait(0.2) and (left is None or left > 0):
        left = None if left is None else left - 0.2
        if any(node.wait(0) for node in nodes):
            return


def _fault_of(error: BaseException) -> str:
    """What a module raised, and where, in one line."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # says where by itself
        return said
    frames = traceback.extract_tb(error.__traceback__)
    return f"{said} ({frames[-1].filename}, line {frames[-1].lineno})"


def load_application(spec: str) -> Callable[[Any], object]:
    """Import the callable that ``MODULE:CALLABLE`` names."""
    allowed = "must be MODULE:CALLABLE of an importable callable that takes a batch"
    module_name, found, path = spec.partition(":")
    if not found:
        what = "; say it by --app, or --serve for a node that keeps items for consumers"
        raise ConfigError("node.app", spec, f"{allowed}{'' if spec else what}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        target: object = importlib.import_module(module_name)
        for part in path.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError("node.app", spec, f"{allowed}; {error}") from None
    except (Exception, SystemExit) as error:  # whatever a module may do when it is imported
        raise ConfigError("node.app", spec, f"cannot be imported: {_fault_of(error)}") from error
    if not callable(target):
        raise ConfigError("node.app", spec, f"{allowed}; {path} is not callable")
    check_application(target, spec)
    return cast("Callable[[Any], object]", target)
