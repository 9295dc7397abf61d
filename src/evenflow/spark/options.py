"""The options of ``format("evenflow")``: read once, checked, with errors that say what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.config import Config
from evenflow.errors import ConfigError
from evenflow.query_options import a_name, checked, known_options, seconds
from evenflow.slices.consumer.core import EARLIEST, LATEST
from evenflow.spark.encodings import AVRO, ENCODINGS, JSON, avro_fields
from evenflow.spark.starting import a_time, a_truth, ending_of, starting_of, topics_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.spark.starting import Where

_KNOWN: Final = (
    "topic",
    "topics",
    "topicsPattern",
    "consumer",
    "config",
    "domain",
    "startingOffsets",
    "startingTimestamp",
    "startingEpochs",
    "endingOffsets",
    "failOnDataLoss",
    "maxItemsPerTrigger",
    "minPartitions",
    "includeHeaders",
    "pushFilters",
    "fields",
    "encoding",
    "avroSchema",
    "readTimeout",
)
_KNOWN_TO_SINK: Final = (
    "topic",
    "name",
    "config",
    "domain",
    "outbox",
    "deliverWithin",
    "checkpointLocation",
    "queryName",
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a query sets."""

    topics: tuple[str, ...]
    config: Config
    consumer: str = "spark"
    """Name by which the query is registered; it must be the same after a restart."""
    starting: Where = EARLIEST
    """Where a query without a checkpoint, or a batch read, begins."""
    since: int | None = None
    """It begins with the first epochs that have items of this time or later, in microseconds."""
    ending: Where = LATEST
    """Where a batch read ends."""
    fail_on_loss: bool = True
    """Whether a query fails whose position lies before what is kept."""
    names_topics: bool = False
    """Whether each row says which topic it is of."""
    max_items: int | None = None
    """How many items a micro-batch may have."""
    min_partitions: int = 1
    """How many tasks a micro-batch should have at least."""
    headers: bool = False
    """Whether there is a column of the items' headers."""
    push_filters: bool = False
    """Whether nodes send a batch read only what its filters leave."""
    fields: str = ""
    """Columns decoded from payloads, as DDL: ``speed DOUBLE, lane INT``."""
    encoding: str = JSON
    """How payloads are encoded: one of :data:`~evenflow.spark.encodings.ENCODINGS`."""
    avro_schema: str = ""
    """Schema of Avro records, as JSON."""
    read_timeout_s: float = 120.0
    """How long a task asks for items that nobody gives."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Options:
        """Read the options of a query; `ConfigError` names the first that cannot be used."""
        found = known_options(given, _KNOWN, needs_topic=False)
        config = _config(found)
        topics = topics_of(found, config)
        return cls(
            topics=topics,
            config=config,
            consumer=checked(found, "consumer", "spark", a_name),
            starting=starting_of(found, topics),
            since=checked(found, "startingTimestamp", None, a_time),
            ending=ending_of(found, topics),
            fail_on_loss=checked(found, "failOnDataLoss", True, a_truth),  # noqa: FBT003
            names_topics="topic" not in found,
            max_items=checked(found, "maxItemsPerTrigger", None, _count),
            min_partitions=checked(found, "minPartitions", 1, _count),
            headers=checked(found, "includeHeaders", False, a_truth),  # noqa: FBT003
            push_filters=checked(found, "pushFilters", False, a_truth),  # noqa: FBT003
            **_decoding_of_all(found, config, topics),
            read_timeout_s=checked(found, "readTimeout", 120.0, seconds),
        )


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """What a query that writes sets."""

    topic: str
    config: Config
    outbox: Path | None
    """Folder where the sink writes results down before it publishes them; it must outlive the
    driver. Only a table may go without."""
    name: str = "spark"
    """Name of the sink: of its outbox, and sender of results that name none."""
    deliver_within_s: float = 10.0
    """How long a micro-batch waits until nodes have its results."""

    @classmethod
    def of(cls, given: Mapping[str, str], *, table: bool = False) -> SinkOptions:
        """Read the options of a sink; `ConfigError` names the first that cannot be used."""
        found = known_options(given, _KNOWN_TO_SINK)
        config = _config(found)
        config.topic(found["topic"])
        if not found.get("outbox") and not (table and "outbox" not in found):
            raise ConfigError(
                "option outbox", found.get("outbox"), "must be a folder that outlives the driver"
            )
        return cls(
            topic=found["topic"],
            config=config,
            outbox=Path(found["outbox"]) if "outbox" in found else None,
            name=checked(found, "name", "spark", a_name),
            deliver_within_s=checked(found, "deliverWithin", 10.0, seconds),
        )


def _config(found: Mapping[str, str]) -> Config:
    overrides = {}
    if "domain" in found:
        overrides["domain.id"] = checked(found, "domain", 0, _whole)
    return Config.load(found.get("config"), overrides)


def _decoding_of_all(
    found: Mapping[str, str], config: Config, topics: tuple[str, ...]
) -> dict[str, str]:
    """Which columns payloads have: the same for all topics of a query."""
    decoding = _decoding(found, config, topics[0])
    for other in topics[1:]:
        if _decoding(found, config, other) != decoding:
            raise ConfigError(
                "option fields", found.get("fields"),
                f"topics {topics[0]!r} and {other!r} are encoded differently: set encoding and"
                " fields (empty: payloads as they are), or read them apart",
            )  # fmt: skip
    return decoding


def _decoding(found: Mapping[str, str], config: Config, name: str) -> dict[str, str]:
    """Which columns payloads have: as the query says, else as the topic does."""
    topic = config.topic(name)
    encoding = found.get("encoding", topic.encoding)
    if encoding not in ENCODINGS:
        raise ConfigError("option encoding", encoding, f"must be one of {', '.join(ENCODINGS)}")
    fields = found.get("fields", topic.fields)
    if encoding != AVRO:
        return {"fields": fields, "encoding": encoding}
    if "fields" in found:
        raise ConfigError("option fields", fields, "the columns of Avro records are their schema's")
    schema = found.get("avroSchema", "")
    if not schema.lstrip().startswith("{"):
        folder = config.file.parent if config.file and not schema else Path()
        schema = _text_of(folder / (schema or topic.avro_schema))
    return {"fields": avro_fields(schema), "encoding": encoding, "avro_schema": schema}


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(
            "option avroSchema", str(path), f"must be a schema as JSON or its file: {error}"
        ) from None


def _count(value: str) -> int:
    if not value.isdecimal() or int(value) == 0:
        raise ValueError("must be a whole number above 0")
    return int(value)


def _whole(value: str) -> int:
    if not value.isdecimal():
        raise ValueError("must be a whole number")
    return int(value)
