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
import re
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_FILE = "evenflow.toml"
FILE_VARIABLE = "EVENFLOW_CONFIG"
COMMAND_LINE = "command line"

MIB = 1 << 20
TIB = 1 << 40

_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
_FIELD = r"[A-Za-z_]\w*"
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting accepts: ``read`` returns the value, or raises `ValueError`."""

    read: Callable[[object], object]
    allowed: str


def _integer(default: int, low: int, high: int) -> int:
    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise ValueError
        return raw

    rule = Rule(read, f"must be a whole number from {low} to {high}")
    return field(default=default, metadata={"rule": rule})


def _number(default: float, low: float, high: float) -> float:
    def read(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not low <= raw <= high:
            raise ValueError
        return float(raw)

    rule = Rule(read, f"must be a number from {low:g} to {high:g}")
    return field(default=default, metadata={"rule": rule})


def _yes_or_no(default: bool) -> bool:  # noqa: FBT001 - a default is no switch
    def read(raw: object) -> bool:
        if raw is not True and raw is not False:
            raise ValueError
        return raw

    return field(default=default, metadata={"rule": Rule(read, "must be true or false")})


def _text(default: str, pattern: str, allowed: str) -> str:
    def read(raw: object) -> str:
        if not isinstance(raw, str) or not re.fullmatch(pattern, raw):
            raise ValueError
        return raw

    return field(default=default, metadata={"rule": Rule(read, f"must be {allowed}")})


def _texts() -> tuple[str, ...]:
    def read(raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list | tuple) or not all(
            isinstance(one, str) and one for one in raw
        ):
            raise ValueError
        return tuple(raw)

    return field(default=(), metadata={"rule": Rule(read, "must be a list of non-empty strings")})


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file; checks its own fields when it is made."""

    table: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for one in fields(self):
            rule: Rule = one.metadata["rule"]
            raw = getattr(self, one.name)
            try:
                value = rule.read(raw)
            except ValueError:
                raise ConfigError(self.key(one.name), raw, rule.allowed) from None
            object.__setattr__(self, one.name, value)

    def key(self, name: str) -> str:
        """Dotted key of a field of this section."""
        return f"{self.table}.{name}"


@dataclass(frozen=True, slots=True)
class DomainConfig(Section):
    """``[domain]``: where the processes meet."""

    table: ClassVar[str] = "domain"

    id: int = _integer(0, 0, 230)
    """DDS domain id; processes of different ids do not see one another."""
    interface: str = _text("lo", r"\S+", "the name or address of a network interface")
    """Network interface the domain uses."""
    peers: tuple[str, ...] = _texts()
    """Hosts to look for by unicast; empty: multicast discovery on the interface."""
    liveliness_s: float = _number(0.6, 0.1, 30.0)
    """A process that is silent for this long is dead to the others."""
    participant_lease_s: float = _number(2.0, 0.5, 60.0)
    """After this silence DDS itself forgets a participant and its endpoints."""


@dataclass(frozen=True, slots=True)
class TopicConfig(Section):
    """``[topics.NAME]``: a balanced topic."""

    name: str = _text(
        "items", _NAME, "a letter, then letters, digits, '_' or '-' (at most 64 characters)"
    )
    """Name of the topic; the table's own name in the file."""
    slices: int = _integer(100, 1, 100_000)
    """Into how many slices the topic is cut; all processes of a domain must agree."""
    assignment: str = _text(
        "hash:sender",
        rf"random|(modulo|hash):{_FIELD}|geo:{_FIELD},{_FIELD}|call:{_DOTTED}:{_DOTTED}",
        "'random', 'modulo:FIELD', 'hash:FIELD', 'geo:LATFIELD,LONFIELD' or 'call:MODULE:NAME'",
    )
    """Which slice an item gets."""
    served: bool = _yes_or_no(False)  # noqa: FBT003
    """Whether consumers (Spark) read the items from serving nodes and say when to forget them."""

    def key(self, name: str) -> str:
        """Dotted key of a field of this topic."""
        return f"topics.{self.name}.{name}"


@dataclass(frozen=True, slots=True)
class PublisherConfig(Section):
    """``[publisher]``: how items are packed and how long they are kept."""

    table: ClassVar[str] = "publisher"

    linger_ms: int = _integer(5, 0, 1_000)
    """How long an item waits for others of its slice; 0 sends at once."""
    batch_items: int = _integer(1_000, 1, 1_000_000)
    """Items that fill a batch."""
    batch_bytes: int = _integer(262_144, 1_024, 64 * MIB)
    """Payload bytes that fill a batch."""
    retention_bytes: int = _integer(64 * MIB, MIB, TIB)
    """Bound of what is kept until it is committed; beyond it, publishing blocks."""
    epoch_ms: int = _integer(100, 10, 60_000)
    """How often an epoch is closed."""
    block_s: float = _number(30.0, 0.0, 3_600.0)
    """How long publishing may block before it gives up."""


@dataclass(frozen=True, slots=True)
class NodeConfig(Section):
    """``[node]``: a processing node."""

    table: ClassVar[str] = "node"

    app: str = _text("", rf"|{_DOTTED}:{_DOTTED}", "'MODULE:CALLABLE', or empty for none")
    """The application that is given the items."""
    deliver_items: int = _integer(256, 1, 1_000_000)
    """Most items given to the application at once."""
    cache_bytes: int = _integer(256 * MIB, MIB, TIB)
    """Bound of the uncommitted items held for all slices."""
    commit_ms: int = _integer(100, 1, 60_000)
    """How often processed epochs are committed."""
    report_ms: int = _integer(250, 10, 60_000)
    """How often the node reports its slices and load."""
    lease_s: float = _number(30.0, 0.5, 3_600.0)
    """A node that has not heard from the balancer for this long stops delivering."""
    stall_s: float = _number(1.0, 0.1, 60.0)
    """A node that did not run for this long checks its term before it goes on."""
    on_error: str = _text("skip", "skip|stop", "'skip' or 'stop'")
    """What an exception of the application does: skip the batch and count it, or stop the node."""
    flight_port: int = _integer(0, 0, 65_535)
    """Port at which a serving node is read; 0 takes any that is free."""


@dataclass(frozen=True, slots=True)
class BalancerConfig(Section):
    """``[balancer]``: who decides on slices."""

    table: ClassVar[str] = "balancer"

    algorithm: str = _text("count", rf"{_NAME}", "the name of a balancing algorithm")
    """Name of the balancing algorithm."""
    beat_ms: int = _integer(200, 10, 10_000)
    """How often the balancer tells the nodes the term and the assignment."""
    settle_s: float = _number(1.0, 0.0, 60.0)
    """How long a new balancer listens to the nodes' reports before it decides."""
    step_deadline_s: float = _number(5.0, 0.1, 60.0)
    """How long one step of a handover may take before it is taken back."""


_SINGLE: tuple[type[Section], ...] = (DomainConfig, PublisherConfig, NodeConfig, BalancerConfig)
S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    domain: DomainConfig = field(default_factory=DomainConfig)
    topics: tuple[TopicConfig, ...] = field(default_factory=lambda: (TopicConfig(),))
    publisher: PublisherConfig = field(default_factory=PublisherConfig)
    node: NodeConfig = field(default_factory=NodeConfig)
    balancer: BalancerConfig = field(default_factory=BalancerConfig)
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

    def as_tables(self) -> dict[str, Any]:
        """Return the configuration in the shape of its file."""
        tables = asdict(self)
        del tables["file"]
        tables["topics"] = {topic.pop("name"): topic for topic in tables["topics"]}
        return tables

    def as_toml(self) -> str:
        """Write the configuration as the file it could have been read from."""
        tables = self.as_tables()
        topics = {f"topics.{name}": table for name, table in tables.pop("topics").items()}
        # JSON writes these values (numbers, strings, lists of strings, booleans) as TOML does.
        return "\n\n".join(
            "\n".join([f"[{name}]", *(f"{key} = {json.dumps(v)}" for key, v in table.items())])
            for name, table in {**tables, **topics}.items()
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
        _refuse_unknown("", tables, [*(one.table for one in _SINGLE), "topics"])
        topics = tables["topics"]
        if not isinstance(topics, dict) or not topics:
            raise ConfigError("topics", topics, "must hold at least one table [topics.NAME]")
        return cls(
            domain=_section(DomainConfig, "domain", tables),
            topics=tuple(_topic(name, topics) for name in topics),
            publisher=_section(PublisherConfig, "publisher", tables),
            node=_section(NodeConfig, "node", tables),
            balancer=_section(BalancerConfig, "balancer", tables),
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


def _topic(name: str, topics: Mapping[str, Any]) -> TopicConfig:
    table = _table(f"topics.{name}", topics[name])
    known = [one.name for one in fields(TopicConfig) if one.name != "name"]
    _refuse_unknown(f"topics.{name}.", table, known)
    return TopicConfig(name=name, **table)


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
