"""Evenflow manages itself: real processes, a real domain, and a history that says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from evenflow.autonomic.execution import PlanState
from evenflow.autonomic.history import History
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.slices.local import LocalCluster, wait_until
from evenflow.slices.observer import Observer
from evenflow.slices.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

SLICES = 20
HEAVY = range(5)
"""Slices that have nearly all the load."""
QUICK = {
    "topics.items.slices": SLICES,
    "balancer.algorithm": "weighted",
    "balancer.analyze_s": 1.0,
    "balancer.settle_s": 0.5,
    "monitor.period_s": 0.2,
}


@contextmanager
def cluster_of(domain_id, folder, *nodes, app="evenflow.apps:discard", env=None, **settings):
    """A balancer and nodes; keyword settings are configuration keys, ``__`` for a dot."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    file = folder / "evenflow.toml"
    given = {**QUICK, "domain.id": domain_id, "history.path": str(folder / "history.db"), **given}
    file.write_text(Config.load(None, given).as_toml(), encoding="utf-8")
    with LocalCluster(Config.load(file), log_dir=folder) as cluster:
        cluster.start_balancer()
        for node in nodes:
            cluster.start_node(node, app, env=env)
        yield cluster


def evenflow(cluster, *command):
    """Run a command with the cluster's configuration."""
    done = subprocess.run(
        [sys.executable, "-m", "evenflow", *command, "--config", str(cluster.config.file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def plans(cluster):
    """The stories of all plans, newest first."""
    if not cluster.config.history_file.exists():
        return []
    with History(cluster.config.history_file) as history:
        return list(history.stories())


def events(cluster):
    """Every event with its phase and what was seen."""
    with History(cluster.config.history_file) as history:
        entries = history.entries(kind="event")
    return [(e.name, e.state, {n: v for n, v, _ in json.loads(e.body)}) for e in entries]


@pytest.fixture
def owners(domain_config):
    """Gives the name of every slice's owner, as anybody sees it."""
    with Participant(domain_config) as participant:
        observer = Observer(participant)

        def look():
            observer.look(0.05)
            slice_map = observer.view("items").map
            if slice_map is None:
                return []
            names = ("", *(node.partition("~")[0] for node in slice_map.nodes))
            return [names[owner] for owner in slice_map.owners]

        yield look


def start_more(cluster, owners, *nodes):
    """Start nodes when the first has everything: without load, nothing moves to them."""
    assert wait_until(lambda: owners() == ["one"] * SLICES, 30)
    for node in nodes:
        cluster.start_node(node, "evenflow.apps:discard")


@contextmanager
def skewed_stream(cluster, rate=400):
    """Publish to the heavy slices, nineteen items of twenty."""
    stop = Event()
    publisher = Publisher("items", config=cluster.config, assignment="modulo:id")

    def publish():
        number = 0
        while not stop.wait(1 / rate):
            number += 1
            heavy = number % 20 != 0
            publisher.publish(b"x", id=number % len(HEAVY) if heavy else number % SLICES)

    thread = Thread(target=publish, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()
    publisher.close(20)


@pytest.mark.parametrize("written", [1, 3, 5], ids=["planned", "first move", "second move"])
def test_a_killed_balancer_leaves_no_plan_unfinished(domain_id, tmp_path, owners, written):
    with cluster_of(domain_id, tmp_path, "one") as cluster:
        start_more(cluster, owners, "two", "three")
        with skewed_stream(cluster):
            moment = lambda: any(len(p.notes) >= written for p in plans(cluster))  # noqa: E731
            assert wait_until(moment, 90, every_s=0.001)
            cluster.kill("balancer")
            [plan] = plans(cluster)
            cluster.start_balancer("second")
            over = lambda: plans(cluster)[-1].outcome.final  # noqa: E731
            assert wait_until(over, 90)
            assert plans(cluster)[-1].plan.plan_id == plan.plan.plan_id
            assert plans(cluster)[-1].outcome in (PlanState.DONE, PlanState.ROLLED_BACK)
            assert wait_until(lambda: len(owners()) == SLICES and all(owners()), 10)


def test_what_an_operator_moved_stays_under_count_also_with_a_new_balancer(
    domain_id, tmp_path, owners
):
    settings = {"balancer__algorithm": "count", "balancer__analyze_s": 0.2}
    with cluster_of(domain_id, tmp_path, "one", "two", **settings) as cluster:
        count = lambda: (owners().count("one"), owners().count("two"))  # noqa: E731
        assert wait_until(lambda: count() == (10, 10), 30)
        evenflow(cluster, "slices", "move", "--from", "one", "--to", "two", "--count", "4")
        assert wait_until(lambda: count() == (6, 14), 5)
        cluster.kill("balancer")
        cluster.start_balancer("second")
        assert wait_until(lambda: "balancing" in cluster.log("second"), 20)
        assert not wait_until(lambda: count() != (6, 14), 3)
        assert plans(cluster) == []


PEAKS = """
from __future__ import annotations
import os
from pathlib import Path

FILE = Path(os.environ["PRESSURE"])


def discard(batch):
    pass


discard.properties = {"pressure": lambda: float(FILE.read_text() or 0)}
"""


def test_a_short_peak_raises_no_event_and_a_long_one_does_once(domain_id, tmp_path, owners):
    (tmp_path / "peaks.py").write_text(PEAKS, encoding="utf-8")
    pressure = tmp_path / "pressure"
    pressure.write_text("0", encoding="utf-8")
    settings = {
        "monitor__ranges": {"pressure": [5.0]},
        "events": {
            "squeezed": {"expression": "pressure > 5", "duration_s": 1.5},
            "all-squeezed": {"events": ["squeezed"], "need": 2, "group": "all"},
        },
    }
    env = {"PRESSURE": str(pressure), "PYTHONPATH": str(tmp_path)}
    with cluster_of(
        domain_id, tmp_path, "one", "two", app="peaks:discard", env=env, **settings
    ) as cluster:
        assert wait_until(lambda: len(set(owners())) == 2, 30)
        pressure.write_text("9", encoding="utf-8")
        assert not wait_until(lambda: events(cluster), 0.5)
        pressure.write_text("0", encoding="utf-8")
        assert not wait_until(lambda: events(cluster), 2)
        pressure.write_text("9", encoding="utf-8")
        assert wait_until(lambda: len(events(cluster)) >= 3, 20)
        assert sorted(event[:2] for event in events(cluster)) == [
            ("all-squeezed", "raised"),
            ("squeezed", "raised"),
            ("squeezed", "raised"),
        ]
        pressure.write_text("0", encoding="utf-8")
        assert wait_until(lambda: len(events(cluster)) >= 6, 20)
        assert {seen.get("pressure") for _, _, seen in events(cluster)} == {9.0, 0.0, None}


def test_a_busy_group_gets_another_node(domain_id, tmp_path, owners, monkeypatch):
    (tmp_path / "peaks.py").write_text(PEAKS, encoding="utf-8")
    pressure = tmp_path / "pressure"
    pressure.write_text("9", encoding="utf-8")
    monkeypatch.setenv("PRESSURE", str(pressure))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    settings = {
        "balancer__algorithm": "count",
        "node__app": "peaks:discard",
        "monitor__ranges": {"pressure": [5.0]},
        "events": {"all-busy": {"group": "all", "expression": "min_pressure > 5"}},
        "planners": {"fleet": {"planner": "elastic", "grow_on": "all-busy", "most": 2}},
        "rules": [{"event": "all-busy", "planner": "fleet"}],
    }
    with cluster_of(domain_id, tmp_path, "one", app="peaks:discard", **settings) as cluster:
        assert wait_until(lambda: [p.outcome for p in plans(cluster)] == [PlanState.DONE], 40)
        [plan] = plans(cluster)
        new = f"elastic-{plan.plan.plan_id}"
        assert wait_until(lambda: owners().count(new) == SLICES // 2, 20)
        told = json.loads(evenflow(cluster, "history", "--json"))["plans"][0]
        assert told["reason"] == "1 nodes are too few"
        assert told["actions"][0]["said"] == f"{new} has joined"
        nodes = json.loads(evenflow(cluster, "nodes", "--json"))["nodes"]
        os.kill(next(n["pid"] for n in nodes if n["node"].startswith(new)), signal.SIGTERM)


def test_a_faulty_expression_is_refused_at_the_start(domain_id, tmp_path):
    file = tmp_path / "evenflow.toml"
    file.write_text("[events.x]\nexpression = 'cpu > 70 && memry > 3'\n", encoding="utf-8")
    for command in (["balancer"], ["node", "--app", "evenflow.apps:discard"], ["config"]):
        done = subprocess.run(
            [sys.executable, "-m", "evenflow", *command, "--config", str(file),
             "--domain", str(domain_id)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "line 1, column 13: unknown property 'memry'; did you mean 'memory'?" in done.stderr
        assert Path(file).name in done.stderr or "event.x.expression" in done.stderr
