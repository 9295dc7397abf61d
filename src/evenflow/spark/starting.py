"""Which topics a query reads, and between which places: the options that say so, as text.

A place is ``earliest``, ``latest``, or an offset as a checkpoint has it (:mod:`~.offsets`). A time
is milliseconds since 1970, as Kafka's source has it, or ISO 8601.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import ConfigError, DecodeError
from evenflow.slices.consumer.core import EARLIEST, LATEST
from evenflow.spark.offsets import places_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.config import Config
    from evenflow.slices.consumer.splits import Point

    Where = str | Mapping[str, Point]
    """A word, or a point for each topic."""

_LATEST_MS: Final = 253_402_300_800_000
"""The end of the year 9999: who names a later time has microseconds, say."""


def topics_of(found: Mapping[str, str], config: Config) -> tuple[str, ...]:
    """The topics of a query, by name or by pattern; all of them are configured and served."""
    named = [name for name in ("topic", "topics", "topicsPattern") if name in found]
    if len(named) != 1:
        raise ConfigError(
            "option topic", found.get("topic"),
            "is missing: add .option(\"topic\", NAME)" if not named
            else f"give one of {' and '.join(named)}",
        )  # fmt: skip
    value = found[named[0]]
    if named[0] == "topicsPattern":
        topics = _matching(value, config)
    else:
        parts = [value] if named[0] == "topic" else value.split(",")
        topics = tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))
        if not topics:
            raise ConfigError(f"option {named[0]}", value, "must name a topic")
    for name in topics:
        _check_served(config, name)
    return topics


def _matching(pattern: str, config: Config) -> tuple[str, ...]:
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ConfigError("option topicsPattern", pattern, f"is no pattern: {error}") from None
    served = sorted(topic.name for topic in config.topics if topic.served)
    found = tuple(name for name in served if wanted.fullmatch(name))
    if not found:
        raise ConfigError(
            "option topicsPattern", pattern,
            f"matches no served topic of the configuration ({', '.join(served) or 'none'})",
        )  # fmt: skip
    return found


def _check_served(config: Config, name: str) -> None:
    topic = config.topic(name)
    if not topic.served:
        raise ConfigError(
            topic.key("served"), topic.served,
            "must be true for a topic that Spark reads: set it in evenflow.toml, for all processes",
            source=str(config.file or ""),
        )  # fmt: skip


def starting_of(found: Mapping[str, str], topics: Sequence[str]) -> Where:
    """Where a query without a checkpoint, or a batch read, begins."""
    given = [n for n in ("startingOffsets", "startingEpochs", "startingTimestamp") if n in found]
    if len(given) > 1:
        raise ConfigError(f"option {given[1]}", found[given[1]], f"{given[0]} is given, too")
    if not given or given[0] == "startingTimestamp":
        return EARLIEST
    return _where(given[0], found[given[0]], topics, EARLIEST, LATEST)


def ending_of(found: Mapping[str, str], topics: Sequence[str]) -> Where:
    """Where a batch read ends."""
    value = found.get("endingOffsets", LATEST)
    return _where("endingOffsets", value, topics, LATEST)


def _where(name: str, value: str, topics: Sequence[str], *words: str) -> Where:
    if value in words:
        return value
    try:
        offset: Any = json.loads(value)
        places = places_of(offset, topics) if isinstance(offset, dict) else None
    except (ValueError, DecodeError):
        places = None
    if places is None or not places.keys() <= set(topics):
        raise ConfigError(
            f"option {name}", value,
            f"must be {', '.join(map(repr, words))} or JSON {{topic: {{writer: epoch}}}}",
        )  # fmt: skip
    return {topic: place.point for topic, place in places.items()}


def a_time(value: str) -> int:
    """Read a time; microseconds since 1970."""
    if value.isdecimal():
        if int(value) >= _LATEST_MS:
            raise ValueError("must be milliseconds since 1970; this is after the year 9999")
        return int(value) * 1_000
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("must be milliseconds since 1970, or a time as ISO 8601") from None
    at = found if found.tzinfo else found.replace(tzinfo=UTC)
    return max(0, round(at.timestamp() * 1e6))


def a_truth(value: str) -> bool:
    """Read true or false."""
    if value.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return value.lower() == "true"
