"""Which topics a node with, or without, an application may have."""

from __future__ import annotations

import pytest

from evenflow.config import TopicConfig
from evenflow.errors import ConfigError
from evenflow.slices.node.serving.shell import check_served


@pytest.mark.parametrize("served", [True, False])
def test_a_topic_is_served_by_nodes_that_serve_and_by_no_others(served: bool) -> None:
    topic = TopicConfig(name="fleet", served=served)
    check_served(topic, serving=served)
    with pytest.raises(ConfigError, match=r"topics\.fleet\.served"):
        check_served(topic, serving=not served)
