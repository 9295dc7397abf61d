"""``evenflow config`` refuses what a process would refuse when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('balancer.algorithm="wieghted"', "weighted"),
        ('node.app="nowhere:work"', "nowhere"),
        ('node.app="json:nothing"', "nothing"),
        ('domain.interface="nope0"', "nope0"),
        ('store.brokers=["nowhere"]', "nowhere"),
        ('topics.items.avro_schema="nowhere.avsc"', "topics.items.avro_schema"),
        ('topics.items.assignment="call:nowhere:slice"', "nowhere"),
        ("node.retries=-1", "node.retries"),
    ],
)
def test_what_cannot_be_is_refused(
    setting: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--set", setting]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_what_can_be_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ('store.brokers=["127.0.0.1:7401"]', 'node.app="evenflow.apps:echo"')
    assert main(["config", *(word for one in settings for word in ("--set", one))]) == 0
    assert "[topics.items]" in capsys.readouterr().out


def test_all_that_is_wrong_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evenflow.toml"
    file.write_text(
        """
[domain]
id = 9999
[node]
retires = 1
retries = -1
app = "nowhere:work"
[balancer]
algorithm = "wieghted"
[topics.fleet]
slices = 0
[topics.cars]
durable = true
[topics.vans]
served = true
durable = true
"""
    )
    assert main(["config", "--config", str(file)]) == 2
    told = capsys.readouterr().err.splitlines()
    for key in ("domain.id", "node.retires", "node.retries", "topics.fleet.slices"):
        assert sum(f"{key} = " in line for line in told) == 1, (key, told)
    assert sum("nowhere:work" in line for line in told) == 1
    assert sum("weighted" in line for line in told) == 1
    brokers = (
        "store.brokers = []: must name brokers (HOST:PORT), for these topics are durable: cars"
    )
    assert sum(brokers in line for line in told) == 1
    assert len(told) == 7
    assert all(line.startswith("evenflow: error: ") for line in told)
