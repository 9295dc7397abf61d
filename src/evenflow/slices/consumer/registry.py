"""Who reads a served topic, and how far each of them has come.

A consumer is registered by its first commit and stays registered when its process dies: it will
come back, from its own checkpoint, and want what it has not committed. What all registered
consumers have committed may be forgotten; while nobody is registered, nothing may.

A process that starts while a consumer is away cannot hear that consumer's commits. It learns the
name from the serving nodes (``Progress.consumers``) and keeps everything until the consumer speaks.
The nodes also pass on its newest commit (``CommitCopy``), so that a consumer without a checkpoint
of its own finds its position again.
Of a durable topic one consumer is known from the start: `ARCHIVE`, who writes it to the store; of a
topic of dead letters `DEAD`, who replays or drops them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position
from evenflow.model.messages import CommitCopy, ConsumerCommit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.config import TopicConfig

ARCHIVE: Final = "archive"
"""Name of the consumer that writes a durable topic to the overlay store."""

DEAD: Final = "dead"
"""Name of the consumer that replays or drops dead letters."""


BALANCER: Final = "balancer"
"""Who keeps the copy, in a ``CommitCopy`` of the balancer."""

MOST_RELEASED: Final = 1_000
"""Released consumers that a process remembers. Who speaks and was forgotten is let go anew."""

NOBODY: Final = 0
"""No writer's id. The last commit of a consumer that has expired names it: so it is told from one
that somebody has released."""


def is_expired(said: ConsumerCommit | CommitCopy) -> bool:
    """Whether this is the last word about a consumer that has expired."""
    return said.ended and NOBODY in said.writers


def expected_consumers(topic: TopicConfig) -> tuple[str, ...]:
    """The consumers of a topic that follow from what it is."""
    return (ARCHIVE,) * topic.archived + (DEAD,) * topic.is_dead


def declared_consumers(topic: TopicConfig) -> tuple[str, ...]:
    """All consumers of a topic for whom everything is kept though they have never run.

    The balancer names them in its ledger. Nobody else goes by his own file: so one that is taken
    out of the file is released for everybody when the balancer has read it.
    """
    expected = expected_consumers(topic)
    return (*expected, *(name for name in topic.consumers if name not in expected))


@dataclass(slots=True)
class _Consumer:
    number: int
    """Commits up to this number are old; 0 while the process is gone."""
    position: Position
    ended: bool
    newest: ConsumerCommit | None = None
    """What it said last; None when nobody has told."""


class Consumers:
    """The registered consumers of one topic."""

    def __init__(self) -> None:
        self._known: dict[str, _Consumer] = {}
        self._listed: set[str] = set()
        """Those whom the ledger named."""
        self._released: set[str] = set()
        """Those whom it named once and names no more: what they still say registers nobody."""
        self._heard_of: set[str] = set()
        """Those whom anybody named since the ledger was last heard."""
        self._heard_before: set[str] = set()
        """Those whom anybody named between the last two."""

    def commit(self, commit: ConsumerCommit) -> bool:
        """Take a commit in; False when a newer one of this consumer is known."""
        known = self._known.get(commit.consumer)
        self._heard_of.add(commit.consumer)
        if known is not None and commit.number <= known.number:
            return False
        self._note(commit, commit.number)
        return True

    def recall(self, copy: CommitCopy) -> bool:
        """Hear what a consumer that is away said last; False when that is no news."""
        known = self._known.get(copy.consumer)
        if not copy.away or (known is not None and known.number):
            return False  # it is here and speaks for itself
        if known is not None and known.newest is not None and known.newest.number >= copy.number:
            return False
        self._note(_commit_of(copy), 0)
        return True

    def _note(self, commit: ConsumerCommit, number: int) -> None:
        position = Position.of(commit.writers, commit.epochs)
        ended = commit.ended or commit.consumer in self._released
        self._known[commit.consumer] = _Consumer(number, position, ended, commit)

    def learn(self, names: Iterable[str]) -> None:
        """Hear of consumers; those never heard of are registered, with nothing committed."""
        names = list(names)
        self._heard_of.update(names)
        for name in names:
            if name not in self._known:
                self._known[name] = _Consumer(0, Position(), ended=False)

    def declare(self, name: str) -> None:
        """Register a consumer that need not have run; one that was released begins anew."""
        known = self._known.get(name)
        if known is None or known.ended:
            self._known[name] = _Consumer(0, Position(), ended=False)

    def on_process_gone(self, name: str) -> None:
        """A consumer's process is gone; the next one may number its commits from anywhere."""
        if name in self._known:
            self._known[name].number = 0

    def newest(self, name: str) -> ConsumerCommit | None:
        """What a consumer said last, whether its process lives or not; None when nobody told."""
        known = self._known.get(name)
        return None if known is None else known.newest

    def is_away(self, name: str) -> bool:
        """Whether a consumer has said something and its process is gone."""
        known = self._known.get(name)
        return known is not None and known.number == 0 and known.newest is not None

    def copy(self, name: str, node: str) -> CommitCopy | None:
        """What a node tells of a consumer's newest commit."""
        found = self.newest(name)
        return None if found is None else _copy_of(found, node, away=self.is_away(name))

    def everybody(self) -> tuple[str, ...]:
        """All consumers that were heard of, released ones included."""
        return tuple(sorted(self._known))

    def release_unlisted(self, listed: Iterable[str]) -> None:
        """The ledger names these; others whom it named before are released. Call it for each one.

        Who is here by word of others, or by its own, and was not named again while the ledger came
        twice, is released too. One that is about to register says so every second, as often as the
        ledger comes; of any other somebody spoke who did not know yet that it was released.

        One that was released and that it names anew is registered from now on, and not before: one
        that is cut off from the balancer alone may not know yet that it was released, and speak.
        """
        names = set(listed)
        self._released = (self._released | (self._listed - names)) - names
        for name in self._listed - names:
            if name in self._known:
                self._known[name].ended = True
        for name in names - self._listed:
            known = self._known.get(name)
            if known is not None and known.ended:
                self._register_anew(name, known)
        for name in self._known.keys() - names - self._heard_of - self._heard_before:
            self._known[name].ended = True
        self._heard_before, self._heard_of = self._heard_of, set()
        self._listed = names
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Of those that were released the newest are remembered, by what they said last."""
        if len(self._known) <= MOST_RELEASED:
            return
        ended = [name for name, one in self._known.items() if one.ended]
        ended.sort(key=lambda name: said.number if (said := self.newest(name)) else 0)
        for name in ended[:-MOST_RELEASED]:
            del self._known[name]
        self._released &= self._known.keys()

    def _register_anew(self, name: str, known: _Consumer) -> None:
        """A released consumer is registered again: where it was, unless it was to begin anew."""
        if known.newest is None or known.newest.ended:
            self._known[name] = _Consumer(0, Position(), ended=False)
        known.ended = False

    def names(self) -> tuple[str, ...]:
        """The registered consumers, in order."""
        return tuple(sorted(name for name, one in self._known.items() if not one.ended))

    def named(self) -> tuple[str, ...]:
        """Those that this process knows of itself: the ledger names them, or they have spoken."""
        return tuple(n for n in self.names() if n in self._listed or self._known[n].newest)

    def number(self, name: str) -> int:
        """The number of the newest commit that was heard of a consumer; 0 when there was none."""
        known = self._known.get(name)
        return 0 if known is None else known.number

    def behind(self, writer: int) -> tuple[str, ...]:
        """The registered consumers that are furthest behind with a writer, in order."""
        floor = self.floor(writer)
        here = (name for name, one in self._known.items() if not one.ended)
        return tuple(sorted(n for n in here if self._known[n].position[writer] == floor))

    def floor(self, writer: int) -> int:
        """The epoch of a writer up to which all registered consumers have committed."""
        epochs = [one.position[writer] for one in self._known.values() if not one.ended]
        return min(epochs, default=0)

    def position(self) -> Position:
        """For each writer the epoch that all registered consumers have committed."""
        writers = {writer for one in self._known.values() for writer in one.position}
        return Position({writer: self.floor(writer) for writer in writers})


def _copy_of(commit: ConsumerCommit, node: str, *, away: bool) -> CommitCopy:
    return CommitCopy(
        commit.topic,
        commit.consumer,
        node,
        away,
        commit.number,
        commit.writers,
        commit.epochs,
        commit.ended,
        commit.planned_writers,
        commit.planned_epochs,
    )


def _commit_of(copy: CommitCopy) -> ConsumerCommit:
    return ConsumerCommit(
        copy.topic,
        copy.consumer,
        copy.number,
        copy.writers,
        copy.epochs,
        copy.ended,
        copy.planned_writers,
        copy.planned_epochs,
    )
