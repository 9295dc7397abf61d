"""The ring and bounded loads in a real domain, with a real balancer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenflow.autonomic.knowledge.history import History
from evenflow.bridge.balancing.manager import RingManager
from evenflow.bridge.ring.identifiers import guid_of
from evenflow.config import Config
from evenflow.slices.balancer.balancer import Balancer

from .standin_bridge import StandInBridge

pytestmark = pytest.mark.domain

GUIDS = [guid_of(f"device-{number}") for number in range(1_000)]


class Ring:
    """Bridges of one domain."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.bridges: dict[str, StandInBridge] = {}

    def join(self, *names: str) -> None:
        for name in names:
            self.bridges[name] = StandInBridge(name, self.config, GUIDS)

    def end(self, name: str, *, goodbye: bool = True) -> None:
        self.bridges.pop(name).close(goodbye=goodbye)

    @property
    def agrees(self) -> bool:
        """All bridges are members, and all say the same."""
        here = tuple(sorted(self.bridges))
        owners = {tuple(bridge.owners()) for bridge in self.bridges.values()}
        return len(owners) == 1 and all(one.core.members == here for one in self.bridges.values())

    @property
    def served_once(self) -> bool:
        served = Counter(guid for one in self.bridges.values() for guid in one.mine)
        return len(served) == len(GUIDS) and set(served.values()) == {1}

    @property
    def unevenness(self) -> float:
        most = max(len(bridge.mine) for bridge in self.bridges.values())
        return most * len(self.bridges) / len(GUIDS)

    @property
    def versions(self) -> set[tuple[int, int]]:
        return {(one.core.arcs.term, one.core.arcs.number) for one in self.bridges.values()}


@pytest.fixture
def ring(domain_id: int, tmp_path: Path) -> Iterator[Ring]:
    made = Ring(
        Config.load(
            None,
            {
                "domain.id": domain_id,
                "bridge.points": 16,
                "bridge.report_s": 0.3,
                "balancer.settle_s": 0.3,
                "balancer.state_dir": str(tmp_path / "balancer"),
                "history.path": str(tmp_path / "history.db"),
                "monitor.period_s": 0.3,
                "planners.bridges.planner": "bounded-loads",
                "planners.bridges.pause_s": 1.0,
            },
        )
    )
    yield made
    for name in list(made.bridges):
        made.end(name)


def test_bridges_agree_and_are_kept_within_the_bound_whoever_comes_and_goes(
    ring: Ring, eventually: Callable[..., None]
) -> None:
    ring.join("b1", "b2", "b3", "b4")
    eventually(lambda: ring.agrees and ring.served_once, "the bridges agree")
    assert ring.unevenness > 1.1, "16 points each are not even"
    with Balancer(config=ring.config, companions=[RingManager()]) as first:
        even = lambda: ring.agrees and ring.served_once and ring.unevenness <= 1.1  # noqa: E731
        eventually(even, "no bridge is above the bound", 40)
        (version,) = ring.versions
        assert version > (0, 0)
        ring.end("b2", goodbye=False)
        ring.join("b5")
        eventually(even, "the same after a death and a join", 40)
        assert min(ring.versions) > version, "by another plan"
        assert first.error is None
    (version,) = ring.versions
    with Balancer(config=ring.config, companions=[RingManager()]):
        ring.join("b6")
        newer = lambda: min(ring.versions)[0] > version[0]  # noqa: E731
        eventually(lambda: newer() and even(), "the same by another balancer's plan", 40)
        (_,) = ring.versions  # who came late has it too
    history = History(ring.config.history_file, keep=1_000, keep_octets=1 << 20)
    plans = [story.plan for story in history.stories(limit=10)]
    history.close()
    assert plans
    assert all(plan.actions[0].kind == "bridge.arcs" for plan in plans)


def test_a_bridge_that_is_left_alone_is_isolated_unless_the_other_said_goodbye(
    ring: Ring, eventually: Callable[..., None]
) -> None:
    ring.join("b1", "b2")
    eventually(lambda: ring.agrees, "two bridges")
    ring.end("b2")
    eventually(lambda: ring.agrees, "b2 has left")
    assert not ring.bridges["b1"].core.is_isolated
    ring.join("b3")
    eventually(lambda: ring.agrees, "two again")
    ring.end("b3", goodbye=False)
    eventually(lambda: ring.bridges["b1"].core.is_isolated, "b3 is silent")
    assert ring.bridges["b1"].core.members == ("b1",)
