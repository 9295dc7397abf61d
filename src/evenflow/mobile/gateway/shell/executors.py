"""What plans and operators order of a gateway, as executors of the autonomic loop.

====================== ===================================================== =====================
kind                   arguments (JSON)                                      done when
====================== ===================================================== =====================
``mobile.handover``    nodes, addresses, within_s, make_before_break,        every node has an
                       pace_per_s                                            outcome, or the time
                                                                             is over
``mobile.alternatives`` addresses (none: those that are heard)               nodes are told
``mobile.drain``       on, retire                                            it takes no new nodes
``mobile.forget``      gateway                                               it is remembered
====================== ===================================================== =====================

``mobile.start`` and ``mobile.stop`` are in :mod:`evenflow.mobile.gateway.shell.starting`.

Orders come in the thread of the executor service; the core runs in the gateway's loop. A handover
is undone by nothing: where nodes shall be next is the next plan's business.
"""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from evenflow.autonomic.execute.executors import outcome_of
from evenflow.errors import DecodeError
from evenflow.mobile.gateway.events import (
    AlternativesOrder,
    Drain,
    Forget,
    HandoverOrder,
    Ordered,
)
from evenflow.mobile.link.frames import Address, Addresses, Name
from evenflow.model.checked_json import CheckedJson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.execute.executors import Executor, MakeExecutor, Surroundings
    from evenflow.mobile.gateway.events import Event
    from evenflow.model.messages import ActionOrder, ActionOutcome

HANDOVER: Final = "mobile.handover"
ALTERNATIVES: Final = "mobile.alternatives"
DRAIN: Final = "mobile.drain"
FORGET: Final = "mobile.forget"


class HandoverArgs(msgspec.Struct, frozen=True):
    """Arguments of ``mobile.handover``."""

    nodes: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    addresses: Annotated[tuple[Address, ...], msgspec.Meta(min_length=1, max_length=64)]
    within_s: Annotated[float, msgspec.Meta(gt=0, le=3_600)] = 10.0
    make_before_break: bool = True
    pace_per_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class AlternativesArgs(msgspec.Struct, frozen=True):
    """Arguments of ``mobile.alternatives``."""

    addresses: Addresses


class DrainArgs(msgspec.Struct, frozen=True):
    """Arguments of ``mobile.drain``."""

    on: bool = True
    retire: bool = False


class ForgetArgs(msgspec.Struct, frozen=True):
    """Arguments of ``mobile.forget``."""

    gateway: Name


class HandoverExecutor:
    """Has nodes go elsewhere, and gathers what came of it.

    Args:
        post: Gives the gateway an event.
    """

    def __init__(self, post: Callable[[Event], object]) -> None:
        self._post = post
        self._args = CheckedJson(HANDOVER, HandoverArgs)
        self._orders: dict[str, ActionOrder] = {}
        self._answers: SimpleQueue[Ordered] = SimpleQueue()
        self._over: list[ActionOutcome] = []

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002
        """Take an order."""
        if order.undo:
            self._over.append(outcome_of(order, ok=True, reason="nodes stay where they are"))
            return
        args = self._args.decode(order.args)
        key = f"{order.plan_id}/{order.action_id}/{order.attempt}"
        self._orders[key] = order
        self._post(
            HandoverOrder(
                key,
                args.nodes,
                args.addresses,
                args.within_s,
                args.make_before_break,
                args.pace_per_s,
            )
        )

    def on_ordered(self, answer: Ordered) -> None:
        """The gateway has answered; any thread may tell."""
        self._answers.put(answer)

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """What is over."""
        over, self._over = self._over, []
        while not self._answers.empty():
            answer = self._answers.get()
            order = self._orders.pop(answer.key, None)
            if order is not None:
                over.append(outcome_of(order, ok=answer.ok, reason=answer.reason))
        return over


class TellExecutor:
    """Tells the gateway something that takes no time.

    Args:
        event_of: Makes an event of the arguments; whatever it raises refuses the action.
        post: Gives the gateway an event.
    """

    def __init__(self, event_of: Callable[[bytes], Event], post: Callable[[Event], object]) -> None:
        self._event_of = event_of
        self._post = post
        self._over: list[ActionOutcome] = []

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002
        """Tell it; undoing tells it what was before."""
        self._post(self._event_of(order.args))
        self._over.append(outcome_of(order, ok=True))

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """What is over."""
        over, self._over = self._over, []
        return over


def _draining(args: DrainArgs) -> Event:
    return Drain(args.on, args.retire)


def gateway_executors(
    name: str, post: Callable[[Event], object], others: Mapping[str, Executor]
) -> tuple[Mapping[str, MakeExecutor], Callable[[Ordered], object]]:
    """The executors of a gateway by the kind of action, and whom to tell of handovers."""
    handover = HandoverExecutor(post)
    alternatives = CheckedJson(ALTERNATIVES, AlternativesArgs)
    drain, forget = CheckedJson(DRAIN, DrainArgs), CheckedJson(FORGET, ForgetArgs)

    def forgetting(args: bytes) -> Event:
        gateway = forget.decode(args).gateway
        if gateway == name:
            raise DecodeError(f"{FORGET}: {name} is here, and cannot forget itself")
        return Forget(gateway)

    told: dict[str, Executor] = {
        HANDOVER: handover,
        ALTERNATIVES: TellExecutor(
            lambda args: AlternativesOrder(alternatives.decode(args).addresses), post
        ),
        DRAIN: TellExecutor(lambda args: _draining(drain.decode(args)), post),
        FORGET: TellExecutor(forgetting, post),
        **others,
    }

    def maker(executor: Executor) -> MakeExecutor:
        def make(_: Surroundings) -> Executor:
            return executor

        return make

    return {kind: maker(executor) for kind, executor in told.items()}, handover.on_ordered
