"""The figures of the overhead experiment, from bursts and clocks that are known."""

from __future__ import annotations

import os
import time

import pytest

from evenflow.processes import wait_until
from evenflow_experiments.slices.overhead import bursts, giving, long_burst
from evenflow_experiments.slices.overhead.client import Burst
from evenflow_experiments.slices.overhead.worker import BALANCED, PLAIN


def test_pairs_of_bursts_are_compared_with_one_another() -> None:
    pair = {PLAIN: Burst(100.0, 1.0), BALANCED: Burst(98.0, 1.01)}
    slow = {PLAIN: Burst(50.0, 2.0), BALANCED: Burst(49.0, 2.02)}
    figures = bursts.summary([pair, slow])
    assert (figures["throughput_loss_percent"], figures["rtd_increase_percent"]) == (2.0, 1.0)
    assert figures["paper"]["throughput_loss_percent"] == 1.4
    assert bursts.show(figures) == []


def test_the_papers_burst_gives_the_papers_overhead() -> None:
    paper = {
        kind: Burst(long_burst.PAPER[kind]["items_per_s"], long_burst.PAPER[kind]["rtd_s"])
        for kind in (PLAIN, BALANCED)
    }
    figures = long_burst.summary(paper, 10_000)
    for name in ("throughput_loss_percent", "rtd_increase_percent"):
        assert figures[name] == pytest.approx(long_burst.PAPER[name], abs=0.005)
    assert long_burst.show(figures) == []


def test_a_move_costs_what_is_used_beyond_the_usual() -> None:
    """20 % of a core before, 10 % after, and 7 ms in the moment of the move."""
    clock, used = [], 0.0
    for step in range(400):
        at = step / 100
        used += 0.002 if at < 2.0 else 0.001
        used += 0.007 if step == 201 else 0.0
        clock.append((at, used))
    assert 0.007 <= giving.extra_s(clock, 2.0, 2.015) <= 0.009  # and what was usual just before


def test_a_move_is_told_for_a_second_and_for_as_long_as_the_papers() -> None:
    figures = giving.summary([0.004, 0.006], [14.0, 16.0], 12.0, 0)
    assert figures["extra_percent_of_the_second"] == 0.5
    assert figures["extra_percent_of_the_papers_process"] == pytest.approx(1.1, abs=0.01)
    assert giving.show(figures) == []
    assert giving.show(figures | {"lost": 3}) == ["3 items were lost"]


def test_the_clock_of_a_process_counts_its_cpu_time() -> None:
    with giving.CpuClocks([os.getpid()]) as clocks:
        clock = clocks.read[os.getpid()]
        before = time.process_time()
        assert wait_until(lambda: time.process_time() > before + 0.05, 20, every_s=0.0)
        assert wait_until(lambda: clock and clock[-1][1] >= before + 0.05, 20)
    assert clock[-1][1] <= time.process_time()
