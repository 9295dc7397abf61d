"""One verifier for all algorithms: what no plan may ever do.

The balancer refuses a plan with faults instead of carrying it out; the property tests run every
algorithm against the named and the random clusters of :mod:`evenflow.testing.sample_clusters`
through the same function.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenflow.balance.base import Algorithm, barred_from, settled, slices_on_leaving
from evenflow.balance.count import assign_unowned
from evenflow.errors import EvenflowError, PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenflow.model.plan import Plan
    from evenflow.model.snapshot import LoadSnapshot, PlacedSlice


def faults(
    algorithm: Algorithm, snapshot: LoadSnapshot, plan: Plan, *, joined: str | None = None
) -> tuple[str, ...]:
    """Everything that is wrong with a plan for this snapshot, in words; empty when it is sound.

    Args:
        algorithm: Who made it.
        snapshot: What it was made for.
        plan: The plan.
        joined: The node that has just joined, when the plan is for that.
    """
    broken = tuple(_broken_moves(algorithm, snapshot, plan, joined))
    return broken or tuple(_broken_promises(algorithm, snapshot, plan))


def sound_plan(algorithm: Algorithm, snapshot: LoadSnapshot, *, joined: str | None = None) -> Plan:
    """The algorithm's plan for this snapshot, or for a node that has just joined.

    Raises:
        PlanError: The plan has faults, or the algorithm failed.
    """
    try:
        if joined is None:
            plan = algorithm.analyze_load(snapshot)
        else:
            plan = algorithm.on_new_processing_node(snapshot, joined)
        found = faults(algorithm, snapshot, plan, joined=joined)
    except EvenflowError:
        raise
    except Exception as error:  # an algorithm of others may raise anything
        failure = f"{type(error).__name__}: {error}"
        raise PlanError(f"refused, algorithm {algorithm.name!r} failed: {failure}") from error
    if found:
        raise PlanError(f"refused, algorithm {algorithm.name!r}: " + "; ".join(found))
    return plan


def sound_assignment(snapshot: LoadSnapshot) -> dict[str, tuple[int, ...]]:
    """Owners for the slices that have none; empty when no node can take slices.

    Raises:
        PlanError: A slice would get no owner or two, or one that cannot have it.
    """
    assignment = assign_unowned(snapshot)
    given = Counter(slice_id for slices in assignment.values() for slice_id in slices)
    staying = {node.name for node in snapshot.active}
    wrong = sorted(assignment.keys() - staying)
    if wrong:
        raise PlanError(f"refused, {wrong[0]!r} is leaving or unknown and takes slices")
    if staying and given != Counter(each.id for each in snapshot.unowned):
        raise PlanError("refused, not every slice without an owner gets one owner")
    return assignment


def _broken_moves(
    algorithm: Algorithm, snapshot: LoadSnapshot, plan: Plan, joined: str | None
) -> Iterator[str]:
    """Moves that cannot or must not be done."""
    nodes = {node.name: node for node in snapshot.nodes}
    slices = {each.id: each for each in snapshot.slices}
    times = Counter(slice_id for move in plan.moves for slice_id in move.slices)
    yield from (f"slice {slice_id} moves twice" for slice_id, n in times.items() if n > 1)
    for move in plan.moves:
        if not move.slices:
            yield f"a move from {move.giver!r} to {move.taker!r} names no slice"
        if move.giver not in nodes or move.taker not in nodes:
            yield f"unknown node in a move from {move.giver!r} to {move.taker!r}"
            continue
        if move.giver == move.taker:
            yield f"{move.giver!r} gives slices to itself"
        if nodes[move.taker].leaving:
            yield f"leaving node {move.taker!r} takes slices"
        for slice_id in move.slices:
            each = slices.get(slice_id)
            if each is None or each.owner != move.giver:
                yield f"slice {slice_id} does not belong to {move.giver!r}"
            elif not nodes[move.giver].leaving and move.taker != joined:
                yield from _restless(algorithm, snapshot.time, each, move.taker)


def _restless(algorithm: Algorithm, now: float, each: PlacedSlice, taker: str) -> Iterator[str]:
    """Slices that should stay for a while."""
    if not settled(each, now, algorithm.settle_s):
        yield f"slice {each.id} moved less than {algorithm.settle_s} s ago"
    if barred_from(each, now, algorithm.return_s) == taker:
        yield f"slice {each.id} goes back to {taker!r}, where it has come from"


def _broken_promises(algorithm: Algorithm, snapshot: LoadSnapshot, plan: Plan) -> Iterator[str]:
    """Plans that can be done but should not."""
    after = plan.applied_to(snapshot) if plan else snapshot
    if plan:
        was, will_be = algorithm.badness(snapshot), algorithm.badness(after)
        if not will_be < was:
            yield f"nothing is gained: badness {was} before, {will_be} after"
    if slices_on_leaving(after):
        yield "slices stay on a node that leaves"
    measured = algorithm.measure(after)
    if plan.expected.keys() != measured.keys():
        yield "the expected loads are not those of the nodes"
    elif not _close(plan.expected, measured):
        yield "the expected loads are not those after the moves"


def _close(expected: Mapping[str, float], measured: Mapping[str, float]) -> bool:
    """Whether two sums agree but for rounding."""
    dust = 1e-9 * sum(measured.values())
    return all(abs(expected[name] - load) <= dust for name, load in measured.items())
