"""Answers replay requests, in a thread of its own.

A replay may be large and its node slow, so neither commits nor publishing shall wait for it.
What is owed to a node is an ordered set of samples, and which runs of each are wanted: a request
repeated while its answer is still under way adds nothing, and what is committed meanwhile is left
out. So the debt is bounded by what is retained. A sample of which little is wanted is cut to that.

Nodes are served in turn, a chunk each. A node that is not there yet (its reader is not matched)
is given ``MATCH_WAIT_S``; one that cannot take more is left alone for ``BACKOFF_S``. Dropping a
debt does no harm: a node that still lacks something asks again. Writers are closed again soon after
a debt is paid, so that nobody has to know of more endpoints than are needed.
"""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

from evenflow.domain import channels
from evenflow.errors import EvenflowError
from evenflow.model.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.model.batch import Encoded
    from evenflow.model.messages import ReplayAnswer
    from evenflow.slices.publisher.retention import Lacking

CHUNK_SAMPLES: Final = 16
"""How many samples a node is sent before it is the next one's turn."""
MATCH_WAIT_S: Final = 5.0
"""How long to wait for a node's reader before its debt is dropped."""
MATCH_POLL_S: Final = 0.005
BACKOFF_S: Final = 0.2
"""Pause after a node could not take more."""
IDLE_S: Final = 5.0
"""A node that asked for nothing for this long loses its writers."""
ANSWERS_KEPT: Final = 64
"""Unsent answers to one node; older ones are of no use to it."""

_log = logging.getLogger(__name__)


class _Debt:
    """What one node is owed, and the writers to pay with."""

    __slots__ = ("answer_writer", "answers", "asked", "replay_writer", "samples", "wait_until")

    def __init__(self, answer_writer: Writer, replay_writer: Writer, now: float) -> None:
        self.answer_writer = answer_writer
        self.replay_writer = replay_writer
        self.answers: deque[ReplayAnswer] = deque(maxlen=ANSWERS_KEPT)
        self.samples: dict[int, Lacking] = {}
        """By serial number."""
        self.asked = now
        self.wait_until = now

    def close(self) -> None:
        self.answer_writer.close()
        self.replay_writer.close()


class Replayer:
    """Sends answers and samples to the nodes that asked.

    Args:
        participant: Where the writers are opened.
        topic: The evenflow topic.
        clock: The time.
        on_failure: Told when it cannot go on: nodes would ask in vain.
    """

    def __init__(
        self,
        participant: Participant,
        topic: str,
        clock: Clock,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._participant = participant
        self._channel = channels.replay(topic)
        self._clock, self._on_failure = clock, on_failure
        self._debts: dict[str, _Debt] = {}
        self._changed = Condition()
        self._stopping = False
        self.replayed = 0
        """Samples sent again."""
        self._thread = Thread(target=self._guarded, name=f"evenflow-replay-{topic}", daemon=True)
        self._thread.start()

    def answer(self, node: str, answer: ReplayAnswer) -> None:
        """Send an answer to a node."""
        with self._changed:
            debt = self._debt(node)
            debt.answers.append(answer)
            self._changed.notify()

    def resend(self, node: str, samples: tuple[Lacking, ...]) -> None:
        """Send samples to a node again, unless they are owed to it already."""
        with self._changed:
            debt = self._debt(node)
            for one in samples:
                owed = debt.samples.get(one.retained.serial)
                if owed is None:
                    debt.samples[one.retained.serial] = one
                elif (one.wanted & ~owed.wanted).any():
                    wanted = one.wanted | owed.wanted
                    debt.samples[one.retained.serial] = one._replace(wanted=wanted)
            self._changed.notify()

    def forget(self) -> None:
        """Owe nobody anything: the samples have changed, and who lacks something asks again."""
        with self._changed:
            for debt in self._debts.values():
                debt.samples.clear()

    def close(self) -> None:
        """Stop; what is still owed is dropped."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        for debt in self._debts.values():
            debt.close()

    def _debt(self, node: str) -> _Debt:
        now = self._clock.monotonic()
        debt = self._debts.get(node)
        if debt is None:
            partition = channels.node_partition(node)
            debt = self._debts[node] = _Debt(
                self._participant.writer(channels.ANSWERS, partition),
                self._participant.writer(self._channel, partition),
                now,
            )
        debt.asked = now
        return debt

    def _guarded(self) -> None:
        try:
            self._serve()
        except Exception as failure:  # noqa: BLE001 - the publisher ends with it
            _log.exception("what nodes lack cannot be sent again")
            self._on_failure(failure)

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._stopping:
                    self._changed.wait(self._pause())
                if self._stopping:
                    return
                debts = list(self._debts.items())
            for node, debt in debts:
                try:
                    self._pay(debt)
                except EvenflowError:
                    _log.exception("replay to node %s failed; it will ask again", node)
                    self._drop(debt)
            self._forget_idle()

    def _pause(self) -> float:
        """How long until something can be done; called with the lock held."""
        now = self._clock.monotonic()
        waits = [debt.wait_until - now for debt in self._debts.values() if debt.samples]
        if any(debt.answers for debt in self._debts.values()):
            return 0.0
        return max(0.0, min(waits, default=IDLE_S))

    def _pay(self, debt: _Debt) -> None:
        """Send what a node can take of one chunk."""
        while debt.answers:
            debt.answer_writer.write(debt.answers.popleft())
        now = self._clock.monotonic()
        if not debt.samples or now < debt.wait_until:
            return
        if not debt.replay_writer.matched():
            debt.wait_until = now + MATCH_POLL_S
            if now > debt.asked + MATCH_WAIT_S:
                self._drop(debt)
            return
        with self._changed:
            chunk = list(islice(debt.samples.items(), CHUNK_SAMPLES))
        for serial, lacking in chunk:
            encoded = self._needed(lacking)
            if encoded is not None:
                if not debt.replay_writer.write_encoded(bytes(encoded)):
                    debt.wait_until = self._clock.monotonic() + BACKOFF_S
                    return
                self.replayed += 1
            with self._changed:
                # Unless more was asked for meanwhile.
                if debt.samples.get(serial) is lacking:
                    del debt.samples[serial]

    def _drop(self, debt: _Debt) -> None:
        with self._changed:
            debt.samples.clear()

    def _needed(self, lacking: Lacking) -> Encoded | None:
        """What of a sample is wanted and not committed meanwhile; None when that is nothing."""
        retained = lacking.retained
        wanted = lacking.wanted & (retained.lasts > lacking.floors[retained.slices])
        return Sample(retained.encoded).only(wanted).encoded if wanted.any() else None

    def _forget_idle(self) -> None:
        since = self._clock.monotonic() - IDLE_S
        with self._changed:
            idle = [n for n, d in self._debts.items() if d.asked < since and not d.samples]
            debts = [self._debts.pop(node) for node in idle]
        for debt in debts:
            debt.close()
