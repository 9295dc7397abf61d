"""The domain of a simulated mobile edge: states that late comers get, and messages that get lost.

States (reports, attachments) are as DDS keeps them: of each instance a reader gets the newest, in
the end; a writer that is not heard for a while, be it dead, stopped or behind a broken path, is
*gone* for that reader, with all its instances, and comes with all of them when it is heard again.
Every other message may be lost, late or repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenflow.domain.channels import Gone
from evenflow.domain.codec import codec_of
from evenflow.model.messages import Attachment, GatewayReport, MailboxReport
from evenflow.testing.network import travelled

if TYPE_CHECKING:
    from evenflow.testing.virtual_time import Process, VirtualTime

SILENCE_S = 1.0
LOOK_S = 0.25
STATES = (GatewayReport, Attachment, MailboxReport)


@dataclass
class _Member:
    process: Process
    take: Callable[[Any], None]
    reads: tuple[type, ...]
    states: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    """Its own, by type and key, each with a version; of its present life."""
    life: int = 0


@dataclass
class _View:
    """What one reader knows of one writer."""

    silent_since: float | None = None
    gone: bool = True
    seen: dict[Any, int] = field(default_factory=dict)


class SimDomain:
    """Who tells whom what."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._members: dict[str, _Member] = {}
        self._views: dict[tuple[str, str], _View] = {}
        self._version = 0
        self.cuts: set[tuple[str, str]] = set()
        """Broken paths: from whom, to whom."""
        self.encoded = False
        """Whether messages travel as bytes."""
        time.later(LOOK_S, self._look)

    def join(self, process: Process, take: Callable[[Any], None], reads: tuple[type, ...]) -> None:
        """Somebody reads these states, and what is for him."""
        self._members[process.name] = _Member(process, take, reads)

    def write(self, writer: Process, message: Any, to: str = "") -> None:
        """Somebody says something: a state to everybody, or a message to one."""
        member = self._members[writer.name]
        self._renew(member)
        message = travelled(message) if self.encoded else message
        if isinstance(message, STATES):
            self._version += 1
            member.states[_key(message)] = (self._version, message)
            for name in self._members:
                self._bring(writer.name, name)
        elif to:
            self._send(writer.name, to, message)

    def withdraw(self, writer: Process, message: Any) -> None:
        """Somebody says no more about an instance: readers hear that it is gone."""
        member = self._members[writer.name]
        self._renew(member)
        member.states.pop(_key(message), None)

    def _renew(self, member: _Member) -> None:
        if member.life != member.process.life:
            member.life = member.process.life
            member.states.clear()

    def _send(self, writer: str, to: str, message: Any) -> None:
        time, member = self._time, self._members.get(to)
        if member is None or (writer, to) in self.cuts:
            return
        chance = 1.0 if time.calm else time.random.random()
        if chance < 0.1:
            return
        for _ in range(2 if chance < 0.2 else 1):
            delay = time.latency() if chance > 0.3 else time.random.uniform(0.0, 2.0)
            time.later(delay, lambda: member.take(message), member.process)

    # -- states ------------------------------------------------------------------------------------

    def _bring(self, writer: str, reader: str) -> None:
        """Bring a reader what it has not seen of a writer, after a while."""
        if writer != reader:
            self._time.later(
                self._time.latency(),
                lambda: self._arrive(writer, reader),
                self._members[reader].process,
            )

    def _arrive(self, writer: str, reader: str) -> None:
        if not self._is_heard(writer, reader):
            return
        source, member = self._members[writer], self._members[reader]
        view = self._view(writer, reader)
        view.gone = False
        for key, (version, message) in list(source.states.items()):
            if isinstance(message, member.reads) and view.seen.get(key, 0) < version:
                view.seen[key] = version
                member.take(message)

    def _view(self, writer: str, reader: str) -> _View:
        life = self._members[reader].process.life
        return self._views.setdefault((writer, f"{reader} {life}"), _View())

    def _is_heard(self, writer: str, reader: str) -> bool:
        process = self._members[writer].process
        return process.alive and not process.stopped and (writer, reader) not in self.cuts

    def _look(self) -> None:
        """Who is silent for long is gone; who is there again says everything again."""
        self._time.later(LOOK_S, self._look)
        for writer, source in self._members.items():
            self._renew(source)
            for reader in self._members:
                if writer != reader and self._members[reader].process.alive:
                    self._look_at(writer, reader)

    def _look_at(self, writer: str, reader: str) -> None:
        view = self._view(writer, reader)
        if self._is_heard(writer, reader):
            view.silent_since = None
            self._forget(writer, reader, view, self._members[writer].states)
            self._bring(writer, reader)
            return
        now = self._time.now
        view.silent_since = now if view.silent_since is None else view.silent_since
        if not view.gone and now - view.silent_since >= SILENCE_S:
            view.gone = True
            self._forget(writer, reader, view, {})

    def _forget(self, writer: str, reader: str, view: _View, states: dict[Any, Any]) -> None:
        """Instances that nobody writes any more are gone."""
        del writer
        for instance in [one for one in view.seen if one not in states]:
            del view.seen[instance]
            self._tell_gone(self._members[reader], view, instance)

    def _tell_gone(self, member: _Member, view: _View, instance: Any) -> None:
        """Tell it, unless the instance is there again by then: a late word undoes no newer one."""

        def tell() -> None:
            if instance not in view.seen:
                member.take(Gone(*instance))

        self._time.later(self._time.latency(), tell, member.process)


def _key(message: Any) -> tuple[type, tuple[Any, ...]]:
    codec: Any = codec_of(type(message))
    return type(message), codec.key_of(message)
