"""Who works with asyncio may say all that the blocking ones may be told, with the same types."""

from __future__ import annotations

import inspect

import pytest

from evenflow.slices.publisher.aio import PublisherOptions
from evenflow.slices.publisher.publisher import Publisher
from evenflow.slices.subscriber.aio import SubscriberOptions
from evenflow.slices.subscriber.subscriber import Subscriber


@pytest.mark.parametrize(
    ("blocking", "options"), [(Publisher, PublisherOptions), (Subscriber, SubscriberOptions)]
)
def test_the_options_are_those_of_the_blocking_one(blocking: type, options: type) -> None:
    parameters = inspect.signature(blocking).parameters.values()
    named = {one.name: one.annotation for one in parameters if one.kind is one.KEYWORD_ONLY}
    given = {name: kind.__forward_arg__ for name, kind in options.__annotations__.items()}
    assert given == named
