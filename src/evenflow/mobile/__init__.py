"""The mobile edge: clients on mobile nodes, gateways, mailboxes, and who keeps gateways even.

What a program on a mobile node needs is here. It loads neither DDS nor Arrow, and the links only
when it connects::

    from evenflow.mobile import connect

    with connect("quic://gateway:7000", node="car-7", token=TOKEN, trust="ca.pem") as car:
        car.on_message(print)
        car.publish({"speed": 12.5})

:func:`connect_async` is the same for asyncio.

:class:`Messenger` and :class:`AsyncMessenger` are the other side: programs in the domain send to
mobile nodes with them. They do load DDS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenflow.mobile.client.aio import AsyncClient
    from evenflow.mobile.client.aio import connect as connect_async
    from evenflow.mobile.client.blocking import Client, connect
    from evenflow.mobile.client.reaching import Patience
    from evenflow.mobile.client.settings import ClientStats
    from evenflow.mobile.link.connection import Trust
    from evenflow.mobile.link.frames import Message
    from evenflow.mobile.messenger.aio import AsyncMessenger
    from evenflow.mobile.messenger.core import Sent
    from evenflow.mobile.messenger.messenger import Messenger

__all__ = [
    "AsyncClient",
    "AsyncMessenger",
    "Client",
    "ClientStats",
    "Message",
    "Messenger",
    "Patience",
    "Sent",
    "Trust",
    "connect",
    "connect_async",
]

_LATER = {
    "AsyncClient": ("client.aio", "AsyncClient"),
    "AsyncMessenger": ("messenger.aio", "AsyncMessenger"),
    "Client": ("client.blocking", "Client"),
    "ClientStats": ("client.settings", "ClientStats"),
    "Message": ("link.frames", "Message"),
    "Messenger": ("messenger.messenger", "Messenger"),
    "Patience": ("client.reaching", "Patience"),
    "Sent": ("messenger.core", "Sent"),
    "Trust": ("link.connection", "Trust"),
    "connect": ("client.blocking", "connect"),
    "connect_async": ("client.aio", "connect"),
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
