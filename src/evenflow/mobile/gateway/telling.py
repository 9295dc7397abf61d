"""What every door tells its clients, in the frames of a gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.edge.actions import TellSafe, TellSettled
from evenflow.mobile.gateway.events import Send
from evenflow.mobile.link.frames import Safe, Settled

if TYPE_CHECKING:
    from evenflow.edge.actions import EdgeAction
    from evenflow.mobile.gateway.events import Action


class InFrames:
    """Takes the actions of :mod:`evenflow.edge` among those of a gateway.

    Args:
        out: Where actions go.
    """

    def __init__(self, out: list[Action]) -> None:
        self._out = out

    def append(self, action: EdgeAction) -> None:
        """Add one."""
        if isinstance(action, TellSafe):
            self._out.append(Send(action.link, Safe(action.topic, action.number)))
        elif isinstance(action, TellSettled):
            settled = Settled(action.door, action.topic, action.number)
            self._out.append(Send(action.link, settled))
        else:
            self._out.append(action)
