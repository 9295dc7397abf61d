"""What results cost that are instances of their own: CPU time and memory of an item.

A writer and a reader of one process, without work and without a death, so that a small difference
shows. What a process gains in memory for each item is measured over the second half of the items,
when buffers have grown to their size; released instances must have gone by then, too, so items
are written over several times `RELEASE_S`.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

import psutil

from evenflow.domain.cyclone import Participant
from evenflow_experiments.replicas.results import RELEASE_S, RESULTS, Input, Results, quality
from evenflow_experiments.slices.helper import Helper
from evenflow_experiments.slices.watch import cpu_s

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config.sections import DomainConfig
    from evenflow_experiments.replicas.results import Keying

RATE: Final = 4000
"""Items a second."""
PERIODS: Final = 4
"""How many times `RELEASE_S` it takes."""
TICK_S: Final = 0.01


def cost(config: DomainConfig, keying: Keying) -> dict[str, Any]:
    """Measure in a process of its own, whose memory nothing else has touched."""
    with Helper("replicas", serve, config, keying) as helper:
        found: dict[str, Any] = helper.answer()
    return found


def serve(config: DomainConfig, keying: Keying, pipe: Connection) -> None:
    """Write and take at a steady rate, for `Helper`; answer what an item costs."""
    with Participant(config) as participant:
        reader = Input(participant, RESULTS, keying.type, quality(config))
        results = Results(participant, keying, quality(config, 1))
        half = int(RATE * RELEASE_S * PERIODS / 2)
        _play(results, reader, 0, half)
        memory, used = _memory(), cpu_s([os.getpid()])
        _play(results, reader, half, half)
        used = cpu_s([os.getpid()]) - used
        pipe.send(
            {
                "way": str(keying),
                "items": half,
                "cpu_us_item": round(1e6 * used / half, 1),
                "bytes_item": round((_memory() - memory) / half),
            }
        )
        pipe.poll(None)


def _play(results: Results, reader: Input, first: int, count: int) -> None:
    began, written = time.monotonic(), 0
    while written < count:
        now = time.monotonic()
        while written < min(count, (now - began) * RATE):
            results.write(first + written, 0, now)
            written += 1
        reader.take()
        results.release(now)
        time.sleep(TICK_S)


def _memory() -> int:
    return int(psutil.Process().memory_info().rss)
