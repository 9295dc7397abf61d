"""What a serving node knows: which epochs it has whole, what it may forget, what it answers.

A serving node has no application. It keeps the items of its slices until all registered consumers
have committed them, and gives the items between two positions to whoever asks. A position is
``{writer: epoch}``; what lies in ``(start, end]`` is the same whoever serves it, because a node
answers only when it is *whole* up to ``end``.

**Whole.** An ``EpochClose`` is cumulative: it names the newest number, in this or an earlier epoch,
of every slice that has uncommitted items. A node that has every number up to those, of some
slices, lacks nothing of these slices up to that epoch. Slices that the message does not name have
nothing uncommitted. The newest close is often not yet satisfied, so a few are remembered.

**Forgetting** is the publisher's word: it knows the registered consumers and says in ``EpochClose``
up to which epoch all of them have committed. Only of a publisher that was cut, when everybody has
everything, is it the ledger's.

**Ended writers.** A publisher that is silent is waited for. When its stream is cut, the cut stands
for its newest close; what lies beyond is refused. When all consumers have committed it, nothing is
left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position, WriterId
from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    EpochClose,
    Progress,
    RoomWanted,
    SliceState,
)
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.consumer.splits import whole_end
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.serving.closes import Closes, is_satisfied
from evenflow.slices.node.serving.ranges import Wanted, epochs_since, in_order, runs_of
from evenflow.slices.node.serving.when_full import WhenFull

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.batch import Batch
    from evenflow.model.messages import WriterCut
    from evenflow.model.sample import Sample
    from evenflow.slices.consumer.counts import Run
    from evenflow.slices.consumer.ticket import Range
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.cache.slice_cache import SliceCache

MOST: Final = 1 << 64
PROGRESS_EVERY: Final = 0.005
"""How often a node looks how far it is, at most."""
PROGRESS_REPEAT: Final = 1.0
FREE_SHARE: Final = 8
"""A node that has less than one part in so many of its room free wants some."""
WANT_EVERY: Final = 0.5


class ServingRules:
    """The rules of serving, over the cache of one node and topic."""

    def __init__(
        self, topic: str, node: str, cache: SliceCache, ledger: LedgerView | None = None
    ) -> None:
        self._ledger = LedgerView() if ledger is None else ledger
        self.consumers = Consumers()
        self.address = ""
        """Where the node is read; set when its service has started."""
        self.served = 0
        """Items given to readers."""
        self._topic = topic
        self._node = node
        self._cache = cache
        self._seen: list[HeldSlice] = []
        """The slices that this node owned when it was last looked."""
        self._owned: dict[int, HeldSlice] = {}
        """The same by their numbers."""
        self._closes: dict[int, Closes] = {}
        self._floors: dict[int, int] = {}
        """Epoch up to which a writer's items are forgotten."""
        self._contradicted: set[str] = set()
        """Consumers that are here and that this node has told to be, since others said away."""
        self._told: Progress | None = None
        self._when_full = WhenFull()
        self._urgent: dict[int, int] = {}
        """Up to which epoch items of each writer come in always."""
        self.newly_wanted: list[int] = []
        """Writers of which more would come in always than at the look before."""
        self._wanted: dict[int, int] = {}
        """Up to which epoch something is lacking that would come in always, by writer."""
        self._next_look = self._next_repeat = 0.0
        self.look_due: float | None = None
        """When a look is due that came too soon after another; None when none was put off."""
        self.keeps = False
        """Whether the topic keeps more than what is not committed."""
        self._next_want = 0.0

    # -- what is here ----------------------------------------------------------------------------

    def on_epoch_closed(self, close: EpochClose) -> None:
        """A publisher closed an epoch, or repeats the newest one."""
        writer = close.writer
        if writer not in self._cache.last_epochs:
            closes = self._closes.get(writer)
            if closes is None:
                closes = self._closes[writer] = Closes(writer, self._owned)
            closes.add(close)
        self._forget(writer, min(close.committed, self._cache.last_epochs.get(writer, MOST)))

    def on_cut(self, cut: WriterCut) -> None:
        """The stream of a writer ends: the cut stands for the newest of its closes."""
        close = EpochClose(
            cut.writer, self._topic, cut.epoch, 0, cut.slices, cut.upto, closing=False
        )
        closes = self._closes[cut.writer] = Closes(cut.writer, self._owned)
        closes.add(close)

    def closed(self, writer: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The newest close of a writer that is whole in the own slices: epoch, slices, numbers."""
        self._look_at_own()
        epoch, _ = self._whole_and_next(writer)
        for close in self._closes.get(writer, ()):
            if close.epoch == epoch:
                return epoch, close.slices, close.last
        return epoch, (), ()

    def on_consumer_message(self, message: ConsumerCommit | Progress) -> CommitCopy | None:
        """A consumer committed, or another node tells of consumers.

        Returns:
            What to tell of a consumer that was away and has come back.
        """
        if isinstance(message, Progress):
            self.consumers.learn(message.consumers)
            return None
        returned = self.consumers.is_away(message.consumer)
        self.consumers.commit(message)
        return self._contradict(message.consumer) if returned else None

    def on_listed(self, names: Iterable[str]) -> None:
        """The ledger names the registered consumers."""
        self.consumers.on_ledger(names)

    def on_consumer_gone(self, name: str) -> CommitCopy | None:
        """A consumer's process is gone; return what to keep of it for its next one."""
        self.consumers.on_process_gone(name)
        self._contradicted.discard(name)
        return self.consumers.copy(name, self._node)

    def on_copy(self, copy: CommitCopy) -> CommitCopy | None:
        """Another node tells of a consumer that is away; return what to tell of it from here."""
        name = copy.consumer
        if self.consumers.recall(copy):
            return self.consumers.copy(name, self._node)
        outdated = copy.away and self.consumers.number(name) > 0
        return self._contradict(name) if outdated and name not in self._contradicted else None

    def _contradict(self, name: str) -> CommitCopy | None:
        """A consumer that some node says is away is here: that node's copy is not the newest."""
        self._contradicted.add(name)
        return self.consumers.copy(name, self._node)

    def forget_writer(self, writer: int) -> None:
        """Nothing of a writer is left here."""
        self._closes.pop(writer, None)
        self._floors.pop(writer, None)
        self._when_full.forget_writer(writer)

    def _forget(self, writer: int, epoch: int) -> None:
        if epoch > self._floors.get(writer, 0):
            self._floors[writer] = epoch
            self._cache.forget(writer, epoch)
            if writer in self._closes:
                self._closes[writer].forget(epoch)

    def whole(self, writer: int, slices: frozenset[int]) -> int:
        """The newest closed epoch of a writer up to which nothing of these slices is missing."""
        closes = self._closes.get(writer)
        held = self._cache.held
        return next(
            (close.epoch for close in reversed(closes or ()) if is_satisfied(close, slices, held)),
            self._floors.get(writer, 0),
        )

    def _is_whole(self, writer: int, slices: frozenset[int], epoch: int) -> bool:
        """Whether nothing of these slices is missing up to an epoch."""
        if slices <= self._owned.keys() and self._whole_and_next(writer)[0] >= epoch:
            return True
        return self.whole(writer, slices) >= epoch

    def _whole_and_next(self, writer: int) -> tuple[int, int]:
        """The newest epoch of a writer that is whole in all own slices, and the next to be."""
        closes = self._closes.get(writer)
        floor = self._floors.get(writer, 0)
        if not closes:
            return floor, floor
        return closes.whole_and_next(floor)

    def _look_at_own(self) -> None:
        """See whether this node owns other slices than before; all else is told by its writers."""
        available = SliceState.AVAILABLE
        found = [held for held in self._cache.held.values() if held.state is available]
        # A slice that was away and is back is another object, although its number is the same.
        if found != self._seen:
            self._seen = found
            self._owned = {held.slice: held for held in found}
            for closes in self._closes.values():
                closes.restart(self._owned)

    def is_urgent(self, sample: Sample) -> bool:
        """Whether a sample comes in though the cache is full."""
        return sample.epoch <= self._urgent.get(sample.writer, 0)

    def wanted(self, writer: int) -> int:
        """Up to which epoch something is lacking that would come in always; 0 when nothing is."""
        return self._wanted.get(writer, 0)

    # -- answers ----------------------------------------------------------------------------------

    def select(self, asked: Range) -> list[Batch] | Refusal:
        """The batches of a range, or why not.

        Batches of one sample stand together, so that readers take it as it is. Each slice and
        writer is in the order of its numbers: a reader that breaks off goes on behind the last.
        """
        wanted = self._wanted_of(asked)
        if isinstance(wanted, Refusal):
            return wanted
        for writer, start, end in wanted:
            self._when_full.on_given(writer, start, whole_end(asked, writer, start, end))
        return in_order(self._cache.held, asked, wanted)

    def count(self, asked: Range, most: int) -> list[Run] | Refusal:
        """How many items a range has, by writer, epoch and slice; or why not.

        Of each writer, what lies behind the epoch in which ``most`` are reached may be left out.
        """
        wanted = self._wanted_of(asked)
        if isinstance(wanted, Refusal):
            return wanted
        return runs_of(self._cache.held, asked, wanted, most)

    def since(self, asked: Range, time: int) -> Position | Refusal:
        """The first epochs of a range that have items of a time (us) or later; or why not."""
        wanted = self._wanted_of(asked)
        if isinstance(wanted, Refusal):
            return wanted
        return epochs_since(self._cache.held, asked, wanted, time)

    def _wanted_of(self, asked: Range) -> list[Wanted] | Refusal:
        """The writers of a range, with the epochs behind which and up to which it goes."""
        held = self._cache.held
        slices = frozenset(asked.slices)
        lacking = [s for s in slices if s not in held or held[s].state is SliceState.TAKING]
        if lacking:
            return Refusal("moved", f"slice {min(lacking)} is not here")
        ends = self._cache.last_epochs  # beyond a cut there is nothing
        wanted = [
            Wanted(writer, start, end)
            for writer, epoch in asked.end.items()
            if (end := min(epoch, ends.get(writer, epoch))) > (start := asked.start[writer])
            and not self._ledger.is_over(writer)
        ]
        self._look_at_own()
        missing = []
        for writer, start, end in wanted:
            if 0 < start < self._floors.get(writer, 0):
                return Refusal("forgotten", f"writer {WriterId.text(writer)} from epoch {start}")
            if not self._is_whole(writer, slices, end):
                self._when_full.on_refused(writer, end)
                missing.append(f"epoch {end} of {WriterId.text(writer)}")
        if missing:
            return Refusal("later", f"{', '.join(missing)} is not whole here")
        return wanted

    def count_held(self, asked: Range) -> int:
        """How many items of a range are here, in own slices; nobody is given them."""
        self._look_at_own()
        own = Range(tuple(s for s in asked.slices if s in self._owned), asked.start, asked.end, {})
        wanted = [Wanted(writer, asked.start[writer], end) for writer, end in asked.end.items()]
        return sum(batch.count for batch in in_order(self._owned, own, wanted))

    # -- time -------------------------------------------------------------------------------------

    def poll(self, now: float) -> Progress | None:
        """What to tell everybody now."""
        if now < self._next_look:
            # A close follows its samples closely: whoever calls must not wait for the next event.
            self.look_due = self._next_look
            return None
        self.look_due = None
        self._next_look = now + PROGRESS_EVERY
        self._look_at_own()
        found = {writer: self._whole_and_next(writer) for writer in sorted(self._closes)}
        self._urgent = {
            writer: self._when_full.limit(
                writer, epoch, self._floors.get(writer, 0), self._closes[writer].provable
            )
            for writer, (epoch, _) in found.items()
        }
        wanted = {
            writer: limit for writer, limit in self._urgent.items() if found[writer][0] < limit
        }
        self.newly_wanted = [w for w, limit in wanted.items() if limit > self._wanted.get(w, 0)]
        self._wanted = wanted
        whole = {writer: epoch for writer, (epoch, _) in found.items() if epoch}
        progress = Progress(
            self._topic,
            self._node,
            self.address,
            tuple(whole),
            tuple(whole.values()),
            self.consumers.named(),
        )
        if progress == self._told and now < self._next_repeat:
            return None
        self._told = progress
        self._next_repeat = now + PROGRESS_REPEAT
        return progress

    def room_wanted(self, now: float) -> RoomWanted | None:
        """What a node says that is nearly full, when something may be here that is only kept."""
        cache = self._cache
        if not self.keeps or now < self._next_want or cache.room * FREE_SHARE >= cache.capacity:
            return None
        self._next_want = now + WANT_EVERY
        return RoomWanted(self._topic, self._node)
