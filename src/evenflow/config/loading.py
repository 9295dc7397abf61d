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
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.config.access_section import AccessConfig
from evenflow.config.bridge_section import BridgeConfig
from evenflow.config.gateway_section import GatewayConfig
from evenflow.config.loop_sections import (
    ElasticConfig,
    EventConfig,
    GroupConfig,
    HistoryConfig,
    MonitorConfig,
    PlannerConfig,
    RuleConfig,
)
from evenflow.config.mobile_sections import MailboxConfig, MobileGroupConfig
from evenflow.config.qos_section import QosConfig
from evenflow.config.section import Section
from evenflow.config.sections import (
    BalancerConfig,
    DomainConfig,
    NodeConfig,
    PublisherConfig,
    StoreConfig,
    TopicConfig,
)
from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FILE = "evenflow.toml"
FILE_VARIABLE = "EVENFLOW_CONFIG"
COMMAND_LINE = "command line"
DEAD_SLICES = 4
"""Into how many slices a topic of dead letters is cut that the file does not have."""

_SINGLE: tuple[type[Section], ...] = (
    DomainConfig, PublisherConfig, NodeConfig, BalancerConfig, MonitorConfig, HistoryConfig,
    ElasticConfig, StoreConfig, AccessConfig, GatewayConfig, MailboxConfig, QosConfig, BridgeConfig,
)  # fmt: skip
_NAMED: tuple[type[Section], ...] = (
    TopicConfig, GroupConfig, EventConfig, PlannerConfig, MobileGroupConfig,
)  # fmt: skip
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
    access: AccessConfig = field(default_factory=AccessConfig)
    gateway: GatewayConfig = field(default_factory=GatewayConfig)
    mailbox: MailboxConfig = field(default_factory=MailboxConfig)
    qos: QosConfig = field(default_factory=QosConfig)
    bridge: BridgeConfig = field(default_factory=BridgeConfig)
    groups: tuple[GroupConfig, ...] = ()
    events: tuple[EventConfig, ...] = ()
    planners: tuple[PlannerConfig, ...] = ()
    rules: tuple[RuleConfig, ...] = ()
    mobile_groups: tuple[MobileGroupConfig, ...] = ()
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
            if topic.is_dead and not topic.served:
                raise ConfigError(
                    topic.key("served"), topic.served, "must be true for a topic of dead letters"
                )
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
        for one in self.all_topics:
            if one.name == name:
                return one
        known = [one.name for one in self.all_topics]
        raise ConfigError(
            f"topics.{name}",
            None,
            f"no such topic{did_you_mean(name, known)} (known: {', '.join(known) or 'none'});"
            f" add a table [topics.{name}]",
            source=str(self.file or ""),
        )

    @property
    def all_topics(self) -> tuple[TopicConfig, ...]:
        """The topics of the file, and those of dead letters that follow from them."""
        named = {one.name for one in self.topics}
        dead = [
            TopicConfig(name=one.dead_name, slices=DEAD_SLICES, served=True)
            for one in self.topics
            if one.on_error == "dead" and one.dead_name not in named
        ]
        return (*self.topics, *dead)

    @property
    def dead_folder(self) -> Path:
        """Where nodes keep dead letters, apart for each domain."""
        folder = (self.file.parent if self.file else Path()) / self.node.dead_dir
        return folder / f"domain-{self.domain.id}"

    @property
    def history_file(self) -> Path:
        """Where the history is."""
        return (self.file.parent if self.file else Path()) / self.history.path

    @property
    def state_folder(self) -> Path:
        """Where the balancer keeps what must outlive it, apart for each domain."""
        folder = (self.file.parent if self.file else Path()) / self.balancer.state_dir
        return folder / f"domain-{self.domain.id}"

    @property
    def gateway_folder(self) -> Path:
        """Where gateways keep marks and outboxes, apart for each domain."""
        folder = (self.file.parent if self.file else Path()) / self.gateway.state_dir
        return folder / f"domain-{self.domain.id}"

    @property
    def bridge_folder(self) -> Path:
        """Where bridges keep marks and outboxes, apart for each domain."""
        folder = (self.file.parent if self.file else Path()) / self.bridge.state_dir
        return folder / f"domain-{self.domain.id}"

    @property
    def mail_folder(self) -> Path:
        """Where mailboxes keep messages, apart for each domain."""
        folder = (self.file.parent if self.file else Path()) / self.mailbox.state_dir
        return folder / f"domain-{self.domain.id}"

    @property
    def access_folder(self) -> Path:
        """Where the keys are, and which tokens are revoked."""
        return (self.file.parent if self.file else Path()) / self.access.dir

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
            tables |= {f"{kind.table}.{_key(name)}": table for name, table in named.items()}
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
            access=_section(AccessConfig, "access", tables),
            gateway=_section(GatewayConfig, "gateway", tables),
            mailbox=_section(MailboxConfig, "mailbox", tables),
            qos=_section(QosConfig, "qos", tables),
            bridge=_section(BridgeConfig, "bridge", tables),
            groups=_named(GroupConfig, tables),
            events=_named(EventConfig, tables),
            planners=_planners(tables),
            mobile_groups=_named(MobileGroupConfig, tables),
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
    import tomllib  # noqa: PLC0415 - only who has a file needs it

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


def _key(name: str) -> str:
    """A key of the file; one with a dot in it is quoted."""
    return json.dumps(name) if "." in name else name


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
