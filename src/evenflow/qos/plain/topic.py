"""What a plain topic is: its name, its type, its policies, and whether it may be thinned.

Writers and readers of a topic are opened from the same :class:`PlainTopic`, so they agree. Policies
that do not go together are refused here, in words, before DDS sees them
(:mod:`evenflow.qos.consistency`); DDS would say "inconsistent policy" and not which.

An *instance* is what DDS calls it: all samples with the same key. Separation, history and limits
are per instance; a type without a key has one instance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import QosError
from evenflow.qos.consistency import Policies, problems

if TYPE_CHECKING:
    from collections.abc import Hashable

OURS: Final = "evenflow/"
"""How the names of our own channels begin."""


class Thin(Enum):
    """Whether a plain topic may be thinned."""

    NEVER = "never"
    """Nobody may, whoever orders it: alarms."""
    READERS = "readers"
    """By the filter of its readers."""


@dataclass(frozen=True, slots=True)
class PlainTopic:
    """A topic of the user's own.

    Raises:
        QosError: The policies do not go together.
    """

    name: str
    """Name of the DDS topic."""
    type: type[Any]
    """A dataclass that is a ``cyclonedds.idl.IdlStruct``."""
    policies: Policies = field(default_factory=Policies)
    """Deadline, latency budget, lifespan, history depth, resource limits."""
    durable: bool = False
    """Whether a reader that comes late is given the history (transient local)."""
    reliable: bool = True
    """Whether a sample is sent again until it has arrived."""
    thin: Thin = Thin.READERS
    """Whether readers may filter."""

    def __post_init__(self) -> None:
        if faults := self.problems():
            raise QosError(self.name, faults)

    def problems(self, separation_s: float = 0.0) -> list[str]:
        """Say in words what does not go together; nothing when all is well."""
        found = problems(self.policies, separation_s)
        if not self.name or self.name.startswith(OURS):
            found.append(f"the name {self.name!r} is empty or begins with {OURS!r}, which is ours")
        if self.durable and not self.policies.depth:
            found.append("a durable topic keeps a history for late readers: give it a depth")
        if self.durable and not self.reliable:
            found.append("a durable topic must be reliable: history comes by being sent again")
        if separation_s > 0.0 and self.thin is Thin.NEVER:
            found.append("the topic is never thinned")
        return found

    @property
    def bounded(self) -> bool:
        """Whether a reader can be full."""
        limits = self.policies
        return bool(limits.max_samples or limits.max_instances or limits.max_samples_per_instance)

    def instance_of(self, sample: Any) -> Hashable:
        """The instance that a sample belongs to."""
        names = key_fields(self.type)
        key = tuple(getattr(sample, name) for name in names)
        try:
            hash(key)
        except TypeError:
            # A key that is a structure or a list.
            return bytes(sample.serialize_key())
        return key


def key_fields(type_: type[Any]) -> tuple[str, ...]:
    """The fields of a type that are its key, by their annotations; none: a single instance."""
    annotated: dict[str, dict[str, Any]] = {}
    for base in reversed(type_.__mro__):
        annotated.update(vars(base).get("__idl_field_annotations__", {}))
    return tuple(name for name, notes in annotated.items() if notes.get("key"))
