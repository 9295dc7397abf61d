"""What an operator orders of one process of the domain, as a plan would."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.channels import ACTION_OUTCOMES, ACTION_PLANS
from evenflow.errors import DomainError, PlanError
from evenflow.model.checked_json import encode_json
from evenflow.model.messages import ActionOrder, ActionOutcome

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

REPEAT_S: Final = 0.5


def order(
    participant: Participant, executor: str, kind: str, args: dict[str, Any], within_s: float
) -> ActionOutcome:
    """Order something of a process; return what it answers.

    Raises:
        PlanError: It refuses.
        DomainError: It does not answer in time.
    """
    outcomes = participant.reader(ACTION_OUTCOMES)
    writer = participant.writer(ACTION_PLANS, executor)
    plan_id = f"operator-{secrets.token_hex(4)}"
    wanted = ActionOrder(
        plan_id, "1", 1, executor, kind, encode_json(args), undo=False, reason="by an operator"
    )
    end = time.monotonic() + within_s
    repeat_at = 0.0
    while time.monotonic() < end:
        if time.monotonic() >= repeat_at:
            repeat_at = time.monotonic() + REPEAT_S
            writer.write(wanted)
        for outcome in outcomes.take():
            if isinstance(outcome, ActionOutcome) and outcome.plan_id == plan_id:
                if not outcome.ok:
                    raise PlanError(outcome.reason)
                return outcome
        time.sleep(0.02)
    raise DomainError(executor, f"has not answered within {within_s:g} s")
