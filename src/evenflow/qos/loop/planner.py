"""The planner ``qos``: tells every process whose separation is not the wanted one.

Its action is ``separate``, carried out by the station of a process
(:mod:`evenflow.autonomic.rates.station`): a topic, its separation, and for how long it stays
without another word. Actions run side by side and are not undone: what was applied where is
reported, and whatever still differs is told again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.autonomic.rates.orders import SEPARATE, SeparateArgs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.autonomic.knowledge.knowledge import Knowledge

DEADLINE_S: Final = 3.0
"""A process that does not answer holds up the other plans for no longer than this."""


class Wish(NamedTuple):
    """A separation that a process is to be told."""

    process: str
    topic: str
    separation_s: float
    lease_s: float


class Wishes(Protocol):
    """Who knows what is wanted."""

    def outdated(self, properties: Mapping[str, object], now: float) -> list[Wish]:
        """What has to be told to processes that can be told."""
        ...

    def told(self, wishes: Iterable[Wish], now: float) -> None:
        """This is being told."""
        ...

    def why(self, topic: str) -> str:
        """Why a topic has the separation that is wanted."""
        ...


class QosPlanner:
    """Plans for rates, as a planner of the loop.

    Args:
        wishes: Knows what is wanted.
    """

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """Processing nodes are not its business, but the operator's rules are."""
        return self.analyze_load(knowledge)

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """Tell everybody whose separation is not what is wanted, or runs out."""
        wishes = self._wishes.outdated(knowledge.properties, knowledge.time)
        if not wishes:
            return None
        self._wishes.told(wishes, knowledge.time)
        topics = sorted({wish.topic for wish in wishes})
        reason = "; ".join(f"{topic}: {self._wishes.why(topic)}" for topic in topics)
        return ActionPlan(tuple(_action(*each) for each in enumerate(wishes)), reason)


def _action(number: int, wish: Wish) -> Action:
    args = msgspec.json.encode(SeparateArgs(wish.topic, wish.separation_s, wish.lease_s))
    return Action(f"separate-{number}", wish.process, SEPARATE, args, deadline_s=DEADLINE_S)
