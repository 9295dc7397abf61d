"""Which unit tests are too slow for ``make unit``, and which go first because they are longest."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONGEST = ("slices/test_cluster.py",)
"""Begun last, they would keep one core busy while the others have nothing left to do."""
THOROUGH = (
    "autonomic/test_loop.py",
    "experiments/sedax",
    "overlay/broker/test_chaos.py",
    "overlay/broker/test_core.py",
    "overlay/broker/test_disk.py",
)
"""They compile, or play whole worlds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark and order them; ``make test`` runs them all."""

    def place(item: pytest.Item) -> str:
        return item.path.relative_to(HERE).as_posix() if item.path.is_relative_to(HERE) else ""

    for item in items:
        if place(item).startswith(THOROUGH):
            item.add_marker(pytest.mark.thorough)
    items.sort(key=lambda item: not place(item).startswith(LONGEST))
