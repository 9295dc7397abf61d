"""What plans and operators order of a bridge, as executors of the autonomic loop.

================  ===================  =============================================
kind              arguments (JSON)     done when
================  ===================  =============================================
``bridge.drain``  on                   it owns no devices (or its own again); they go
                                       to others as these offer
``bridge.arcs``   a table of arcs      it goes by the table, and tells it
                  (`arcs_action`)
================  ===================  =============================================

Orders come in the thread of the executor service; the ring runs in the bridge's loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.autonomic.execute.executors import CallExecutor
from evenflow.bridge.balancing.arcs_action import ARCS, arcs_executor
from evenflow.bridge.ring.events import ArcsPlanned, DrainRing
from evenflow.model.checked_json import CheckedJson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.execute.executors import Executor, MakeExecutor, Surroundings
    from evenflow.bridge.ring.events import RingEvent
    from evenflow.model.messages import ArcTable

DRAIN: Final = "bridge.drain"


class DrainArgs(msgspec.Struct, frozen=True):
    """Arguments of ``bridge.drain``."""

    on: bool = True


def bridge_executors(
    post: Callable[[RingEvent], object], current_arcs: Callable[[], ArcTable]
) -> Mapping[str, MakeExecutor]:
    """The executors of a bridge by the kind of action.

    Args:
        post: Gives the ring an event; any thread may call it.
        current_arcs: Gives the table of arcs that the bridge goes by.
    """
    drain = CheckedJson(DRAIN, DrainArgs)

    def make_drain(_: Surroundings) -> Executor:
        return CallExecutor(
            lambda args: post(DrainRing(drain.decode(args).on)),
            lambda args: post(DrainRing(not drain.decode(args).on)),
        )

    return {
        DRAIN: make_drain,
        ARCS: arcs_executor(current_arcs, lambda table: post(ArcsPlanned(table))),
    }
