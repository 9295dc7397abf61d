"""``qos --part missed``: events that a reader misses while it is away (equations 3 and 4).

A real writer keeps the last NL events for late readers (transient-local). Events are published at
exponential times. A reader goes away, is away for an exponential time, and comes back: a new
reader, which is given what the writer kept. Missed is what it never gets of the events in between.

Times are drawn, and run as fast as the machine allows: what is missed depends on the order of
things alone. So thousands of absences fit into a minute. Writer, history and readers are Cyclone's.
"""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from evenflow.errors import ExperimentError
from evenflow.qos.recovery import expected_missed
from evenflow_experiments.parts import Part
from evenflow_experiments.report import own_domain, print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

CASES: Final = ((20.0, 2.0, 1), (20.0, 2.0, 5), (20.0, 2.0, 10), (50.0, 2.0, 20), (10.0, 5.0, 2))
"""lambda_pub, lambda_recov, NL."""
ABSENCES: Final = 12_000
QUICK_ABSENCES: Final = 600
TOLERANCE: Final = 0.05
PATIENCE_S: Final = 10.0


EVENT: Final[Any] = make_idl_struct("Event", "evenflow::Event", {"number": idl.int64})


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """Let a reader go away and come back, many times, for each case."""
    absences = QUICK_ABSENCES if given.quick else ABSENCES
    participant = DomainParticipant(own_domain())
    rows = []
    for number, (lambda_pub, lambda_recov, kept) in enumerate(CASES):
        rng = random.Random(number)
        history = History(participant, f"missed-{number}", kept)
        missed = [
            history.missed_by_one_absence(events_while_away(rng, lambda_pub, lambda_recov))
            for _ in range(absences)
        ]
        mean = sum(missed) / absences
        deviation = math.sqrt(sum((each - mean) ** 2 for each in missed) / absences)
        rows.append(
            {
                "lambda_pub": lambda_pub, "lambda_recov": lambda_recov, "nl": kept,
                "theory": round(expected_missed(lambda_pub, lambda_recov, kept), 4),
                "measured": round(mean, 4),
                "standard_error": round(deviation / math.sqrt(absences), 4),
                "absences": absences,
            }
        )  # fmt: skip
        progress(f"{lambda_pub:g}/s, back after {1 / lambda_recov:g} s, {kept} kept: {mean:.3f}")
    return rows


def events_while_away(rng: random.Random, lambda_pub: float, lambda_recov: float) -> int:
    """How many events fall into one absence; both kinds of times are drawn."""
    back = rng.expovariate(lambda_recov)
    events, at = 0, rng.expovariate(lambda_pub)
    while at < back:
        events += 1
        at += rng.expovariate(lambda_pub)
    return events


class History:
    """A writer with a bounded history, and a reader that goes away and comes back."""

    def __init__(self, participant: DomainParticipant, name: str, kept: int) -> None:
        self._participant = participant
        qos = Qos(
            Policy.Reliability.Reliable(duration(seconds=1)),
            Policy.Durability.TransientLocal,
            Policy.History.KeepLast(kept),
            Policy.DurabilityService(0, Policy.History.KeepLast(kept), -1, -1, -1),
        )
        self._reader_qos = Qos(
            Policy.Reliability.Reliable(duration(seconds=1)),
            Policy.Durability.TransientLocal,
            Policy.History.KeepAll,
        )
        self._topic = Topic(participant, name, EVENT)
        self._writer = DataWriter(participant, self._topic, qos=qos)
        self._next = 0

    def missed_by_one_absence(self, events: int) -> int:
        """Publish while nobody reads; then a reader comes back. What of it does it never get?"""
        away_from = self._next
        for _ in range(events):
            self._publish()
        reader = DataReader(self._participant, self._topic, qos=self._reader_qos)
        # One event after the return: once it is there, all that was kept is there as well.
        last = self._publish()
        received = self._read_until(reader, last)
        del reader
        return events - sum(away_from <= number < last for number in received)

    def _publish(self) -> int:
        number = self._next
        self._writer.write(EVENT(number))
        self._next += 1
        return number

    def _read_until(self, reader: DataReader[Any], last: int) -> set[int]:
        until = time.monotonic() + PATIENCE_S
        received: set[int] = set()
        while last not in received:
            received.update(event.number for event in reader.take(1_000))
            if time.monotonic() > until:
                raise ExperimentError("qos", f"event {last} did not come within {PATIENCE_S:g} s")
            if last not in received:
                time.sleep(0.001)
        return received


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the rows; say which are off."""
    print_table(
        "Events missed while a reader is away (QoS adaptation, equation 4, its base corrected)",
        ["events/s", "back/s", "NL", "absences", "paper missed", "missed", "+-"],
        [
            [
                row["lambda_pub"], row["lambda_recov"], row["nl"], row["absences"],
                row["theory"], row["measured"], row["standard_error"],
            ]
            for row in rows
        ],
    )  # fmt: skip
    return [
        f"{row['measured']:g} events are missed instead of {row['theory']:g}"
        for row in rows
        if row["absences"] >= ABSENCES
        and abs(row["measured"] - row["theory"]) > TOLERANCE * row["theory"]
    ]


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """Measured beside theory."""
    names = [f"{row['lambda_pub']:g}, {row['lambda_recov']:g}, {row['nl']}" for row in rows]
    places = range(len(rows))
    errors = [2 * row["standard_error"] for row in rows]
    axes.bar(places, [row["theory"] for row in rows], width=0.6, alpha=0.4, label="equation 4")
    axes.errorbar(places, [row["measured"] for row in rows], errors, fmt="o", label="measured")
    axes.set_xticks(list(places), names, rotation=20)
    axes.set(xlabel="events/s, returns/s, kept", ylabel="events missed", title="Away and back")
    axes.legend()


PART: Final = Part("missed", measure, show, draw)
