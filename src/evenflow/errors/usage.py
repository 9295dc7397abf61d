"""The caller's fault: change the call, the configuration or the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors.root import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        shown = key if value is None else f"{key} = {value!r}"
        super().__init__(f"{where}{shown}: {allowed}")

    def at(self, source: str) -> ConfigError:
        """Return the same error with the file or option it came from."""
        return type(self)(self.key, self.value, self.allowed, source=source)


class ItemFailed(UsageError):
    """Raised by an application that cannot process one item of a batch, and knows which.

    The items before it are processed and do not come again. Without it, those of the batch come
    again one by one.

    Attributes:
        index: The item's place in the batch, from 0.
        reason: Why, in words.
    """

    def __init__(self, index: int, reason: str = "") -> None:
        self.index = index
        self.reason = reason
        super().__init__(f"item {index} of the batch: {reason}" if reason else f"item {index}")


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


class QosError(UsageError):
    """Quality of service policies that do not go together, or a separation that must not be.

    Attributes:
        topic: The topic.
        problems: What does not go together, each in words.
    """

    def __init__(self, topic: str, problems: Iterable[str]) -> None:
        self.topic = topic
        self.problems = tuple(problems)
        super().__init__(f"topic {topic!r}: {'; '.join(self.problems)}")


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


class UnknownTopic(OverlayError):
    """A topic that the store does not have.

    Attributes:
        topic: Its name in the store.
        reason: That, and what else there is to do.
    """

    def __init__(self, topic: str, hint: str = "") -> None:
        self.topic = topic
        super().__init__(f"the store has no topic {topic!r}{hint and ': '}{hint}")


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


class MissingExtra(UsageError, ImportError):
    """Something that was not installed with Evenflow, because an extra brings it.

    Attributes:
        extra: The extra, as in ``pip install "evenflow[spark]"``.
        missing: What it brings and is not there.
    """

    def __init__(self, extra: str, missing: Iterable[str]) -> None:
        self.extra = extra
        self.missing = tuple(missing)
        listed = ", ".join(self.missing)
        super().__init__(f'{listed} not installed: pip install "evenflow[{extra}]"')
