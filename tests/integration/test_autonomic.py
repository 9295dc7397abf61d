"""Evenflow manages itself: real processes, a real domain, and a history that says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from evenflow.autonomic.analyze.balancer_events import MEMBERSHIP
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.model.ids import NodeId
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

SLICES = 20
QUICK = {
    "topics.items.slices": SLICES,
    "balancer.analyze_s": 0.5,
    "balancer.settle_s": 0.5,
    "monitor.period_s": 0.2,
}
RESTLESS = {
    "balancer__algorithm": "weighted",
    "planners": {"items": {"planner": "weighted", "settle_s": 0, "return_s": 0}},
}
"""By default a slice that has moved stays for 30 s, too long for a test."""


@contextmanager
def cluster_of(domain_id, folder, *nodes, app="evenflow.apps:discard", **settings):
    """A balancer and nodes; keyword settings are configuration keys, ``__`` for a dot."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    file = folder / "evenflow.toml"
    given = {**QUICK, "domain.id": domain_id, "history.path": str(folder / "history.db"), **given}
    file.write_text(Config.load(None, given).as_toml(), encoding="utf-8")
    with LocalCluster(Config.load(file), log_dir=folder) as cluster:
        cluster.start_balancer()
        for node in nodes:
            cluster.start_node(node, app)
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
    """The stories of all plans but those for nodes that join and leave, newest first."""
    if not cluster.config.history_file.exists():
        return []
    with History(cluster.config.history_file) as history:
        return [story for story in history.stories() if not of_membership(story.plan.event_id)]


def of_membership(event_id):
    """Whether the balancer raised the event because nodes came or went."""
    return any(event.is_id(event_id) for event in MEMBERSHIP)


def events(cluster):
    """Every event with its phase and what was seen."""
    with History(cluster.config.history_file) as history:
        entries = [e for e in history.entries(kind="event") if not of_membership(e.name)]
    return [(e.name, e.state, {n: v for n, v, _ in json.loads(e.body)["seen"]}) for e in entries]


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
            return [NodeId(node).name for node in slice_map.owners]

        yield look


class SkewedStream:
    """Publishes to a few slices that bear all the load."""

    def __init__(self, cluster, rate=400):
        self.heavy = ()
        self._rate = rate
        self._stop = Event()
        self._publisher = Publisher("items", config=cluster.config, assignment="modulo:id")
        self._thread = Thread(target=self._publish, daemon=True)

    def press(self, owners):
        """From now on six slices of one node have all the load; returns the node."""
        node, _ = Counter(owners).most_common(1)[0]
        self.heavy = [slice_id for slice_id, owner in enumerate(owners) if owner == node][:6]
        return node

    def _publish(self):
        number = 0
        while not self._stop.wait(1 / self._rate):
            number += 1
            if self.heavy:
                self._publisher.publish(b"x", id=self.heavy[number % len(self.heavy)])

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._publisher.close(20)


@pytest.fixture
def skewed(domain_id, tmp_path, owners):
    """Three nodes that have joined before there is any load, and a stream still to be skewed."""
    with cluster_of(domain_id, tmp_path, "one", "two", "three", **RESTLESS) as cluster:
        even = lambda: sorted(Counter(owners()).values()) == [6, 7, 7]  # noqa: E731
        assert wait_until(even, 30)
        with SkewedStream(cluster) as stream:
            yield cluster, stream


def test_an_overloaded_node_is_relieved_and_the_history_tells_why(skewed, owners):
    cluster, stream = skewed
    pressed = stream.press(owners())
    assert wait_until(lambda: [p.outcome for p in plans(cluster)][-1:] == [PlanState.DONE], 30)
    first = plans(cluster)[-1].plan.plan_id
    told = json.loads(evenflow(cluster, "history", "--plan", first, "--json"))
    assert told["event"]["event"] == "imbalance-items"
    assert told["event"]["seen"]["max_over_mean"] > 2
    assert told["reason"].startswith(f"weighted: {pressed} carries ")
    assert {action["state"] for action in told["actions"]} == {"done"}
    assert all(f"from {pressed} to " in action["does"] for action in told["actions"])
    assert [step["state"] for step in told["steps"]][-1] == "done"
    # One plan need not be enough: the loop goes on until it is even.
    assert wait_until(lambda: len({owners()[slice_id] for slice_id in stream.heavy}) == 3, 30)

    planned = lambda: any(deed.plan_id == first for deed in deeds(cluster))  # noqa: E731
    assert wait_until(planned, 10)
    asked = ("history", "--slice", str(stream.heavy[0]), "--json")
    story = json.loads(evenflow(cluster, *asked))["moves"]
    assert story[-1]["why"] == "nobody had them"
    listed = evenflow(cluster, "history")
    assert f"imbalance-items: plan {first} done" in listed
    assert "assign: slices" in listed


def deeds(cluster):
    """Everything that was moved, newest first."""
    with History(cluster.config.history_file) as history:
        return history.deeds()


def test_a_killed_balancer_leaves_no_plan_unfinished(skewed, owners):
    cluster, stream = skewed
    interrupted = 0
    for run, written in enumerate((1, 3, 5)):  # planned, the first move begun, the second begun
        known = {story.plan.plan_id for story in plans(cluster)}
        stream.press(owners())
        new = lambda known=known: [  # noqa: E731
            story for story in plans(cluster) if story.plan.plan_id not in known
        ]
        moment = lambda new=new, written=written: any(  # noqa: E731
            len(story.notes) >= written for story in new()
        )
        assert wait_until(moment, 30, every_s=0.001)
        cluster.kill("balancer" if run == 0 else f"balancer-{run}")
        [*_, plan] = new()
        interrupted += not plan.outcome.final
        cluster.start_balancer(f"balancer-{run + 1}")
        outcome = lambda plan=plan: next(  # noqa: E731
            story.outcome for story in plans(cluster) if story.plan == plan.plan
        )
        assert wait_until(lambda outcome=outcome: outcome().final, 20)
        assert outcome() in (PlanState.DONE, PlanState.ROLLED_BACK)
        assert wait_until(lambda: len(owners()) == SLICES and all(owners()), 10)
    assert interrupted


def test_what_an_operator_moved_stays_under_count_also_with_a_new_balancer(
    domain_id, tmp_path, owners
):
    settings = {"balancer__algorithm": "count", "balancer__analyze_s": 0.2}
    with cluster_of(domain_id, tmp_path, "one", "two", **settings) as cluster:
        count = lambda: (owners().count("one"), owners().count("two"))  # noqa: E731
        assert wait_until(lambda: count() == (10, 10), 30)
        evenflow(cluster, "slices", "move", "--from", "one", "--to", "two", "--count", "4")
        assert wait_until(lambda: count() == (6, 14), 20)
        cluster.kill("balancer")
        cluster.start_balancer("second")
        assert wait_until(lambda: "balancing" in cluster.log("second"), 20)
        assert not wait_until(lambda: count() != (6, 14), 3)
        assert plans(cluster) == []
        by_hand = json.loads(evenflow(cluster, "history", "--json"))["moves"][0]
        assert (by_hand["why"], by_hand["outcome"]) == ("asked for by hand", "done")


PEAKS = """
from __future__ import annotations
import os
from pathlib import Path

FILE = Path(os.environ["PRESSURE"])


def discard(batch):
    pass


discard.properties = {"pressure": lambda: float(FILE.read_text() or 0)}
"""


def test_a_short_peak_raises_no_event_and_a_long_one_does_once(
    domain_id, tmp_path, owners, monkeypatch
):
    (tmp_path / "peaks.py").write_text(PEAKS, encoding="utf-8")
    pressure = tmp_path / "pressure"
    pressure.write_text("0", encoding="utf-8")
    settings = {
        "monitor__ranges": {"pressure": [5.0]},
        "events": {
            "squeezed": {"expression": "pressure > 5", "duration_s": 3.0},
            "all-squeezed": {"events": ["squeezed"], "need": 2, "group": "all"},
        },
    }
    monkeypatch.setenv("PRESSURE", str(pressure))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with cluster_of(domain_id, tmp_path, "one", "two", app="peaks:discard", **settings) as cluster:
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


def test_a_busy_group_gets_another_node_and_an_idle_one_loses_it(
    domain_id, tmp_path, owners, monkeypatch
):
    (tmp_path / "peaks.py").write_text(PEAKS, encoding="utf-8")
    pressure = tmp_path / "pressure"
    pressure.write_text("9", encoding="utf-8")
    monkeypatch.setenv("PRESSURE", str(pressure))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    settings = {
        "balancer__algorithm": "count",
        "node__app": "peaks:discard",
        "monitor__ranges": {"pressure": [5.0]},
        "events": {
            "all-busy": {"group": "all", "expression": "min_pressure > 5"},
            "all-idle": {"group": "all", "expression": "max_pressure < 1"},
        },
        "planners": {
            "fleet": {
                "planner": "elastic", "grow_on": "all-busy", "shrink_on": "all-idle", "most": 2,
                "cooldown_s": 0,
            }
        },
        "rules": [
            {"event": "all-busy", "planner": "fleet"},
            {"event": "all-idle", "planner": "fleet"},
        ],
    }  # fmt: skip
    with cluster_of(domain_id, tmp_path, "one", app="peaks:discard", **settings) as cluster:
        assert wait_until(lambda: [p.outcome for p in plans(cluster)] == [PlanState.DONE], 40)
        new = plans(cluster)[0].plan.plan_id
        assert wait_until(lambda: owners().count(new) == SLICES // 2, 20)
        listed = json.loads(evenflow(cluster, "history", "--json"))["plans"]
        [told] = [plan for plan in listed if plan["plan"] == new]
        assert told["reason"] == "1 node is too few"
        assert told["actions"][0]["said"] == f"{new} has joined"
        assert len(plans(cluster)) == 1, "more than the most"
        pressure.write_text("0", encoding="utf-8")
        assert wait_until(lambda: owners() == ["one"] * SLICES, 20)
        assert wait_until(lambda: [p.outcome for p in plans(cluster)] == [PlanState.DONE] * 2, 20)
        assert plans(cluster)[0].plan.reason == f"2 nodes are too many, {new} has the least to do"
        why = lambda: deeds(cluster)[0].why  # noqa: E731
        assert wait_until(lambda: why().startswith(f"{new} leaves: "), 10)


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
