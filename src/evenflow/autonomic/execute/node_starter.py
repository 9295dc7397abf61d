"""The executor of ``start-node`` and ``stop-node``: processes on this machine, or commands.

A node is started by ``[elastic] start``, by default ``evenflow node`` with the balancer's own
configuration, and its start is acknowledged when it has joined. A node is stopped by ``[elastic]
stop``, by default SIGTERM to a process of this machine, and that is acknowledged when it is gone; a
node that is told to end first gives its slices away.

The name of a started node follows from the plan, so an order that comes again, also from a new
balancer, finds the node of the first one. Started nodes outlive the balancer.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenflow.autonomic.execute.actions import START_NODE
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.execute.launching import Launcher
from evenflow.model.ids import NodeId
from evenflow.model.messages import ActionOutcome

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

    from evenflow.config import Config
    from evenflow.model.messages import ActionOrder

PATIENCE_S = 10.0
"""A node that an earlier attempt may have started gets this long to appear."""


class Located(Protocol):
    """Where a node runs."""

    @property
    def host(self) -> str: ...  # noqa: D102
    @property
    def pid(self) -> int: ...  # noqa: D102


@dataclass(slots=True)
class _Job:
    order: ActionOrder
    since: float
    process: subprocess.Popen[bytes] | None = None
    stopped: bool = False


class NodeStarter:
    """Starts and stops nodes.

    Args:
        config: The balancer's configuration.
        nodes: Gives the nodes that take part, by id.
    """

    def __init__(self, config: Config, nodes: Callable[[], Mapping[str, Located]]) -> None:
        self._config = config
        self._nodes = nodes
        self._jobs: dict[tuple[str, str], _Job] = {}
        self._launcher = Launcher(config)

    @property
    def starting(self) -> tuple[str, ...]:
        """Names of nodes that are being started."""
        return tuple(
            _name_of(job.order) for job in self._jobs.values() if job.order.kind == START_NODE
        )

    def order(self, order: ActionOrder, now: float) -> None:
        """Take an order; a repeated one changes nothing."""
        key = (order.plan_id, order.action_id)
        known = self._jobs.get(key)
        if known is None or order.attempt > known.order.attempt:
            self._jobs[key] = _Job(order, now, known.process if known else None)

    def poll(self, now: float) -> list[ActionOutcome]:
        """Go on with what is under way; returns what is over."""
        self._launcher.reap()
        answers = []
        for key, job in list(self._jobs.items()):
            start = job.order.kind == START_NODE
            answer = self._start(job, now) if start else self._stop(job)
            if answer is not None:
                del self._jobs[key]
                answers.append(answer)
        return answers

    def close(self) -> None:
        """Forget what is under way; the nodes stay."""
        self._launcher.close()

    def _start(self, job: _Job, now: float) -> ActionOutcome | None:
        name = _name_of(job.order)
        if any(NodeId(node).name == name for node in self._nodes()):
            return outcome_of(job.order, ok=True, reason=f"{name} has joined")
        if job.process is not None:
            code = job.process.poll()
            if code is None or code == 0:  # a command of the operator's may end before its node
                return None
            return outcome_of(job.order, ok=False, reason=f"{name} ended with {code}")
        if job.order.attempt > 1 and now - job.since < PATIENCE_S:
            return None
        try:
            job.process = self._launcher.run(self._start_command(name), name=name)
        except OSError as error:
            return outcome_of(job.order, ok=False, reason=f"elastic.start: {error}")
        return None

    def _stop(self, job: _Job) -> ActionOutcome | None:
        node = job.order.args.decode()
        found = self._nodes().get(node)
        if found is None:
            return outcome_of(job.order, ok=True, reason=f"{node} is gone")
        if job.stopped:
            return None
        job.stopped = True
        try:
            if self._config.elastic.stop:
                values = {"name": node, "host": found.host, "pid": str(found.pid)}
                command = self._launcher.command(self._config.elastic.stop, values)
                self._launcher.run(command, name=node)
            elif found.host == socket.gethostname():
                os.kill(found.pid, signal.SIGTERM)
            else:
                reason = f"{node} runs on {found.host}: say in elastic.stop how it is stopped"
                return outcome_of(job.order, ok=False, reason=reason)
        except OSError as error:
            return outcome_of(job.order, ok=False, reason=f"elastic.stop: {error}")
        return None

    def _start_command(self, name: str) -> list[str]:
        given = self._config.elastic.start
        own = (sys.executable, "-m", "evenflow", "node", "--name", "{name}", "--config", "{config}")
        return self._launcher.command(given or own, {"name": name})


def _name_of(order: ActionOrder) -> str:
    return order.plan_id
