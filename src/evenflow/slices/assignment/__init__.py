"""Assignment: which slice an item gets (DPSLB thesis, 3.2).

Every item belongs to exactly one slice, found before it is published from the item's fields:
``id``, ``sender``, ``time`` and, when the payload was given as a mapping, its keys (the item's
own three win over keys of the same name). An assignment has to be fast, because it is asked for
every item, and should spread items evenly, though the balancer copes when it does not.

A spec, as in ``evenflow.toml``, is a name and what the assignment works on:

========================  ====================================================================
``modulo:FIELD``          a whole number modulo the number of slices
``hash:FIELD``            a stable hash of a whole number, a string or bytes
``range:FIELD,LOW,HIGH``  equal ranges of a number, in order
``random``                no field at all: an even spread whatever the data
``geo:LAT,LON``           the cell of an equal-area grid, neighbouring cells spread over the slices
``call:MODULE:NAME``      your own function of (fields, slice count)
========================  ====================================================================

In Python an assignment may also be any callable, or an object with the two methods of
:class:`~evenflow.slices.assignment.base.Assignment`. Other distributions offer theirs in the
entry point group ``evenflow.assignments``: a callable that takes what stands behind the colon and
returns an assignment. The file names them like ours, ``NAME`` or ``NAME:ARGUMENT``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evenflow.registry import Registry
from evenflow.slices.assignment.at_random import RandomAssignment, parse_random
from evenflow.slices.assignment.base import Assignment, FieldColumns, Fields
from evenflow.slices.assignment.by_range import RangeAssignment, parse_range
from evenflow.slices.assignment.call import CallAssignment, parse_call
from evenflow.slices.assignment.geo import GeoAssignment, parse_geo
from evenflow.slices.assignment.modulo import ModuloAssignment, parse_modulo
from evenflow.slices.assignment.stable_hash import HashAssignment, parse_hash

__all__ = [
    "ASSIGNMENTS",
    "Assignment",
    "CallAssignment",
    "FieldColumns",
    "Fields",
    "GeoAssignment",
    "HashAssignment",
    "ModuloAssignment",
    "RandomAssignment",
    "RangeAssignment",
    "assignment_of",
    "refuses_nothing",
]

ASSIGNMENTS: Registry[Callable[[str], Assignment]] = Registry(
    "assignment",
    {
        "modulo": parse_modulo,
        "hash": parse_hash,
        "range": parse_range,
        "random": parse_random,
        "geo": parse_geo,
        "call": parse_call,
    },
    group="evenflow.assignments",
)


def assignment_of(
    given: str | Assignment | Callable[[Mapping[str, Any], int], int | None],
) -> Assignment:
    """Return the assignment that a spec, a callable or an assignment stands for."""
    if isinstance(given, str):
        name, _, argument = given.partition(":")
        return ASSIGNMENTS.get(name)(argument)
    if isinstance(given, Assignment):
        return given
    return CallAssignment(given)


def refuses_nothing(assignment: Assignment) -> bool:
    """Whether an assignment gives every item a slice, by nothing but its id or time, or by chance.

    Such items can get their slices later, many at once: there is no error to be told of.
    """
    match assignment:
        case HashAssignment(field) | ModuloAssignment(field):
            return field in {"id", "time"}
    return isinstance(assignment, RandomAssignment)
