"""What else can hang on the loop of a balancer: another thing to keep even, beside slices.

A companion hears some channels of the domain, raises events, and makes planners that answer them;
its plans are carried out by executors elsewhere, over the action plan topic. So gateways are kept
even by the same loop as slices, with the same history, and neither knows the other. Who starts the
balancer says which companions it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenflow.autonomic.analyze.local_events import EventNotification
    from evenflow.autonomic.plan.planning import MakePlanner, Place, Planner, Rule
    from evenflow.domain.channels import Channel


class Companion(Protocol):
    """Another thing that is kept even by the loop. It is pure: messages and time come in."""

    @property
    def channels(self) -> Sequence[Channel]:
        """What it wants to hear; their messages are given to nobody else."""
        ...

    @property
    def places(self) -> Mapping[str, Place]:
        """Its planners in use, unless the operator's tables say otherwise."""
        ...

    @property
    def rules(self) -> Sequence[Rule]:
        """What its events lead to."""
        ...

    @property
    def planners(self) -> Mapping[str, MakePlanner]:
        """Who makes its planners, by name."""
        ...

    def handle(self, message: Any, now: float) -> None:
        """Take in a message of its channels, or that an instance of them is gone."""
        ...

    def events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],
        now: float,
    ) -> list[EventNotification]:
        """What there is to tell.

        Args:
            properties: The newest properties of every process.
            planner_at: Gives the planner that is at work in a place.
            now: The loop's time.
        """
        ...

    def plan_failed(self, event_id: str, source_id: str, now: float) -> None:
        """A plan for one of its events, or the planner, has failed."""
        ...
