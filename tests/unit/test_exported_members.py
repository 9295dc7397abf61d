"""What ``evenflow`` offers is a promise: a change of it is a change of this list."""

from __future__ import annotations

import evenflow
from evenflow.qos import plain


def test_exported_names_are_pinned() -> None:
    assert sorted(evenflow.__all__) == [
        "AsyncPublisher",
        "AsyncReplies",
        "AsyncSubscriber",
        "Balancer",
        "Batch",
        "Config",
        "EvenflowError",
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


def test_names_of_plain_topics_are_pinned() -> None:
    assert sorted(plain.__all__) == [
        "PlainReader",
        "PlainTopic",
        "PlainWriter",
        "Policies",
        "Thin",
        "WriterStats",
    ]
