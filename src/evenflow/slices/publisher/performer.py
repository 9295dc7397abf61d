"""Does what a publisher's core asks for: replays, and words to nodes and balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import ReplayAnswer
from evenflow.slices.actions import Send
from evenflow.slices.control_writers import ControlWriters
from evenflow.slices.publisher.exchange import Committed, Resend, tell_committed
from evenflow.slices.publisher.sending.replayer import Replayer

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant
    from evenflow.slices.publisher.exchange import CommitHook, Reaction


class Performer:
    """Performs the reactions of one publisher's core.

    Args:
        participant: Where writers are opened.
        topic: The evenflow topic.
        clock: The time.
        on_commit: As the publisher has it.
        on_failure: Told when the thread that sends samples again cannot go on.
    """

    def __init__(
        self,
        participant: Participant,
        topic: str,
        clock: Clock,
        on_commit: CommitHook | None,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._on_commit = on_commit
        self._control = ControlWriters(participant)
        self._replayer = Replayer(participant, topic, clock, on_failure)

    @property
    def replayed(self) -> int:
        """Samples sent again."""
        return self._replayer.replayed

    def perform(self, reaction: Reaction) -> None:
        """Do it, or see that it is done."""
        match reaction:
            case Committed(newly, node):
                if self._on_commit is not None:
                    tell_committed(self._on_commit, newly, node)
            case Send(ReplayAnswer() as answer, node):
                self._replayer.answer(node, answer)
            case Send() as send:
                self._control.send(send)
            case Resend(node, lacking):
                self._replayer.resend(node, lacking)

    def forget(self) -> None:
        """Send nothing again of what was asked for: the samples have changed."""
        self._replayer.forget()

    def close(self) -> None:
        """Stop, and close the writers."""
        self._replayer.close()
        self._control.close()
