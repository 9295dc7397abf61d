"""What replicas write and their reader takes, on stock Cyclone with exclusive ownership.

DDS decides for each *instance* by itself whose samples a reader is given: those of the strongest
writer that lives and has written the instance. What is one instance is said by the key of the type:

- without a key all results are one instance, which the stronger replica owns until its liveliness
  has ended;
- with the item's number as key, as in the paper (Figure 13, ``DDS_KEY long long id``), each result
  is an instance of its own. One that the stronger replica has not written belongs to the weaker
  one, alive or dead the other; one that the weaker one wrote first goes to the stronger one when
  that writes it too, and the reader is given it again.

Writers and readers keep an instance as long as a living writer has it registered, so keyed results
grow with the items for good, unless replicas unregister them. They must not do so at once: a
result that comes from the other replica after that is a new one.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

if TYPE_CHECKING:
    from evenflow.config.sections import DomainConfig
    from evenflow.domain.cyclone import Participant

_FIELDS: Final[dict[str, Any]] = {"number": idl.int64, "published": idl.int64}
ITEM: Final[Any] = make_idl_struct("ReplicaItem", "experiments::ReplicaItem", _FIELDS)
KEYED_ITEM: Final[Any] = make_idl_struct(
    "ReplicaKeyedItem",
    "experiments::ReplicaKeyedItem",
    _FIELDS,
    field_annotations={"number": {"key": True}},
)
RELIABLE: Final = (Policy.Reliability.Reliable(10**9), Policy.History.KeepAll)
RELEASE_S: Final = 2.0
"""When a released instance is unregistered; the other replica must not lag behind by more."""
RESULTS: Final = "replica-results"
_MOST: Final = 512


class Keying(StrEnum):
    """Which results are one instance."""

    UNKEYED = "unkeyed"
    """All."""
    KEYED = "keyed"
    """Each by itself, as in the paper."""
    RELEASED = "keyed-released"
    """Each by itself, and unregistered `RELEASE_S` after it was written."""

    @property
    def type(self) -> Any:
        """The type of results."""
        return ITEM if self is Keying.UNKEYED else KEYED_ITEM


def quality(config: DomainConfig, strength: int | None = None) -> Qos:
    """Exclusive ownership that ends with liveliness; of a writer with its strength."""
    lease = Policy.Liveliness.Automatic(int(config.liveliness_s * 1e9))
    policies = [*RELIABLE, Policy.Ownership.Exclusive, lease]
    return Qos(*policies, *([] if strength is None else [Policy.OwnershipStrength(strength)]))


class Input:
    """Reads samples that a waiter can wait for."""

    def __init__(self, participant: Participant, name: str, item: Any, qos: Qos) -> None:
        self._reader = DataReader(
            participant.entity, Topic(participant.entity, name, item), qos=qos
        )
        self.condition = ReadCondition(
            self._reader, SampleState.Any | ViewState.Any | InstanceState.Any
        )

    def take(self) -> list[Any]:
        """What has arrived; deaths are no items."""
        return [one for one in self._reader.take(_MOST) if hasattr(one, "number")]


class Results:
    """Writes the results of one replica, and unregisters them in time if they are released."""

    def __init__(self, participant: Participant, keying: Keying, qos: Qos) -> None:
        topic = Topic(participant.entity, RESULTS, keying.type)
        self._writer = DataWriter(participant.entity, topic, qos=qos)
        self._keying = keying
        self._written: deque[tuple[float, Any]] = deque()

    def write(self, number: int, published: int, now: float) -> None:
        """Write a result."""
        sample = self._keying.type(number, published)
        self._writer.write(sample)
        if self._keying is Keying.RELEASED:
            self._written.append((now, sample))

    def release(self, now: float) -> None:
        """Unregister what was written long enough ago."""
        while self._written and self._written[0][0] + RELEASE_S <= now:
            self._writer.unregister_instance(self._written.popleft()[1])
