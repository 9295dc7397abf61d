"""Reading a durable topic: what is asked for is checked at once, and failures are raised."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from evenflow.config import Config
from evenflow.durable import reader
from evenflow.durable.reader import read_from
from evenflow.errors import ConfigError, UnknownTopic

TOPICS = {"fleet": {"served": True, "durable": True}, "items": {}}


@pytest.fixture
def config() -> Config:
    return Config.load(None, {"topics": TOPICS, "store.brokers": ["127.0.0.1:1"]})


class BrokenClient:
    """A client whose subscription fails in a way that nobody thought of."""

    made = False

    def __init__(self, _brokers: list[str]) -> None:
        pass

    def __enter__(self) -> BrokenClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ensure(self, *_: Any, **__: Any) -> None:
        self.made = True

    def close(self) -> None:
        pass

    def subscribe(self, *_: Any, **__: Any) -> Iterator[Any]:
        raise ValueError("a bug")

    def read(self, topic: str, *_: Any) -> Iterator[Any]:
        raise UnknownTopic(topic)


@pytest.mark.parametrize(
    ("topic", "start"),
    [
        ("nothing", 0),
        ("items", 0),
        ("fleet", "yesterday"),
        ("fleet", 1_700_000_000_000),
        ("fleet", 1e300),
        ("fleet", float("-inf")),
        ("fleet", True),
        ("fleet", datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - without a zone
        ("fleet", datetime(9999, 12, 31, tzinfo=UTC)),
    ],
)
def test_what_cannot_be_read_is_refused_at_the_call(config: Config, topic: str, start: Any) -> None:
    with pytest.raises(ConfigError):
        read_from(topic, start, config=config)


def test_whatever_ends_the_archives_thread_is_raised_to_the_reader(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "Client", BrokenClient)
    with pytest.raises(ValueError, match="a bug"):
        next(read_from("fleet", config=config))


def test_reading_what_is_stored_makes_no_topic(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = BrokenClient([])
    monkeypatch.setattr(reader, "Client", lambda _: client)
    assert list(read_from("fleet", config=config, live=False)) == []
    assert not client.made
