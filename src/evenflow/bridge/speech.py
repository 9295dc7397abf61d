"""Datagrams to devices, and whether those from devices are genuine.

What goes to a device with a key is sealed: with the device's key at the door, with that of the
session inside it (:mod:`evenflow.bridge.protocol.keys`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.events import Send
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.encoding import encode
from evenflow.bridge.protocol.keys import is_genuine, seal

if TYPE_CHECKING:
    from collections import Counter

    from evenflow.bridge.events import Action, Address
    from evenflow.bridge.sessions import Session

_DOOR_BODIES = (dg.Accepted, dg.Adopt, dg.Bye, dg.Refused)


class Speech:
    """Makes datagrams.

    Args:
        out: Where actions go.
        counts: Counts what cannot be said.
    """

    def __init__(self, out: list[Action], counts: Counter[str]) -> None:
        self._out = out
        self._counts = counts

    def say(self, session: Session, body: dg.Body, number: int = 0) -> bool:
        """A datagram to a device in its session; False when it does not fit into one."""
        key = session.key if isinstance(body, _DOOR_BODIES) else session.session_key
        sealed = key is not None
        try:
            data = encode(session.guid, session.number, number, body, sealed=sealed)
        except ValueError:
            self._counts["too_large"] += 1
            return False
        if key is not None:
            session.counter += 1
            data = seal(data, key, session.counter)
        self._out.append(Send(data, session.address))
        return True

    def say_outside(
        self,
        guid: bytes,
        session: int,
        body: dg.Body,
        target: Address,
        key: bytes | None = None,
    ) -> None:
        """A datagram to a device that has no session here."""
        data = encode(guid, session, 0, body, sealed=key is not None)
        self._out.append(Send(data if key is None else seal(data, key, 0), target))


def fault_of_seal(
    datagram: dg.Datagram, data: bytes, key: bytes | None, floor: int, *, keyed_only: bool
) -> str:
    """Why a datagram is not genuine or not new, in one word; empty: it is both.

    Args:
        datagram: What it says.
        data: Its bytes.
        key: The key it must be sealed with; None: the device has none.
        floor: The largest counter that was taken.
        keyed_only: Whether devices without a key are refused.
    """
    if key is None:
        if datagram.counter is not None:
            return "unknown_key"
        return "no_key" if keyed_only else ""
    if datagram.counter is None:
        return "no_key"
    if not is_genuine(data, key):
        return "forged"
    return "" if datagram.counter > floor else "replayed"
