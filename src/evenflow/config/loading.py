"""What the processes of one domain share, read from one TOML file.

The file is the one named by ``--config``, else by ``EVENFLOW_CONFIG``, else ``./evenflow.toml``
when there is one; without a file everything has its default. Dotted keys given on the command line
(``--set node.deliver_items=64``) win over the file.

Each section is a frozen dataclass whose fields state what they accept, so a section made in code is
checked exactly like one that was read. Whatever cannot be used is refused at start by a
`ConfigError` that names the key, the value, what is allowed, and where the value came from.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from evenflow.config.metrics_section import MetricsConfig
from evenflow.config.mobile_sections import MailboxConfig, MobileGroupConfig
from evenflow.config.qos_section import QosConfig
from evenflow.config.section import Section
from evenflow.config.sections import (
    BalancerConfig,
    ConsumerConfig,
    DomainConfig,
    NodeConfig,
    PublisherConfig,
    StoreConfig,
    TopicConfig,
)
from evenflow.config.tables import (
    COMMAND_LINE,
    named,
    planners,
    put,
    read_toml,
    refuse_unknown,
    section,
    take_out,
    toml_key,
    toml_value,
)
from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_FILE = "evenflow.toml"
FILE_VARIABLE = "EVENFLOW_CONFIG"
DEAD_SLICES = 4
"""Into how many slices a topic of dead letters is cut that the file does not have."""
MOST_FAULTS = 100
"""Faults of a configuration that are looked for."""

_SINGLE: tuple[type[Section], ...] = (
    DomainConfig, PublisherConfig, ConsumerConfig, NodeConfig, BalancerConfig, MonitorConfig,
    HistoryConfig, ElasticConfig, StoreConfig, AccessConfig, GatewayConfig, MailboxConfig,
    QosConfig, BridgeConfig, MetricsConfig,
)  # fmt: skip
_NAMED: tuple[type[Section], ...] = (
    TopicConfig, GroupConfig, EventConfig, PlannerConfig, MobileGroupConfig,
)  # fmt: skip
"""Tables with tables in them, one for each name."""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    domain: DomainConfig = field(default_factory=DomainConfig)
    topics: tuple[TopicConfig, ...] = field(default_factory=lambda: (TopicConfig(),))
    publisher: PublisherConfig = field(default_factory=PublisherConfig)
    consumer: ConsumerConfig = field(default_factory=ConsumerConfig)
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
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
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
            for needs in ("consumers", "keep"):
                if getattr(topic, needs) and not topic.served:
                    raise ConfigError(
                        topic.key("served"), topic.served, f"must be true for a topic with {needs}"
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
            tables |= {f"{kind.table}.{toml_key(name)}": table for name, table in named.items()}
        parts = [(f"[{name}]", table) for name, table in tables.items()]
        parts += [("[[rules]]", rule) for rule in rules]
        return "\n\n".join(
            "\n".join([head, *(f"{key} = {toml_value(value)}" for key, value in table.items())])
            for head, table in parts
        )

    @classmethod
    def of(cls, given: Config | None) -> Config:
        """Return what a caller gave, or what `load` finds when that is nothing."""
        if given is None:
            return cls.load()
        if isinstance(given, cls):
            return given
        raise ConfigError("config", given, "must be a Config: Config.load(FILE) reads one")

    @classmethod
    def load(
        cls, path: str | Path | None = None, overrides: Mapping[str, Any] | None = None
    ) -> Config:
        """Read the configuration.

        Args:
            path: The file; None looks where the module's text says.
            overrides: Values by dotted key that win over the file.
        """
        config, faults = cls.examine(path, overrides, most=1)
        if config is None or faults:
            raise faults[0]
        return config

    @classmethod
    def examine(
        cls,
        path: str | Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        *,
        most: int = MOST_FAULTS,
    ) -> tuple[Config | None, list[ConfigError]]:
        """Find what is wrong with a configuration, all of it.

        What is refused is taken out, and the rest looked at again.

        Returns:
            The configuration without what is wrong, None when there is no telling; the faults.
        """
        file = find_file(path)
        tables = read_toml(file) if file else {}
        tables.setdefault("topics", {"items": {}})
        given = dict(overrides or {})
        for key, value in given.items():
            put(tables, key, value)
        faults: list[ConfigError] = []
        while len(faults) < most:
            try:
                return cls._from_tables(tables, file), faults
            except ConfigError as error:
                from_command_line = any(key.startswith(error.key) for key in given)
                faults.append(error.at(COMMAND_LINE if from_command_line else str(file or "")))
                if not take_out(tables, error.key):
                    break
                if not tables.get("topics"):
                    tables["topics"] = {"items": {}}
        return None, faults

    @classmethod
    def _from_tables(cls, tables: Mapping[str, Any], file: Path | None) -> Config:
        refuse_unknown("", tables, [one.table for one in (*_SINGLE, *_NAMED)] + ["rules"])
        topics = tables["topics"]
        if not isinstance(topics, dict) or not topics:
            raise ConfigError("topics", topics, "must hold at least one table [topics.NAME]")
        rules = tables.get("rules", [])
        if not isinstance(rules, list):
            raise ConfigError("rules", rules, "must be a list of tables [[rules]]")
        return cls(
            domain=section(DomainConfig, "domain", tables),
            topics=named(TopicConfig, tables),
            publisher=section(PublisherConfig, "publisher", tables),
            consumer=section(ConsumerConfig, "consumer", tables),
            node=section(NodeConfig, "node", tables),
            balancer=section(BalancerConfig, "balancer", tables),
            monitor=section(MonitorConfig, "monitor", tables),
            history=section(HistoryConfig, "history", tables),
            elastic=section(ElasticConfig, "elastic", tables),
            store=section(StoreConfig, "store", tables),
            access=section(AccessConfig, "access", tables),
            gateway=section(GatewayConfig, "gateway", tables),
            mailbox=section(MailboxConfig, "mailbox", tables),
            qos=section(QosConfig, "qos", tables),
            bridge=section(BridgeConfig, "bridge", tables),
            metrics=section(MetricsConfig, "metrics", tables),
            groups=named(GroupConfig, tables),
            events=named(EventConfig, tables),
            planners=planners(tables),
            mobile_groups=named(MobileGroupConfig, tables),
            rules=tuple(section(RuleConfig, "rules", {"rules": rule}) for rule in rules),
            file=file,
        )


def find_file(path: str | Path | None) -> Path | None:
    """Return the configuration file to use, None when there is none."""
    named = path or os.environ.get(FILE_VARIABLE)
    if named:
        return Path(named)
    here = Path(DEFAULT_FILE)
    return here if here.is_file() else None
