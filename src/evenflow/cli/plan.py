"""``evenflow plan --dry-run``: what an algorithm would move now, and the loads expected after it.

Nothing is sent. The command listens to the nodes' reports as the balancer does, long enough to see
two of each, and asks the algorithm. What only the balancer knows (when a slice last moved,
strengths and outlooks learned over a longer time, what a rule has swapped meanwhile) is not
regarded.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.autonomic.design import design
from evenflow.balance import ALGORITHMS, algorithm_named
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import number, print_table
from evenflow.cli.values import seconds, setting
from evenflow.domain.channels import LOADS, MAPS, REPORTS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import DomainError, PlanError
from evenflow.model.ids import NodeId
from evenflow.model.messages import MapPage, NodeReport, SliceLoads
from evenflow.model.ranges import ranges
from evenflow.model.slice_map import SliceMap
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice
from evenflow.slices.balancer.loads import Loads
from evenflow.slices.balancer.settings import load_weights

if TYPE_CHECKING:
    from evenflow.balance import Algorithm
    from evenflow.config import Config
    from evenflow.model.load import LoadWeights
    from evenflow.model.plan import Plan

EXAMPLES = """\
  evenflow plan --dry-run                        with the topic's planner
  evenflow plan --dry-run --algorithm weighted --with tolerance=0.02 --json
"""


@command("plan", examples=EXAMPLES)
@click.option("--dry-run", is_flag=True, help="show the plan, move nothing")
@click.option("--algorithm", metavar="A", help="who plans (else the topic's planner)")
@click.option(
    "--with", "given", metavar="KEY=VALUE", type=setting, multiple=True,
    help="a setting of the algorithm (may be repeated)",
)  # fmt: skip
@click.option("--topic", metavar="T", help="the topic (the first configured)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--look", metavar="TIME", type=seconds, default="5s", help="how long to listen (5s)")
def plan(
    shared: Shared, *, dry_run: bool, algorithm: str | None, given: tuple[tuple[str, Any], ...],
    topic: str | None, as_json: bool, look: float,
) -> int:  # fmt: skip
    """Show what an algorithm would move now, and the loads expected after it."""
    config = shared.config()
    if not dry_run:
        raise PlanError(
            "say --dry-run: plans are made and carried out by the balancer; "
            "'evenflow slices move' moves slices by hand"
        )
    topic = config.topic(topic).name if topic else config.topics[0].name
    planner = _algorithm(config, topic, algorithm, dict(given))
    with Participant(config.domain) as participant:
        weights = load_weights(config.balancer)
        snapshot = LoadListener(participant, topic, weights).listen(look)
    row = as_row(planner.name, planner.measure(snapshot), planner.analyze_load(snapshot))
    if as_json:
        print(json.dumps({"topic": topic, **row}, indent=2))
    else:
        show(row)
    return 0


def _algorithm(config: Config, topic: str, name: str | None, given: dict[str, Any]) -> Algorithm:
    """The algorithm that was asked for, else the topic's own with its settings."""
    place = design(config).places[topic]
    if name is not None or place.planner not in ALGORITHMS:
        return algorithm_named(name or config.balancer.algorithm, **given)
    own = {key: value for key, value in place.settings.items() if key != "topic"}
    return algorithm_named(place.planner, **{**own, **given})


class LoadListener:
    """Builds a load snapshot from what everybody may hear."""

    def __init__(self, participant: Participant, topic: str, weights: LoadWeights) -> None:
        self._topic = topic
        self._listener = Listener(participant, (REPORTS, MAPS, LOADS), self._hear)
        self._nodes: dict[str, NodeReport] = {}
        self._map = SliceMap()
        self._loads = Loads(weights)

    def listen(self, duration_s: float) -> LoadSnapshot:
        """Listen for a while; what is known then."""
        self._listener.listen(duration_s)
        if not self._map.is_complete:
            raise DomainError(
                f"topic {self._topic}",
                "nobody has assigned its slices: start 'evenflow balancer' first",
            )
        return self._snapshot()

    def _hear(self, message: Any) -> None:
        if isinstance(message, Gone):
            if message.message_type is NodeReport and message.key[0] == self._topic:
                self._nodes.pop(message.key[1], None)
        elif message.topic == self._topic:
            match message:
                case NodeReport():
                    self._nodes[message.node] = message
                case MapPage():
                    self._map.apply(message)
                case SliceLoads():
                    self._loads.observe(message, time.monotonic())

    def _snapshot(self) -> LoadSnapshot:
        capacities = self._loads.capacities(self._nodes)
        return LoadSnapshot(
            time.monotonic(),
            tuple(
                ClusterNode(node, capacities[node], report.leaving)
                for node, report in self._nodes.items()
            ),
            tuple(
                PlacedSlice(
                    slice_id, owner if owner in self._nodes else None, self._loads.of(slice_id)
                )
                for slice_id, owner in enumerate(self._map.owners)
            ),
        )


def as_row(algorithm: str, now: dict[str, float], plan: Plan) -> dict[str, Any]:
    """A plan with the loads before and after it."""
    after = plan.expected or now
    return {
        "algorithm": algorithm,
        "reason": plan.reason,
        "moves": [
            {"slices": list(move.slices), "from": move.giver, "to": move.taker}
            for move in plan.moves
        ],
        "loads": [
            {"node": node, "now": round(load, 3), "after": round(after.get(node, load), 3)}
            for node, load in sorted(now.items())
        ],
    }


def show(row: dict[str, Any]) -> None:
    """Print what would move and the loads."""
    print(f"{row['algorithm']}: {row['reason'] or 'nothing to do'}")
    for move in row["moves"]:
        names = (NodeId(move["from"]).name, NodeId(move["to"]).name)
        print(f"  slices {ranges(move['slices'])} from {names[0]} to {names[1]}")
    print_table(
        ("node", number("load now"), number("load after")),
        [(one["node"], f"{one['now']:,.1f}", f"{one['after']:,.1f}") for one in row["loads"]],
    )
