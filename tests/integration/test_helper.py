"""Helpers of an experiment answer, and whoever dies or is silent is named."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import ExperimentError
from evenflow_experiments.slices.helper import Helper, orders_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

pytestmark = pytest.mark.processes


def doubling(start: int, pipe: Connection) -> None:
    pipe.send(start)
    for number in orders_of(pipe):
        if number == 0:
            sys.exit(3)
        if number < 0:
            time.sleep(60)
        pipe.send(2 * number)


@pytest.fixture
def helper() -> Helper:
    return Helper("air", doubling, 7)


def test_a_helper_answers_until_it_is_closed(helper: Helper) -> None:
    with helper:
        assert helper.answer() == 7
        assert helper.ask(21) == 42
        assert helper.pid > 0
    with pytest.raises(OSError, match="closed"):
        helper.ask(1)


def test_a_helper_that_dies_is_told(helper: Helper) -> None:
    with helper:
        assert helper.answer() == 7
        with pytest.raises(ExperimentError, match="air: doubling died"):
            helper.ask(0)


def test_a_helper_that_is_silent_is_told(helper: Helper) -> None:
    assert helper.answer() == 7
    with pytest.raises(ExperimentError, match=r"doubling said nothing for 0\.1 s"):
        helper.ask(-1, 0.1)
    helper._process.kill()
    helper.close()
