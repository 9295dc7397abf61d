"""What is known of rates in the domain: how full writers are, and which separation is in effect.

The newest word of each process counts. A process that is gone takes part no longer, and what it
said is gone with it. Remembered are at most :data:`MOST_REPORTS` of each kind: those beyond are not
looked after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenflow.config.sections import NEVER
from evenflow.domain.channels import Gone
from evenflow.model.messages import SeparationReport, WriterUse
from evenflow.qos.use import Use

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_REPORTS: Final = 100_000


class RateView:
    """How full writers are and what is in effect, by topic."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, str], WriterUse] = {}
        self._reports: dict[tuple[str, str, str], SeparationReport] = {}

    def handle(self, message: Any) -> None:
        """Take in what a process tells, or that one is not heard any more."""
        match message:
            case WriterUse():
                key = (message.topic, message.process)
                if not message.names:
                    self._uses.pop(key, None)
                elif key in self._uses or len(self._uses) < MOST_REPORTS:
                    self._uses[key] = message
            case SeparationReport():
                at = (message.topic, message.process, message.name)
                if not message.policy:
                    self._reports.pop(at, None)
                elif at in self._reports or len(self._reports) < MOST_REPORTS:
                    self._reports[at] = message
            case Gone() if message.message_type is WriterUse:
                topic, process = message.key
                self._uses.pop((topic, process), None)
            case Gone() if message.message_type is SeparationReport:
                topic, process, name = message.key
                self._reports.pop((topic, process, name), None)

    @property
    def topics(self) -> list[str]:
        """Topics of which something may be thinned."""
        return sorted({one.topic for one in self._reports.values() if one.policy != NEVER})

    def uses(self, topic: str) -> list[Use]:
        """How full each writer of a topic is."""
        return [use for one in self._uses.values() if one.topic == topic for use in _rows(one)]

    def targets(self, topic: str) -> list[SeparationReport]:
        """What may be thinned of a topic, and what is in effect there."""
        return [one for one in self._reports.values() if one.topic == topic and one.policy != NEVER]


def _rows(message: WriterUse) -> Iterator[Use]:
    # A limit of 0 is none. Nobody is more than full: one writer must not outweigh all others.
    used = map(_at_most, message.used, message.used_most)
    kept = map(_at_most, message.kept, message.kept_most)
    columns = (message.names, used, message.used_most, kept, message.kept_most)
    return (Use(*row) for row in zip(*columns, strict=True))


def _at_most(count: int, most: int) -> int:
    return min(count, most) if most else count
