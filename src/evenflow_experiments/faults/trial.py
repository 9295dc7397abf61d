"""One run: everything is started, struck again and again, healed, drained and counted."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.errors import ExperimentError
from evenflow_experiments.faults.books import Struck, lost
from evenflow_experiments.faults.breaking import heal, strike
from evenflow_experiments.faults.figures import Account, Outcome
from evenflow_experiments.faults.hosts import NAME
from evenflow_experiments.faults.kinds import Role, suspects
from evenflow_experiments.faults.reading import Readings
from evenflow_experiments.faults.recovery import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow_experiments.faults.cast import Casting
    from evenflow_experiments.faults.kinds import Fault, Member
    from evenflow_experiments.faults.stage import Stage

LOOK_S: Final = 0.2
START_S: Final = 300.0
"""How long everything may take to run after it was started."""
RECOVER_S: Final = 300.0
"""A fault from which not all have recovered in this time ends the run. Spark that was killed takes
the longest: on a machine with more to do than it has cores, a minute or two until its first row."""
STANDBY_S: Final = 8.0
"""A second balancer that is refused has ended by then."""
DRAIN_S: Final = 300.0
QUIET_S: Final = 60.0
"""When nothing more comes for so long, the rest is lost."""
LATE_S: Final = 5.0
"""When everything is there: how long something may still come twice."""
AUDIT_S: Final = 180.0
BEHIND_ROLES: Final = {
    "application": ("worker", "balancer"),
    "follower": ("follower", "server", "balancer"),
    "spark": ("spark", "server", "balancer"),
    "store": ("client", "broker"),
}
"""Whose logs tell why something is behind."""


class Unrecovered(Exception):
    """A fault from which the system has not recovered in time; the text says who is behind."""


class Trial:
    """Runs a cast through faults.

    Args:
        stage: The processes.
        casting: Who they are.
        tell: Told how far it is.
    """

    def __init__(self, stage: Stage, casting: Casting, tell: Callable[[str], None]) -> None:
        self._stage, self._casting, self._tell = stage, casting, tell
        casting.books.mkdir()
        self.readings = Readings(casting)
        self.outcomes: list[Outcome] = []
        self.struck: list[Struck] = []
        self.unread = ""
        """Why not everything could be counted."""

    @property
    def cast(self) -> list[Member]:
        """Who takes part."""
        names = self._stage.parts.keys()
        members = [part.member for part in self._stage.parts.values()]
        return [replace(one, talks_to=one.talks_to & names) for one in members]

    # -- the phases -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start everybody; return when items come out everywhere."""
        stage = self._stage
        late = {"balancer-2"}
        sources = {m.name for m in self.cast if m.role in (Role.PUBLISHER, Role.CLIENT)}
        self._tell(f"starting {len(stage.parts)} processes, each on a host of its own")
        for name in sorted(stage.parts.keys() - sources - late, key=_brokers_first):
            stage.start(name)
            if name == "broker-1":
                self._await_log(name, "listens at")
        self._await_consumers()
        for name in sorted(sources):
            stage.start(name)
        self._recovered(START_S)
        if "balancer-2" in stage.parts:
            self._start_standby("balancer-2")

    def strike_all(self, faults: Sequence[Fault]) -> str:
        """Do all faults, one after the other; return why it ended early, if it did."""
        for count, fault in enumerate(faults, 1):
            try:
                seconds = self._strike(fault)
            except Unrecovered as error:
                self._tell(f"{count}/{len(faults)} {fault}: {error}")
                return f"{fault}: {error}"
            self._tell(f"{count}/{len(faults)} {fault}: recovered in {seconds:.1f} s")
        return ""

    def drain(self) -> None:
        """Publish no more; wait until everything is through, or nothing more comes."""
        for member in self.cast:
            if member.role in (Role.PUBLISHER, Role.CLIENT):
                self._stage.send(member.name, signal.SIGUSR1)
        deadline = quiet = time.monotonic()
        deadline += DRAIN_S
        before = None
        while time.monotonic() < min(deadline, quiet + QUIET_S):
            self._look()
            left = self._left()
            if before is not None and not left:
                break
            if left != before:
                before, quiet = left, time.monotonic()
        self._look(LATE_S)

    def account(self) -> Account:
        """Read the store back, and hand over everything that is to be counted."""
        readings = self.readings
        found = {}
        if readings.stored:
            self._tell("reading the store back")
            self._stage.run("client", self._casting.storing("audit"), AUDIT_S)
            found = readings.found(self._casting.books)
            if len(found) < len(readings.stored):
                self.unread = f"the store cannot be read back: {self._stage.tail('client')}"
        struck = self.struck + readings.taken_over
        return Account(
            readings.streams, readings.sinks, readings.stored, found, struck, self.outcomes
        )

    def suspected(self) -> dict[str, int]:
        """How often each node was taken for dead that no fault had struck or cut off then."""
        innocent = [
            one.node
            for one in self.readings.taken_over
            if not any(each.covers(one.node, one.healed) for each in self.struck)
        ]
        return dict(Counter(innocent))

    # -- inside -----------------------------------------------------------------------------------

    def _strike(self, fault: Fault) -> float:
        self._look(fault.pause_s)
        began = time.monotonic()
        for at, is_heal, one in fault.steps():
            self._look(began + at - time.monotonic())
            (heal if is_heal else strike)(self._stage, one)
        self._stage.forgive()
        healed = time.monotonic()
        names = suspects(fault, self.cast)
        self.struck += [Struck(name, began, healed) for name in names]
        probe = self._probe()
        try:
            self._wait_through(probe, RECOVER_S)
        except Unrecovered:
            self._note(fault, None, probe)
            raise
        seconds = time.monotonic() - healed
        self._note(fault, seconds, probe)
        return seconds

    def _note(self, fault: Fault, seconds: float | None, probe: Probe) -> None:
        marks = probe.ends(self.readings.streams)
        self.outcomes.append(Outcome(fault, time.monotonic(), seconds, marks))

    def _recovered(self, patience_s: float) -> None:
        try:
            self._wait_through(self._probe(), patience_s)
        except Unrecovered as error:
            raise ExperimentError(NAME, f"it does not run: {error}") from None

    def _probe(self) -> Probe:
        self._look()
        return Probe.begin(time.monotonic(), {**self.readings.streams, **self.readings.stored})

    def _wait_through(self, probe: Probe, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while True:
            self._look()
            readings = self.readings
            behind = probe.behind(readings.streams, readings.sinks)
            behind |= probe.store_behind(readings.stored, readings.settled)
            if not behind:
                return
            if time.monotonic() > deadline:
                raise Unrecovered(self._explained(behind, patience_s))

    def _explained(self, behind: dict[str, str], patience_s: float) -> str:
        """Who is behind, with the last lines of the logs that may tell why."""
        what = "; ".join(f"{name}: {lacks}" for name, lacks in behind.items())
        kinds = {kind for name in behind for kind in BEHIND_ROLES.get(name, ("publisher",))}
        logs = [
            f"--- {name}\n{self._stage.tail(name)}"
            for name in self._stage.parts
            if name.partition("-")[0] in kinds
        ]
        return "\n".join([f"not recovered after {patience_s:g} s: {what}", *logs])

    def _start_standby(self, name: str) -> None:
        """Start a second balancer; do without it where the product refuses it."""
        self._stage.start(name)
        deadline = time.monotonic() + STANDBY_S
        while time.monotonic() < deadline:
            time.sleep(LOOK_S)
            if not self._stage.is_running(name):
                self._tell(f"goes on with one balancer: {self._stage.tail(name, 1)}")
                self._stage.dismiss(name)
                return

    def _left(self) -> int:
        readings = self.readings
        return sum(
            len(lost(stream, sink))
            for number, stream in readings.streams.items()
            for sink in readings.sinks[number]
        ) + sum(stream.tried - stream.safe for stream in readings.stored.values())

    def _look(self, seconds: float = LOOK_S) -> None:
        """Look after everybody and read the books, for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_S))
            self._stage.tend()
            self.readings.refresh()

    def _await_consumers(self) -> None:
        """Wait until all consumers are registered: what is published before is not for them."""
        wanted = {m.name for m in self.cast if m.role is Role.CONSUMER}
        deadline = time.monotonic() + START_S
        while wanted:
            said = self._stage.hosts.ask(min(wanted), self._casting.consumers(min(wanted)))
            if wanted <= set(re.findall(r'"consumer": "([^"]+)"', said)):
                return
            if time.monotonic() > deadline:
                logs = "\n".join(self._stage.tail(name) for name in wanted)
                raise ExperimentError(NAME, f"consumers are not registered: {said}\n{logs}")
            self._stage.tend()

    def _await_log(self, name: str, text: str) -> None:
        """Wait until a member says something."""
        deadline = time.monotonic() + START_S
        while text not in self._stage.tail(name):
            if time.monotonic() > deadline:
                reason = f"{name} does not run after {START_S:g} s: {self._stage.tail(name)}"
                raise ExperimentError(NAME, reason)
            time.sleep(LOOK_S)
            self._stage.tend()


def _brokers_first(name: str) -> tuple[bool, str]:
    return (not name.startswith("broker"), name)
