"""A reader takes over from another, under random schedules, against DDS's filter as it is.

The model: writers whose samples of an instance carry ascending times; readers that filter per
instance; durable ones are first given the history, at any later moment, as Cyclone does. Everything
may happen between any two steps of a change.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from evenflow.qos.plain.succession import Stamp, Succession

DEPTH = 3


@dataclass
class Reader:
    """A reader as Cyclone has it."""

    separation: int
    backlog: deque[Stamp] = field(default_factory=deque)
    """Sent to it, not arrived: history, and what came since."""
    catching_up: bool = False
    cache: deque[Stamp] = field(default_factory=deque)
    let_through: list[Stamp] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)

    def send(self, stamp: Stamp) -> None:
        if self.catching_up:
            self.backlog.append(stamp)
        else:
            self.arrive(stamp)

    def catch_up(self) -> None:
        while self.backlog:
            self.arrive(self.backlog.popleft())
        self.catching_up = False

    def arrive(self, stamp: Stamp) -> None:
        last = self.last.get(stamp.instance)
        if last is None or stamp.time - self.separation >= last:
            self.last[stamp.instance] = stamp.time
            self.cache.append(stamp)
            self.let_through.append(stamp)

    def take_all(self) -> list[Stamp]:
        taken = list(self.cache)
        self.cache.clear()
        return taken


class World:
    """Writers, a reader or two, and the shell's steps."""

    def __init__(self, *, durable: bool) -> None:
        self.durable = durable
        self.now = 0
        self.written: list[Stamp] = []
        self.readers = [Reader(0)]
        self.all_readers = list(self.readers)
        self.succession = Succession(durable=durable)
        self.passed: list[Stamp] = []
        self.opened_after: list[tuple[Reader, dict[tuple[str, int], int]]] = []

    def write(self, writer: int, instance: str, later: int) -> None:
        self.now += later
        stamp = Stamp(instance, writer, self.now)
        self.written.append(stamp)
        for reader in self.readers:
            reader.send(stamp)

    def take(self) -> None:
        present = self.readers[-1]
        self.passed += [one for one in present.take_all() if self.succession.passes(one)]

    def open(self, separation: int) -> None:
        self.take()
        self.succession.begin()
        newest: dict[tuple[str, int], int] = {}
        for one in self.passed:
            newest[one.instance, one.writer] = max(one.time, newest.get(one[:2], 0))
        reader = Reader(separation)
        if self.durable:
            reader.catching_up = True
            reader.backlog.extend(self.history())
        self.readers.append(reader)
        self.all_readers.append(reader)
        self.opened_after.append((reader, newest))

    def history(self) -> list[Stamp]:
        kept = []
        for one in self.written:
            later = [s for s in self.written if s[:2] == one[:2] and s.time > one.time]
            if len(later) < DEPTH:
                kept.append(one)
        return kept

    def close_old(self) -> None:
        old = self.readers.pop(0)
        old.catch_up()
        self.passed += [one for one in old.take_all() if self.succession.from_old(one)]


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 2), st.sampled_from("ab"), st.integers(1, 5)),
        st.tuples(st.just("take")),
        st.tuples(st.just("open"), st.integers(0, 8)),
        st.tuples(st.just("close")),
        st.tuples(st.just("catch up")),
    ),
    max_size=80,
)


def run(world: World, actions) -> None:
    for name, *arguments in actions:
        if name == "write":
            world.write(*arguments)
        elif name == "take" and len(world.readers) == 1:
            world.take()
        elif name == "open" and len(world.readers) == 1:
            world.open(*arguments)
        elif name == "close" and len(world.readers) == 2:
            world.close_old()
        elif name == "catch up":
            world.readers[-1].catch_up()
    if len(world.readers) == 2:
        world.close_old()
    world.readers[0].catch_up()
    world.take()


@given(actions=ACTIONS, durable=st.booleans())
def test_nothing_twice_and_nothing_lost_that_a_filter_lets_through(actions, durable):
    world = World(durable=durable)
    run(world, actions)
    assert max(Counter(world.passed).values(), default=1) == 1
    passed = set(world.passed)
    assert passed >= set(world.all_readers[0].let_through)
    for reader, newest in world.opened_after:
        # History that is not newer than what was passed on before is not wanted again.
        wanted = {one for one in reader.let_through if one.time > newest.get(one[:2], 0)}
        assert passed >= wanted


@given(actions=ACTIONS, durable=st.booleans())
def test_what_was_passed_on_was_let_through_by_a_reader(actions, durable):
    world = World(durable=durable)
    run(world, actions)
    let_through = {one for reader in world.all_readers for one in reader.let_through}
    assert set(world.passed) <= let_through


def test_what_the_new_reader_lets_through_comes_also_after_a_later_one_of_the_old():
    succession = Succession(durable=True)
    assert succession.passes(Stamp("a", 1, 10))
    succession.begin()
    assert succession.from_old(Stamp("a", 1, 12))
    assert not succession.passes(Stamp("a", 1, 9))
    assert not succession.passes(Stamp("a", 1, 10))
    assert succession.passes(Stamp("a", 1, 11))
    assert not succession.passes(Stamp("a", 1, 12))
    assert succession.passes(Stamp("a", 1, 13))
    assert (succession.history, succession.repeated) == (2, 1)


def test_nothing_is_remembered_of_an_instance_without_writers():
    succession = Succession(durable=True)
    succession.passes(Stamp("a", 1, 10))
    succession.begin()
    succession.from_old(Stamp("a", 1, 12))
    succession.gone("a", at_last=False)
    assert not succession.passes(Stamp("a", 1, 10))
    succession.gone("a", at_last=True)
    assert not succession._newest
    assert not succession._passed
    assert not succession._from_old


def test_a_topic_that_is_not_durable_needs_no_memory():
    succession = Succession(durable=False)
    for number in range(100):
        assert succession.passes(Stamp(number, 1, 10))
    assert not succession._newest
    assert succession.passes(Stamp(1, 1, 5)), "a clock that went back"
