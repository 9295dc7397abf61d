"""What is in effect in a process: never more than allowed, never for longer than granted."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.rates.separations import Separations, Target
from evenflow.errors import UsageError


class Applied:
    """A target that remembers what it was told."""

    def __init__(self, topic: str, name: str, policy: str, most_s: float = math.inf) -> None:
        self.value = 0.0
        self.target = Target(topic, name, policy, self._set, lambda: 0, most_s=most_s)

    def _set(self, separation_s: float) -> None:
        self.value = separation_s


ORDERS = st.lists(
    st.tuples(
        st.floats(0.0, 5.0),  # time that passes
        st.sampled_from(["a", "b"]),
        st.floats(0.0, 10.0),
        st.floats(0.1, 8.0),
    ),
    max_size=20,
)


@given(ORDERS, st.floats(0.1, 12.0))
def test_what_is_in_effect_is_what_was_ordered_last_within_bounds_and_lease(
    orders: list[tuple[float, str, float, float]], most_s: float
) -> None:
    separations, now = Separations("p"), 0.0
    open_one = Applied("a", "1", "source")
    bounded = Applied("a", "2", "readers", most_s)
    never = Applied("b", "3", "never")
    for one in (open_one, bounded, never):
        separations.add(one.target)
    granted: tuple[float, float] = (0.0, math.inf)
    for passed, topic, separation_s, lease_s in orders:
        now += passed
        separations.expire(now)
        if now >= granted[1]:
            granted = (0.0, math.inf)
        if topic == "b":
            with pytest.raises(UsageError):
                separations.order(topic, separation_s, lease_s, now)
        else:
            separations.order(topic, separation_s, lease_s, now)
            granted = (separation_s, now + lease_s)
        assert open_one.value == granted[0]
        assert bounded.value == min(granted[0], most_s)
        assert never.value == 0.0
    assert {one.name: one.separation_s for one in separations.reports()} == {
        "1": open_one.value,
        "2": bounded.value,
        "3": 0.0,
    }


def test_an_order_of_a_topic_that_is_not_here_is_refused() -> None:
    with pytest.raises(UsageError, match="never thinned here"):
        Separations("p").order("a", 1.0, 1.0, 0.0)


def test_who_comes_later_begins_with_what_is_in_effect() -> None:
    separations = Separations("p")
    first, second, never = (
        Applied("a", "1", "source"),
        Applied("a", "2", "source"),
        Applied("a", "3", "never"),
    )
    separations.add(first.target)
    separations.order("a", 2.0, 10.0, 0.0)
    separations.add(second.target)
    separations.add(never.target)
    assert (second.value, never.value) == (2.0, 0.0)
    separations.remove(first.target)
    assert separations.expire(10.0) == ["a"]
    assert second.value == 0.0
    assert first.value == 2.0, "nobody tells who is no more"


def test_with_the_last_of_a_topic_its_separation_is_forgotten() -> None:
    separations = Separations("p")
    first = Applied("a", "1", "source")
    separations.add(first.target)
    separations.order("a", 2.0, 10.0, 0.0)
    separations.remove(first.target)
    again = Applied("a", "1", "source")
    separations.add(again.target)
    assert again.value == 0.0


def test_one_that_cannot_be_changed_keeps_nobody_from_it_and_is_tried_again() -> None:
    separations = Separations("p")
    broken, other = Applied("a", "1", "source"), Applied("a", "2", "source")
    faults = [RuntimeError("closed")]

    def fail_at_first(separation_s: float) -> None:
        if separation_s == 0.0 and faults:
            raise faults.pop()
        broken.value = separation_s

    separations.add(replace(broken.target, separate=fail_at_first))
    separations.add(other.target)
    separations.order("a", 2.0, 10.0, 0.0)
    with pytest.raises(RuntimeError, match="closed"):
        separations.expire(10.0)
    assert (broken.value, other.value) == (2.0, 0.0)
    assert separations.expire(10.5) == ["a"]
    assert (broken.value, other.value) == (0.0, 0.0)
    assert separations.expire(99.0) == []


def test_full_rate_needs_no_lease() -> None:
    separations = Separations("p")
    separations.add(Applied("a", "1", "source").target)
    separations.order("a", 2.0, 10.0, 0.0)
    separations.order("a", 0.0, 10.0, 1.0)
    assert separations.expire(99.0) == []
