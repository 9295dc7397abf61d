"""``evenflow config`` refuses what a process would refuse when it starts."""

from __future__ import annotations

import pytest

from evenflow.cli import main


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
