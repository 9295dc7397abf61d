"""The options of ``format("evenflow-store")``: read once, checked; errors say what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.config import Config
from evenflow.durable.archiver import brokers_of
from evenflow.durable.index import index_topic
from evenflow.errors import ConfigError
from evenflow.overlay.protocol.connection import parse_address
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.query_options import a_name, checked, known_options, seconds
from evenflow.spark.encodings import AVRO, ENCODINGS, JSON, avro_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGES: Final = "messages"
ITEMS: Final = "items"
_DECODING: Final = ("fields", "encoding", "avroSchema")
_READING: Final = (
    *("topic", "rows", "brokers", "config", "start", "partitions", "timeout", "includeHeaders"),
    *_DECODING,
)
_OF_TABLES: Final = ("end", "pushFilters")
_OF_STREAMS: Final = ("startingOffsets", "maxItemsPerTrigger", "failOnDataLoss")
EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_WRITING: Final = ("topic", "brokers", "config", "name", "level", "timeout", "checkpointLocation")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How payloads are encoded, and which columns they give."""

    fields: str = ""
    """The columns, as DDL: ``speed DOUBLE, lane INT``; empty: none."""
    encoding: str = JSON
    avro_schema: str = ""
    """Schema of Avro records, as JSON."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a query that reads the store sets."""

    topic: str
    """The store's own topic that says what there is: of items, the index of their archive."""
    brokers: tuple[str, ...]
    name: str = ""
    """The topic as the query names it."""
    items: bool = False
    """Whether the topic is the archive of a durable topic, whose items are wanted."""
    start: int = 1
    """Stored at this time or later, nanoseconds since 1970."""
    end: int | None = None
    """Stored before this time; None: all that is acknowledged when the query is planned."""
    partitions: int = 4
    """Into how many partitions the time is cut."""
    timeout_s: float = 30.0
    """How long brokers may be silent."""
    decoding: Decoding = field(default_factory=Decoding)
    headers: bool = False
    """Whether items have a column of their headers."""
    push_filters: bool = False
    """Whether a table leaves unread what the query's filters do not want."""
    latest: bool = False
    """Whether a stream begins with what comes, and not with what there is."""
    max_items: int | None = None
    """About how many rows a micro-batch may have; a bundle is never split."""
    lossless: bool = True
    """Whether a stream fails when what it should read has expired."""

    @classmethod
    def of(cls, given: Mapping[str, str], *, stream: bool | None = None) -> ReadOptions:
        """Read the options of a query; `ConfigError` names the first that cannot be used.

        Args:
            given: The options.
            stream: Whether a stream is read, or a table; None: nobody knows yet.
        """
        known = (*_READING, *(_OF_TABLES if not stream else ()), *(_OF_STREAMS if stream else ()))
        found = known_options(given, (*_READING, *_OF_TABLES, *_OF_STREAMS))
        for name in found:
            if stream is not None and name not in known:
                kind = "stream: it has no" if stream else "table: only a stream has"
                raise ConfigError(f"option {name}", found[name], f"not of a {kind} {name}")
        rows = found.get("rows", MESSAGES)
        if rows not in (MESSAGES, ITEMS):
            raise ConfigError("option rows", rows, f"must be {MESSAGES!r} or {ITEMS!r}")
        topic = _topic(found["topic"])
        config = Config.load(found.get("config"))
        start = checked(found, "start", 1, moment)
        end: int | None = checked(found, "end", None, moment)
        if end is not None and end <= start:
            raise ConfigError("option end", found.get("end"), "must be later than start")
        return cls(
            topic=index_topic(topic) if rows == ITEMS else topic,
            name=topic,
            brokers=_brokers(found, config),
            items=rows == ITEMS,
            start=start,
            end=end,
            partitions=checked(found, "partitions", 4, lambda value: _count(value, 10_000)),
            timeout_s=checked(found, "timeout", 30.0, seconds),
            decoding=_decoding(found, config, items=rows == ITEMS),
            headers=_headers(found, items=rows == ITEMS),
            push_filters=checked(found, "pushFilters", False, _truth),  # noqa: FBT003
            latest=checked(found, "startingOffsets", False, _is_latest),  # noqa: FBT003
            max_items=checked(found, "maxItemsPerTrigger", None, _many),
            lossless=checked(found, "failOnDataLoss", True, _truth),  # noqa: FBT003
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a query that writes to the store sets."""

    topic: str
    brokers: tuple[str, ...]
    name: str = ""
    """Name of the query: a batch that is written again under the same name is stored once."""
    level: int = 2
    """Resilience level of the topic when it is new."""
    timeout_s: float = 30.0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> WriteOptions:
        """Read the options of a query; `ConfigError` names the first that cannot be used."""
        found = known_options(given, _WRITING)
        return cls(
            topic=_topic(found["topic"]),
            brokers=_brokers(found, Config.load(found.get("config"))),
            name=checked(found, "name", "", a_name),
            level=checked(found, "level", 2, lambda value: _count(value, 3)),
            timeout_s=checked(found, "timeout", 30.0, seconds),
        )


def _decoding(found: Mapping[str, str], config: Config, *, items: bool) -> Decoding:
    """Which columns payloads have: as the query says, else as the durable topic does."""
    topic = next((one for one in config.topics if items and one.name == found["topic"]), None)
    encoding = found.get("encoding", topic.encoding if topic else JSON)
    if encoding not in ENCODINGS:
        raise ConfigError("option encoding", encoding, f"must be one of {', '.join(ENCODINGS)}")
    fields = found.get("fields", topic.fields if topic else "")
    if encoding != AVRO:
        return Decoding(fields, encoding)
    if "fields" in found:
        raise ConfigError("option fields", fields, "the columns of Avro records are their schema's")
    schema = found.get("avroSchema", "")
    if not schema.lstrip().startswith("{"):
        path = Path(schema)
        if not schema and topic is not None:
            path = (config.file.parent if config.file else Path()) / topic.avro_schema
        try:
            schema = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(
                "option avroSchema", str(path), f"must be a schema as JSON or its file: {error}"
            ) from None
    return Decoding(avro_fields(schema), encoding, schema)


def _brokers(found: Mapping[str, str], config: Config) -> tuple[str, ...]:
    if "brokers" not in found:
        return tuple(brokers_of(config))
    addresses = tuple(part.strip() for part in found["brokers"].split(",") if part.strip())
    for address in addresses or ("",):
        try:
            parse_address(address)
        except ValueError as error:
            raise ConfigError(
                "option brokers", found["brokers"], f"must be HOST:PORT, HOST:PORT ...: {error}"
            ) from None
    return addresses


def _topic(name: str) -> str:
    geographic_hash(name)
    return name


def moment(value: str) -> int:
    """Read a time: seconds since 1970, or ISO 8601 (UTC unless it names a zone); nanoseconds."""
    text = value.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        whole, _, part = text.partition(".")
        found = int(whole) * 10**9 + int(part.ljust(9, "0")[:9] or 0)
    else:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(
                "must be seconds since 1970, or a time as in 2026-01-31T12:00:00Z"
            ) from None
        since = when.replace(tzinfo=when.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        found = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
    if not 0 <= found < 1 << 62:
        raise ValueError("must be a time from 1970 to 2116")
    return max(1, found)


def _headers(found: Mapping[str, str], *, items: bool) -> bool:
    wanted = checked(found, "includeHeaders", False, _truth)  # noqa: FBT003
    if wanted and not items:
        raise ConfigError(
            "option includeHeaders", found["includeHeaders"],
            'messages have none, items have: add .option("rows", "items")',
        )  # fmt: skip
    return wanted


def _is_latest(value: str) -> bool:
    if value not in (EARLIEST, LATEST):
        raise ValueError(f"must be {EARLIEST!r} or {LATEST!r}; a time is the option start")
    return value == LATEST


def _truth(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError("must be 'true' or 'false'")
    return value.lower() == "true"


def _many(value: str) -> int:
    return _count(value, 1 << 62)


def _count(value: str, most: int) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= most:
        raise ValueError(f"must be a whole number from 1 to {most}")
    return int(value)
