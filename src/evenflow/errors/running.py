"""What fails while it runs: timeouts, a disk, Spark, the domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors.root import EvenflowError
from evenflow.errors.words import are, counted

if TYPE_CHECKING:
    from collections.abc import Iterable


class StorageError(EvenflowError):
    """What a process keeps on disk cannot be opened, read or written.

    Attributes:
        path: The file.
        reason: What went wrong, and what to look at.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"storage {path}: {reason}")


class OutboxRefused(StorageError):
    """An outbox that this publisher must not use.

    Attributes:
        path: Its folder.
        reason: Whose it is, and what to do.
        in_use: Whether another process has it now; else it is of something else.
    """

    def __init__(self, path: str, reason: str, *, in_use: bool = False) -> None:
        self.in_use = in_use
        super().__init__(path, reason)


class OutboxDamaged(StorageError):
    """An outbox that was once complete and cannot be read whole.

    Attributes:
        path: Its folder.
        reason: Where it is damaged, what can be read, and what to do.
        samples: Uncommitted samples that can be read before the damage.
        items: Their items.
    """

    def __init__(self, path: str, reason: str, *, samples: int = 0, items: int = 0) -> None:
        self.samples = samples
        self.items = items
        super().__init__(
            path,
            f"{reason}. Before it {counted(items, 'item')} in {counted(samples, 'sample')} can be"
            " read, not known to be committed; nothing was changed. Put the file back from a copy;"
            " or keep the folder aside and open another: a new writer, to which what lies here is"
            " unknown",
        )


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


class GatewayTimeout(EvenflowError):
    """A mobile node waited too long: for a gateway, for room, or for its items to be safe.

    Attributes:
        operation: What was tried ("connect", "publish", "flush", "close").
        waited_s: Seconds spent waiting.
        reason: What it waited for, and why, as far as the node can tell.
        items: Items that are not safe.
    """

    def __init__(self, operation: str, waited_s: float, reason: str, *, items: int = 0) -> None:
        self.operation = operation
        self.waited_s = waited_s
        self.reason = reason
        self.items = items
        super().__init__(f"{operation}: after {waited_s:.1f} s {reason}")


class PublishTimeout(EvenflowError):
    """Publishing was blocked by full retention for longer than the limit.

    Attributes:
        topic: Topic published to.
        waited_s: Seconds spent waiting.
        retained_bytes: Bytes kept because nobody has committed them.
        limit_bytes: Bound of what is kept (``publisher.retention_bytes`` and ``spill_bytes``, or
            ``outbox_bytes``).
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
        bound: str = "retention_bytes",
    ) -> None:
        self.topic = topic
        self.waited_s = waited_s
        self.retained_bytes = retained_bytes
        self.limit_bytes = limit_bytes
        self.uncommitted = uncommitted
        self.accepted = accepted
        self.cause = cause
        super().__init__(
            f"topic {topic!r}: {counted(uncommitted, 'item')} {are(uncommitted)} uncommitted"
            f" ({retained_bytes} of {limit_bytes} bytes) after {waited_s:.1f} s: {cause}; see"
            f" 'evenflow nodes', or raise publisher.{bound} or publisher.block_s"
        )


class WriterFull(EvenflowError):
    """The writer of a plain topic had no room for a sample in time; it was not written.

    Attributes:
        topic: Topic written to.
        waited_s: Seconds spent waiting.
        used: Samples that not all readers have acknowledged.
        limit: The topic's resource limit in samples; 0: it has none, and too many bytes were out.
    """

    def __init__(self, topic: str, waited_s: float, used: int, limit: int) -> None:
        self.topic = topic
        self.waited_s = waited_s
        self.used = used
        self.limit = limit
        out = f"{used} of {limit} samples" if limit else counted(used, "sample")
        super().__init__(
            f"topic {topic!r}: {out} {are(used)} unacknowledged after {waited_s:.1f} s: its"
            " readers are too slow; thin the topic, or raise max_samples or block_s"
        )


class WriterEnded(EvenflowError):
    """A publisher was silent for so long that nobody knows any more where its stream was ended.

    Attributes:
        topic: Topic published to.
        reason: What it keeps, and what to do.
    """

    def __init__(self, topic: str, reason: str) -> None:
        self.topic = topic
        self.reason = reason
        super().__init__(f"topic {topic!r}: {reason}")


class DeliveryTimeout(EvenflowError):
    """A flush or a close ran out of time before the nodes had everything.

    Attributes:
        topic: Topic published to.
        operation: "flush" (waits for acknowledgement) or "close" (waits for the commit).
        waited_s: Seconds spent waiting.
        items: Items published and not committed.
        slices: The slices that are not through.
        cause: Why, as far as the publisher can tell.
        outbox: Folder in which they are kept for the next publisher; empty when there is none.
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
        outbox: str = "",
    ) -> None:
        self.topic = topic
        self.operation = operation
        self.waited_s = waited_s
        self.items = items
        self.slices = tuple(slices)
        self.cause = cause
        listed = ", ".join(map(str, self.slices[:10])) + (", ..." if len(self.slices) > 10 else "")
        lacking = "uncommitted" if operation == "close" else "unacknowledged"
        self.outbox = outbox
        kept = f"; they are kept in {outbox}: open it again to go on with them" if outbox else ""
        super().__init__(
            f"{operation} of topic {topic!r}: after {waited_s:.1f} s {counted(items, 'item')}"
            f" {are(items)} {lacking} in {counted(len(self.slices), 'slice')} ({listed}): {cause};"
            f" see 'evenflow nodes', or give it more time{kept}"
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


class NoMailbox(EvenflowError):
    """Nobody takes messages to mobile nodes; the message is not sent.

    Attributes:
        waited_s: Seconds spent looking.
    """

    def __init__(self, waited_s: float) -> None:
        self.waited_s = waited_s
        super().__init__(
            f"no mailbox is there (looked for {waited_s:.1f} s): start one with"
            " 'evenflow mailbox --name NAME', or check domain.id and domain.interface"
        )


class SendTimeout(EvenflowError):
    """A mailbox was given a message and did not answer: it may have taken it or not.

    Attributes:
        mailbox: The mailbox.
        waited_s: Seconds spent waiting.
    """

    def __init__(self, mailbox: str, waited_s: float) -> None:
        self.mailbox = mailbox
        self.waited_s = waited_s
        super().__init__(
            f"mailbox {mailbox} has not answered for {waited_s:.1f} s: it may have taken the"
            " message or not; see 'evenflow mailboxes'"
        )


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


class NameTaken(DomainError):
    """Another process that runs has the name that this one was given."""
