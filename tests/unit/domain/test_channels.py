"""Which message goes where, and how."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import is_dataclass

import pytest

from evenflow.domain import channels
from evenflow.domain.channels import (
    CONTROL,
    channel_of,
    data,
    node_partition,
    replay,
    topic_name,
    writer_partition,
)
from evenflow.errors import ConfigError
from evenflow.model import messages
from evenflow.model.sample import Sample


def test_every_message_has_exactly_one_channel() -> None:
    types = {
        kind
        for _, kind in inspect.getmembers(messages, is_dataclass)
        if kind.__module__.startswith(messages.__name__)
    }
    assert {channel.message_type for channel in CONTROL} == types
    assert len({channel.name for channel in CONTROL}) == len(CONTROL) == len(types)
    for channel in CONTROL:
        assert channel_of(channel.message_type) is channel


def test_items_have_channels_of_their_own_topic() -> None:
    assert data("cars").name == "evenflow/data/cars"
    assert replay("cars").name == "evenflow/replay/cars"
    assert data("cars").message_type is replay("cars").message_type is Sample
    assert data("cars").blocking_s < replay("cars").blocking_s


def test_what_announces_a_process_is_keyed_watched_and_kept() -> None:
    watched = {channel.message_type for channel in CONTROL if channel.liveliness}
    assert watched == {
        messages.EpochClose,
        messages.NodeReport,
        messages.Beat,
        messages.ConsumerCommit,
        messages.Progress,
        messages.PropertyReport,
        messages.SliceCosts,
        messages.GatewayReport,
        messages.MailboxReport,
        messages.WriterUse,
        messages.SeparationReport,
        messages.BridgeReport,
    }
    for channel in CONTROL:
        if channel.keyed:
            assert channel.kept == 1, "of an instance only the newest state counts"
        if channel.liveliness:
            assert channel.keyed, "only an instance can be gone"


@pytest.mark.parametrize("topic", ["a", "a-b_c.d", "0", "x" * 100])
def test_topic_names_that_will_do(topic: str) -> None:
    assert topic_name(topic) == topic


@pytest.mark.parametrize("topic", ["", "a b", "a/b", "a*", "ä", "x" * 101, "a\n"])
def test_topic_names_that_will_not(topic: str) -> None:
    for use in (topic_name, data, replay):
        with pytest.raises(ConfigError, match="topic"):
            use(topic)


def test_partitions() -> None:
    assert writer_partition(0xABC) == "0000000000000abc"
    assert node_partition("north~17") == "north~17"


@pytest.mark.parametrize("node", ["", "a*", "a?", "[a]", "a b", "x" * 256])
def test_a_node_that_dds_would_take_for_a_pattern_is_refused(node: str) -> None:
    with pytest.raises(ConfigError, match="node"):
        node_partition(node)


def test_cores_need_no_dds() -> None:
    names = ["evenflow.domain", channels.__name__, "evenflow.domain.codec", "evenflow.domain.flow"]
    code = f"import sys, {', '.join(names)}; sys.exit('cyclonedds' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
