"""What passes the decoder and is still no message: found before a core sees it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, get_args, get_type_hints

import pytest

from evenflow.domain.channels import CONTROL
from evenflow.domain.shape import _CHECKS, _PARALLEL, fault_of
from evenflow.model import messages
from evenflow.model.bounds import MOST_ARCS, MOST_POINTS
from evenflow.model.messages import (
    ArcTable,
    BridgeReport,
    CutAnswer,
    Ledger,
    SeparationReport,
    WriterCut,
)

ALONE: Final[dict[type[Any], set[str]]] = {
    messages.ActionOrder: {"args"},
    messages.ArcTable: {"bridges"},
    messages.Beat: {"pages"},
    messages.BridgeReport: {"addresses"},
    messages.GatewayReport: {"addresses", "forgotten", "awaits", "started"},
    messages.GroupMembers: {"members"},
    messages.Mail: {"payload"},
    messages.MailReceipt: {"returned"},
    messages.MapPage: {"nodes"},
    messages.MoveRequest: {"slices"},
    messages.Order: {"slices"},
    messages.Progress: {"consumers"},
    messages.Receipt: {"slices"},
    messages.ReplayRequest: {"until"},
    messages.SendRequest: {"nodes", "payload"},
    messages.WriterSilence: {"writers", "goodbyes"},
}
"""Sequences that are lists of their own, beside the columns of a table."""

ANSWER: Final = CutAnswer(
    "t", 1, 1, "n", False, "", (0, 1), (1, 1), (5, 5), (5, 5), 0, 1, (0,), (5,)
)
LEDGER: Final = Ledger("t", 1, (1, 2), (1, 1), (1, 1), ("a",), (1,))
REPORT: Final = BridgeReport("b1", (), 1, "", 0, "", 0, 3, (5, 9), (1, 2), 0, 0)
TABLE: Final = ArcTable("b1", 1, 1, (5, 9), (0, 1), ("b1", "b2"))
CUT: Final = WriterCut("t", 1, 1, 0, (0, 1), (5, 5), (1, 1), 0)


def sequences(kind: type[Any]) -> set[str]:
    hints = get_type_hints(kind, include_extras=True)
    return {name for name, hint in hints.items() if get_args(hint)[1].sequence}


@pytest.mark.parametrize("kind", [channel.message_type for channel in CONTROL])
def test_every_sequence_is_a_column_or_is_said_to_be_alone(kind: type[Any]) -> None:
    columns = {name for table in _PARALLEL.get(kind, ()) for name in table}
    loose = sequences(kind) - columns - ALONE.get(kind, set())
    assert not loose or kind in _CHECKS, f"{kind.__name__}: which rows have {loose}?"


@pytest.mark.parametrize("message", [ANSWER, LEDGER, CUT, REPORT, TABLE])
def test_columns_of_different_lengths_are_refused(message: Any) -> None:
    assert fault_of(message) == ""
    for table in _PARALLEL[type(message)]:
        for column in table:
            longer = replace(message, **{column: (*getattr(message, column), 1)})
            assert column in fault_of(longer)


def test_a_cut_has_the_terms_of_all_owners_or_of_none() -> None:
    assert fault_of(replace(CUT, owner_terms=())) == ""
    assert fault_of(replace(CUT, owner_terms=(1,))) == "terms of 1 owners for 2 slices"


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e300])
def test_a_separation_is_a_time_that_somebody_could_have_ordered(value: float) -> None:
    report = SeparationReport("t", "p", "n", "source", 0.5, math.inf, math.inf, 0)
    assert fault_of(report) == ""
    assert fault_of(replace(report, separation_s=value))
    for name in ("most_s", "deadline_s"):
        assert bool(fault_of(replace(report, **{name: value}))) is not (value > 0.0)


def test_a_table_of_arcs_is_in_order_and_names_its_takers() -> None:
    assert fault_of(TABLE) == ""
    assert fault_of(replace(TABLE, arcs=(9, 5))) == "arcs that are not in order"
    assert fault_of(replace(TABLE, arcs=(5, 5))) == "arcs that are not in order"
    assert fault_of(replace(TABLE, takers=(0, 2))) == "a taker beyond 2 bridges"
    assert fault_of(replace(TABLE, takers=(0, 0), bridges=())) == "a taker beyond 0 bridges"
    many = tuple(range(MOST_ARCS + 1))
    assert "arcs, above" in fault_of(replace(TABLE, arcs=many, takers=(0,) * len(many)))
    assert "arcs, above" in fault_of(replace(REPORT, arcs=many, arc_devices=many))
    assert "above" in fault_of(replace(REPORT, points=MOST_POINTS + 1))
