"""What thinning lets through: the same as a simple rule for one item after the other would."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.publisher.columns import sender_column
from evenflow.slices.publisher.thinning import Thinning

NAMES = st.sampled_from(["a", "b", "c", "d", "é"])
SEPARATIONS = st.sampled_from([0.0, 0.1, 0.5, 2.0])
STEPS = st.floats(-3.0, 3.0).map(lambda step: round(step, 3))
"""How far the clock goes between two calls; it may jump back."""


@dataclass
class Naive:
    """The rule itself, for one item after the other."""

    separation_s: float = 0.0
    last: dict[str, float] = field(default_factory=dict)
    elapsed: float = 0.0
    clock: float | None = None

    def at(self, clock: float) -> None:
        if self.clock is not None:
            self.elapsed += max(0.0, clock - self.clock)
        self.clock = clock

    def passes(self, sender: str) -> bool:
        if not self.separation_s:
            return True
        last = self.last.get(sender)
        if last is not None and self.elapsed - last < self.separation_s:
            return False
        self.last[sender] = self.elapsed
        return True

    def separate(self, separation_s: float) -> None:
        self.separation_s = separation_s
        if not separation_s:
            self.last.clear()


def of_table(thinning: Thinning, names: list[str], now: float) -> list[int]:
    """Let a table through, as the shell does."""
    senders = sender_column(names, len(names))
    rows = thinning.passing(senders, now)
    thinning.note(senders.take(pa.array(rows)))
    return rows.tolist()


def of_single(thinning: Thinning, name: str, now: float) -> bool:
    if thinning.thins(name, now):
        return False
    thinning.note_one(name)
    return True


@given(
    st.lists(
        st.tuples(
            STEPS, SEPARATIONS | st.none(), st.lists(NAMES, min_size=1, max_size=8), st.booleans()
        ),
        max_size=30,
    )
)
def test_it_lets_through_what_the_rule_for_single_items_does(
    calls: list[tuple[float, float | None, list[str], bool]],
) -> None:
    thinning, naive, clock = Thinning(), Naive(), 100.0
    for step, separation, names, one_by_one in calls:
        clock += step
        naive.at(clock)
        thinning.at(clock)
        if separation is not None:
            naive.separate(separation)
            thinning.separate(separation)
        wanted = [row for row, name in enumerate(names) if naive.passes(name)]
        if one_by_one:
            found = [of_single(thinning, name, clock) for name in names]
            assert [row for row, passed in enumerate(found) if passed] == wanted
        else:
            assert of_table(thinning, names, clock) == wanted


@given(st.lists(st.tuples(STEPS, NAMES), max_size=60), st.sampled_from([0.1, 0.5, 2.0]))
def test_what_is_let_through_of_a_sender_is_apart(
    arrivals: list[tuple[float, str]], separation_s: float
) -> None:
    thinning, clock, elapsed = Thinning(), 0.0, 0.0
    thinning.separate(separation_s)
    passed: dict[str, list[float]] = {}
    for step, name in arrivals:
        clock, elapsed = clock + step, elapsed + max(0.0, step)
        first = name not in passed
        if of_single(thinning, name, clock):
            passed.setdefault(name, []).append(elapsed)
        else:
            assert not first, "the first item of a sender is let through"
    for times in passed.values():
        assert all(b - a >= separation_s - 1e-9 for a, b in pairwise(times))


def test_a_question_changes_nothing() -> None:
    """An item that found no room was not let through: its next try is not thinned against it."""
    thinning = Thinning()
    thinning.separate(1.0)
    senders = sender_column(["a", "b", "a"], 3)
    assert thinning.passing(senders, 5.0).tolist() == [0, 1]
    assert not thinning.thins("a", 5.0)
    assert thinning.passing(senders, 5.0).tolist() == [0, 1]


def test_a_name_that_a_dictionary_has_twice_is_one_sender() -> None:
    senders = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "a", "b"])
    thinning = Thinning()
    thinning.separate(1.0)
    assert thinning.passing(senders, 0.0).tolist() == [0, 2]


@pytest.mark.parametrize("active", [False, True])
def test_the_senders_that_are_remembered_are_bounded(active: bool) -> None:
    most, thinning = 100, Thinning(most_senders=100)
    thinning.separate(1.0)
    for number in range(1_000):
        now = 0.0 if active else number * 0.02
        assert of_single(thinning, f"sender-{number}", now)
        assert thinning.senders <= most
    # Whoever was let through last is remembered longest.
    assert thinning.thins("sender-999", 0.0 if active else 999 * 0.02)


def test_full_rate_forgets_everybody() -> None:
    thinning = Thinning()
    thinning.separate(1.0)
    assert of_single(thinning, "a", 0.0)
    assert thinning.thins("a", 0.5)
    thinning.separate(0.0)
    assert thinning.senders == 0
    thinning.separate(1.0)
    assert of_single(thinning, "a", 0.5)
