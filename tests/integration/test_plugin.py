"""A planner and an executor of another package, found by entry points, act over the plan topic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.history import History
from evenflow.config import Config
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """The small package, installed into a folder that all processes of the test see."""
    folder = tmp_path / "site"
    command = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", str(PLUGIN), str(source)], check=True)
    subprocess.run([sys.executable, "-m", *command, str(folder), str(source)], check=True)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))


def stories(cluster, event):
    """The plans that answered an event, newest first."""
    with History(cluster.config.history_file) as history:
        return [story for story in history.stories() if story.plan.event_id == event]


@pytest.mark.usefixtures("plugin")
def test_a_hot_node_is_relieved_by_a_planner_and_an_executor_of_others(domain_id, tmp_path):
    file = tmp_path / "evenflow.toml"
    settings = {
        "domain.id": domain_id,
        "topics.items.slices": 4,
        "balancer.settle_s": 0.5,
        "monitor.period_s": 0.2,
        "history.path": str(tmp_path / "history.db"),
        "events": {"hot": {"expression": "busy > 60.0", "duration_s": 1.0}},
        "planners": {"relief": {"planner": "relief", "effort": 0.1, "topic": "items"}},
        "rules": [{"event": "hot", "planner": "relief"}],
    }
    file.write_text(Config.load(None, settings).as_toml(), encoding="utf-8")
    with LocalCluster(Config.load(file), log_dir=tmp_path) as cluster:
        cluster.start_balancer()
        cluster.start_node("warm", "relief.hot:on_new_data")
        with Publisher("items", config=cluster.config) as publisher:

            def relieved():
                for _ in range(20):  # 60 items a second keep the application at work all the time
                    publisher.publish(b"x")
                return any(s.outcome is PlanState.DONE for s in stories(cluster, "hot"))

            assert wait_until(lambda: "balancing" in cluster.log("balancer"), 20)
            assert wait_until(relieved, 60, every_s=0.3)
            [story] = stories(cluster, "hot")
            assert story.plan.actions[0].executor_id.startswith("warm~")
            assert story.plan.reason.startswith("busy at ")

            def cooled():
                publisher.publish(b"x")
                with History(cluster.config.history_file) as history:
                    phases = [e.state for e in history.entries(kind="event") if e.name == "hot"]
                return phases[-1:] == ["cleared"]

            assert wait_until(cooled, 60, every_s=0.05)
    told = subprocess.run(
        [sys.executable, "-m", "evenflow", "history", "--json", "--config", str(file)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    [plan] = [p for p in json.loads(told.stdout)["plans"] if p["reason"].startswith("busy at ")]
    assert plan["actions"][0]["state"] == "done"
