"""Pings in the domain: a thread that asks and answers (:mod:`~.latency` says whom and when).

A ping goes into the partition of who is asked, so nobody else is sent it. Writers are opened when
they are needed and kept for the peers of the last rounds. One that has not found its reader yet
sends nothing: that would be a wait, and no measurement.

The thread is its own, not the agent's, which reads sensors: those may be anybody's, and slow. With
one thread for both, a sensor that took 300 ms made one in ten pings of its peers last as long.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

from evenflow.autonomic.monitor.latency import Latencies
from evenflow.closing import Closing
from evenflow.domain.channels import PINGS, PROPERTIES, Gone, is_node

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.model.messages import Ping

TICK_S: Final = 0.5
"""How often it looks at the time."""
MOST_WRITERS: Final = 16
"""Writers that are kept open: those to whom a process asks, and those who ask it."""


class PingStation(Closing):
    """Measures until it is closed.

    Args:
        source: Id under which the process reports.
        participant: Its place in the domain.
    """

    def __init__(self, source: str, participant: Participant) -> None:
        self._latencies = Latencies(source)
        self._participant = participant
        self._pings = participant.reader(PINGS, [source])
        self._reports = participant.reader(PROPERTIES)
        self._waiter = participant.waiter(self._pings, self._reports)
        self._writers: dict[str, Writer] = {}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"{source} pings", daemon=True)
        self._thread.start()

    def readings(self) -> dict[str, float]:
        """What was measured, by the name of the property; any thread may ask."""
        with self._lock:
            return self._latencies.readings(time.monotonic())

    def _run(self) -> None:
        while not self._stop.is_set():
            self._waiter.wait(TICK_S)
            with self._lock:
                answers = [
                    self._latencies.hear(ping, time.monotonic())
                    for ping in self._pings.take()
                    if not isinstance(ping, Gone)
                ]
                for report in self._reports.take():
                    self._note(report)
                asked = self._latencies.poll(time.monotonic())
            for one in (*answers, *asked):
                if one is not None:
                    self._send(one)

    def _note(self, report: Any) -> None:
        if isinstance(report, Gone):
            self._latencies.lose(report.key[0])
        elif is_node(report.source):
            self._latencies.meet(report.source)

    def _send(self, ping: Ping) -> None:
        writer = self._writers.pop(ping.target, None)
        if writer is None:
            writer = self._participant.writer(PINGS, ping.target)
        self._writers[ping.target] = writer  # the newest is the last
        while len(self._writers) > MOST_WRITERS:
            self._writers.pop(next(iter(self._writers))).close()
        if writer.matched():
            writer.write(ping)

    def close(self) -> None:
        """Stop; call it before the participant is closed."""
        self._stop.set()
        self._waiter.wake()
        self._thread.join()
