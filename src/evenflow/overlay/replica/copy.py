"""What one broker has of a shelf: its record, its messages, and how far publishers are stored.

A `Copy` holds and writes; it decides nothing. What is done with it stands in the parts that share
it: `replication` (messages within a term), `catch_up` (messages from before it) and `replica` (the
terms).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Config,
    Label,
    Message,
    PublisherState,
    ShelfId,
)
from evenflow.overlay.replica.states import TRANSITIONS, State, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenflow.overlay.ports import ReplicaHost
    from evenflow.overlay.replica.record import Record

RETRY_S = 0.4
"""A request without reply is sent again after this."""
MOST_DOUBLINGS = 3

MOST_PUBLISHERS = 10_000
"""Publishers that a shelf remembers; with more, those that were silent longest are forgotten."""
REPEATED_NS = 60 * 10**9
"""For so long a publisher may not know that its message is stored, and repeat it."""
BATCH = 512
"""Published messages in one message to another broker."""


def pause(times: int) -> float:
    """Return how long to wait for a reply to what was asked so many times; longer each time.

    Who does not answer may be too busy: what is asked again has to be answered again.
    """
    return RETRY_S * (1 << min(max(0, times - 1), MOST_DOUBLINGS))


class Copy:
    """One broker's copy of a shelf.

    Args:
        host: The broker.
        record: What is on disk.
        committed: Time up to which all may be acknowledged, as far as we know.
        on_progress: Called when more is committed or the state changed.
    """

    def __init__(
        self, host: ReplicaHost, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        self.host = host
        self.record = record
        self.config = host.votes.known(record.shelf) or Config(record.birth, 0, "", (), (), ())
        """The newest configuration that we know to be decided."""
        self.state = State.UNSURE
        self.committed = max(committed, record.terms[-1].start - 1)
        self.last = max(host.store.last(record.shelf), self.committed)
        self.written = 0
        """As member: time up to which all is written that the primary sent in this term."""
        self.publishers = host.store.publishers(record.shelf)
        self.verified = record.shelf.at_home
        """Whether the delegate list on the label was in force lately, as home says."""
        self.doubted = False
        """Whether home should be asked for the list, because we have sent somebody away by it."""
        self.next_check = 0.0
        """When the primary is asked next whether this copy is needed."""
        self.changed = host.now
        """When the members, the configuration or the record changed last."""
        self.on_progress = on_progress

    @property
    def shelf(self) -> ShelfId:
        """Which shelf."""
        return self.record.shelf

    @property
    def me(self) -> str:
        """This broker."""
        return self.host.members.me.name

    @property
    def label(self) -> Label:
        """The shelf's label."""
        return self.record.label

    @property
    def leading(self) -> bool:
        """Whether this is the primary of the newest configuration."""
        return self.state is State.LEADING

    @property
    def delegated_here(self) -> bool:
        """Whether the shelf's coordinate is the one that new messages of the topic go to."""
        return self.label.delegates.current == self.shelf.coordinate

    @property
    def disks(self) -> int:
        """On how many disks a message must be before it is acknowledged."""
        return 1 if self.label.level == 1 else 2

    @property
    def stored_until(self) -> int:
        """Time of the newest message that is on disk."""
        return self.host.store.last(self.shelf)

    def holds(self, name: str) -> bool:
        """Say whether a broker has a copy in sync: one that has lost its disk since has not."""
        return self.config.synced(name, self.host.members.disk(name))

    @property
    def primary_lives(self) -> bool:
        """Whether another broker leads, as far as we know."""
        primary = self.config.primary
        return primary != self.me and self.host.members.alive(primary) and self.holds(primary)

    def wanted(self) -> tuple[str, ...]:
        """Return the brokers that should have the shelf, closest first."""
        return self.host.members.closest(self.shelf.coordinate, self.disks)

    def stand_in(self, name: str) -> bool:
        """Say whether a broker is to have only what is new: at level 2, in place of a dead one."""
        closest = self.host.members.closest_known(self.shelf.coordinate, self.disks)
        return self.label.level == 2 and name not in closest

    def topic_load(self) -> int:
        """Return the load of the topic, if this copy belongs to its current delegate.

        What it has here, and what it brought: the bytes that lay elsewhere when it came. With an
        age at which messages expire, these are gone when it has been here for that long.
        """
        settings, inherited = self.host.settings, float(self.label.inherited)
        if settings.age_s:
            here_s = max(0, self.host.wall - self.label.delegates.entries[-1].start) / 1e9
            inherited *= max(0.0, 1 - here_s / settings.age_s)
        load = self.host.store.size(self.shelf) + round(inherited)
        return min(load, settings.shelf_bytes) if settings.shelf_bytes else load

    # -- changes --------------------------------------------------------------------------------

    def change_state(self, trigger: Trigger) -> None:
        """Change the state as the table says."""
        self.state = TRANSITIONS[self.state][trigger]
        self.on_progress()

    def update(self, **changes: Any) -> None:
        """Change the record, here and on disk."""
        self.record, self.changed = replace(self.record, **changes), self.host.now
        self.host.store.save(self.record)

    def write(self, messages: Sequence[Message]) -> None:
        """Write messages, and how far their publishers are stored with them."""
        farther = {}
        for message in messages:
            known = self.publishers.get(message.publisher)
            if known is None or known.sequence < message.sequence:
                state = PublisherState(message.publisher, message.sequence, message.time)
                self.publishers[message.publisher] = farther[message.publisher] = state
        self.host.store.append(self.shelf, messages, self.committed)
        self.host.store.put_publishers(self.shelf, farther.values())
        if len(self.publishers) > MOST_PUBLISHERS:
            by_age = sorted(self.publishers.values(), key=lambda state: state.time)
            self._forget(by_age[: MOST_PUBLISHERS // 10])

    def take_publishers(self, publishers: Iterable[PublisherState]) -> None:
        """Note how far publishers are stored, where that is farther than we knew."""
        farther = []
        for state in publishers:
            known = self.publishers.get(state.publisher)
            if known is None or known.sequence < state.sequence:
                self.publishers[state.publisher] = state
                farther.append(state)
        self.host.store.put_publishers(self.shelf, farther)

    def unwrite(
        self, doomed: Sequence[Message], start: int, before: Sequence[PublisherState]
    ) -> None:
        """Delete messages that were never acknowledged; their publishers will send them again.

        What came later from the same publishers was not acknowledged either, and goes too: it
        would be stored twice when it is sent again behind them.

        Args:
            doomed: The messages, in order of time.
            start: All before this time stays.
            before: How far publishers were stored before it.
        """
        first: dict[int, int] = {}
        for message in doomed:
            first.setdefault(message.publisher, message.time)
        if not first:
            return
        newest = {state.publisher: state for state in before if state.publisher in first}
        for message in self.between(start, self.last + 1):
            begin = first.get(message.publisher)
            if begin is None:
                continue
            if message.time >= begin:
                self.host.store.remove(self.shelf, message.time, message.time + 1)
            else:
                state = PublisherState(message.publisher, message.sequence, message.time)
                newest[message.publisher] = state
        for publisher in first.keys() - newest.keys():
            newest[publisher] = PublisherState(publisher, 0, max(0, start - 1))
        self.publishers.update(newest)
        self.host.store.put_publishers(self.shelf, newest.values())

    def truncate(self, start: int, publishers: Sequence[PublisherState]) -> None:
        """Delete all messages from a time on; publishers are stored as far as told."""
        self.host.store.remove(self.shelf, start, None)
        self.publishers = {state.publisher: state for state in publishers}
        self.host.store.put_publishers(self.shelf, publishers, replace=True)
        self.last = self.host.store.last(self.shelf)

    def expire(self, floor: int) -> None:
        """Delete the messages before a time, and publishers that have been silent since.

        Those that may still repeat what they published are remembered, however soon it expires.
        """
        self.host.store.remove(self.shelf, 0, floor)
        floor = min(floor, self.host.wall - REPEATED_NS)
        self._forget([state for state in self.publishers.values() if state.time < floor])

    def _forget(self, silent: Sequence[PublisherState]) -> None:
        """Forget publishers; what they repeat later would be stored again."""
        for state in silent:
            del self.publishers[state.publisher]
        if silent:
            self.host.store.put_publishers(self.shelf, self.publishers.values(), replace=True)

    def insert(self, start: int, messages: Iterable[Message]) -> None:
        """Write messages of earlier times, all from a start on, that a past delegate had.

        They may be newer than all that was taken here: a shelf may have been made long before the
        topic came to it.
        """
        kept = [message for message in messages if message.time >= self.label.floor]
        self.host.store.append(self.shelf, kept, self.committed)
        self.last = max(self.last, *(message.time for message in kept), 0)
        self.record = self.record.with_older(start)
        self.host.store.save(self.record)

    def prune(self) -> None:
        """Delete what has been handed on: a past delegate has nothing after its last time."""
        label, place = self.label, self.shelf.coordinate
        if self.shelf.at_home or label.ticket or self.delegated_here:
            return
        ends = [each.end or 0 for each in label.delegates.tenures() if each.coordinate == place]
        if ends and self.stored_until >= ends[-1]:
            self.host.store.remove(self.shelf, ends[-1], None)

    # -- what is there --------------------------------------------------------------------------

    def between(self, start: int, end: int) -> list[Message]:
        """Return all messages from a time up to another."""
        return self.host.store.read(self.shelf, start, end, 1 << 30, 1 << 60)

    def publishers_before(self, start: int) -> tuple[PublisherState, ...]:
        """Return how far publishers were stored before a time; replication brings the rest."""
        found = dict(self.publishers)
        for message in reversed(self.between(start, self.last + 1)):
            found[message.publisher] = PublisherState(
                message.publisher, message.sequence - 1, max(0, start - 1)
            )
        return tuple(found.values())
