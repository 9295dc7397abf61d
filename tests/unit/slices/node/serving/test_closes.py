"""What is found whole step by step is what the plain definition says, whatever happens between."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import EpochClose, SliceState
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.serving.closes import MOST_CLOSES, Closes, is_satisfied
from evenflow.slices.node.serving.rules import ServingRules

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

T = TypeVar("T")
WRITERS = (7, 8)
SLICES = 6


def close(writer: int, epoch: int, last: dict[int, int], committed: int = 0) -> EpochClose:
    return EpochClose(
        writer, "items", epoch, SLICES, tuple(last), tuple(last.values()), False, committed
    )


class Plain:
    """The definition: the newest of the remembered closes that lacks nothing, looked at afresh."""

    def __init__(self, cache: SliceCache) -> None:
        self.cache = cache
        self.closes: dict[int, list[EpochClose]] = {}
        self.floors: dict[int, int] = {}

    def on_epoch_closed(self, close: EpochClose) -> None:
        closes = self.closes.setdefault(close.writer, [])
        if not closes or close.epoch > closes[-1].epoch:
            closes.append(close)
            if len(closes) > MOST_CLOSES:
                steps = [b.items - a.items for a, b in zip(closes, closes[2:], strict=False)]
                del closes[1 + steps.index(min(steps))]
        elif close.epoch == closes[-1].epoch:
            closes[-1] = close
        if close.committed > self.floors.get(close.writer, 0):
            self.floors[close.writer] = close.committed
            while len(closes) > 1 and closes[0].epoch <= close.committed:
                del closes[0]

    def whole_and_next(self, writer: int) -> tuple[int, int]:
        closes, floor = self.closes.get(writer, []), self.floors.get(writer, 0)
        owned = frozenset(held.slice for held in self.cache.available())
        if not closes:
            return floor, floor
        following = closes[-1].epoch
        for one in reversed(closes):
            if is_satisfied(one, owned, self.cache.held):
                return one.epoch, following
            following = one.epoch
        return floor, following


class History:
    """Random events at a node, told to its rules and to the definition."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cache = SliceCache(1 << 30, serving=True)
        self.rules = ServingRules("items", "node-1", self.cache)
        self.plain = Plain(self.cache)
        self.epochs = dict.fromkeys(WRITERS, 0)
        self.now = 0.0

    def step(self) -> None:
        events = (self.arrive, self.arrive, self.close, self.close, self.own, self.lose, self.go)
        self.random.choice(events)()

    def arrive(self) -> None:
        for slice_id in self.random.sample(range(SLICES), self.random.randint(1, SLICES)):
            if slice_id in self.cache.held:
                track = self.cache.held[slice_id].track(self.random.choice(WRITERS))
                track.next += self.random.randint(0, 3)

    def close(self) -> None:
        writer = self.random.choice(WRITERS)
        self.epochs[writer] += self.random.choice((0, 1, 1, 2))
        named = self.random.sample(range(SLICES), self.random.randint(0, SLICES))
        last = {slice_id: self.random.randint(0, self.epochs[writer]) for slice_id in named}
        committed = self.random.choice((0, 0, max(0, self.epochs[writer] - 5)))
        message = close(writer, self.epochs[writer], last, committed)
        for _ in range(self.random.choice((0, 0, 1))):  # it is repeated
            self.rules.on_epoch_closed(message)
            self.plain.on_epoch_closed(message)
            self.check()
            message = replace(message, committed=committed)
        self.rules.on_epoch_closed(message)
        self.plain.on_epoch_closed(message)

    def own(self) -> None:
        slice_id = self.random.randrange(SLICES)
        state = self.random.choice((SliceState.AVAILABLE, SliceState.TAKING, SliceState.GIVING))
        if slice_id in self.cache.held:
            self.cache.held[slice_id].state = state
        else:
            self.cache.hold(slice_id, state, 1)

    def lose(self) -> None:
        """Lose a slice, and perhaps have it again at once, with nothing in it."""
        slice_id = self.random.randrange(SLICES)
        self.cache.drop([slice_id])
        if self.random.random() < 0.5:
            self.cache.hold(slice_id, SliceState.AVAILABLE, 2)

    def go(self) -> None:
        """Perhaps nothing of a writer is left."""
        if self.random.random() < 0.15:
            writer = self.random.choice(WRITERS)
            self.rules.forget_writer(writer)
            self.plain.closes.pop(writer, None)
            self.plain.floors.pop(writer, None)
            for held in self.cache.held.values():
                held.tracks.pop(writer, None)

    def check(self) -> None:
        self.now += 1.0
        told = self.rules.poll(self.now)
        assert told is not None
        found = dict(zip(told.writers, told.epochs, strict=True))
        whole = {writer: self.plain.whole_and_next(writer) for writer in WRITERS}
        assert found == {w: e for w, (e, _) in whole.items() if e and w in self.plain.closes}
        owned = frozenset(held.slice for held in self.cache.available())
        for writer in WRITERS:
            assert self.rules.whole(writer, owned) == whole[writer][0]


@given(st.integers(0, 1 << 32))
def test_every_look_finds_what_a_fresh_one_would(seed: int) -> None:
    history = History(seed)
    for _ in range(60):
        for _ in range(history.random.randint(1, 4)):
            history.step()
        history.check()


def test_a_look_goes_on_where_the_one_before_has_stopped() -> None:
    class Slices(tuple[int, ...]):
        """Counts how often it is gone through."""

        __slots__ = ()
        times = 0

        def __iter__(self):  # type: ignore[no-untyped-def]
            Slices.times += 1
            return super().__iter__()

    cache = SliceCache(1 << 20, serving=True)
    owned = {n: cache.hold(n, SliceState.AVAILABLE, 1) for n in range(4)}
    closes = Closes(7, owned)
    closes.add(EpochClose(7, "items", 1, 4, Slices(range(4)), (1, 1, 1, 1), False))
    begun = Slices.times
    for slice_id in range(4):
        assert closes.whole_and_next(0) == (0, 1)
        owned[slice_id].track(7).next = 2
    assert closes.whole_and_next(0) == (1, 1)
    assert Slices.times == begun


def steps_of(work: Callable[[], T]) -> tuple[int, T]:
    """How many steps the interpreter takes, and what comes of it: the same on any machine."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = work()
    finally:
        sys.settrace(before)
    return steps, found


def test_many_writers_and_slices_are_polled_in_a_part_of_the_steps_of_a_fresh_look() -> None:
    slices, writers = 200, 5
    cache = SliceCache(1 << 40, serving=True)
    for slice_id in range(slices):
        held = cache.hold(slice_id, SliceState.AVAILABLE, 1)
        for writer in range(writers):
            held.track(writer)
    rules, plain = ServingRules("items", "node-1", cache), Plain(cache)
    steps = [0, 0]
    for poll in range(20):
        epoch = 1 + poll // writers
        for writer in range(writers):
            message = close(writer, epoch, dict.fromkeys(range(slices), epoch))
            rules.on_epoch_closed(message)
            plain.on_epoch_closed(message)
        for held in cache.held.values():
            held.tracks[poll % writers].next = epoch + 1
        taken, _ = steps_of(partial(rules.poll, float(poll)))
        fresh, found = steps_of(
            lambda: [plain.whole_and_next(writer)[0] for writer in range(writers)]
        )
        steps[0] += taken
        steps[1] += fresh
        assert found == [epoch if writer <= poll % writers else epoch - 1 for writer in range(5)]
    assert steps[0] < steps[1] / 2


def test_the_steps_of_a_writer_that_runs_ahead_stay_even() -> None:
    rng, closes, items = random.Random(1), Closes(7, {}), 0
    for epoch in range(1, 5_000):
        items += rng.randint(1, 100)
        closes.add(replace(close(7, epoch, {0: epoch}), items=items))
    kept = [one.items for one in closes]
    largest = max(after - before for before, after in pairwise(kept))
    assert len(kept) == MOST_CLOSES
    assert closes.newest == 4_999
    assert largest <= 3 * (items - kept[0]) / MOST_CLOSES


def test_only_an_epoch_whose_close_is_remembered_is_provable() -> None:
    closes = Closes(7, {})
    for epoch in (2, 5, 9):
        closes.add(close(7, epoch, {0: epoch}))
    assert [closes.provable(epoch) for epoch in (1, 2, 3, 5, 6, 9, 10)] == [2, 2, 5, 5, 9, 9, 9]
