"""The mobile edge: clients on mobile nodes, gateways, mailboxes, and who keeps gateways even.

What a program on a mobile node needs is here. It loads neither DDS nor Arrow, and the links only
when it connects::

    from evenflow.mobile import connect

    with connect("quic://gateway:7000", node="car-7", token=TOKEN, trust="ca.pem") as car:
        car.on_message(print)
        car.publish({"speed": 12.5})

:func:`connect_async` is the same for asyncio.
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

__all__ = [
    "AsyncClient",
    "Client",
    "ClientStats",
    "Message",
    "Patience",
    "Trust",
    "connect",
    "connect_async",
]

_LATER = {
    "AsyncClient": ("client.aio", "AsyncClient"),
    "Client": ("client.blocking", "Client"),
    "ClientStats": ("client.settings", "ClientStats"),
    "Message": ("link.frames", "Message"),
    "Patience": ("client.reaching", "Patience"),
    "Trust": ("link.connection", "Trust"),
    "connect": ("client.blocking", "connect"),
    "connect_async": ("client.aio", "connect"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
