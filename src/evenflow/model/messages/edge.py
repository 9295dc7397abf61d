"""What doors (gateways, bridges) tell one another about the items of their clients."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import Number, Text


@dataclass(frozen=True, slots=True)
class SettleRequest:
    """How far have you accepted a client's items? From now on, accept none of older connections."""

    door: Text
    """Who asks."""
    client: Text
    run: Text
    connection: Number
    """The client's connection at who asks."""
    topic: Text


@dataclass(frozen=True, slots=True)
class SettleAnswer:
    """Up to this number, and no further."""

    door: Text
    """Who answers."""
    client: Text
    run: Text
    connection: Number
    """As in the request."""
    topic: Text
    number: Number
