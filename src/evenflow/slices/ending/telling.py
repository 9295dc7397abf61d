"""The ledger as it is told: one message of who ends and has ended, and of who is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import CutStage, Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.slices.ending.preparation import Preparation
    from evenflow.slices.ending.records import Ended
    from evenflow.slices.ending.registrations import Registrations


def ledger_of(
    topic: str,
    version: int,
    ended: Mapping[int, Ended],
    preparing: Mapping[int, Preparation],
    registrations: Registrations | None,
) -> Ledger:
    """The ledger of a topic."""
    rows = [(w, one.term, int(one.stage)) for w, one in sorted(ended.items())]
    rows += [(w, one.term, int(CutStage.PREPARING)) for w, one in sorted(preparing.items())]
    writers, terms, stages = zip(*rows, strict=True) if rows else ((), (), ())
    registered = registrations.registered() if registrations is not None else {}
    names = tuple(sorted(registered))
    numbers = tuple(registered[name] for name in names)
    return Ledger(topic, version, writers, terms, stages, names, numbers)
