"""``evenflow qos``: how full the writers of topics are, what is thinned, and who obeys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import number, print_table
from evenflow.domain.channels import SEPARATIONS, USES
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import UsageError
from evenflow.qos.loop.rate_view import RateView

if TYPE_CHECKING:
    from evenflow.config import Config, QosConfig

EXAMPLES = """\
  evenflow qos                 all topics
  evenflow qos --topic fleet   one topic, and every process that thins it
  evenflow qos --json

A topic is thinned when the mean use of its writers is above
qos.performance_ratio, and only if topics.NAME.thin says so. Of each sender
one item in a separation is published then; the others are counted.
"""
COLUMNS = (
    "topic", "thinned", number("use", 1), number("level", 3), number("separation"),
    number("left out"), number("obey", 2),
)  # fmt: skip
LOOK_S = 1.5


@command("qos", examples=EXAMPLES)
@click.option("--topic", metavar="T", help="one topic, with every process that thins it")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def qos(shared: Shared, topic: str | None, *, as_json: bool) -> int:
    """List how full topics are, and what is thinned, where and by how much."""
    config = shared.config()
    view = RateView()
    with Participant(config.domain) as participant:
        Listener(participant, (USES, SEPARATIONS), view.handle).listen(LOOK_S)
    names = _names(config, view)
    if topic is not None:
        if topic not in names:
            reason = f"not configured, and nobody tells of it (known: {', '.join(names)})"
            raise UsageError(f"no topic {topic!r}: {reason}")
        names = [topic]
    rows = [_row(name, view, config) for name in names]
    if as_json:
        print(json.dumps({"topics": rows}, indent=2))
        return 0
    print_table(COLUMNS, [_cells(row, config.qos) for row in rows])
    if topic and rows[0]["where"]:
        _print_where(rows[0])
    return 0


def _names(config: Config, view: RateView) -> list[str]:
    """The configured topics, then plain ones."""
    configured = [one.name for one in config.topics]
    return configured + [name for name in view.topics if name not in configured]


def _row(topic: str, view: RateView, config: Config) -> dict[str, Any]:
    uses, targets = view.uses(topic), view.targets(topic)
    configured = {one.name: one.thin for one in config.topics}
    policy = targets[0].policy if targets else configured.get(topic, "never")
    separation = max((one.separation_s for one in targets), default=0.0)
    step = config.qos.separation_most_s / config.qos.levels
    return {
        "topic": topic,
        "policy": policy,
        "use": sum(use.ratio for use in uses) / len(uses) if uses else None,
        "level": min(config.qos.levels, round(separation / step)),
        "separation_s": separation,
        "thinned": sum(one.thinned for one in targets),
        "obeying": sum(one.separation_s == min(separation, one.most_s) for one in targets),
        "where": [
            {
                "process": one.process,
                "name": one.name,
                "separation_s": one.separation_s,
                "deadline_s": None if one.deadline_s == float("inf") else one.deadline_s,
                "thinned": one.thinned,
            }
            for one in sorted(targets, key=lambda one: (one.process, one.name))
        ],
    }


def _cells(row: dict[str, Any], settings: QosConfig) -> list[str]:
    if row["policy"] == "never":
        return [row["topic"], "never", "", "", "", "", ""]
    return [
        row["topic"],
        row["policy"],
        "" if row["use"] is None else f"{row['use']:.0%} of {settings.performance_ratio:.0%}",
        f"{row['level']} of {settings.levels}",
        f"{row['separation_s'] * 1_000:,.0f} ms" if row["separation_s"] else "none",
        f"{row['thinned']:,}",
        f"{row['obeying']} of {len(row['where'])}",
    ]


def _print_where(row: dict[str, Any]) -> None:
    print(f"topic {row['topic']}")
    cells = [
        (
            one["process"],
            one["name"],
            f"{one['separation_s'] * 1_000:,.0f} ms",
            f"{one['thinned']:,}",
        )
        for one in row["where"]
    ]
    print_table(("process", "what", number("separation"), number("left out")), cells)
