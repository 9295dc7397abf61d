"""Which quality of service policies go together, and which separation they allow.

The paper asks for one thing: the separation must be below the deadline. DDS asks for more, and a
pair that DDS accepts can still be of no use. What must hold, in this order:

* *a separation is below the deadline*: otherwise the filter itself makes the deadline missed;
* *less the latency budget*: a sample may be so late, and the next one must still be in time;
* *a separation is not above the lifespan*: otherwise a reader has nothing that is valid until
  the next sample is let through;
* *a latency budget is below deadline and lifespan*, for the same two reasons;
* *a history fits into the resource limits*: depth is not above samples per instance (DDS), and
  those not above all samples (DDS). A history that keeps all needs a limit to be told full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TICK_S: Final = 1e-9
"""The resolution of a duration in DDS."""
LONGEST_S: Final = 1e9
"""The longest time, 31 years; DDS counts nanoseconds in 64 bits."""
MOST: Final = 2**31 - 1
"""The largest count that DDS takes."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a topic that a separation must go with. Infinite, or 0: no such limit."""

    deadline_s: float = math.inf
    """Longest time between two samples of an instance."""
    latency_budget_s: float = 0.0
    """How late a sample may be made, for the sake of fewer packets."""
    lifespan_s: float = math.inf
    """How long a sample is valid."""
    depth: int = 0
    """Samples of an instance that are kept; 0: all."""
    max_samples: int = 0
    """Resource limit: samples altogether."""
    max_instances: int = 0
    """Resource limit: instances."""
    max_samples_per_instance: int = 0
    """Resource limit: samples of one instance."""


def largest_separation(policies: Policies) -> float:
    """The largest separation that goes with the policies; infinite where nothing bounds it."""
    below = policies.deadline_s - policies.latency_budget_s
    # A long deadline has no room for a nanosecond in a float: take the next one below.
    strictly = min(below - TICK_S, math.nextafter(below, 0.0)) if below < math.inf else below
    return max(0.0, min(strictly, policies.lifespan_s))


def problems(policies: Policies, separation_s: float = 0.0) -> list[str]:
    """Say in words what does not go together; nothing when all is well."""
    return [*_numbers(policies, separation_s)] or [
        *_times(policies),
        *_history(policies),
        *_separation(policies, separation_s),
    ]


def _numbers(policies: Policies, separation_s: float) -> Iterator[str]:
    times = {
        "deadline": policies.deadline_s,
        "latency budget": policies.latency_budget_s,
        "lifespan": policies.lifespan_s,
        "separation": separation_s,
    }
    for name, seconds in times.items():
        if not seconds >= 0.0:
            yield f"the {name} is {seconds}: a time is 0 or more"
        elif LONGEST_S < seconds < math.inf:
            yield f"the {name} is {seconds:g} s: a time is at most {LONGEST_S:g} s"
    for name in ("deadline", "lifespan"):
        if times[name] == 0.0:
            yield f"the {name} is 0: no sample could meet it"
    for name in ("latency budget", "separation"):
        if math.isinf(times[name]):
            yield f"the {name} is infinite: no sample would ever come"
    counts = {
        "depth": policies.depth,
        "max_samples": policies.max_samples,
        "max_instances": policies.max_instances,
        "max_samples_per_instance": policies.max_samples_per_instance,
    }
    for name, count in counts.items():
        if not 0 <= count <= MOST or count % 1:
            yield f"{name} is {count}: it is a whole number, 0 (no limit) to {MOST}"


def _times(policies: Policies) -> Iterator[str]:
    budget = policies.latency_budget_s
    if budget >= policies.deadline_s:
        yield (
            f"the latency budget of {budget:g} s is not below the deadline of "
            f"{policies.deadline_s:g} s: samples that use it miss the deadline"
        )
    if budget >= policies.lifespan_s:
        yield (
            f"the latency budget of {budget:g} s is not below the lifespan of "
            f"{policies.lifespan_s:g} s: samples that use it are dead on arrival"
        )


def _history(policies: Policies) -> Iterator[str]:
    depth, each, all_of = policies.depth, policies.max_samples_per_instance, policies.max_samples
    if depth and each and depth > each:
        yield f"a history of {depth} does not fit into max_samples_per_instance = {each}"
    if each and all_of and each > all_of:
        yield f"max_samples_per_instance = {each} is above max_samples = {all_of}"
    if depth and all_of and depth > all_of:
        yield f"a history of {depth} does not fit into max_samples = {all_of}"
    if policies.max_instances and all_of and policies.max_instances > all_of:
        yield (
            f"max_instances = {policies.max_instances} is above max_samples = {all_of}: "
            "an instance needs one sample at least"
        )


def _separation(policies: Policies, separation_s: float) -> Iterator[str]:
    if separation_s <= 0.0:
        return
    if separation_s >= policies.deadline_s:
        yield (
            f"the separation of {separation_s:g} s is not below the deadline of "
            f"{policies.deadline_s:g} s: the filter alone would make readers miss it"
        )
    elif separation_s + policies.latency_budget_s >= policies.deadline_s:
        yield (
            f"the separation of {separation_s:g} s and the latency budget of "
            f"{policies.latency_budget_s:g} s are together not below the deadline of "
            f"{policies.deadline_s:g} s"
        )
    if separation_s > policies.lifespan_s:
        yield (
            f"the separation of {separation_s:g} s is above the lifespan of "
            f"{policies.lifespan_s:g} s: readers would have nothing valid in between"
        )
