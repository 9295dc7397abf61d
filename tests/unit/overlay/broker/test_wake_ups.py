"""A shelf is woken by all that concerns it: a look that is not due finds nothing to do.

If something could become due without a message, a change of the members or the time that the shelf
itself has named, nobody would look, and the topic would stand still.
"""

from __future__ import annotations

import pytest

from evenflow.overlay.broker.core import BrokerCore
from evenflow.testing.overlay.faults import Faults


def look_at_all(core: BrokerCore) -> None:
    """Look at each shelf that is not due; it must send and write nothing."""
    for shelf_id, due in list(core._agenda._due.items()):
        if due <= core.now or shelf_id not in core.shelves or core._to_delete:
            continue
        shelf = core.shelves[shelf_id]
        copy = shelf.replica.copy
        before = (len(core._actions), len(core.mail.inbox), copy.record, copy.state, copy.committed)
        shelf.review()
        after = (len(core._actions), len(core.mail.inbox), copy.record, copy.state, copy.committed)
        named = core._actions[before[0] :], list(core.mail.inbox)[before[1] :]
        assert before == after, (core.now, due, shelf.due(), copy.state, shelf_id, named)
        assert shelf.due() >= due, "what it named before still holds"


@pytest.mark.parametrize("seed", range(300_000, 300_016))
def test_a_look_that_is_not_due_finds_nothing_to_do(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_tick = BrokerCore._on_tick

    def ticked(core: BrokerCore) -> None:
        on_tick(core)
        look_at_all(core)

    monkeypatch.setattr(BrokerCore, "_on_tick", ticked)
    Faults(seed, brokers=3 + seed % 4).run()
