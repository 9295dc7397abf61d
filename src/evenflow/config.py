"""What the processes of one domain share, read from one TOML file.

The file is the one named by ``--config``, else by ``EVENFLOW_CONFIG``, else ``./evenflow.toml``
when there is one; without a file everything has its default. Dotted keys given on the command line
(``--set node.deliver_items=64``) win over the file.

Each section is a frozen dataclass whose fields state what they accept, so a section made in code is
checked exactly like one that was read. Whatever cannot be used is refused at start by a
`ConfigError` that names the key, the value, what is allowed, and where the value came from.
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from evenflow.errors import ConfigError, did_you_mean
from evenflow.loop_config import (
    ElasticConfig,
    EventConfig,
    GroupConfig,
    HistoryConfig,
    MonitorConfig,
    PlannerConfig,
    RuleConfig,
)
from evenflow.section import NAME, Section, integer, number, text, texts, yes_or_no

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FILE = "evenflow.toml"
FILE_VARIABLE = "EVENFLOW_CONFIG"
COMMAND_LINE = "command line"

MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40

_FIELD = r"[A-Za-z_]\w*"
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"


@dataclass(frozen=True, slots=True)
class DomainConfig(Section):
    """``[domain]``: where the processes meet."""

    table: ClassVar[str] = "domain"

    id: int = integer(0, 0, 230)
    """DDS domain id; processes of different ids do not see one another."""
    interface: str = text("lo", r"\S+", "the name or address of a network interface")
    """Network interface the domain uses."""
    peers: tuple[str, ...] = texts()
    """Hosts to look for by unicast; empty: multicast discovery on the interface."""
    liveliness_s: float = number(0.6, 0.1, 30.0)
    """A process that is silent for this long is dead to the others."""
    participant_lease_s: float = number(2.0, 0.5, 60.0)
    """After this silence DDS itself forgets a participant and its endpoints."""


@dataclass(frozen=True, slots=True)
class TopicConfig(Section):
    """``[topics.NAME]``: a balanced topic."""

    table: ClassVar[str] = "topics"

    name: str = text(
        "items", NAME, "a letter, then letters, digits, '_' or '-' (at most 64 characters)"
    )
    """Name of the topic; the table's own name in the file."""
    slices: int = integer(100, 1, 100_000)
    """Into how many slices the topic is cut; all processes of a domain must agree."""
    assignment: str = text(
        "hash:sender",
        rf"random|(modulo|hash):{_FIELD}|geo:{_FIELD},{_FIELD}|call:{_DOTTED}:{_DOTTED}",
        "'random', 'modulo:FIELD', 'hash:FIELD', 'geo:LATFIELD,LONFIELD' or 'call:MODULE:NAME'",
    )
    """Which slice an item gets."""
    served: bool = yes_or_no(False)  # noqa: FBT003
    """Whether consumers (Spark) read the items from serving nodes and say when to forget them."""
    encoding: str = text("json", "json|struct|avro", "'json', 'struct' or 'avro'")
    """How the payloads of a served topic are encoded, for columns decoded from them."""
    fields: str = text("", r"[^\n]*", "columns as DDL, as in 'speed DOUBLE, lane INT'")
    """Columns decoded from JSON or struct payloads."""
    avro_schema: str = text("", r"[^\n]*", "a file beside this one")
    """File with the schema of Avro payloads."""
    durable: bool = yes_or_no(False)  # noqa: FBT003
    """Whether the items are also kept in the overlay store, by ``evenflow archive``."""

    def key(self, name: str) -> str:
        """Dotted key of a field of this topic."""
        return f"topics.{self.name}.{name}"


@dataclass(frozen=True, slots=True)
class PublisherConfig(Section):
    """``[publisher]``: how items are packed and how long they are kept."""

    table: ClassVar[str] = "publisher"

    linger_ms: int = integer(5, 0, 1_000)
    """How long an item waits for others of its slice; 0 sends at once. In a served topic, where
    nobody can read it before, any other value lets it wait until its epoch ends."""
    batch_items: int = integer(1_000, 1, 1_000_000)
    """Items that fill a batch."""
    batch_bytes: int = integer(262_144, 1_024, 64 * MIB)
    """Bytes that fill a batch."""
    retention_bytes: int = integer(64 * MIB, MIB, TIB)
    """Memory for what is not yet committed."""
    spill_bytes: int = integer(0, 0, TIB)
    """Disk for what does not fit in memory; when that is full too, publishing blocks."""
    spill_dir: str = text("", r".*", "a folder")
    """Where that is; empty for the system's folder for large temporary files."""
    epoch_ms: int = integer(100, 10, 60_000)
    """How often an epoch is closed."""
    block_s: float = number(30.0, 0.0, 3_600.0)
    """How long publishing may block before it gives up."""


@dataclass(frozen=True, slots=True)
class NodeConfig(Section):
    """``[node]``: a processing node."""

    table: ClassVar[str] = "node"

    app: str = text("", rf"|{_DOTTED}:{_DOTTED}", "'MODULE:CALLABLE', or empty for none")
    """The application that is given the items."""
    deliver_items: int = integer(256, 1, 1_000_000)
    """Most items given to the application at once."""
    cache_bytes: int = integer(256 * MIB, MIB, TIB)
    """Memory for the uncommitted items of all slices."""
    spill_bytes: int = integer(4 * GIB, 0, TIB)
    """Disk for what does not fit in memory; when that is full too, items wait at the publishers."""
    spill_dir: str = text("", r".*", "a folder")
    """Where that is; empty for the system's folder for large temporary files."""
    commit_ms: int = integer(100, 1, 60_000)
    """How often processed epochs are committed."""
    report_ms: int = integer(250, 10, 60_000)
    """How often the node reports its slices and load."""
    lease_s: float = number(30.0, 0.5, 3_600.0)
    """A node that has not heard from the balancer for this long stops delivering."""
    stall_s: float = number(1.0, 0.1, 60.0)
    """A node that did not run for this long checks its term before it goes on."""
    on_error: str = text("skip", "skip|stop", "'skip' or 'stop'")
    """What an exception of the application does: skip the batch and count it, or stop the node."""
    flight_port: int = integer(0, 0, 65_535)
    """Port at which a serving node is read, the next one for its next topic; 0 takes any."""


@dataclass(frozen=True, slots=True)
class BalancerConfig(Section):
    """``[balancer]``: who decides on slices."""

    table: ClassVar[str] = "balancer"

    algorithm: str = text("count", rf"{NAME}", "the name of a balancing algorithm")
    """Name of the balancing algorithm."""
    beat_ms: int = integer(200, 10, 10_000)
    """How often the balancer tells the nodes the term and the assignment."""
    settle_s: float = number(1.0, 0.0, 60.0)
    """How long a new balancer listens to the nodes' reports before it decides."""
    step_deadline_s: float = number(5.0, 0.1, 60.0)
    """How long one step of a handover may take before it is taken back."""
    analyze_s: float = number(10.0, 0.0, 3_600.0)
    """How often the loads are looked at; twice in a row uneven means a plan. 0: never."""
    season_s: float = number(0.0, 0.0, 31_622_400.0)
    """Length of the season that ``forecast`` learns, 86400 for one of the day; 0: none."""
    item_weight: float = number(1.0, 0.0, 1e9)
    """What one item a second adds to the load of a slice."""
    byte_weight: float = number(0.0, 0.0, 1e9)
    """What one payload byte a second adds."""
    busy_weight: float = number(0.0, 0.0, 1e9)
    """What one second of the application's work in each second adds."""


@dataclass(frozen=True, slots=True)
class StoreConfig(Section):
    """``[store]``: the overlay store, which keeps topics on brokers."""

    table: ClassVar[str] = "store"

    brokers: tuple[str, ...] = texts()
    """Addresses (host:port) of some brokers, for those who write durable topics or read them."""
    level: int = integer(2, 1, 3)
    """Resilience level of durable topics."""
    balance_s: float = number(0.0, 0.0, 86_400.0)
    """How often a broker gives a topic away if that makes loads more even; 0: never."""


_SINGLE: tuple[type[Section], ...] = (
    DomainConfig, PublisherConfig, NodeConfig, BalancerConfig, MonitorConfig, HistoryConfig,
    ElasticConfig, StoreConfig,
)  # fmt: skip
_NAMED: tuple[type[Section], ...] = (TopicConfig, GroupConfig, EventConfig, PlannerConfig)
"""Tables with tables in them, one for each name."""
S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    domain: DomainConfig = field(default_factory=DomainConfig)
    topics: tuple[TopicConfig, ...] = field(default_factory=lambda: (TopicConfig(),))
    publisher: PublisherConfig = field(default_factory=PublisherConfig)
    node: NodeConfig = field(default_factory=NodeConfig)
    balancer: BalancerConfig = field(default_factory=BalancerConfig)
    monitor: MonitorConfig = field(default_factory=MonitorConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    elastic: ElasticConfig = field(default_factory=ElasticConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    groups: tuple[GroupConfig, ...] = ()
    events: tuple[EventConfig, ...] = ()
    planners: tuple[PlannerConfig, ...] = ()
    rules: tuple[RuleConfig, ...] = ()
    file: Path | None = None
    """File it was read from, when there was one."""

    def __post_init__(self) -> None:
        """Refuse values that are fine alone but not together."""
        most = self.publisher.retention_bytes
        if self.publisher.batch_bytes > most:
            raise ConfigError(
                "publisher.batch_bytes",
                self.publisher.batch_bytes,
                f"must not be above publisher.retention_bytes = {most}",
            )
        for topic in self.topics:
            if topic.durable and not topic.served:
                raise ConfigError(
                    topic.key("served"), topic.served, "must be true for a durable topic"
                )
        least = 3 * self.balancer.beat_ms / 1_000
        if self.node.lease_s < least:
            raise ConfigError(
                "node.lease_s",
                self.node.lease_s,
                f"must be at least {least:g}, three beats of the balancer (balancer.beat_ms)",
            )

    def topic(self, name: str) -> TopicConfig:
        """Return the topic called ``name``; raise `ConfigError` when it is not configured."""
        for one in self.topics:
            if one.name == name:
                return one
        known = [one.name for one in self.topics]
        raise ConfigError(
            f"topics.{name}",
            None,
            f"no such topic{did_you_mean(name, known)} (known: {', '.join(known) or 'none'});"
            f" add a table [topics.{name}]",
            source=str(self.file or ""),
        )

    @property
    def history_file(self) -> Path:
        """Where the history is."""
        return (self.file.parent if self.file else Path()) / self.history.path

    def as_tables(self) -> dict[str, Any]:
        """Return the configuration in the shape of its file."""
        tables = asdict(self)
        del tables["file"]
        for kind in _NAMED:
            tables[kind.table] = {one.pop("name"): one for one in tables[kind.table]}
        for one in tables["planners"].values():
            one.update(one.pop("settings"))
        return tables

    def as_toml(self) -> str:
        """Write the configuration as the file it could have been read from."""
        tables = self.as_tables()
        rules = tables.pop("rules")
        for kind in _NAMED:
            named = tables.pop(kind.table)
            tables |= {f"{kind.table}.{name}": table for name, table in named.items()}
        parts = [(f"[{name}]", table) for name, table in tables.items()]
        parts += [("[[rules]]", rule) for rule in rules]
        return "\n\n".join(
            "\n".join([head, *(f"{key} = {_toml(value)}" for key, value in table.items())])
            for head, table in parts
        )

    @classmethod
    def load(
        cls, path: str | Path | None = None, overrides: Mapping[str, Any] | None = None
    ) -> Config:
        """Read the configuration.

        Args:
            path: The file; None looks where the module's text says.
            overrides: Values by dotted key that win over the file.
        """
        file = find_file(path)
        tables = _read(file) if file else {}
        tables.setdefault("topics", {"items": {}})
        given = dict(overrides or {})
        for key, value in given.items():
            _put(tables, key, value)

        try:
            return cls._from_tables(tables, file)
        except ConfigError as error:
            from_command_line = any(key.startswith(error.key) for key in given)
            source = COMMAND_LINE if from_command_line else str(file or "")
            raise error.at(source) from None

    @classmethod
    def _from_tables(cls, tables: Mapping[str, Any], file: Path | None) -> Config:
        _refuse_unknown("", tables, [one.table for one in (*_SINGLE, *_NAMED)] + ["rules"])
        topics = tables["topics"]
        if not isinstance(topics, dict) or not topics:
            raise ConfigError("topics", topics, "must hold at least one table [topics.NAME]")
        rules = tables.get("rules", [])
        if not isinstance(rules, list):
            raise ConfigError("rules", rules, "must be a list of tables [[rules]]")
        return cls(
            domain=_section(DomainConfig, "domain", tables),
            topics=_named(TopicConfig, tables),
            publisher=_section(PublisherConfig, "publisher", tables),
            node=_section(NodeConfig, "node", tables),
            balancer=_section(BalancerConfig, "balancer", tables),
            monitor=_section(MonitorConfig, "monitor", tables),
            history=_section(HistoryConfig, "history", tables),
            elastic=_section(ElasticConfig, "elastic", tables),
            store=_section(StoreConfig, "store", tables),
            groups=_named(GroupConfig, tables),
            events=_named(EventConfig, tables),
            planners=_planners(tables),
            rules=tuple(_section(RuleConfig, "rules", {"rules": rule}) for rule in rules),
            file=file,
        )


def find_file(path: str | Path | None) -> Path | None:
    """Return the configuration file to use, None when there is none."""
    named = path or os.environ.get(FILE_VARIABLE)
    if named:
        return Path(named)
    here = Path(DEFAULT_FILE)
    return here if here.is_file() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        reason = f"cannot be read ({error.strerror}): name a TOML file that exists"
        raise ConfigError("config", str(file), reason) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError("config", str(file), f"is not valid TOML: {error}") from None


def _put(tables: dict[str, Any], key: str, value: object) -> None:
    *parents, last = key.split(".")
    table = tables
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(key, value, f"{parent!r} is not a table", source=COMMAND_LINE)
    table[last] = value


def _section(kind: type[S], name: str, tables: Mapping[str, Any]) -> S:
    table = _table(name, tables.get(name, {}))
    _refuse_unknown(f"{name}.", table, [one.name for one in fields(kind)])
    return kind(**table)


def _named(kind: type[S], tables: Mapping[str, Any]) -> tuple[S, ...]:
    """The sections of ``[KIND.NAME]`` tables."""
    made = []
    for name, raw in _table(kind.table, tables.get(kind.table, {})).items():
        table = _table(f"{kind.table}.{name}", raw)
        known = [one.name for one in fields(kind) if one.name != "name"]
        _refuse_unknown(f"{kind.table}.{name}.", table, known)
        made.append(kind(**{"name": name, **table}))
    return tuple(made)


def _planners(tables: Mapping[str, Any]) -> tuple[PlannerConfig, ...]:
    """Planners; whatever is not the planner's name is one of its settings."""
    shaped = {
        name: {"planner": raw.get("planner", ""), "settings": _but(raw, "planner")}
        if isinstance(raw, dict)
        else raw
        for name, raw in _table("planners", tables.get("planners", {})).items()
    }
    return _named(PlannerConfig, {"planners": shaped})


def _but(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key}


def _toml(value: object) -> str:
    """Write a value; JSON writes numbers, strings, lists and booleans as TOML does."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value)


def _table(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(key, value, f"must be a table [{key}]")
    return value


def _refuse_unknown(prefix: str, table: Mapping[str, Any], known: list[str]) -> None:
    for name, value in table.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(
                prefix + name, value, f"unknown key{hint} (known: {', '.join(known)})"
            )
