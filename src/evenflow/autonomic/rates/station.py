"""The station of a process: tells how full its writers are, and carries ``separate`` orders out.

One station a participant, however many publishers, nodes and readers of topics that may be thinned
there are; with the last of them it goes. So there is one writer of the monitor topic a process. It
reports as ``rate/HOST-PID-...``, and plans name it so. What has changed is told at once, and
everything with each heartbeat: who stood still for a moment, or was not heard, is taken for gone
and must be heard again to take part.

Two threads: one tells and watches over leases, one executes.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.execute.executors import CallExecutor, Surroundings
from evenflow.autonomic.execute.service import ExecutorService
from evenflow.autonomic.monitor.properties import RATE
from evenflow.autonomic.rates.orders import SEPARATE, SeparateArgs
from evenflow.autonomic.rates.separations import Separations, Target, Usage
from evenflow.closing import Closing
from evenflow.domain.channels import PROPERTIES, SEPARATIONS, USES
from evenflow.model.checked_json import CheckedJson
from evenflow.model.messages import PropertyReport, SeparationReport, WriterUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant

EVERYTHING: Final = 4
"""So often, in reports, everything is told, changed or not."""
_log = logging.getLogger(__name__)


class Part(Closing):
    """The part of one publisher, node or reader in a station."""

    def __init__(
        self, station: Station, topic: str, use: Callable[[], Usage] | None, target: Target | None
    ) -> None:
        self.topic = topic
        self.use = use
        self.target = target
        self._station = station

    def close(self) -> None:
        """Take no part any more; call it before the participant is closed."""
        _leave(self._station, self)


class Station(Closing):
    """Tells and obeys for one process; see :func:`take_part`."""

    def __init__(self, participant: Participant, config: Config) -> None:
        self.id = f"rate/{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        self.participant = participant
        self.parts: list[Part] = []
        self._period_s = config.qos.report_s
        self._heartbeat_s = min(config.monitor.heartbeat_s, EVERYTHING * config.qos.report_s)
        self._separations = Separations(self.id)
        self._lock = threading.Lock()
        self._told: dict[tuple[str, str], WriterUse | SeparationReport] = {}
        """What was told last: by topic and target, or by topic alone."""
        self._next_heartbeat = 0.0
        self._uses = participant.writer(USES)
        self._reports = participant.writer(SEPARATIONS)
        self._properties = participant.writer(PROPERTIES)
        self._args = CheckedJson(SEPARATE, SeparateArgs)
        self._stopping = False
        self._awake = threading.Event()
        executor = CallExecutor(self._separate, self._separate)
        self._executors = ExecutorService(
            Surroundings(self.id, config), participant, {SEPARATE: lambda _: executor}
        )
        self._thread = threading.Thread(target=self._guarded, name=self.id, daemon=True)
        participant.host(self)
        self._thread.start()

    def add(self, part: Part) -> None:
        """One more takes part."""
        with self._lock:
            self.parts.append(part)
            if part.target is not None:
                self._separations.add(part.target)
        self._awake.set()

    def remove(self, part: Part) -> None:
        """One takes part no more."""
        with self._lock:
            self.parts.remove(part)
            if part.target is not None:
                self._separations.remove(part.target)
        self._awake.set()

    def close(self) -> None:
        """Tell nothing more; full rate returns with whoever took part."""
        if self._stopping:
            return
        self._stopping = True
        self._awake.set()
        self._executors.close()
        self._thread.join()
        self.participant.dismiss(self)
        for writer in (self._uses, self._reports, self._properties):
            writer.close()

    def _separate(self, args: bytes) -> None:
        order = self._args.decode(args)
        now = time.monotonic()
        with self._lock:
            self._separations.order(order.topic, order.separation_s, order.lease_s, now)
        self._awake.set()

    # -- its own thread ----------------------------------------------------------------------------

    def _guarded(self) -> None:
        """A thread must not end unseen: without it, nobody would watch over the leases."""
        while not self._stopping:
            with self._lock:
                left = self._separations.until - time.monotonic()
            self._awake.wait(max(0.0, min(self._period_s, left)))
            self._awake.clear()
            try:
                self._look(time.monotonic())
            except Exception:  # noqa: BLE001 - the next look may do better
                _log.exception("%s could not tell how full its writers are", self.id)

    def _expire(self, now: float) -> None:
        """Return to full rate where nobody has renewed a separation; with the lock held."""
        try:
            for topic in self._separations.expire(now):
                _log.warning("no word of a controller: topic %s has its full rate again", topic)
        except Exception:  # noqa: BLE001 - a target of others may raise anything; it is tried again
            _log.exception("%s: full rate could not return everywhere", self.id)

    def _look(self, now: float) -> None:
        with self._lock:
            self._expire(now)
            reports, thinned = self._separations.reports(), self._separations.thinned
            parts = list(self.parts)
        uses = [(part.topic, part.use()) for part in parts if part.use is not None]
        told: dict[tuple[str, str], WriterUse | SeparationReport] = {
            (report.topic, report.name): report for report in reports
        }
        for topic in {topic for topic, _ in uses}:
            told[topic, ""] = _message(topic, self.id, [use for name, use in uses if name == topic])
        beat = now >= self._next_heartbeat
        self._tell(told, everything=beat)
        if beat:
            self._next_heartbeat = now + self._heartbeat_s
            values = (float(thinned), 100.0 * max((_share(one) for _, one in uses), default=0.0))
            self._properties.write(PropertyReport(self.id, time.time(), RATE, values, (0, 0)))

    def _tell(
        self, told: dict[tuple[str, str], WriterUse | SeparationReport], *, everything: bool
    ) -> None:
        """Tell what is new, and what is no more."""
        before, self._told = self._told, told
        gone = {key: _gone(message) for key, message in before.items() if key not in told}
        for key, message in {**gone, **told}.items():
            if everything or message != before.get(key):
                (self._uses if isinstance(message, WriterUse) else self._reports).write(message)


def _message(topic: str, process: str, uses: Iterable[Usage]) -> WriterUse:
    rows = [(one.name, one.used, one.used_most, one.kept, one.kept_most) for one in uses]
    names, used, used_most, kept, kept_most = zip(*rows, strict=True)
    return WriterUse(topic, process, names, used, used_most, kept, kept_most)


def _gone(message: WriterUse | SeparationReport) -> WriterUse | SeparationReport:
    """What is said last of something that is no more, while its process goes on."""
    if isinstance(message, WriterUse):
        return WriterUse(message.topic, message.process, (), (), (), (), ())
    return replace(message, policy="", separation_s=0.0)


def _share(use: Usage) -> float:
    parts = ((use.used, use.used_most), (use.kept, use.kept_most))
    return max((part / most for part, most in parts if most), default=0.0)


_stations: dict[int, Station] = {}
_joining = threading.Lock()


def take_part(
    participant: Participant,
    config: Config,
    topic: str,
    *,
    use: Callable[[], Usage] | None = None,
    target: Target | None = None,
) -> Part:
    """Let the station of a process tell of, and thin, something of a topic; close it when it ends.

    Args:
        participant: The process's place in the domain; whoever shares it shares a station.
        config: The configuration; that of the first counts.
        topic: The topic.
        use: Gives how full a writer is; called in the station's thread, it must be quick.
        target: What can be thinned.
    """
    with _joining:
        station = _stations.get(id(participant))
        if station is None:
            station = _stations[id(participant)] = Station(participant, config)
        part = Part(station, topic, use, target)
        station.add(part)
    return part


def _leave(station: Station, part: Part) -> None:
    with _joining:
        if part not in station.parts:
            return
        station.remove(part)
        if not station.parts:
            del _stations[id(station.participant)]
            station.close()
