"""What the operator's tables about self-management mean together.

Read at the start of every process that uses them, so that a fault is refused before anything runs:
an expression over a property nobody measures (with its place in the text), an event of a group that
does not exist, a rule for an event nobody raises. Which property there is: those of
:mod:`evenflow.autonomic.monitor.properties`, and whatever has a line in ``[monitor.ranges]``, by
which programs declare their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.autonomic.analyze.bridge_events import PLACE as BRIDGES_PLACE
from evenflow.autonomic.analyze.bridge_events import BridgeEvent
from evenflow.autonomic.analyze.composite_events import AT, Composite, Operand, Way
from evenflow.autonomic.analyze.distributed_events import Aggregate, CompositeDetector, Quorum
from evenflow.autonomic.analyze.gateway_events import FLEET, PLACE, GatewayEvent
from evenflow.autonomic.analyze.local_events import EventDefinition, EventDetector, Phase
from evenflow.autonomic.analyze.qos_events import PLACE as QOS_PLACE
from evenflow.autonomic.analyze.qos_events import QosEvent
from evenflow.autonomic.monitor.monitors import OperationRanges
from evenflow.autonomic.monitor.properties import (
    BRIDGE,
    BROKER,
    GATEWAY,
    MACHINE,
    MAILBOX,
    NODE,
    PATHS,
    QUERY,
    RATE,
)
from evenflow.autonomic.plan.planning import Place, Rule, Verb
from evenflow.balance import ALGORITHMS
from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.autonomic.companion import Companion
    from evenflow.config import Config, EventConfig, RuleConfig

EVERYBODY = "all"
"""The group of all nodes."""
DEFAULT_RANGES = {"cpu": (30.0, 70.0), "memory": (50.0, 80.0), "busy": (30.0, 70.0)}
COMBINATIONS = {"all_of": Way.ALL, "any_of": Way.ANY, "sequence": Way.SEQUENCE}
"""How the keys of an event combine what they list."""
STALE_PERIODS = 5
"""A pause of this many periods between two readings breaks the run of an event."""


@dataclass(frozen=True, slots=True)
class Design:
    """Events, rules and planners that fit together."""

    properties: tuple[str, ...]
    ranges: dict[str, OperationRanges]
    local: tuple[EventDefinition, ...]
    distributed: tuple[Quorum | Aggregate | Composite, ...]
    rules: tuple[Rule, ...]
    places: dict[str, Place]
    heartbeat_s: float
    period_s: float

    def detector(self, source: str) -> EventDetector:
        """The detector of local events of one process."""
        stale_s = STALE_PERIODS * self.period_s
        return EventDetector(source, self.local, self.properties, stale_s=stale_s)

    def composite(self) -> CompositeDetector:
        """The detector of distributed events."""
        return CompositeDetector(self.distributed, self.properties, stale_s=3 * self.heartbeat_s)


def design(config: Config, companions: Iterable[Companion] = ()) -> Design:
    """Put the operator's tables together.

    Args:
        config: The tables.
        companions: What else hangs on the loop of this process.

    Raises:
        ExpressionError: An expression is faulty; says where.
        ConfigError: Something names what does not exist.
    """
    others = tuple(companions)
    given = {name: place for companion in others for name, place in companion.places.items()}
    known = (*MACHINE, *PATHS, *NODE, *BROKER, *QUERY, *GATEWAY, *MAILBOX, *BRIDGE, *RATE)
    properties = tuple(dict.fromkeys((*known, *config.monitor.ranges)))
    bounds = {**DEFAULT_RANGES, **config.monitor.ranges}
    groups = {EVERYBODY: "*", **{group.name: group.nodes for group in config.groups}}
    local = tuple(
        EventDefinition(event.name, event.expression, event.duration_s)
        for event in config.events
        if not _is_distributed(event)
    )
    named = [event.name for event in config.events]
    made = Design(
        properties=properties,
        ranges={name: OperationRanges(bounds.get(name, ())) for name in properties},
        local=local,
        distributed=tuple(
            _combined(event, groups, named)
            if event.is_combination
            else _distributed(event, groups, [each.id for each in local])
            for event in config.events
            if _is_distributed(event)
        ),
        rules=(
            *_own_rules(config),
            *(rule for companion in others for rule in companion.rules),
            *(_rule(rule, config) for rule in config.rules),
        ),
        places=given | _places(config),
        heartbeat_s=config.monitor.heartbeat_s,
        period_s=config.monitor.period_s,
    )
    made.detector("")
    made.composite()
    return made


def _is_distributed(event: EventConfig) -> bool:
    return bool(event.group or event.events or event.is_combination)


def _combined(event: EventConfig, groups: dict[str, str], named: list[str]) -> Composite:
    """A combination; its operands may be any events of the file but itself."""
    given = [(key, texts) for key in COMBINATIONS if (texts := getattr(event, key))]
    key, texts = given[0]
    beside = [other for other, _ in given[1:]]
    beside += [name for name in ("expression", "events", "group") if getattr(event, name)]
    if beside:
        raise ConfigError(
            event.key(key),
            ", ".join(texts),
            f"cannot stand beside {beside[0]!r}: give that an event of its own, and name it here",
        )
    operands = []
    for text in texts:
        name, _, place = text.partition(AT)
        _known(event.key(key), name, [each for each in named if each != event.name])
        operands.append(Operand(name, groups.get(place, place)))
    way = COMBINATIONS[key]
    return Composite(event.name, way, tuple(operands), event.within_s, event.duration_s)


def _distributed(
    event: EventConfig, groups: dict[str, str], local: list[str]
) -> Quorum | Aggregate:
    group = groups[_known(event.key("group"), event.group or EVERYBODY, groups)]
    if not event.events:
        return Aggregate(event.name, event.expression, group, event.duration_s)
    if event.expression:
        raise ConfigError(
            event.key("expression"), event.expression, "belongs to an event without 'events'"
        )
    for name in event.events:
        _known(event.key("events"), name, local)
    return Quorum(event.name, event.events, event.need, group, event.window_s, event.duration_s)


def _places(config: Config) -> dict[str, Place]:
    """A planner of slices for each topic, and those of the operator."""
    algorithm = config.balancer.algorithm
    own = {topic.name: Place(algorithm, {"topic": topic.name}) for topic in config.all_topics}
    given = {
        each.name: Place(each.planner, _for_topic(each.name, each.planner, each.settings, config))
        for each in config.planners
    }
    return own | given


def _for_topic(
    place: str, planner: str, settings: Mapping[str, float | str], config: Config
) -> dict[str, float | str]:
    """The settings of a planner; of slices in the place of a topic, it is for that topic."""
    own = planner in ALGORITHMS and any(topic.name == place for topic in config.all_topics)
    return {"topic": place, **settings} if own else dict(settings)


def _own_rules(config: Config) -> list[Rule]:
    """Whatever a balancer notices of a topic, the topic's planner is asked."""
    return [
        Rule(each.of(topic.name), topic.name)
        for topic in config.all_topics
        for each in BalancerEvent
    ]


def _rule(rule: RuleConfig, config: Config) -> Rule:
    events = [event.name for event in config.events]
    events += [own.event for own in _own_rules(config)]
    events += [each.value for each in (*GatewayEvent, *BridgeEvent, *QosEvent)]
    _known("rules.event", rule.event, events)
    places = [*_places(config), PLACE, FLEET, BRIDGES_PLACE, QOS_PLACE]
    _known("rules.planner", rule.planner, places)
    settings = _for_topic(rule.planner, rule.by, rule.settings, config)
    return Rule(rule.event, rule.planner, Verb(rule.verb), Phase(rule.phase), settings, rule.by)


def _known(key: str, name: str, names: Iterable[str]) -> str:
    known = list(names)
    if name not in known:
        hint = did_you_mean(name, known)
        raise ConfigError(key, name, f"no such thing{hint} (known: {', '.join(known) or 'none'})")
    return name
