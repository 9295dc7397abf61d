"""The overlay store: topics kept on brokers, with one, two or three copies, and evenly.

After SeDAX (Hoefling, Mills and Menth, "Distributed Load Balancing for the Resilient
Publish/Subscribe Overlay in SeDAX"). Brokers, in the paper called nodes, have coordinates in the
unit square; a topic has a coordinate too, and is kept by the brokers closest to it. To move a topic
is to give it another coordinate, so balancing is a choice of coordinates. The rooms, from the
ground up (``docs/store.md``); what is marked with S is a shell, all else is pure::

    values         immutable values, checked when they are read
    space          coordinates, Voronoi cells and neighbours, delegate lists    sections I-A, III
    protocol       messages, their encoding, frames; a TCP connection (S)
    members        who lives, links to neighbours, greedy forwarding            section I-A
    ports          what the parts below need of their broker
    replica        one broker's copy of a shelf: terms, replication, catch-up   sections III-C, IV-B
    shelf          a shelf whole: its copy, its clients, its moves              section III
    balancing      loads, and which topic goes where                            sections IV to VI
    broker         a whole broker: events in, actions out; process and disk (S)
    client         a client's side of a topic; for asyncio and blocking (S)

A *shelf* is a topic at a coordinate: the messages of the times for which that is responsible. The
simulation of the paper's experiments, over the same rules, is `evenflow_experiments.sedax`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenflow.overlay.client.aio import AsyncClient
    from evenflow.overlay.client.blocking import Client

__all__ = ["AsyncClient", "Client"]

# Imported when first asked for: a module of the overlay does not need all of it.
_LATER = {
    "AsyncClient": "evenflow.overlay.client.aio",
    "Client": "evenflow.overlay.client.blocking",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
