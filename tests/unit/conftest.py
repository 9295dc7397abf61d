"""Which unit tests are too slow for ``make unit``: they compile, or play whole worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
THOROUGH = (
    "autonomic/test_loop.py",
    "experiments/overlay",
    "overlay/test_broker_core.py",
    "overlay/test_continuous.py",
    "overlay/test_kernel.py",
    "overlay/test_simulation.py",
    "overlay/test_store.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them; ``make test`` runs them all."""
    for item in items:
        if item.path.is_relative_to(HERE):
            place = item.path.relative_to(HERE).as_posix()
            if place.startswith(THOROUGH):
                item.add_marker(pytest.mark.thorough)
