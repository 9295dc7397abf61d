"""Consumers that come late, or not at all: declared ones, a history, expiry, and the true lag."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evenflow
from evenflow import Balancer, Config, Node, Publisher
from evenflow.cli import main
from evenflow.errors import DeliveryTimeout, DomainError
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain, pytest.mark.timeout(120)]
FILE = """
[domain]
id = {domain}
[topics.kept]
slices = 8
served = true
keep = "1h"
[topics.promised]
slices = 8
served = true
consumers = ["late"]
[consumer]
expires = "3s"
[balancer]
settle_s = 0.2
[publisher]
epoch_ms = 20
"""


@pytest.fixture
def config(domain_id: int, tmp_path: Path) -> Config:
    file = tmp_path / "evenflow.toml"
    file.write_text(FILE.format(domain=domain_id))
    return Config.load(file)


@pytest.fixture
def served(config: Config) -> Iterator[Config]:
    with (
        Balancer(config=config),
        Node("kept", None, config=config),
        Node("promised", None, config=config),
    ):
        yield config


def read(config: Config, topic: str, consumer: str, timeout: float = 1.5) -> list[int]:
    with evenflow.follow(topic, consumer, config=config, timeout=timeout) as following:
        return [number for batch in following for number in batch.ids.tolist()]


def listed(
    config: Config, topic: str, capsys: pytest.CaptureFixture[str]
) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert main(["consumers", "--topic", topic, "--json", "--config", str(config.file)]) == 0
    return {row["consumer"]: row for row in json.loads(capsys.readouterr().out)["consumers"]}


def test_a_newcomer_gets_what_was_committed_though_its_publisher_has_left(served: Config) -> None:
    publisher = Publisher("kept", config=served)
    publisher.publish_many([b"x"] * 500, ids=list(range(500)), senders="car")
    assert sorted(read(served, "kept", "first")) == list(range(500))
    publisher.close(10.0)  # everything is committed: nothing to wait for
    assert sorted(read(served, "kept", "newcomer")) == list(range(500))
    assert read(served, "kept", "newcomer") == []


def test_what_is_promised_to_one_that_never_ran_and_one_that_expires(
    served: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher = Publisher("promised", config=served)
    publisher.publish_many([b"x"] * 300, ids=list(range(300)), senders="car")
    assert len(read(served, "promised", "adhoc")) == 300
    publisher.publish_many([b"x"] * 100, ids=list(range(300, 400)), senders="car")
    with contextlib.suppress(DeliveryTimeout):
        publisher.close(1.0)
    rows = listed(served, "promised", capsys)
    late = rows["late"]
    assert (late["behind"], late["known"], late["ran"], late["declared"]) == (
        400,
        True,
        False,
        True,
    )
    assert rows["adhoc"]["behind"] == 100
    assert wait_until(lambda: "adhoc" not in listed(served, "promised", capsys), 30)
    assert main(["consumers", "--topic", "promised", "--config", str(served.file)]) == 0
    assert re.search(r"adhoc has expired \(20.* UTC\), at epoch \d+ of", capsys.readouterr().out)
    with pytest.raises(DomainError, match=r"expired at .*evenflow consumers forget adhoc"):
        read(served, "promised", "adhoc")
    options = ("--topic", "promised", "--config", str(served.file))
    assert main(["consumers", "forget", "late", *options]) != 0
    assert main(["consumers", "forget", "adhoc", *options]) == 0
    assert len(read(served, "promised", "adhoc")) == 400  # it begins anew, with all that is kept
    assert sorted(read(served, "promised", "late")) == list(range(400))
