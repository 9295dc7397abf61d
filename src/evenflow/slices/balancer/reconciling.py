"""What a report says and what the map says must agree in the end: where they differ, and how.

A node lacks a slice that it owns by the map and does not process under the map's term: an order was
lost, or one of a former balancer came late. It has forgotten to give up a slice that it was taking
in a session that is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.model.messages import NodeReport, SliceState

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from evenflow.slices.balancer.owners import Owners


@dataclass(frozen=True, slots=True)
class Differences:
    """What has to be done about a node's report."""

    lacking: tuple[int, ...]
    """Slices the node has to take."""
    forgotten: dict[int, tuple[int, ...]]
    """Slices it is still taking, by the term of a session that nobody leads."""


def differences(
    report: NodeReport,
    owners: Owners,
    sessions: Container[int],
    is_pending: Callable[[int], bool],
) -> Differences:
    """Compare a report with the map; ``is_pending``: in a session or being taken right now."""
    works_on = set()
    forgotten: dict[int, list[int]] = {}
    for slice_id, state, term in zip(report.slices, report.states, report.terms, strict=True):
        if state == SliceState.AVAILABLE:
            works_on.add((slice_id, term))
        elif state == SliceState.TAKING and term not in sessions:
            forgotten.setdefault(term, []).append(slice_id)
    lacking = tuple(
        slice_id
        for slice_id in owners.owned_by(report.node)
        if (slice_id, owners.terms[slice_id]) not in works_on and not is_pending(slice_id)
    )
    return Differences(lacking, {term: tuple(slices) for term, slices in forgotten.items()})
