"""Which topics can be published to by way of a door."""

from __future__ import annotations

import pytest

from evenflow.config import Config
from evenflow.edge.shell.topics import door_topics
from evenflow.errors import ConfigError


def test_topics_whose_slices_follow_from_sender_id_or_time_can_be_published_to(tmp_path):
    file = tmp_path / "evenflow.toml"
    file.write_text(
        '[topics.a]\n[topics.b]\nassignment = "geo:lat,lon"\n[topics.c]\nassignment = "modulo:id"\n'
    )
    config = Config.load(file)
    assert door_topics(config, "gateway.topics", ()) == ("a", "c")
    assert door_topics(config, "gateway.topics", ("c",)) == ("c",)
    with pytest.raises(ConfigError, match="needs an assignment by sender, id or time"):
        door_topics(config, "gateway.topics", ("b",))
