from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.config import Config, TopicConfig
from evenflow.config.loading import _SINGLE
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(file: Path | None = None, **overrides: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        Config.load(file, {key.replace("__", "."): value for key, value in overrides.items()})
    return caught.value


def test_defaults_without_a_file() -> None:
    config = Config.load()
    assert config == Config()
    assert config.file is None
    assert config.topics == (TopicConfig("items", slices=100, assignment="hash:sender"),)
    assert config.domain.id == 0
    assert config.publisher.linger_ms == 5


def test_the_file_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "evenflow.toml", "domain.id = 1")
    assert Config.load().domain.id == 1
    monkeypatch.setenv("EVENFLOW_CONFIG", str(write(tmp_path / "env.toml", "domain.id = 2")))
    assert Config.load().domain.id == 2
    assert Config.load(write(tmp_path / "named.toml", "domain.id = 3")).domain.id == 3


def test_a_whole_file(tmp_path: Path) -> None:
    file = write(
        tmp_path / "site.toml",
        """
        [domain]
        id = 7
        peers = ["10.0.0.1", "10.0.0.2"]
        liveliness_s = 1
        [topics.fleet]
        slices = 1000
        assignment = "geo:lat,lon"
        [topics.images]
        assignment = "call:my.app:slice_of"
        [node]
        app = "my.app:on_new_data"
        retries = 2
        """,
    )
    config = Config.load(file)
    assert config.file == file
    assert config.domain.peers == ("10.0.0.1", "10.0.0.2")
    assert config.domain.liveliness_s == 1.0
    assert [topic.name for topic in config.topics] == ["fleet", "images"]
    assert config.topic("fleet").slices == 1000
    assert config.topic("images").slices == 100
    assert config.node.retries == 2


def test_self_management_survives_being_written_and_read_again(tmp_path: Path) -> None:
    file = write(
        tmp_path / "site.toml",
        """
        [monitor.ranges]
        cpu = [30, 70]
        speed = []
        [groups.north]
        nodes = "north-*"
        [events.overload]
        expression = 'cpu > 70 && memory > "x"'
        duration_s = 10
        [events.hot]
        events = ["overload"]
        need = 3
        group = "north"
        [planners.items]
        planner = "weighted"
        tolerance = 0.1
        [[rules]]
        event = "hot"
        planner = "items"
        settings = { tolerance = 0.2 }
        """,
    )
    config = Config.load(file)
    assert config.monitor.ranges == {"cpu": (30.0, 70.0), "speed": ()}
    assert config.planners[0].settings == {"tolerance": 0.1}
    assert config.rules[0].settings == {"tolerance": 0.2}
    assert config.history_file == tmp_path / "evenflow-history.db"
    again = Config.load(write(tmp_path / "again.toml", config.as_toml()))
    assert again.as_tables() == config.as_tables()


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "site.toml", "node.deliver_items = 8\nnode.commit_ms = 20")
    config = Config.load(file, {"node.deliver_items": 64, "topics.items.slices": 10})
    assert config.node.deliver_items == 64
    assert config.node.commit_ms == 20
    assert config.topic("items").slices == 10


@pytest.mark.parametrize(
    ("text", "key", "value", "allowed"),
    [
        ("domain.id = 231", "domain.id", 231, "from 0 to 230"),
        ("domain.id = true", "domain.id", True, "whole number"),
        ("domain.id = 1.5", "domain.id", 1.5, "whole number"),
        ("domain.liveliness_s = 'x'", "domain.liveliness_s", "x", "from 0.1 to 30"),
        ("domain.liveliness_s = nan", "domain.liveliness_s", None, "from 0.1 to 30"),
        ("domain.peers = 'a'", "domain.peers", "a", "list"),
        ("domain = 3", "domain", 3, "table"),
        ("topics = {}", "topics", {}, "at least one table"),
        ("topics.items = 3", "topics.items", 3, "table"),
        ("topics.items.slices = 0", "topics.items.slices", 0, "from 1 to 100000"),
        ("topics.items.assignment = 'geo:lat'", "topics.items.assignment", "geo:lat", "'random'"),
        ("topics.'a b'.slices = 1", "topics.a b.name", "a b", "a letter"),
        ("topics.a.on_error = 'retry'", "topics.a.on_error", "retry", "'stop', 'dead' or 'skip'"),
        ("node.app = 'just_a_name'", "node.app", "just_a_name", "'MODULE:CALLABLE'"),
        ("node.deliver_itms = 3", "node.deliver_itms", 3, "did you mean 'deliver_items'?"),
        ("topics.items.slcies = 3", "topics.items.slcies", 3, "did you mean 'slices'?"),
        ("nodes = 3", "nodes", 3, "did you mean 'node'?"),
        ("node.lease_s = 0.5", "node.lease_s", 0.5, "at least 0.6"),
        ("monitor.ranges.cpu = [70, 30]", "monitor.ranges", None, "rising order"),
        ("monitor.ranges.'c p' = [1]", "monitor.ranges", None, "a name"),
        ("events.hot.need = 0", "events.hot.need", 0, '"all", "any"'),
        ("events.hot.expresion = 'x'", "events.hot.expresion", "x", "did you mean 'expression'?"),
        ("groups.north = 3", "groups.north", 3, "table"),
        ("rules = 3", "rules", 3, "[[rules]]"),
        ("[[rules]]\nevent = 'a'\nplanner = 'b'\nverb = 'do'", "rules.verb", "do", "'swap'"),
        ("planners.items.tolerance = 1", "planners.items.planner", "", "'elastic'"),
        ("planners.items = 3", "planners.items", 3, "table"),
        ("publisher.retention_bytes = 1048576\npublisher.batch_bytes = 2097152",
         "publisher.batch_bytes", 2097152, "publisher.retention_bytes = 1048576"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_its_name(
    tmp_path: Path, text: str, key: str, value: object, allowed: str
) -> None:
    file = write(tmp_path / "site.toml", text)
    error = refused(file)
    assert error.key == key
    assert error.source == str(file)
    assert allowed in error.allowed
    assert value is None or error.value == value
    for part in (key, allowed, "site.toml"):
        assert part in str(error)


def test_a_bad_override_names_the_command_line(tmp_path: Path) -> None:
    file = write(tmp_path / "site.toml", "domain.id = 1")
    assert refused(file, domain__id=999).source == "command line"
    assert refused(file, domain__idd=1).source == "command line"
    assert refused(file, domain__id__deep=1).key == "domain.id.deep"


def test_a_bad_file_is_not_blamed_on_an_override(tmp_path: Path) -> None:
    file = write(tmp_path / "site.toml", "node.commit_ms = 0")
    assert refused(file, node__deliver_items=1).source == str(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    error = refused(tmp_path / "missing.toml")
    assert "missing.toml" in str(error)
    assert "No such file" in str(error)
    assert "not valid TOML" in str(refused(write(tmp_path / "bad.toml", "domain = = 3")))
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    assert "not valid TOML" in str(refused(tmp_path / "latin.toml"))


def test_an_unknown_topic_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'items'.*known: items") as caught:
        Config().topic("itms")
    assert caught.value.key == "topics.itms"


def test_a_configuration_crosses_processes() -> None:
    config = Config.load(overrides={"topics.fleet.slices": 3})
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize("table", [section.table for section in _SINGLE])
def test_every_table_of_the_file_is_read(table: str) -> None:
    caught = refused(None, **{f"{table}__nonsense": 1})
    assert caught.key == f"{table}.nonsense"


def test_dead_letters_have_a_topic_of_their_own_unless_the_file_has_one() -> None:
    config = Config.load(None, {"topics.a.on_error": "dead", "topics.b.slices": 7})
    assert [one.name for one in config.topics] == ["items", "a", "b"]
    assert [one.name for one in config.all_topics] == ["items", "a", "b", "a.dead"]
    assert config.topic("a.dead").served
    assert "a.dead" not in config.as_tables()["topics"]
    own = replace(config, topics=(*config.topics, TopicConfig(name="a.dead", served=True)))
    assert own.all_topics == own.topics
    assert '[topics."a.dead"]' in own.as_toml()
    with pytest.raises(ConfigError, match="dead letters"):
        replace(config, topics=(TopicConfig(name="a.dead"),))
