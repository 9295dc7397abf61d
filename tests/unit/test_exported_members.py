"""What ``evenflow`` offers is a promise: a change of it is a change of this list."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import evenflow
import evenflow.mobile
import evenflow.overlay
from evenflow.qos import plain

if TYPE_CHECKING:
    from types import ModuleType


def test_exported_names_are_pinned() -> None:
    assert sorted(evenflow.__all__) == [
        "AsyncPublisher",
        "AsyncReplies",
        "AsyncSubscriber",
        "Balancer",
        "Batch",
        "Config",
        "EvenflowError",
        "Following",
        "Item",
        "Node",
        "Position",
        "Publisher",
        "Replies",
        "Reply",
        "ServedBatch",
        "Subscriber",
        "__version__",
        "follow",
        "read_from",
    ]


def test_exported_names_exist() -> None:
    for name in evenflow.__all__:
        assert hasattr(evenflow, name)


@pytest.mark.parametrize("package", [evenflow, evenflow.mobile, evenflow.overlay])
def test_completion_finds_what_is_offered(package: ModuleType) -> None:
    assert set(package.__all__) <= set(dir(package))


def test_who_checks_types_sees_the_names_that_programs_see() -> None:
    tree = ast.parse(Path(evenflow.__file__).read_text("utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == evenflow._LATER


def test_names_of_plain_topics_are_pinned() -> None:
    assert sorted(plain.__all__) == [
        "PlainReader",
        "PlainTopic",
        "PlainWriter",
        "Policies",
        "Thin",
        "WriterStats",
    ]
