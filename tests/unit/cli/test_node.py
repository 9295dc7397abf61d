"""A node that is given a name looks whether another has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.cli.node import check_alone
from evenflow.domain.channels import Gone
from evenflow.errors import NameTaken
from evenflow.model.messages import NodeReport

REPORT = NodeReport(
    "items", "one~abc", 1, 1, False, (), (), (), 0, 0, 0, 0, 0, 0, 0, 0.0, "here", 7
)  # fmt: skip


def test_a_second_node_of_this_name_and_topic_is_refused() -> None:
    with pytest.raises(NameTaken, match=r"node one of topic 'items': is running.* process 7 of"):
        check_alone(REPORT, "one", ("images", "items"))


def test_others_and_those_that_leave_are_not_in_the_way() -> None:
    check_alone(REPORT, "two", ("items",))
    check_alone(REPORT, "one", ("images",))
    check_alone(replace(REPORT, leaving=True), "one", ("items",))
    check_alone(Gone(NodeReport, ("items", "one~abc")), "one", ("items",))
