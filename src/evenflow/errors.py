"""Every exception Evenflow raises on purpose.

::

    EvenflowError
    ├── UsageError               the caller's fault: change the call or the configuration
    │   ├── ConfigError          a key of evenflow.toml or of the command line
    │   │   └── ExpressionError  an event's expression, with the place of the fault
    │   ├── RegistryError
    │   │   └── UnknownName      a name that no registry knows
    │   ├── AssignmentError      an item that gets no slice
    │   ├── ClosedError          use after close
    │   ├── SnapshotError        a load snapshot that contradicts itself
    │   ├── PlanError            a plan that cannot or must not be carried out
    │   ├── OverlayError         an overlay that cannot be built, or a topic it cannot hold
    │   │   └── DelegationError  a change that a topic's delegate list cannot take
    │   └── ExperimentError      an experiment that cannot run here
    ├── StorageError             a broker's disk cannot be used
    ├── StoreTimeout             the overlay store did not answer in time
    ├── PublishTimeout           nobody commits: the stream is blocked for too long
    ├── DeliveryTimeout          a flush or close before the nodes had everything
    ├── SparkFailed              Spark did not start, or a query of it failed
    ├── DomainError              the DDS domain failed or does not answer
    │   └── BalancerRunning      the domain has a balancer already
    └── PeerError                what another process sent or refused
        ├── DecodeError          a damaged or foreign sample
        ├── MoveRefused          a move of slices that must not happen
        └── ReadFailed           items that no serving node gives

An error carries its context as attributes, and a message that says what to do. All of them survive
pickling, so they can cross from a worker process to its parent.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "AssignmentError",
    "BalancerRunning",
    "ClosedError",
    "ConfigError",
    "DecodeError",
    "DelegationError",
    "DeliveryTimeout",
    "DomainError",
    "EvenflowError",
    "ExperimentError",
    "ExpressionError",
    "MoveRefused",
    "OverlayError",
    "PeerError",
    "PlanError",
    "PublishTimeout",
    "ReadFailed",
    "RegistryError",
    "SnapshotError",
    "SparkFailed",
    "StorageError",
    "StoreTimeout",
    "UnknownName",
    "UsageError",
    "did_you_mean",
]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to ``name``, else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _restore(kind: type[EvenflowError], message: str, context: dict[str, Any]) -> EvenflowError:
    error = kind.__new__(kind, message)
    error.__dict__.update(context)
    return error


class EvenflowError(Exception):
    """Root of all our errors."""

    def __reduce__(self) -> tuple[Callable[..., EvenflowError], tuple[Any, ...]]:
        return _restore, (type(self), str(self), self.__dict__.copy())


class UsageError(EvenflowError):
    """The call or the configuration is wrong; repeating it cannot help."""


class ConfigError(UsageError):
    """A configured value that cannot be used.

    Attributes:
        key: Dotted key, as in ``node.deliver_items``.
        value: What was found there.
        allowed: What may stand there, in words.
        source: File or option it came from, "" when it was given in code.
    """

    def __init__(self, key: str, value: object, allowed: str, *, source: str = "") -> None:
        self.key = key
        self.value = value
        self.allowed = allowed
        self.source = source
        where = f"{source}: " if source else ""
        super().__init__(f"{where}{key} = {value!r}: {allowed}")

    def at(self, source: str) -> ConfigError:
        """Return the same error with the file or option it came from."""
        return type(self)(self.key, self.value, self.allowed, source=source)


class ExpressionError(ConfigError):
    """An expression that cannot be understood, or that can never say yes or no.

    Attributes:
        reason: What is wrong with it.
        line: Line of the fault in the expression, from 1.
        column: Column of the fault, from 1.
    """

    def __init__(
        self,
        key: str,
        value: object,
        reason: str,
        *,
        line: int = 1,
        column: int = 1,
        source: str = "",
    ) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        super().__init__(key, value, f"line {line}, column {column}: {reason}", source=source)

    def at(self, source: str) -> ExpressionError:
        """Return the same error with the file or option it came from."""
        return type(self)(
            self.key, self.value, self.reason, line=self.line, column=self.column, source=source
        )


class RegistryError(UsageError):
    """A fault around a named thing."""


class UnknownName(RegistryError):
    """A name that the registry of its kind does not know.

    Attributes:
        kind: Kind of thing ("assignment", "balancing algorithm", "command").
        name: The unknown name.
        known: All names that would have been understood.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        listed = ", ".join(self.known) or "none"
        super().__init__(
            f"unknown {kind} {name!r}{did_you_mean(name, self.known)} (known: {listed})"
        )


class AssignmentError(UsageError):
    """An item that gets no slice.

    Attributes:
        reason: Why the assignment gave none, and what it needs.
        topic: Topic the item was published to.
        sender: Who sent the item.
        id: The item's id, as the caller gave it.
    """

    def __init__(
        self, reason: str, *, topic: str = "", sender: object = "", id: object = ""
    ) -> None:
        self.reason = reason
        self.topic = topic
        self.sender = sender
        self.id = id
        what = f"item {id!r} of {sender!r}" if id != "" or sender != "" else "item"
        where = f" on topic {topic!r}" if topic else ""
        super().__init__(f"{what}{where} gets no slice: {reason}")


class ClosedError(UsageError):
    """Use of something that was closed.

    Attributes:
        what: The closed thing ("publisher of topic 'items'").
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is closed: open a new one")


class SnapshotError(UsageError):
    """A load snapshot that contradicts itself, so that no plan can be made from it.

    Attributes:
        reason: The contradiction, and what would mend it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"load snapshot: {reason}")


class PlanError(UsageError):
    """A plan that cannot or must not be carried out.

    Attributes:
        reason: What is wrong with it, and what to do.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"plan: {reason}")


class OverlayError(UsageError):
    """An overlay that cannot be built, or a topic that it cannot hold.

    Attributes:
        reason: What is wrong, and what would be right.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"overlay: {reason}")


class DelegationError(OverlayError):
    """A change that the delegate list of a topic cannot take."""


class ExperimentError(UsageError):
    """An experiment that cannot run, or whose outcome cannot be trusted.

    Attributes:
        experiment: Its name.
        reason: What went wrong and what would mend it.
    """

    def __init__(self, experiment: str, reason: str) -> None:
        self.experiment = experiment
        self.reason = reason
        super().__init__(f"experiment {experiment}: {reason}")


class StorageError(EvenflowError):
    """A broker's storage cannot be opened, read or written.

    Attributes:
        path: The file.
        reason: What went wrong, and what to look at.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"storage {path}: {reason}")


class StoreTimeout(EvenflowError):
    """The overlay store did not answer in time.

    Attributes:
        operation: What was tried ("publish to 'meters'").
        waited_s: Seconds spent waiting.
        reason: What may be the cause, and what to do.
    """

    def __init__(self, operation: str, waited_s: float, reason: str) -> None:
        self.operation = operation
        self.waited_s = waited_s
        self.reason = reason
        super().__init__(f"{operation}: no answer after {waited_s:.1f} s: {reason}")


class PublishTimeout(EvenflowError):
    """Publishing was blocked by full retention for longer than the limit.

    Attributes:
        topic: Topic published to.
        waited_s: Seconds spent waiting.
        retained_bytes: Bytes kept because nobody has committed them.
        limit_bytes: Bound of what is kept (``publisher.retention_bytes``).
        uncommitted: Items kept.
        accepted: When many items were published at once: the first so many were accepted.
        cause: Why nothing is committed, as far as the publisher can tell.
    """

    def __init__(
        self,
        topic: str,
        waited_s: float,
        retained_bytes: int,
        limit_bytes: int,
        *,
        uncommitted: int = 0,
        accepted: int = 0,
        cause: str = "no node commits",
    ) -> None:
        self.topic = topic
        self.waited_s = waited_s
        self.retained_bytes = retained_bytes
        self.limit_bytes = limit_bytes
        self.uncommitted = uncommitted
        self.accepted = accepted
        self.cause = cause
        super().__init__(
            f"topic {topic!r}: {uncommitted} items are uncommitted ({retained_bytes} of"
            f" {limit_bytes} bytes) after {waited_s:.1f} s: {cause}; see 'evenflow nodes',"
            " or raise publisher.retention_bytes or publisher.block_s"
        )


class DeliveryTimeout(EvenflowError):
    """A flush or a close ran out of time before the nodes had everything.

    Attributes:
        topic: Topic published to.
        operation: "flush" (waits for acknowledgement) or "close" (waits for the commit).
        waited_s: Seconds spent waiting.
        items: Items published and not committed.
        slices: The slices that are not through.
        cause: Why, as far as the publisher can tell.
    """

    def __init__(
        self,
        topic: str,
        operation: str,
        waited_s: float,
        *,
        items: int,
        slices: Iterable[int],
        cause: str,
    ) -> None:
        self.topic = topic
        self.operation = operation
        self.waited_s = waited_s
        self.items = items
        self.slices = tuple(slices)
        self.cause = cause
        listed = ", ".join(map(str, self.slices[:10])) + (", ..." if len(self.slices) > 10 else "")
        lacking = "uncommitted" if operation == "close" else "unacknowledged"
        super().__init__(
            f"{operation} of topic {topic!r}: after {waited_s:.1f} s {items} items are {lacking}"
            f" in {len(self.slices)} slices ({listed}): {cause}; see 'evenflow nodes',"
            " or give it more time"
        )


class SparkFailed(EvenflowError):
    """Spark did not start, or one of its queries failed.

    Attributes:
        reason: What happened, and what would mend it.
        log: The last of what Spark said; empty when the reason says it all.
    """

    def __init__(self, reason: str, log: str = "") -> None:
        self.reason = reason
        self.log = log
        super().__init__(f"Spark: {reason}" + (f"; its log ends:\n{log}" if log else ""))


class DomainError(EvenflowError):
    """The DDS domain failed, or nobody in it answers.

    Attributes:
        operation: What was tried.
        reason: What the domain said, and what to do.
    """

    def __init__(self, operation: str, reason: str) -> None:
        self.operation = operation
        self.reason = reason
        super().__init__(f"{operation}: {reason}")


class BalancerRunning(DomainError):
    """The domain has a live balancer already.

    Attributes:
        name: Name of the balancer that runs.
        domain: Domain id.
    """

    def __init__(self, name: str, domain: int) -> None:
        self.name = name
        self.domain = domain
        super().__init__(
            f"balancer in domain {domain}",
            f"{name!r} balances this domain already: stop it first, or use another --domain",
        )


class PeerError(EvenflowError):
    """Another process sent something wrong or refused what was asked."""


class DecodeError(PeerError):
    """A sample that is damaged or is not ours; it is counted and skipped.

    Attributes:
        reason: What does not fit.
        topic: DDS topic it came from, "" when not known.
        size: Bytes of the sample.
    """

    def __init__(self, reason: str, *, topic: str = "", size: int = 0) -> None:
        self.reason = reason
        self.topic = topic
        self.size = size
        where = f" of topic {topic!r}" if topic else ""
        super().__init__(f"sample{where} ({size} bytes) cannot be read: {reason}")


class MoveRefused(PeerError):
    """A move of slices that the coordinator will not start.

    Attributes:
        reason: Why, and what would be accepted.
        giver: Node that should have given.
        taker: Node that should have taken.
        topic: Topic of the slices.
    """

    def __init__(self, reason: str, *, giver: str = "", taker: str = "", topic: str = "") -> None:
        self.reason = reason
        self.giver = giver
        self.taker = taker
        self.topic = topic
        what = f"move from {giver!r} to {taker!r}" if giver or taker else "move"
        where = f" on topic {topic!r}" if topic else ""
        super().__init__(f"{what}{where} refused: {reason}")


class ReadFailed(PeerError):
    """Items of a served topic that could not be read.

    Attributes:
        topic: The topic.
        slices: The slices that nobody gave.
        reason: What the nodes said, and what to do.
    """

    def __init__(self, topic: str, slices: Iterable[int], reason: str) -> None:
        self.topic = topic
        self.slices = tuple(slices)
        self.reason = reason
        super().__init__(
            f"topic {topic!r}: {len(self.slices)} slices (first {min(self.slices, default=0)})"
            f" cannot be read: {reason}"
        )
