"""What all parts of a bridge's core share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from evenflow.bridge.events import Action
    from evenflow.bridge.ports import AddressOf, KeyOf, Ring
    from evenflow.bridge.records import Records
    from evenflow.bridge.sessions import Sessions
    from evenflow.bridge.settings import BridgeSettings
    from evenflow.bridge.speech import Speech


@dataclass(frozen=True, slots=True)
class Shared:
    """One of these for each bridge."""

    name: str
    """Of the bridge."""
    ring: Ring
    settings: BridgeSettings
    draw_salt: Callable[[], int]
    """Gives 64 bits that were never given before."""
    key_of: KeyOf
    address_of: AddressOf
    sessions: Sessions
    """The devices that are here."""
    records: Records
    """Those of other bridges."""
    speech: Speech
    """To devices."""
    refused: Counter[str]
    """Datagrams, records and samples that were not taken, by reason."""
    out: list[Action]
    """Where actions go."""
