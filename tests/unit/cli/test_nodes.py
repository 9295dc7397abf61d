"""What `evenflow nodes` says of a node beside its numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.cli.nodes import _tell_of_machines, as_row
from evenflow.model.load import NodeState
from evenflow.model.messages import NodeReport

REPORT = NodeReport(
    "items", "one~abc", 1, 1, False, (), (), (), 0, 0, 0, 0, 0, 0, 0, 0.0, "here", 7
)  # fmt: skip


@pytest.mark.parametrize(
    ("state", "cpu", "own", "told"),
    [
        (NodeState.OVERLOADED, 93.0, 2.0, True),
        (NodeState.OVERLOADED, 93.0, 80.0, False),  # its own work
        (NodeState.OVERLOADED, 20.0, 1.0, False),  # an application that waits all the time
        (NodeState.NORMAL, 60.0, 2.0, False),
    ],
)
def test_one_that_only_its_machine_makes_overloaded_is_told(
    state: NodeState, cpu: float, own: float, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    row = as_row(replace(REPORT, state=state, cpu=cpu, process_cpu=own))
    _tell_of_machines([row])
    said = capsys.readouterr().err
    assert ("one~abc is overloaded by other work of its machine: of 93 %" in said) is told
