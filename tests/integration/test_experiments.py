"""The experiments on real processes, as short as they go: what they write, and nothing is lost."""

from __future__ import annotations

import json

import pytest

from evenflow.cli import main
from evenflow.config import Config
from evenflow.errors import DomainError
from evenflow.processes import LocalCluster
from evenflow_experiments.slices import balancers as balancers_module
from evenflow_experiments.slices import join as join_module
from evenflow_experiments.slices.codec_ends import Row
from evenflow_experiments.slices.codec_publish import SETTINGS, WAYS, Published
from evenflow_experiments.slices.overhead import giving, long_burst

pytestmark = [pytest.mark.domain, pytest.mark.processes]


def run(domain_id, tmp_path, name, *options):
    """Run an experiment; its exit code and what it wrote."""
    file, plot = tmp_path / "out.json", tmp_path / "out.png"
    words = ["experiment", name, "--quick", "--json", str(file), "--plot", str(plot)]
    code = main(["--domain", str(domain_id), *words, *options])
    assert plot.exists()
    return code, json.loads(file.read_text())


def test_a_third_node_gets_its_share_and_nothing_is_lost(domain_id, tmp_path):
    options = ("--publishers", "2", "--slices", "30", "--rate", "500")
    code, figures = run(domain_id, tmp_path, "join", *options)
    (row,) = figures["rows"]
    assert code == 0, row
    assert row["finding"] == ""
    assert 0 < row["joined_s"] < 30
    assert row["share"] == 10
    assert row["published"] > 500
    assert (row["lost"], row["repeated"]) == (0, 0)
    assert row["node_mib"] > 10
    assert row["publisher_mib"] > 10
    assert row["endpoints"] > 2


def test_a_join_that_does_not_end_is_a_finding(domain_id, tmp_path, monkeypatch):
    monkeypatch.setattr(join_module, "JOIN_S", 0.0)
    code, figures = run(domain_id, tmp_path, "join", "--slices", "30", "--rate", "500")
    (row,) = figures["rows"]
    assert code == 1
    assert row["joined_s"] is None
    assert row["finding"] == "after 0 s the new node has not reported"
    assert (row["lost"], row["repeated"]) == (0, 0)


def test_half_of_the_slices_move_to_a_new_node_and_nothing_is_lost(domain_id, tmp_path):
    cell = ("--setup", "idle", "--moves", "1", "--slices", "10", "--rate", "1.4")
    code, figures = run(domain_id, tmp_path, "handover", *cell)
    (row,) = figures["setups"]["idle"]["cells"]
    assert code == 0, row
    assert (row["moves"], row["paper_ms"]) == (1, 401)
    assert 0 < row["move_ms_mean"] == row["move_ms_median"] == row["move_ms_max"]
    assert row["complete_ms_mean"] >= row["move_ms_mean"]
    assert row["published"] > 100
    assert (row["lost"], row["repeated"]) == (0, 0)


def test_a_reader_and_a_node_are_compared_in_turns(domain_id, tmp_path, monkeypatch):
    monkeypatch.setattr(long_burst, "QUICK_ITEMS", 60)
    code, figures = run(domain_id, tmp_path, "overhead", "--part", "paper", "--rounds", "1")
    found = figures["paper"]
    assert code == 0
    assert (found["items"], found["pairs"]) == (60, 2)
    for kind in ("plain", "node"):
        one = found[kind]
        assert one["items_per_s"] > 0
        assert one["rtd_s"] > 0
        assert 0 < one["image_ms"] <= one["cpu_ms"]
    assert len(found["spread"]["cpu_increase_percent"]) == 2
    assert found["paper"]["plain"]["rtd_s"] == 59.51


def test_what_a_move_costs_the_giver_with_images_and_without(domain_id, tmp_path, monkeypatch):
    monkeypatch.setattr(giving, "QUICK_MOVES", 2)
    code, figures = run(domain_id, tmp_path, "overhead", "--part", "move")
    found = figures["move"]
    assert code == 0, found
    for name in ("images", "idle"):
        assert (found[name]["moves"], found[name]["lost"]) == (2, 0)
        assert len(found[name]["each_extra_cpu_ms"]) == 2
    # A node with half of the slices is busy with images a quarter of the time.
    assert 5 < found["images"]["images_cpu_percent"] < 60
    assert found["idle"]["images_cpu_percent"] == 0


def test_of_two_balancers_one_leads_and_the_other_takes_over(domain_id, tmp_path, monkeypatch):
    monkeypatch.setattr(balancers_module, "WATCH_S", 4.0)
    code, figures = run(domain_id, tmp_path, "balancers")
    (row,) = figures["rows"]
    assert code == 0
    assert row["takeover_s"] > 0
    assert row["start_s"] > 0
    assert row["orders_start"] >= 2  # each node is given its half
    assert row["orders_most_a_second"] >= 1


def test_takeover_and_keyed_replicas_lose_nothing_and_an_item_of_takeover_is_worked_on_once(
    domain_id, tmp_path
):
    code, figures = run(domain_id, tmp_path, "replicas", "--rate", "100")
    rows = {row["way"]: row for row in figures["rows"]}
    assert code == 0, figures
    assert list(rows) == ["unkeyed", "keyed", "keyed-released", "takeover"]
    for way in ("keyed", "keyed-released", "takeover"):
        assert rows[way]["lost"] == 0, rows[way]
    assert rows["takeover"]["overtaken"] == 0
    for row in rows.values():
        assert row["published"] > 300
        assert row["gap_s"] > 0
        assert row["cpu_ms_item"] > 0
    costs = {row["way"]: row for row in figures["instances"]}
    assert list(costs) == ["unkeyed", "keyed", "keyed-released"]
    assert costs["keyed"]["bytes_item"] > 2 * max(1, costs["unkeyed"]["bytes_item"])
    assert costs["keyed"]["bytes_item"] > 2 * max(1, costs["keyed-released"]["bytes_item"])


def test_what_many_slices_cost(domain_id, tmp_path):
    options = ("--slices", "50", "--rate", "500", "--window", "1")
    code, figures = run(domain_id, tmp_path, "many-slices", *options)
    assert code == 0, figures
    assert (figures["lost"], figures["repeated"]) == (0, 0)
    assert figures["items_per_s"] == pytest.approx(500, rel=0.2)
    assert 0 < figures["samples_per_s"] <= 1.2 * figures["items_per_s"]
    assert 0 < figures["publisher_cpu"] < 2
    assert 0 < figures["nodes_cpu"] < 2
    assert 0 < figures["delay_ms_p50"] <= figures["delay_ms_p99"]


def test_a_real_publisher_is_measured_until_everything_is_committed(domain_id):
    config = Config.load(None, {"domain.id": domain_id, **SETTINGS})
    with Published(config) as published:
        for way, batch in WAYS.items():
            assert published.measure(Row(way, 100, batch), 2_000) > 0
        assert published.audit() == (0, 0)
        published._count += 5
        assert published.audit() == (5, 0)


def test_half_of_the_mobile_nodes_move_both_ways(domain_id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, figures = run(domain_id, tmp_path, "mobile-handover", "--nodes", "10", "--rate", "2")
    assert code == 0, figures
    assert [row["mode"] for row in figures["rows"]] == ["make-before-break", "break-before-make"]
    for row in figures["rows"]:
        assert row["moved"] == 5
        assert row["published"] > 0
        assert row["messages"] > 0
        assert row["all_moved_ms"] > 0


def test_a_process_that_gives_up_is_told_with_its_reason(domain_id, tmp_path):
    planner = {"planner": "poa", "make_before_break": 1.0}
    config = Config.load(None, {"domain.id": domain_id, "planners": {"gateways": planner}})
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start_balancer().wait(20.0)
        with pytest.raises(DomainError, match=r"balancer: planners\.gateways.*true or false"):
            cluster.check()
