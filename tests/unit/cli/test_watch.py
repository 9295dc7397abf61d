from __future__ import annotations

import io
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from rich.console import Console

from evenflow.cli.watch import Rate, Usage, Watch
from evenflow.domain.observer import TopicView
from evenflow.fleet.local import Numbers, QueryState
from evenflow.fleet.vehicles import Alert, Fleet, Trouble
from evenflow.model.messages import NodeReport, Receipt

if TYPE_CHECKING:
    from evenflow.domain.observer import Observer

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


def job(*, ready: bool) -> Any:
    """A job as the watch sees it."""
    fleet = Fleet(200, reports_per_s=2)
    for number in range(10):
        trouble = Trouble(f"vehicle-{number:03}", "deviation", 0, told=number * 1_000_000)
        fleet.recent.append(Alert(trouble, 6.5))
    return SimpleNamespace(
        topic="items", numbers=Numbers(), published=123_456, uncommitted=1_234, ready=ready,
        phase="starting Java", queries={"alerts": QueryState(7, 400, 812)},
        table={"vehicles": 200, "moving": 198}, look=lambda: None,
        spark=SimpleNamespace(pid=os.getpid(), family=list),
        thermometers=SimpleNamespace(served=lambda: {"bridge-1": 26, "bridge-2": 24}),
        radios=SimpleNamespace(attached=lambda: {"gateway-1": 100, "gateway-2": 100}),
        traffic=SimpleNamespace(
            books=fleet.books, recent=lambda: list(fleet.recent), in_trouble=2
        ),
    )  # fmt: skip


def watch_of(fleet: Any) -> Watch:
    view = TopicView(balancer=1)
    for number in (1, 2, 3):
        name = f"node-{number}~abc"
        view.nodes[name] = NodeReport(
            "items", name, 1, 1, False, tuple(range(33)), (0,) * 33, (1,) * 33,
            10_000, 0, 500, 0, 0, 0, 0, 0.0, "here", os.getpid(),
        )  # fmt: skip
        view.receipts += [
            Receipt(
                "items", 1, "handover", name, "node-9~x", (1, 2), "done", 0.0, 8.1, 5, 0, 0, ""
            ),
            Receipt("items", 1, "assign", "", name, (3,), "x" * 200, 0.0, 8.1, 5, 0, 0, ""),
        ]
    observer = SimpleNamespace(view=lambda topic: view, look=lambda seconds: None)
    watch = Watch(cast("Observer", observer), fleet, 0)
    watch.look(0.0)
    return watch


@pytest.mark.parametrize("size", [(80, 24), (115, 24), (100, 50)])
@pytest.mark.parametrize("ready", [False, True])
def test_the_table_fits_its_terminal(size: tuple[int, int], ready: bool) -> None:
    width, height = size
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(watch_of(job(ready=ready)).table(*console.size))
    lines = console.export_text().splitlines()
    assert len(lines) < height
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    for word in (
        "node-3",
        "handover",
        "assign",
        "xxx…",
        "vehicle-005",
        "deviation",
        "1,234",
        "(26/24 at bridges)",
    ):
        assert word in text
    assert ("starting Java" in text) == (not ready)


def test_a_line_has_it_all_too() -> None:
    line = watch_of(job(ready=True)).line()
    assert "lag 1,234  slices 33/33/33" in line
    assert "moves 3" in line
