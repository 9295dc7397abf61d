"""Run random schedules by their seeds from the command line, and tell which fail."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def run_seeds(*schedules: Callable[[int], object]) -> int:
    """Run each schedule with the seeds that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description="run random schedules, and tell which fail")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("count", type=int, help="how many seeds")
    given = parser.parse_args()
    failed = 0
    for seed in range(given.first, given.first + given.count):
        for schedule in schedules:
            try:
                schedule(seed)
            except Exception as error:  # noqa: BLE001 - the others are run all the same
                failed += 1
                place = traceback.extract_tb(error.__traceback__)[-1]
                told = f"{schedule.__name__}({seed}): {type(error).__name__}: {error}"
                sys.stdout.write(f"{told} ({place.name}:{place.lineno})\n")
                sys.stdout.flush()
    sys.stdout.write(f"{given.count * len(schedules)} schedules, {failed} failed\n")
    return 1 if failed else 0
