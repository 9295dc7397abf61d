"""The diagrams and tables of ``docs/protocol.md`` are those of the code.

Each block stands in the page between ``<!-- NAME -->`` and ``<!-- end -->``. A failing test shows
what should stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

import pytest

from evenflow.model import messages
from evenflow.model.messages import Ack, Step
from evenflow.slices.balancer.session import NEXT, ORDERS, TO_GIVER, Session, Stage
from evenflow.slices.consumer.registry.states import TRANSITIONS, State, Trigger
from evenflow.slices.node.giver_taker import GIVER, TAKER, SessionState

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "protocol.md"
QOS_PAGE = DOCS / "qos.md"
MOBILE_PAGE = DOCS / "mobile.md"
BRIDGE_PAGE = DOCS / "bridge.md"
"""Explains the messages about mobile nodes and tokens."""

BY_THEMSELVES = {
    (SessionState.SENDING, "nothing in hand"): SessionState.SENT,
    (SessionState.ACTIVE, "cache complete"): SessionState.MERGED,
}
"""What a node does without an order."""


def diagram(first: Enum, *tables: Mapping[tuple[Enum, Enum | str], Enum]) -> str:
    """Transitions as a Mermaid diagram; steps that change nothing are left out."""
    arrows: dict[tuple[Enum, Enum], list[str]] = {}
    for table in tables:
        for (before, step), after in table.items():
            if before is not after:
                name = step.name if isinstance(step, Enum) else step
                arrows.setdefault((before, after), []).append(name)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first.name}"]
    for (before, after), names in arrows.items():
        lines.append(f"    {before.name} --> {after.name} : {', '.join(names)}")
    return "\n".join([*lines, "```"])


def of_side(
    table: Mapping[tuple[SessionState, Step], SessionState],
) -> dict[tuple[Enum, Enum | str], Enum]:
    states = {state for state, _ in table} | set(table.values())
    own = {key: after for key, after in BY_THEMSELVES.items() if key[0] in states}
    return {**table, **own}


def coordinator_table() -> str:
    """What each stage orders, and where everything leads; found out by doing it."""
    lines = [
        "| stage | orders | to | acknowledged | fails, or the giver dies | the taker dies |",
        "|---|---|---|---|---|---|",
    ]
    for stage, step in ORDERS.items():
        to = "giver" if stage in TO_GIVER else "taker"
        answer = Step.MERGED if step is Step.SEND_CACHE else step
        acked = after(stage, lambda s, a=answer: s.handle(ack(s, a), 0.0))
        failed = after(stage, lambda s: s.cancel("failed", 0.0))
        assert failed is after(stage, lambda s: s.node_gone(s.giver, 0.0))
        dead = after(stage, lambda s: s.node_gone(s.taker, 0.0))
        row = (stage.name, step.name, to, acked.name, failed.name, dead.name)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def after(stage: Stage, event: Callable[[Session], object]) -> Stage:
    session = Session("t", 1, "giver", "taker", (0,), 0.0, deadline=1.0, retry=1.0, stage=stage)
    event(session)
    return session.stage


def ack(session: Session, step: Step) -> Ack:
    giving = step in (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE)
    node = session.giver if giving else session.taker
    return Ack("t", node, session.term, step, True, "", 0, 0, 0)


BLOCKS = {
    "consumer": lambda: diagram(State.UNKNOWN, TRANSITIONS),
    "coordinator": lambda: diagram(Stage.FREEZING, NEXT),
    "coordinator table": coordinator_table,
    "giver": lambda: diagram(SessionState.NEW, of_side(GIVER)),
    "taker": lambda: diagram(SessionState.NEW, of_side(TAKER)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_of_the_page_is_what_the_code_says(name: str) -> None:
    page = PAGE.read_text()
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    assert found, f"docs/protocol.md has no block {name!r}"
    assert found[1] == BLOCKS[name]()


def test_everything_that_happens_to_a_consumer_is_explained() -> None:
    page = PAGE.read_text()
    for one in (*State, *Trigger):
        assert f"`{one.name}`" in page, one


def test_every_message_and_step_of_the_protocol_is_explained() -> None:
    page = PAGE.read_text()
    for step in Step:
        assert f"`{step.name}`" in page, step
    names = [name for name, one in vars(messages).items() if is_dataclass(one)]
    assert len(names) > 10
    pages = page + "".join(one.read_text() for one in (MOBILE_PAGE, BRIDGE_PAGE, QOS_PAGE))
    for name in names:
        assert f"| `{name}` |" in pages, name


def test_the_fields_the_page_speaks_of_exist() -> None:
    page = PAGE.read_text()
    for name, field in re.findall(r"`([A-Z]\w+)\.(\w+)`", page):
        assert field in {f.name for f in fields(getattr(messages, name))}, f"{name}.{field}"
