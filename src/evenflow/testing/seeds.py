"""Run random schedules by their seeds from the command line, and tell which fail.

Seeds are shared out over processes. A line on stderr says now and then how far the run is, and one
that is interrupted says how many it has seen: what was not run is not counted as passed.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import signal
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Schedule = Callable[[int], object]

PROGRESS_S = 10.0


def run_seeds(*schedules: Schedule) -> int:
    """Run each schedule with the seeds that the command line names; return the exit code."""
    given = _arguments()
    seeds = range(given.first, given.first + given.count)
    total, seen, failed, told = len(seeds) * len(schedules), 0, 0, time.monotonic()
    try:
        for faults in _outcomes(schedules, seeds, given.processes):
            seen += len(schedules)
            failed += len(faults)
            for fault in faults:
                sys.stdout.write(f"{fault}\n")
                sys.stdout.flush()
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                sys.stderr.write(f"{seen} of {total} schedules, {failed} failed\n")
    except KeyboardInterrupt:
        sys.stdout.write(f"interrupted: {seen} of {total} schedules, {failed} failed\n")
        return 130
    sys.stdout.write(f"{seen} schedules, {failed} failed\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run random schedules, and tell which fail")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("count", type=int, help="how many seeds")
    parser.add_argument(
        "--processes", type=int, default=1, help="how many at once (1; its log is shown then)"
    )
    given = parser.parse_args()
    if given.count < 0 or given.processes < 1:
        parser.error("count is 0 or more, --processes 1 or more")
    return given


def _outcomes(schedules: tuple[Schedule, ...], seeds: range, processes: int) -> Iterator[list[str]]:
    """Yield for each seed, as it is done, what failed with it."""
    if processes == 1:
        yield from (failures(schedules, seed) for seed in seeds)
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else the pool would outlive us
    with multiprocessing.get_context("fork").Pool(processes, _be_quiet) as pool:
        yield from pool.imap_unordered(partial(failures, schedules), seeds)


def _be_quiet() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that shares out hears it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    logging.disable(logging.CRITICAL)


def failures(schedules: tuple[Schedule, ...], seed: int) -> list[str]:
    """Run all schedules with one seed; return a line for each that failed."""
    lines = []
    for schedule in schedules:
        try:
            schedule(seed)
        except Exception as error:  # noqa: BLE001 - the others are run all the same
            place = traceback.extract_tb(error.__traceback__)[-1]
            told = f"{schedule.__name__}({seed}): {type(error).__name__}: {error}"
            lines.append(f"{told} ({place.name}:{place.lineno})")
    return lines
