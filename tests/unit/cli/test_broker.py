from __future__ import annotations

import pytest
import rich_click as click

from evenflow.cli import main
from evenflow.cli.broker import address, interval, others_of, place
from evenflow.overlay.space.coordinate import Coordinate


def test_a_place_is_two_numbers_inside_the_square() -> None:
    assert place("0.25,0.75") == Coordinate(0.25, 0.75)
    for text in ("", "0.5", "0.5,0.5,0.5", "a,b", "0,0.5", "0.5,1", "nan,0.5"):
        with pytest.raises(click.BadParameter):
            place(text)


def test_an_address_is_host_and_port() -> None:
    assert address("127.0.0.1:7400") == "127.0.0.1:7400"
    for text in ("", "7400", "host:", ":7400", "host:x", "host:70000"):
        with pytest.raises(click.BadParameter):
            address(text)


def test_an_interval_may_be_nothing() -> None:
    assert interval("0") == 0.0
    assert interval("500ms") == 0.5
    with pytest.raises(click.BadParameter):
        interval("-1s")


def test_a_broker_joins_the_others_that_the_file_names() -> None:
    assert others_of(("a:1", "b:2", "c:3"), "b:2") == ("a:1", "c:3")
    assert others_of(("b:2",), "b:2") == ()


def test_a_broker_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker"]) == 2
    assert "--name" in capsys.readouterr().err
