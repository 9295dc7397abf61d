"""A whole cluster of the real cores under every disturbance: nothing lost, nothing twice.

:mod:`evenflow.testing.invariants` says what must always hold, and raises as soon as something does
not. Here are the disturbances: a state machine that does anything at any time, and crashes of
giver, taker and balancer at every step of a handover and after every single message of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from evenflow.model import slice_map
from evenflow.model.batch import Batch
from evenflow.model.messages import (
    Ack,
    CacheChunk,
    Commit,
    MapPage,
    NodeReport,
    Order,
    Receipt,
    ReplayAnswer,
    ReplayRequest,
    Step,
)
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.balancer.session import ORDERS, Session, Stage
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.network import Parcel
from evenflow.testing.schedules import random_schedule

VICTIMS = ("giver", "taker", "balancer", "stopped giver", "stopped taker")
MOMENTS = ("ordered", "done")
"""When a crash comes: the step is ordered and not yet done, or done and not yet acknowledged."""
LOSABLE = [Ack, Commit, NodeReport, ReplayRequest, ReplayAnswer, Batch, CacheChunk, MapPage]
SLICES = 4
BUSY_TICK = 0.05
pytestmark = pytest.mark.timeout(900)
THOROUGH = settings().max_examples >= 80
"""Whether this is the full run."""
STORM = 5_000
"""Messages at one moment; what is said there is said in far fewer."""
REACHED: Counter[tuple[Stage, str]] = Counter()
"""Crashes of the state machine by stage and victim."""

QUICK_BALANCER = BalancerSettings(settle=0.5, deadline=1.0, silence=3.0, join_after=0.02)


@pytest.fixture(params=[slice_map.PAGE_SLICES, 1], ids=["one page", "a page for each slice"])
def page_slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Slices of a page of the map, whose pages may be lost and overtake one another."""
    monkeypatch.setattr(slice_map, "PAGE_SLICES", request.param)
    return int(request.param)


def working_cluster(nodes: int = 2, *, cache_bytes: int = 1 << 20) -> SimCluster:
    """A cluster whose nodes own all slices and have work of every publisher."""
    cluster = SimCluster(
        SLICES,
        node_settings=NodeSettings(deliver_items=2, cache_bytes=cache_bytes),
        balancer_settings=QUICK_BALANCER,
    )
    cluster.start_balancer()
    for _ in range(nodes):
        cluster.start_node()
    publish_everywhere(cluster)
    cluster.settle()
    return cluster


def publish_everywhere(cluster: SimCluster) -> None:
    for writer in cluster.publishers:
        for slice_id in range(cluster.slice_count):
            cluster.publish(writer, slice_id)


def open_session(cluster: SimCluster, stage: Stage) -> Session | None:
    sessions = cluster.balancer.sessions.values() if cluster.balancer else ()
    return next((session for session in sessions if session.stage is stage), None)


def step_under_way(cluster: SimCluster, session: Session, moment: str) -> bool:
    """Whether the session's present step is at this moment."""
    step = ORDERS[session.stage]
    if moment == "ordered":
        return any(
            isinstance(p.what, Order) and (p.what.term, p.what.step) == (session.term, step)
            for p in cluster.network.parcels
        )
    answers = {step, Step.MERGED} if step in (Step.SEND_CACHE, Step.CANCEL) else {step}
    return any(
        isinstance(p.what, Ack) and p.what.term == session.term and p.what.step in answers
        for p in cluster.network.parcels
    )


def lose_all(cluster: SimCluster, unwanted: Callable[[Parcel], bool]) -> None:
    parcels = cluster.network.parcels
    parcels[:] = [parcel for parcel in parcels if not unwanted(parcel)]


def is_ack_of(step: Step) -> Callable[[Parcel], bool]:
    return lambda parcel: isinstance(parcel.what, Ack) and parcel.what.step == step


def drive_to(cluster: SimCluster, stage: Stage, moment: str) -> Session | None:
    """Let a handover take its course to a stage; to CANCELLING by losing what the taker says."""

    def reached() -> bool:
        session = open_session(cluster, stage)
        if session is not None:
            return step_under_way(cluster, session, moment)
        if stage is Stage.CANCELLING:
            lose_all(cluster, is_ack_of(Step.ACTIVATE))
        return False

    if cluster.balancer is None or len(cluster.nodes) < 2:
        return None
    if not cluster.balancer.sessions:
        owners = [owner for owner in cluster.balancer.owners.of if owner in cluster.nodes]
        others = [node for node in cluster.nodes if owners and node != owners[0]]
        if not others:
            return None
        cluster.move(owners[0], others[0], 1)
    return open_session(cluster, stage) if cluster.run_until(reached, 5.0) else None


def crash(cluster: SimCluster, session: Session, victim: str) -> None:
    crash_one(cluster, victim, session.giver, session.taker)


def crash_one(cluster: SimCluster, victim: str, giver: str, taker: str) -> None:
    if victim == "balancer":
        cluster.kill_balancer()
    node = giver if victim.endswith("giver") else taker if victim.endswith("taker") else ""
    if node in cluster.nodes:
        (cluster.stop_node if victim.startswith("stopped") else cluster.kill_node)(node)


# -- every step, deterministic -------------------------------------------------------------------


@pytest.mark.parametrize("lost", [None, Ack, Commit], ids=["all arrives", "no ack", "no commit"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("stage", list(ORDERS), ids=lambda stage: stage.name)
def test_a_crash_at_any_step_loses_and_repeats_nothing(
    stage: Stage, victim: str, moment: str, lost: type | None
) -> None:
    cluster = working_cluster()
    work_in_hand(cluster)
    session = drive_to(cluster, stage, moment)
    assert session is not None
    crash(cluster, session, victim)
    busy_time(cluster, 1.5, lost)
    cluster.settle()


@pytest.mark.parametrize("lost", [Ack, Order], ids=["no ack", "no order"])
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_crash_after_a_merge_of_which_the_balancer_has_not_heard(victim: str, lost: type) -> None:
    """The taker works and commits, while the balancer still tries to get the cache moved."""
    cluster = working_cluster()
    work_in_hand(cluster)
    session = drive_to(cluster, Stage.SENDING, "done")
    assert session is not None
    lose_all(cluster, is_ack_of(Step.MERGED))
    busy_time(cluster, 0.5, lost)
    crash(cluster, session, victim)
    busy_time(cluster, 0.5, lost)
    cluster.settle()


@pytest.mark.parametrize("stage", list(ORDERS), ids=lambda stage: stage.name)
def test_an_application_that_fails_during_a_handover_loses_nothing(stage: Stage) -> None:
    cluster = working_cluster()
    work_in_hand(cluster)
    assert drive_to(cluster, stage, "ordered") is not None
    publish_everywhere(cluster)
    for _ in range(20):
        for node in cluster.nodes:
            cluster.begin(node)
            cluster.finish(node, ok=False)
        for _ in range(min(10, len(cluster.network.parcels))):
            cluster.network.deliver(0)
        cluster.advance(BUSY_TICK)
    assert any(sim.core.delivery.failures.retried for sim in cluster.nodes.values())
    cluster.settle()


def work_in_hand(cluster: SimCluster) -> None:
    """Items that are processed and not committed, items in hand, and items that wait."""
    for _ in range(3):
        publish_everywhere(cluster)
    cluster.run_until(lambda: all(sim.core.cache.has_work for sim in cluster.nodes.values()))
    for node in cluster.nodes:
        cluster.begin(node)
        cluster.finish(node)
        cluster.begin(node)


def busy_time(cluster: SimCluster, seconds: float, lost: type | None = None) -> None:
    """Items come all the time, and applications are never through with them."""
    end = cluster.now + seconds
    delivered = 0
    while (now := cluster.now) < end:
        busy_event(cluster, lost)
        delivered = delivered + 1 if cluster.now == now else 0
        assert delivered < STORM, "messages beget messages without end"


def busy_event(cluster: SimCluster, lost: type | None = None) -> None:
    if lost is not None:
        lose_all(cluster, lambda parcel: isinstance(parcel.what, lost) and not parcel.replayed)
    if cluster.network.parcels:
        cluster.network.deliver(0)
        return
    slice_id = round(cluster.now / BUSY_TICK) % cluster.slice_count
    for writer in cluster.publishers:
        cluster.publish(writer, slice_id)
    for node in cluster.nodes:
        cluster.finish(node)
        cluster.begin(node)
    cluster.advance(BUSY_TICK)


def joining_node() -> SimCluster:
    """A node that has everything and works on it, and a new one that shall get half of it."""
    cluster = working_cluster(1)
    cluster.receipts.clear()
    work_in_hand(cluster)
    cluster.start_node()
    return cluster


def handed_over(cluster: SimCluster) -> bool:
    return bool(planned(cluster))


def planned(cluster: SimCluster) -> list[Receipt]:
    """The receipts of handovers that a plan asked for."""
    return [receipt for receipt in cluster.receipts if receipt.cause.startswith("plan ")]


@pytest.mark.parametrize("lost", [None, Commit], ids=["all arrives", "no commit"])
@pytest.mark.parametrize("victim", ["nobody", *VICTIMS])
def test_a_crash_after_any_message_loses_and_repeats_nothing(
    victim: str, lost: type | None
) -> None:
    crash_after, over = 0, False
    while not over:
        cluster = joining_node()
        giver, taker = cluster.nodes
        for _ in range(crash_after):
            busy_event(cluster, lost)
        over = handed_over(cluster)
        crash_one(cluster, victim, giver, taker)
        busy_time(cluster, 0.5, lost)
        cluster.settle()
        crash_after += 1 if THOROUGH else 11


@pytest.mark.parametrize("lost", LOSABLE)
@pytest.mark.usefixtures("page_slices")
def test_whatever_is_lost_nothing_is_repeated_without_a_crash(lost: type) -> None:
    cluster = joining_node()
    busy_time(cluster, 2.0, lost)
    assert cluster.run_until(lambda: handed_over(cluster))
    cluster.settle()
    assert cluster.checker.repeated == 0


def test_a_handover_leaves_a_receipt() -> None:
    cluster = joining_node()
    while not handed_over(cluster):
        busy_event(cluster)
    [receipt] = planned(cluster)
    assert (receipt.outcome, len(receipt.slices)) == ("done", SLICES // 2)
    assert receipt.moved > 0
    assert (receipt.repeated, cluster.checker.repeated) == (0, 0)


# -- anything at any time ------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(4))
def test_long_random_schedules(block: int, page_slices: int) -> None:
    count = settings().max_examples // 2 if THOROUGH else 10
    first = block * 2 * count + count * (page_slices == 1)
    for seed in range(first, first + count):
        try:
            random_schedule(seed)
        except Exception as error:
            error.add_note(f"random_schedule({seed})")
            raise


ANY = st.integers(0, 999)
"""Chooses among things whose number is not known beforehand."""


class Restless(RuleBasedStateMachine):
    """Nobody dies but balancers; messages are late, repeated, lost, and slices move."""

    cluster: SimCluster

    @initialize(nodes=st.integers(2, 3), small=st.booleans(), busy=st.booleans())
    def begin_working(self, nodes: int, small: bool, busy: bool) -> None:
        self.cluster = working_cluster(nodes, cache_bytes=1_000 if small else 1 << 20)
        self.late: list[Parcel] = []
        if busy:
            work_in_hand(self.cluster)

    # -- items

    @rule(writer=ANY, slice_id=st.integers(0, SLICES - 1), count=st.integers(1, 4))
    def publish(self, writer: int, slice_id: int, count: int) -> None:
        writers = list(self.cluster.publishers)
        for _ in range(count):
            self.cluster.publish(writers[writer % len(writers)], slice_id)

    @rule()
    def start_publisher(self) -> None:
        if len(self.cluster.publishers) < 4:
            self.cluster.start_publisher()

    @rule(which=ANY, slow=st.booleans())
    def begin(self, which: int, slow: bool) -> None:
        if node := self.running(which):
            self.cluster.begin(node, slow=slow)

    @rule(which=ANY)
    def finish(self, which: int) -> None:
        if node := self.running(which):
            self.cluster.finish(node)

    @rule(which=ANY)
    def fail(self, which: int) -> None:
        if node := self.running(which):
            self.cluster.finish(node, ok=False)

    # -- network and time

    @rule(count=st.integers(1, 40))
    def deliver_next(self, count: int) -> None:
        for _ in range(min(count, len(self.cluster.network.parcels))):
            self.cluster.network.deliver(0)

    @rule(choices=st.lists(ANY, min_size=1, max_size=6))
    def deliver_any(self, choices: list[int]) -> None:
        for which in choices:
            if self.cluster.network.parcels:
                self.cluster.network.deliver(which % len(self.cluster.network.parcels))

    @rule(which=ANY, lost=st.booleans())
    def repeat_or_lose(self, which: int, lost: bool) -> None:
        network = self.cluster.network
        if network.parcels:
            (network.lose if lost else network.repeat)(which % len(network.parcels))

    @rule(which=ANY, kind=st.booleans(), late=st.booleans())
    def lose_or_hold_back_many(self, which: int, kind: bool, late: bool) -> None:
        """All that is on its way to somebody, or all of a kind."""
        if not self.cluster.network.parcels:
            return
        chosen = self.cluster.network.parcels[which % len(self.cluster.network.parcels)]

        def unwanted(parcel: Parcel) -> bool:
            same = type(parcel.what) is type(chosen.what) if kind else parcel.to == chosen.to
            return same and not parcel.certain

        if late:
            self.late += filter(unwanted, self.cluster.network.parcels)
        lose_all(self.cluster, unwanted)

    @rule()
    def arrive_late(self) -> None:
        self.cluster.network.parcels += self.late
        self.late.clear()

    @rule(seconds=st.sampled_from([0.04, 0.1, 0.3, 0.6, 1.2]))
    def advance(self, seconds: float) -> None:
        self.cluster.advance(seconds)

    @rule(seconds=st.sampled_from([0.1, 0.3, 0.6, 1.2]), lost=st.sampled_from([None, *LOSABLE]))
    def busy_time(self, seconds: float, lost: type | None) -> None:
        busy_time(self.cluster, seconds, lost)

    # -- operators and the balancer

    @rule(giver=ANY, taker=ANY, count=st.integers(1, SLICES))
    def move(self, giver: int, taker: int, count: int) -> None:
        nodes = list(self.cluster.nodes)
        if len(nodes) > 1:
            self.cluster.move(nodes[giver % len(nodes)], nodes[taker % len(nodes)], count)

    @rule(stage=st.sampled_from(list(ORDERS)), moment=st.sampled_from(MOMENTS))
    def hand_over(self, stage: Stage, moment: str) -> None:
        drive_to(self.cluster, stage, moment)

    @rule(dead=st.booleans())
    def restart_balancer(self, dead: bool) -> None:
        """Kill it, and start the next one at once or later."""
        if self.cluster.balancer is not None:
            self.cluster.kill_balancer()
        if not dead:
            self.cluster.start_balancer()

    # -- the end

    @invariant()
    def one_session_a_node(self) -> None:
        balancer = self.cluster.balancer
        busy = Counter(
            node
            for session in (balancer.sessions.values() if balancer else ())
            for node in (session.giver, session.taker)
            if node
        )
        assert all(count == 1 for count in busy.values()), busy

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        self.cluster.network.parcels += self.late
        publish_everywhere(self.cluster)
        self.cluster.settle(120.0)

    def running(self, which: int) -> str | None:
        running = [node for node, sim in self.cluster.nodes.items() if not sim.stopped]
        return running[which % len(running)] if running else None


class Disturbed(Restless):
    """The same, and nodes come, go, die, stand still and are taken for dead."""

    @rule()
    def start_node(self) -> None:
        if len(self.cluster.nodes) < 4:
            self.cluster.start_node()

    @rule(which=ANY, how=st.sampled_from(["kill", "stop", "lose sight", "leave"]))
    def disturb_node(self, which: int, how: str) -> None:
        node = self.running(which)
        if node is None:
            return
        if how == "kill":
            self.cluster.kill_node(node)
        elif how == "stop":
            self.cluster.stop_node(node)
        elif how == "lose sight":
            self.cluster.lose_sight_of(node)
        else:
            self.cluster.nodes[node].core.leave()

    @rule()
    def continue_nodes(self) -> None:
        for node, sim in self.cluster.nodes.items():
            if sim.stopped:
                self.cluster.continue_node(node)

    @rule(
        stage=st.sampled_from(list(ORDERS)),
        moment=st.sampled_from(MOMENTS),
        victim=st.sampled_from(VICTIMS),
    )
    def crash_in_session(self, stage: Stage, moment: str, victim: str) -> None:
        session = drive_to(self.cluster, stage, moment)
        if session is not None:
            event(f"{victim} crashed in {stage.name}")
            REACHED[stage, victim] += 1
            crash(self.cluster, session, victim)


CASES = 4 * settings().max_examples if THOROUGH else 20
TestRestless = Restless.TestCase
TestRestless.settings = settings(max_examples=CASES // 8, stateful_step_count=20)


class TestDisturbed(Disturbed.TestCase):
    settings = settings(max_examples=CASES, stateful_step_count=12)

    def runTest(self) -> None:  # noqa: N802 - unittest calls it so
        super().runTest()
        if THOROUGH:  # by chance, so not everything every time: all pairs have tests of their own
            assert len({stage for stage, _ in REACHED}) > len(ORDERS) // 2
            assert len({victim for _, victim in REACHED}) > 1
