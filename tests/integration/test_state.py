"""State moves with its slice between real nodes, and begins anew after a ``kill -9``."""

from __future__ import annotations

import json

import pytest

from evenflow import Balancer, Config, Node, Publisher
from evenflow.processes import wait_until

pytestmark = [pytest.mark.domain, pytest.mark.processes]
SLICES = 8
FILE = """
[domain]
id = {}
[topics.items]
slices = 8
assignment = "modulo:id"
"""
APP = """
import json, sys

class Numbers:
    def __init__(self):
        self.ids = {}
        self.began = []

    def on_new_data(self, batch):
        self.ids[batch.slice] += batch.ids.tolist()

    def give(self, slice_id):
        return json.dumps(self.ids[slice_id]).encode()

    def take(self, slice_id, state):
        self.began.append((slice_id, state))
        self.ids[slice_id] = [] if state is None else json.loads(state)

    def forget(self, slice_id):
        del self.ids[slice_id]
"""
NODE = (
    APP
    + """
from evenflow import Config, Node
numbers = Numbers()
node = Node("items", numbers.on_new_data, name="doomed", config=Config.load(sys.argv[1]))
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps(numbers.ids), flush=True)
"""
)
scope: dict[str, type] = {}
exec(APP, scope)
Numbers = scope["Numbers"]


@pytest.fixture
def config(domain_id, tmp_path):
    (tmp_path / "evenflow.toml").write_text(FILE.format(domain_id))
    return Config.load(tmp_path / "evenflow.toml")


def expected(slice_id, first, end):
    return [n for n in range(first, end) if n % SLICES == slice_id]


def test_state_moves_and_begins_anew_after_a_kill(config, python, tmp_path):
    numbers = Numbers()
    published = 0

    def publish(publisher, count):
        nonlocal published
        for _ in range(count):
            publisher.publish(b"x", id=published)
            published += 1

    def committed(publisher):
        return wait_until(lambda: publisher.committed == published, 30)

    with (
        Balancer(config=config),
        Node("items", numbers.on_new_data, config=config) as node,
        Publisher("items", config=config) as publisher,
    ):
        assert wait_until(lambda: len(node.slices) == SLICES, 20)
        publish(publisher, 200)
        doomed = python(NODE, tmp_path / "evenflow.toml")
        assert doomed.stdout.readline()
        publish(publisher, 200)  # while slices move
        assert wait_until(lambda: len(node.slices) == SLICES // 2, 20)
        publish(publisher, 200)
        assert committed(publisher)
        doomed.stdin.write("tell\n")
        doomed.stdin.flush()
        moved = {int(s): ids for s, ids in json.loads(doomed.stdout.readline()).items()}
        assert len(moved) == SLICES // 2
        assert moved == {s: expected(s, 0, published) for s in moved}
        assert wait_until(lambda: numbers.ids.keys() == set(range(SLICES)) - moved.keys(), 20)

        before = published
        doomed.kill()
        assert wait_until(lambda: len(node.slices) == SLICES, 30)
        publish(publisher, 200)
        assert committed(publisher)
        assert numbers.ids == {
            s: expected(s, before if s in moved else 0, published) for s in range(SLICES)
        }
        assert [s for s, state in numbers.began[SLICES:] if state is None] == sorted(
            moved, key=[s for s, _ in numbers.began[SLICES:]].index
        )
        assert node.states_lost == 0


def test_a_state_that_is_too_large_stays_and_the_node_goes_on(domain_id, tmp_path, caplog):
    (tmp_path / "evenflow.toml").write_text(FILE.format(domain_id) + "[node]\nstate_bytes = 4\n")
    config = Config.load(tmp_path / "evenflow.toml")
    first, second = Numbers(), Numbers()
    with (
        Balancer(config=config),
        Node("items", first.on_new_data, config=config) as node,
        Publisher("items", config=config) as publisher,
    ):
        assert wait_until(lambda: len(node.slices) == SLICES, 20)
        for number in range(100):
            publisher.publish(b"x", id=number)
        assert wait_until(lambda: publisher.committed == 100, 20)
        with Node("items", second.on_new_data, config=config):
            told = "more than node.state_bytes = 4"
            assert wait_until(lambda: told in caplog.text, 20)
            publisher.publish(b"x", id=100)
            assert wait_until(lambda: publisher.committed == 101, 30)
        assert second.ids == {}
        assert node.states_lost == 0
        assert first.ids[100 % SLICES][-1] == 100
