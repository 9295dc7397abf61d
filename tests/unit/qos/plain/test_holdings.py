"""What a writer manages and keeps, against a writer that remembers everything."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.qos.consistency import Policies
from evenflow.qos.plain.holdings import Holdings


@dataclass
class Everything:
    """Every sample that was ever written, and what of it the rules of DDS say."""

    depth: int
    durable: bool
    samples: list[tuple[int, str]] = field(default_factory=list)
    acknowledged: int = 0

    def newest(self) -> list[int]:
        """The newest ``depth`` of each instance; all without a depth."""
        found: list[int] = []
        for instance in {instance for _, instance in self.samples}:
            numbers = [number for number, one in self.samples if one == instance]
            found += numbers[-self.depth :] if self.depth else numbers
        return found

    @property
    def used(self) -> int:
        return sum(number > self.acknowledged for number in self.newest())

    @property
    def kept(self) -> int:
        if not self.depth:
            return 0
        return len(self.newest()) if self.durable else self.used


STEPS = st.lists(
    st.one_of(st.sampled_from("abc"), st.integers(0, 12)),
    max_size=60,
)


@given(steps=STEPS, depth=st.integers(0, 4), durable=st.booleans())
def test_counts_are_those_of_a_writer_that_remembers_everything(steps, depth, durable):
    durable = durable and depth > 0
    holdings = Holdings(Policies(depth=depth), durable=durable)
    all_of_them = Everything(depth, durable)
    for step in steps:
        if isinstance(step, str):
            holdings.wrote(step)
            all_of_them.samples.append((holdings.written, step))
        else:
            # As far back as the step says: acknowledgements come late, and never go back.
            number = max(all_of_them.acknowledged, holdings.written - step)
            all_of_them.acknowledged = number
            holdings.acknowledged(number)
        assert (holdings.used, holdings.kept) == (all_of_them.used, all_of_them.kept)
        assert holdings.kept <= holdings.kept_most or not depth


def test_memory_follows_what_is_used_and_not_what_was_written():
    holdings = Holdings(Policies(depth=2), durable=False)
    for _ in range(10_000):
        holdings.wrote("a")
    assert holdings.used == 2
    assert len(holdings._order) < 100


@pytest.mark.parametrize(
    ("policies", "room"),
    [
        (Policies(max_samples=3), False),
        (Policies(max_samples=4), True),
        (Policies(max_samples_per_instance=2), False),
        (Policies(max_samples_per_instance=3), True),
        (Policies(max_samples=3, depth=2), True),  # it replaces one of its instance
        (Policies(max_samples=3, depth=3), False),
    ],
)
def test_room_for_a_sample_of_an_instance_that_has_two_of_three(policies, room):
    holdings = Holdings(policies, durable=False)
    for instance in "baa":
        holdings.wrote(instance)
    assert holdings.has_room("a") is room


def test_room_for_a_new_instance():
    holdings = Holdings(Policies(max_instances=1), durable=False)
    holdings.wrote("a")
    assert holdings.has_room("a")
    assert not holdings.has_room("b")


def test_room_comes_with_acknowledgement():
    holdings = Holdings(Policies(max_samples=2), durable=False)
    holdings.wrote("a")
    holdings.wrote("b")
    assert not holdings.has_room("c")
    holdings.acknowledged(1)
    assert holdings.has_room("c")
