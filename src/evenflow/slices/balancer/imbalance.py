"""Whether the loads of a topic are uneven enough, and for long enough, to do something about it.

Every ``balancer.analyze_s`` the topic's planner is asked what it would do. Three limits keep a
quiet system quiet:

* a topic whose busiest node has hardly anything to do (``balancer.quiet_items`` a second and
  ``balancer.quiet_busy`` percent of a core) is left alone, and so is one whose loads are not known;
* what the plan would move must be worth something: at least ``balancer.least_gain`` of the mean
load
  of a node;
* one look is not enough: a short peak passes, so two looks in a row must agree.

A topic that is balanced by number (``count``) is not looked at: numbers change only with the nodes,
and what an operator has moved by hand stays.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.local_events import Phase
from evenflow.errors import DecodeError
from evenflow.slices.balancer.planner import MOVE_SLICES, decoded

if TYPE_CHECKING:
    from evenflow.autonomic.execute.actions import ActionPlan
    from evenflow.model.snapshot import LoadSnapshot
    from evenflow.slices.balancer.core import BalancerCore

MEASURED_WITHIN_S = 10.0
"""After this time what is not known of loads is not waited for."""
LOOKS = 2
"""How many uneven looks in a row are an event."""


class ImbalanceWatch:
    """Looks at one topic."""

    def __init__(self, core: BalancerCore, least_gain: float) -> None:
        """Begin with the least load worth moving, as a part of the mean load of a node."""
        self._core = core
        self._least_gain = least_gain
        self._uneven = 0
        self._raised = False

    def worth_a_look(self, snapshot: LoadSnapshot, begun_at: float) -> bool:
        """Whether there is load, and it is known of all slices (or never will be)."""
        core = self._core
        owned = [slice_id for slice_id, owner in enumerate(core.owners.of) if owner]
        waited = snapshot.time - begun_at > MEASURED_WITHIN_S
        known = waited or all(map(core.loads.knows, owned))
        return known and any(map(core.loads.of, owned)) and not snapshot.quiet

    def look(self, plan: ActionPlan | None, snapshot: LoadSnapshot) -> Phase | None:
        """Take in what the planner would do; returns whether an imbalance begins or ends.

        One that lasts begins anew after every ``LOOKS`` looks, because what was done about it was
        not enough.
        """
        if plan is None or not self._pays(plan, snapshot):
            self._uneven = 0
            ended, self._raised = self._raised, False
            return Phase.CLEARED if ended else None
        self._uneven += 1
        if self._uneven < LOOKS:
            return None
        self._uneven = 0
        self._raised = True
        return Phase.RAISED

    def _pays(self, plan: ActionPlan, snapshot: LoadSnapshot) -> bool:
        """Whether what moves is worth it; what other planners do besides moving always is."""
        try:
            moves = [decoded(each.args) for each in plan.actions if each.kind == MOVE_SLICES]
        except DecodeError:
            return True
        if len(moves) < len(plan.actions):
            return True
        moving = {slice_id for move in moves for slice_id in move.slices}
        moved = sum(each.load for each in snapshot.slices if each.id in moving)
        loads = snapshot.loads()
        return moved >= self._least_gain * fmean(loads.values())


def seen(snapshot: LoadSnapshot) -> dict[str, float]:
    """The readings that an imbalance is told with: the load of every node, and how uneven."""
    loads = snapshot.loads()
    mean = fmean(loads.values()) if loads else 0.0
    readings = {f"load {node}": load for node, load in sorted(loads.items())}
    return {**readings, "max_over_mean": max(loads.values()) / mean if mean else 0.0}
