from __future__ import annotations

import pytest
import rich_click as click

from evenflow.cli.values import COUNT, POSITIVE, seconds, setting


@pytest.mark.parametrize(
    ("text", "read"), [("90", 90.0), ("500ms", 0.5), ("1.5s", 1.5), ("5m", 300.0), (" 1h ", 3600.0)]
)
def test_times_have_units(text: str, read: float) -> None:
    assert seconds(text) == read


@pytest.mark.parametrize("text", ["", "0", "-1s", "s", "1d", "1 2s", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be a time"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("node.deliver_items=64", ("node.deliver_items", 64)),
        ('domain.peers=["h1"]', ("domain.peers", ["h1"])),
        ("node.app=my:work", ("node.app", "my:work")),
        ("publisher.spill_dir=", ("publisher.spill_dir", "")),
        ("a = b=c", ("a", " b=c")),
    ],
)
def test_a_setting_is_toml_or_else_text(text: str, read: tuple[str, object]) -> None:
    assert setting(text) == read


@pytest.mark.parametrize("text", ["", "node.app", "=1", " =1"])
def test_a_setting_needs_key_and_value(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be KEY=VALUE"):
        setting(text)


def test_numbers_are_finite_and_above_nothing() -> None:
    assert POSITIVE.convert("0.5", None, None) == 0.5
    assert COUNT.convert("7", None, None) == 7
    for text in ("0", "-1", "nan", "inf", "x"):
        with pytest.raises(click.BadParameter):
            POSITIVE.convert(text, None, None)
    for text in ("0", "-1", "1.5", "x"):
        with pytest.raises(click.BadParameter):
            COUNT.convert(text, None, None)
