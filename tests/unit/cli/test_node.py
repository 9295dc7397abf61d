"""A named node looks whether another has its name; and what it takes for an application."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenflow.cli.node import check_alone, load_application
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError, NameTaken
from evenflow.model.messages import NodeReport

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(batch:\n", "SyntaxError.*line 1"),
        ("import math\n1 / 0\n", "ZeroDivisionError.*line 2"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("async def f(batch): ...\n", "coroutine function"),
        ("f = 3\n", "not callable"),
        ("", "no attribute 'f'"),
    ],
)
def test_an_application_that_will_not_do_is_told_in_one_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"application_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=said) as caught:
        load_application(f"{name}:f")
    assert "\n" not in str(caught.value)
