"""The executor service of a process: orders of action plans come in, outcomes go out.

MAPE-SDDL's CES Executor (section III.B.4), in every process that acts. One thread reads what is
ordered of this process (the partition of the action plan topic is its id), lets the
:class:`~evenflow.autonomic.execute.executors.ExecutorHost` act, and tells the outcomes.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.execute.executors import EXECUTORS, ExecutorHost
from evenflow.closing import Closing
from evenflow.domain.channels import ACTION_OUTCOMES, ACTION_PLANS
from evenflow.model.messages import ActionOrder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.autonomic.execute.executors import MakeExecutor, Surroundings
    from evenflow.domain.cyclone import Participant
    from evenflow.registry import Registry

TICK_S: Final = 0.1
"""How often what is under way is looked at when nothing is ordered."""
_LOG = logging.getLogger(__name__)


class ExecutorService(Closing):
    """Executes the actions that plans ask of this process, until it is closed.

    Args:
        surroundings: What executors can act upon here, and the id under which plans name it.
        participant: The process's place in the domain.
        makers: Who makes executors, by the kind of action; by default all that are registered.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        participant: Participant,
        makers: Registry[MakeExecutor] | Mapping[str, MakeExecutor] = EXECUTORS,
    ) -> None:
        self._host = ExecutorHost(surroundings, makers)
        self._waiter = participant.waiter()
        self._reader = participant.reader(ACTION_PLANS, [surroundings.executor_id])
        self._waiter.attach(self._reader)
        self._writer = participant.writer(ACTION_OUTCOMES)
        self._stopping = False
        name = f"{surroundings.executor_id} executors"
        self._thread = threading.Thread(target=self._guarded, name=name, daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        """A thread must not end unseen: without it, plans that name this process are overdue."""
        try:
            self._run()
        except Exception:  # noqa: BLE001 - whatever the domain may raise
            _LOG.exception("this process executes no actions any more; start it again")

    def _run(self) -> None:
        while not self._stopping:
            self._waiter.wait(TICK_S)
            now = time.monotonic()
            outcomes = []
            for order in self._reader.take():
                if isinstance(order, ActionOrder):
                    verb = "undo" if order.undo else "do"
                    _LOG.info("plan %s: %s %s (%s)", order.plan_id, verb, order.kind, order.reason)
                    outcomes += self._host.handle(order, now)
            for outcome in [*outcomes, *self._host.poll(now)]:
                if not outcome.ok:
                    _LOG.warning("plan %s: refused: %s", outcome.plan_id, outcome.reason)
                self._writer.write(outcome)

    def close(self) -> None:
        """Stop executing; call it before the participant is closed."""
        self._stopping = True
        self._waiter.wake()
        self._thread.join()
