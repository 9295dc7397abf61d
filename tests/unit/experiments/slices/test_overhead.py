"""The figures of the overhead experiment, from bursts and clocks that are known."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evenflow.model.messages import Receipt
from evenflow.processes import wait_until
from evenflow_experiments.slices.arrivals import FILE_VARIABLE, Arrivals
from evenflow_experiments.slices.images import colour_jpeg
from evenflow_experiments.slices.overhead import bursts, giving, image_work, long_burst
from evenflow_experiments.slices.overhead.client import Burst
from evenflow_experiments.slices.overhead.cpu_clocks import CpuClocks, beside, extra_s, percent
from evenflow_experiments.slices.overhead.pairs import PAPER, compared, overheads, turns
from evenflow_experiments.slices.overhead.worker import BALANCED, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.slices.overhead.cpu_clocks import Clock
    from evenflow_experiments.slices.overhead.pairs import Pair


def burst(items_per_s: float, delay_s: float = 1.0, cpu: float = 2.1, image: float = 2.0) -> Burst:
    return Burst(items_per_s, delay_s, cpu, image)


def pair(plain: Burst, node: Burst) -> Pair:
    return {PLAIN: plain, BALANCED: node}


def axes() -> Axes:
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    return Figure().add_subplot()


# Pairs of bursts


def test_each_kind_comes_first_equally_often() -> None:
    assert turns(4) == [(PLAIN, BALANCED), (BALANCED, PLAIN)] * 2


def test_a_machine_that_becomes_steadily_slower_favours_nobody() -> None:
    """Both do the same; each burst is 10 items/s slower than the one before."""
    speed, found = 1000.0, []
    for order in turns(4):
        one = {}
        for kind in order:
            one[kind] = burst(speed)
            speed -= 10
        found.append(one)
    figures = compared(found, many=False)
    assert abs(figures["throughput_loss_percent"]) < 0.05
    least, most = figures["spread"]["throughput_loss_percent"]
    assert least < -1 < 1 < most


def test_pairs_are_compared_with_one_another() -> None:
    fast, slow = pair(burst(100, 1.0), burst(98, 1.01)), pair(burst(50, 2.0), burst(49, 2.02))
    figures = compared([fast, slow], many=True)
    assert (figures["throughput_loss_percent"], figures["rtd_increase_percent"]) == (2.0, 1.0)
    assert figures["spread"]["throughput_loss_percent"] == [2.0, 2.0]
    assert figures["paper"]["throughput_loss_percent"] == 1.4
    assert figures["paper"][BALANCED]["rtd_s"] == 60.45


def test_a_core_that_becomes_slower_makes_the_image_dearer_and_not_the_node() -> None:
    plain, node = burst(400, cpu=2.1, image=2.0), burst(330, cpu=2.542, image=2.4)
    found = overheads(pair(plain, node))
    assert found["throughput_loss_percent"] == pytest.approx(17.5)
    assert found["cpu_increase_percent"] == pytest.approx(21.048)
    assert found["image_change_percent"] == pytest.approx(20.0)
    assert found["beside_increase_percent"] == pytest.approx(2.0)


def test_of_many_pairs_the_middle_half_is_told_of_few_all_of_them() -> None:
    found = [pair(burst(100), burst(100 - loss)) for loss in (0, 1, 2, 3, 40)]
    many, few = compared(found, many=True), compared(found, many=False)
    assert (many["throughput_loss_percent"], few["throughput_loss_percent"]) == (2.0, 9.2)
    assert many["spread"]["throughput_loss_percent"] == [1.0, 3.0]
    assert few["spread"]["throughput_loss_percent"] == [0.0, 40.0]
    assert compared(found[:1], many=True)["spread"]["throughput_loss_percent"] == [0.0, 0.0]


def test_the_papers_burst_gives_the_papers_overhead(capsys: pytest.CaptureFixture[str]) -> None:
    paper = {k: burst(PAPER[k]["items_per_s"], PAPER[k]["rtd_s"]) for k in (PLAIN, BALANCED)}
    figures = {"items": 10_000, **compared([paper], many=False)}
    for name in ("throughput_loss_percent", "rtd_increase_percent"):
        assert figures[name] == pytest.approx(PAPER[name], abs=0.01)
    assert long_burst.show(figures) == bursts.show(figures) == []
    text = capsys.readouterr().out
    assert text.count("60.450") == text.count("59.510") == 4  # ours and the paper's, twice each
    for part in (long_burst, bursts):
        part.draw(figures, axes())


# A node that gives


def test_a_move_costs_what_is_used_beyond_the_usual() -> None:
    """20 % of a core before, 10 % after, and 7 ms in the moment of the move."""
    clock, used = [], 0.0
    for step in range(400):
        at = step / 100
        used += 0.002 if at < 2.0 else 0.001
        used += 0.007 if step == 201 else 0.0
        clock.append((at, used))
    assert 0.007 <= extra_s(clock, 2.0, 2.015) <= 0.009  # and what was usual just before


def test_what_images_use_is_taken_off_the_clock() -> None:
    """40 % of a core goes into images, 10 % into all else, and 5 ms into the move at 2 s."""
    clock = [(t / 200, 0.5 * t / 200 + (0.005 if t > 400 else 0.0)) for t in range(800)]
    every_50_ms = np.arange(80) * 50_000_000
    work = np.stack([every_50_ms, every_50_ms + 50_000_000, np.full(80, 20_000_000)], axis=1)
    own = beside(clock, work)
    assert percent(own) == pytest.approx(10.0, abs=0.3)
    assert extra_s(own, 2.0, 2.015) == pytest.approx(0.005, abs=1e-4)
    assert beside(clock, np.empty((0, 3), np.int64)) == clock


def given_moves(extra: tuple[float, float]) -> tuple[list[Receipt], dict[str, Clock]]:
    """Two moves, at 2 and 5 s, each of 15 ms; the giver pays so much CPU time for it."""
    receipts = [
        Receipt("items", 1, "plan", "a", "b", (1,), "done", at, 15.0, 7, 2, 0, "told")
        for at in (2.0, 5.0)
    ]
    times = [step / 200 for step in range(1_600)]
    first = [(t, 0.1 * t + (extra[0] if t > 2.0 else 0.0)) for t in times]
    second = [(t, 0.1 * t + (extra[1] if t > 5.0 else 0.0)) for t in times]
    return receipts, dict(zip(giving.NODES, (first, second), strict=True))


def test_a_move_is_told_for_a_second_and_for_as_long_as_the_papers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    receipts, clocks = given_moves((0.004, 0.006))
    found = giving.summary(receipts, clocks, clocks, 0)
    assert found["each_extra_cpu_ms"] == pytest.approx([4.0, 6.0], abs=0.01)
    assert found["extra_percent_of_the_second"] == 0.5
    assert found["extra_percent_of_the_papers_process"] == pytest.approx(1.1, abs=0.01)
    assert found["images_cpu_percent"] == 0
    one = {**found, "items_per_s": 260.0}
    figures = {"images": one, "idle": one, "paper": giving.PAPER}
    assert giving.show(figures) == []
    assert giving.show(figures | {"idle": one | {"lost": 3}}) == ["idle: 3 items were lost"]
    assert "images, half load" in capsys.readouterr().out
    giving.draw(figures, axes())


def test_images_come_at_half_of_what_a_node_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving, "image_s", lambda: 0.002)
    assert giving.setup_named("images").items_per_s == 250.0
    assert giving.setup_named("idle").items_per_s == pytest.approx(10e6 / 7_300)


def test_the_image_application_writes_down_what_each_image_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "one.arrivals"))
    image_work.convert(Images([1, 2, 3]))  # type: ignore[arg-type]
    work = image_work.read_work(tmp_path, "one")
    assert work.shape == (3, 3)
    assert (work[:, 0] < work[:, 1]).all()
    assert (work[1:, 0] >= work[:-1, 1]).all()
    assert (work[:, 2] > 100_000).all()
    assert Arrivals.read(tmp_path).lost(3) == 0
    assert image_work.read_work(tmp_path, "two").shape == (0, 3)


class Images:
    """As much of a batch as the application looks at."""

    def __init__(self, ids: list[int]) -> None:
        self.count = len(ids)
        self.ids = self.times = np.array(ids, np.int64)

    def __iter__(self):  # type: ignore[no-untyped-def]
        image = colour_jpeg()
        return iter([SimpleNamespace(payload=image)] * self.count)


def test_the_clock_of_a_process_counts_its_cpu_time() -> None:
    with CpuClocks([os.getpid()]) as clocks:
        clock = clocks.read[os.getpid()]
        before = time.process_time()
        assert wait_until(lambda: time.process_time() > before + 0.05, 20, every_s=0.0)
        assert wait_until(lambda: clock and clock[-1][1] >= before + 0.05, 20)
    assert clock[-1][1] <= time.process_time()
