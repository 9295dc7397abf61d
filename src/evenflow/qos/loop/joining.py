"""Plain topics on the loop: their writers tell how full they are, their readers obey.

.. code-block:: python

    with join(domain, config, writer, reader):
        ...

What a program has set at a reader itself is the least that stays: the controller only adds to it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.rates import Target, Usage, take_part
from evenflow.closing import Closing
from evenflow.errors import ClosedError
from evenflow.qos.consistency import largest_separation
from evenflow.qos.plain import PlainReader, PlainWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant

_NUMBERS: Final = count(1)


class Joined(Closing):
    """Readers and writers that take part until it is closed; close it before them."""

    def __init__(self, parts: ExitStack) -> None:
        self._parts = parts

    def close(self) -> None:
        """Take part no more; readers keep the separation that is in effect."""
        self._parts.close()


def join(domain: Participant, config: Config, *endpoints: PlainReader | PlainWriter) -> Joined:
    """Let writers and readers of plain topics take part in the loop.

    Args:
        domain: The process's participant.
        config: The configuration, ``[qos]`` of it.
        endpoints: What takes part.
    """
    with ExitStack() as parts:
        for endpoint in endpoints:
            topic = endpoint.topic.name
            if isinstance(endpoint, PlainWriter):
                part = take_part(domain, config, topic, use=_use_of(endpoint))
            else:
                part = take_part(domain, config, topic, target=_target_of(endpoint))
            parts.enter_context(part)
        return Joined(parts.pop_all())


def _use_of(writer: PlainWriter) -> Callable[[], Usage]:
    def look() -> Usage:
        use = writer.standing()
        return Usage(use.name, use.used, use.used_most, use.kept, use.kept_most)

    return look


def _target_of(reader: PlainReader) -> Target:
    topic, least = reader.topic, reader.separation_s

    def separate(separation_s: float) -> None:
        with suppress(ClosedError):  # it reads nothing any more
            reader.set_separation(max(separation_s, least))

    return Target(
        topic.name,
        f"reader {next(_NUMBERS)}",
        topic.thin.value,
        separate,
        lambda: reader.filtered,
        topic.policies.deadline_s,
        largest_separation(topic.policies),
    )
