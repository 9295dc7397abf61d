"""The executors by which plans start gateways here, and stop this one.

``mobile.start`` (name, retiring) is carried out by a gateway for those that are called after it: by
the command ``[elastic] start_gateway``, by default ``evenflow gateway`` with the same configuration
and folders, at the same addresses with any port. It is done when the new one is heard. A gateway
that runs is not started again, so an order that is repeated finds the one of the first. One is
started *retiring* for its word, because clients say that it has some: only if there is a folder of
that name beside this gateway's own, that is, if it has lived. What clients say starts nothing else.

``mobile.stop`` is refused when there are nodes here, or when this gateway is not retiring. It is
done when all it has accepted is committed; then the gateway ends.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.execute.launching import Launcher
from evenflow.errors import DecodeError
from evenflow.errors.words import counted
from evenflow.mobile.gateway.naming import parent_of
from evenflow.mobile.link.address import parse_link_address
from evenflow.mobile.link.frames import Name
from evenflow.model.checked_json import CheckedJson

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

    from evenflow.config import Config
    from evenflow.mobile.gateway.core import GatewayCore
    from evenflow.model.messages import ActionOrder, ActionOutcome

START: Final = "mobile.start"
STOP: Final = "mobile.stop"


class StartArgs(msgspec.Struct, frozen=True):
    """Arguments of ``mobile.start``."""

    name: Name
    retiring: bool = False


@dataclass(frozen=True, slots=True)
class Doors:
    """Where a gateway listens, and how nodes reach that."""

    listen: tuple[str, ...]
    advertised: tuple[str, ...] = ()

    def options(self) -> list[str]:
        """The options of a gateway with the same addresses, and any ports."""
        pairs = [("--listen", self.listen), ("--advertise", self.advertised)]
        return [
            part
            for option, addresses in pairs
            for address in addresses
            for part in (option, str(parse_link_address(address).with_port(0)))
        ]


class StartExecutor:
    """Starts gateways that are called after this one.

    Args:
        name: This one.
        config: The configuration.
        doors: Where this one listens.
        is_known: Whether a gateway is heard.
    """

    def __init__(
        self, name: str, config: Config, doors: Doors, is_known: Callable[[str], bool]
    ) -> None:
        self._name = name
        self._command = config.elastic.start_gateway
        self._doors = doors
        self._is_known = is_known
        self._folders = config.gateway_folder
        self._launcher = Launcher(_anywhere(config))
        self._args = CheckedJson(START, StartArgs)
        self._orders: dict[str, tuple[ActionOrder, StartArgs]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002
        """Take an order."""
        args = self._args.decode(order.args)
        if parent_of(args.name) != self._name:
            raise DecodeError(f"{START}: {args.name} is not started by {self._name}")
        before = self._orders.get(args.name)
        if before is None or before[0].plan_id != order.plan_id:
            self._forget_ended(args.name)
        self._orders[args.name] = (order, args)

    def _forget_ended(self, name: str) -> None:
        """A process that an earlier plan has started, and that is over, is not waited for."""
        process = self._processes.get(name)
        if process is not None and process.poll() is not None:
            del self._processes[name]

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """Start what is ordered and not there; returns what is over."""
        self._launcher.reap()
        over = [
            outcome
            for order, args in list(self._orders.values())
            if (outcome := self._go_on(order, args)) is not None
        ]
        for name in [name for name, (order, _) in self._orders.items() if _is_over(order, over)]:
            del self._orders[name]
        return over

    def _go_on(self, order: ActionOrder, args: StartArgs) -> ActionOutcome | None:
        name = args.name
        if self._is_known(name):
            return outcome_of(order, ok=True, reason=f"{name} is there")
        process = self._processes.get(name)
        if process is None:
            problem = self._start(args)
            return outcome_of(order, ok=False, reason=problem) if problem else None
        code = process.poll()
        if code is None:
            return None
        if code == 0 and self._command:
            return None  # a command of the operator's may end before its gateway is heard
        del self._processes[name]
        return outcome_of(order, ok=False, reason=f"{name} ended with {code}")

    def _start(self, args: StartArgs) -> str:
        """Start a gateway; return why that cannot be, in words, or nothing."""
        name = args.name
        if args.retiring and not (self._folders / name).is_dir():
            return f"{name} has no word to say: there is no folder of it in {self._folders}"
        try:
            self._processes[name] = self._launcher.run(self.command(args), name=name)
        except OSError as error:
            return f"elastic.start_gateway: {error}"
        return ""

    def command(self, args: StartArgs) -> list[str]:
        """How a gateway is started."""
        own = (
            *(sys.executable, "-m", "evenflow", "gateway", "--name", "{name}"),
            *("--config", "{config}", "{retiring}", *self._doors.options()),
        )
        values = {"name": args.name, "retiring": "--retiring" if args.retiring else ""}
        return self._launcher.command(self._command or own, values)

    def close(self) -> None:
        """Forget what is under way; the gateways stay."""
        self._launcher.close()


class Stoppable(Protocol):
    """A gateway, as far as stopping it goes."""

    core: GatewayCore

    @property
    def uncommitted(self) -> int:
        """Items that it has accepted and that nobody has committed."""
        ...


class StopExecutor:
    """Ends this gateway.

    Args:
        gateway: The gateway.
        end: Ends it; any thread may call it.
    """

    def __init__(self, gateway: Stoppable, end: Callable[[], object]) -> None:
        self._gateway = gateway
        self._end = end
        self._order: ActionOrder | None = None

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002
        """Take an order."""
        self._order = order

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """End it if it can be; returns what is over."""
        if self._order is None:
            return []
        obstacle = self._obstacle()
        if not obstacle and (self._gateway.uncommitted or not self._gateway.core.is_empty):
            return []
        order, self._order = self._order, None
        if obstacle:
            return [outcome_of(order, ok=False, reason=obstacle)]
        self._end()
        return [outcome_of(order, ok=True, reason="it is empty, and ends")]

    def _obstacle(self) -> str:
        """What is in the way for good, in words; or nothing. A draining one gets no new nodes."""
        core = self._gateway.core
        if not core.draining.retiring:
            return f"{core.name} is not retiring: a plan has to drain it first"
        nodes = core.sessions.clients
        return f"{core.name} has {counted(nodes, 'node')}" if nodes else ""


def _is_over(order: ActionOrder, over: Sequence[ActionOutcome]) -> bool:
    return any((one.plan_id, one.attempt) == (order.plan_id, order.attempt) for one in over)


def _anywhere(config: Config) -> Config:
    """The same configuration for a process that reads it from another folder."""
    return replace(
        config,
        gateway=replace(config.gateway, state_dir=str(config.gateway_folder.parent.resolve())),
        access=replace(config.access, dir=str(config.access_folder.resolve())),
        history=replace(config.history, path=str(config.history_file.resolve())),
    )
