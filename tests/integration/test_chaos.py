"""Four nodes, 200 slices, a steady stream, and everything that may happen to nodes."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest

from evenflow.config import Config
from evenflow.domain.channels import MOVES, REPLIES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.model.ids import NodeId
from evenflow.model.messages import MoveRequest
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

SLICES = 200
RATE = 400
HERE = Path(__file__).parent
TAKEOVER = re.compile(r"takeover: .*, (\d+) replayed")


class Arena:
    """A cluster whose nodes record what they process, a stream, and the books."""

    def __init__(self, domain_id, folder, *, pause_s=0.0):
        self.folder = folder
        self.config = Config.load(
            None,
            {
                "domain.id": domain_id,
                "topics.items.slices": SLICES,
                "topics.items.assignment": "hash:id",
                "publisher.linger_ms": 2,
            },
        )
        self.pause_s = pause_s
        self.cluster = LocalCluster(self.config, log_dir=folder)
        self.participant = Participant(self.config.domain)
        self.observer = Observer(self.participant)
        self.view = self.observer.view("items")
        self.killed = set()
        self.throttled = set()
        """Nodes that may get an item back that they had processed and could not commit."""
        self.started = 0
        self.commits = []
        self.publisher = Publisher(
            "items", config=self.config, on_commit=lambda *commit: self.commits.append(commit)
        )
        self.published = 0
        self._stop = Event()
        self._stream = Thread(target=self._publish, daemon=True)
        self._moves = self.participant.writer(MOVES)
        self._replies = self.participant.reader(REPLIES)
        self.accepted = 0

    def start_node(self):
        self.started += 1
        name = f"node-{self.started}"
        env = {
            "EVENFLOW_RECORD": str(self.folder / f"{name}.items"),
            "EVENFLOW_PAUSE": str(self.pause_s),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.getenv("PYTHONPATH")])),
        }
        self.cluster.start_node(name, "recorder:record", env=env)
        return name

    @property
    def names(self):
        """Nodes that take part: those whose processes run and whose reports are seen."""
        seen = {NodeId(node).name for node in self.view.nodes}
        return sorted(name for name in self.cluster.processes if name in seen)

    def wait_balanced(self, nodes, timeout_s=20):
        """Wait until so many nodes own all slices evenly."""

        def balanced():
            self.observer.look(0.05)
            owned = Counter(self.view.map.owners) if self.view.map else Counter()
            held = [len(report.slices) for report in self.view.nodes.values()]
            return (
                len(self.view.nodes) == nodes
                and owned.total() == SLICES
                and not owned[""]
                and sum(held) == SLICES
                and all(set(report.states) <= {0} for report in self.view.nodes.values())
            )

        assert wait_until(balanced, timeout_s, every_s=0), (
            f"not balanced over {nodes} nodes: "
            f"{ {node: len(report.slices) for node, report in self.view.nodes.items()} }\n"
            + self.cluster.log("balancer")
        )

    def stream(self):
        self._stream.start()

    def _publish(self):
        started = time.monotonic()
        while not self._stop.is_set():
            while self.published < (time.monotonic() - started) * RATE:
                self.published += 1
                self.publisher.publish(b"payload", id=self.published)
            time.sleep(0.002)

    def move(self, rng):
        giver, taker = rng.sample(self.names, 2)
        count = rng.randrange(1, 20)
        request = MoveRequest("items", rng.getrandbits(60), giver, taker, count, ())
        self._moves.write(request)
        reply = []

        def replied():
            reply.extend(r for r in self._replies.take() if r.request == request.request)
            return reply

        assert wait_until(replied, 20)
        self.accepted += reply[0].accepted

    def finish(self):
        """End the stream; everything must become committed."""
        self._stop.set()
        self._stream.join()
        self.publisher.close(timeout=60)

    def close(self):
        self._stop.set()
        self.cluster.close()
        self.participant.close()

    def check_books(self):
        """Every id committed once; processed once, save what killed nodes had in hand."""
        numbers = Counter()
        for slice_id, first, last, _ in self.commits:
            numbers.update((slice_id, number) for number in range(first, last + 1))
        assert len(numbers) == self.published
        assert set(numbers.values()) == {1}
        processed = {
            file.stem: Counter(map(int, file.read_text().split()))
            for file in self.folder.glob("*.items")
        }
        assert set().union(*processed.values()) == set(range(1, self.published + 1))
        for name, ids in processed.items():
            twice = max(ids.values(), default=1) > 1
            assert name in self.throttled or not twice, f"{name} processed an item twice"
        orderly = Counter()
        for name, ids in processed.items():
            if name not in self.killed:
                orderly.update(ids)
        # Of a node that died, or stood still for too long, what it had not committed comes again;
        # also what another had processed that gave it the slice.
        twice = [id for id, times in orderly.items() if times > 1]
        log = self.cluster.log("balancer")
        replayed = sum(map(int, TAKEOVER.findall(log)))
        assert len(twice) <= replayed, f"living nodes processed {twice} again\n{log}"


@pytest.fixture
def arena(domain_id, tmp_path):
    arena = Arena(domain_id, tmp_path)
    yield arena
    arena.close()


def test_moves_joins_leaves_and_kills_lose_and_repeat_nothing(arena):
    rng = random.Random(7)
    arena.cluster.start_balancer()
    for _ in range(4):
        arena.start_node()
    arena.wait_balanced(4)
    arena.stream()

    def moves(count):
        for _ in range(count):
            arena.move(rng)
            arena.observer.look(0.1)

    moves(5)
    arena.start_node()
    arena.wait_balanced(5)
    moves(5)
    victim = rng.choice(arena.names)
    arena.killed.add(victim)
    arena.cluster.kill(victim)
    arena.wait_balanced(4)
    moves(5)
    leaver = rng.choice(arena.names)
    assert arena.cluster.stop(leaver) == 0
    arena.wait_balanced(3)
    arena.start_node()
    arena.wait_balanced(4)
    moves(5)
    victim = rng.choice(arena.names)
    arena.killed.add(victim)
    arena.cluster.kill(victim)
    arena.wait_balanced(3)
    arena.finish()
    assert arena.accepted >= 10
    arena.check_books()
    receipts = arena.view.receipts
    assert all(receipt.repeated == 0 for receipt in receipts)
    causes = {receipt.cause.partition(" ")[0] for receipt in receipts}
    assert {"assign", "plan", "takeover"} <= causes


def test_a_balancer_that_dies_is_started_again_and_no_node_stops(arena):
    arena.cluster.start_balancer()
    for _ in range(3):
        arena.start_node()
    arena.wait_balanced(3)
    owners, version = arena.view.map.owners, arena.view.map.version
    arena.stream()
    arena.cluster.kill("balancer")
    before = arena.publisher.stats.committed
    assert wait_until(lambda: arena.publisher.stats.committed > before + 2 * RATE, 20)
    arena.cluster.start_balancer("balancer")
    assert wait_until(
        lambda: arena.observer.look(0.05) or arena.view.map.version > version, 15, every_s=0
    )
    arena.wait_balanced(3)
    assert arena.view.map.owners == owners
    arena.finish()
    arena.check_books()


def test_a_node_that_was_stopped_gives_up_its_slices_by_itself(arena):
    arena.cluster.start_balancer()
    for _ in range(3):
        arena.start_node()
    arena.wait_balanced(3)
    arena.stream()
    victim = arena.names[0]
    arena.cluster.signal(victim, signal.SIGSTOP)
    stopped = time.monotonic()
    arena.wait_balanced(2)
    while time.monotonic() < stopped + 5:
        arena.observer.look(0.1)
    arena.cluster.signal(victim, signal.SIGCONT)
    arena.killed.add(victim)  # what it had in hand when it was stopped may be processed again
    arena.wait_balanced(3)
    arena.finish()
    arena.check_books()


def test_a_node_throttled_so_hard_that_it_is_taken_for_dead_again_and_again(arena):
    arena.cluster.start_balancer()
    for _ in range(3):
        arena.start_node()
    arena.wait_balanced(3)
    arena.stream()
    victim = arena.names[0]
    arena.killed.add(victim)  # what it had in hand whenever it stood still may be processed again
    arena.throttled.add(victim)
    taken = lambda: [  # noqa: E731
        receipt
        for receipt in arena.view.receipts
        if receipt.cause == "takeover" and receipt.giver.startswith(f"{victim}~")
    ]
    for _ in range(6):  # as a quota does whose period is longer than domain.liveliness_s
        arena.cluster.signal(victim, signal.SIGSTOP)
        arena.observer.look(0.9)
        arena.cluster.signal(victim, signal.SIGCONT)
        arena.observer.look(0.2)
    assert wait_until(lambda: arena.observer.look(0.05) or len(taken()) >= 2, 10, every_s=0)
    arena.wait_balanced(3)
    arena.finish()
    arena.check_books()
