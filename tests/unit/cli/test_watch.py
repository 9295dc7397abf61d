from __future__ import annotations

import os

from evenflow.cli.watch import Rate, Usage

NOBODY = 2**22 + 1
"""No process has this id: the kernel gives none above 2**22."""


class TestRate:
    def test_is_that_of_the_last_moments(self) -> None:
        rate = Rate()
        assert rate.per_s() == 0.0
        for tenth in range(100):
            rate.note(tenth / 10, tenth * 10 if tenth < 50 else 500)
        assert rate.per_s() == 0.0
        rate.note(10.0, 700)
        assert 80 <= rate.per_s() <= 110

    def test_begins_anew_when_the_count_does(self) -> None:
        rate = Rate()
        rate.note(0.0, 1_000)
        rate.note(1.0, 0)
        assert rate.per_s() == 0.0
        rate.note(2.0, 50)
        assert rate.per_s() == 50.0


class TestUsage:
    def test_is_that_of_the_processes_that_are_here(self) -> None:
        usage = Usage()
        usage.note([os.getpid(), NOBODY])
        assert usage.percent is not None

    def test_is_unknown_when_none_is(self) -> None:
        usage = Usage()
        usage.note([os.getpid()])
        usage.note([NOBODY])
        assert usage.percent is None
