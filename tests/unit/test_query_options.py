from __future__ import annotations

import pytest

from evenflow.errors import ConfigError
from evenflow.query_options import a_name, checked, known_options, seconds

NAMES = ("topic", "readTimeout")


def test_options_are_found_under_their_own_names_whatever_their_case() -> None:
    found = known_options({"TOPIC": "fleet", "readtimeout": "3"}, NAMES)
    assert found == {"topic": "fleet", "readTimeout": "3"}


def test_an_unknown_option_is_answered_with_the_like_and_the_known() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'topic'.*known: topic, readTimeout"):
        known_options({"tpoic": "fleet"}, NAMES)


def test_a_topic_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"option topic.*missing"):
        known_options({}, NAMES)


def test_a_value_is_read_or_its_default_taken() -> None:
    assert checked({"readTimeout": "2.5"}, "readTimeout", 9.0, seconds) == 2.5
    assert checked({}, "readTimeout", 9.0, seconds) == 9.0
    with pytest.raises(ConfigError, match=r"option readTimeout.*number of seconds"):
        checked({"readTimeout": "soon"}, "readTimeout", 9.0, seconds)


@pytest.mark.parametrize("value", ["", "a b", "ä", "x" * 101])
def test_names_are_short_and_plain(value: str) -> None:
    with pytest.raises(ValueError, match="1 to 100 letters"):
        a_name(value)


@pytest.mark.parametrize("value", ["0", "-1", "86401", "nan", "x"])
def test_seconds_are_above_0_and_at_most_a_day(value: str) -> None:
    with pytest.raises(ValueError, match="number of seconds"):
        seconds(value)
