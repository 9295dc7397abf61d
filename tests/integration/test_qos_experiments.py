"""The experiments on plain topics, as short as they go."""

from __future__ import annotations

import json

import pytest

from evenflow.cli import main

pytestmark = [pytest.mark.domain, pytest.mark.processes]


def run(domain_id, tmp_path, part):
    """Run a part; its exit code and figures."""
    file, plot = tmp_path / "out.json", tmp_path / "out.png"
    words = ["experiment", "qos", "--quick", "--part", part]
    code = main(["--domain", str(domain_id), *words, "--json", str(file), "--plot", str(plot)])
    assert plot.exists()
    return code, json.loads(file.read_text())[part]


def test_a_separation_saves_cpu(domain_id, tmp_path):
    _, rows = run(domain_id, tmp_path, "cpu")
    assert [row["separation_ms"] for row in rows] == [0, 100, 500]
    taken = [row["samples_per_s"] for row in rows]
    assert taken == sorted(taken, reverse=True)
    assert all(row["cpu_percent"] > 0 for row in rows)


def test_a_larger_separation_filters_more(domain_id, tmp_path):
    code, rows = run(domain_id, tmp_path, "filtered")
    assert code == 0, rows
    assert rows[-1]["share"] > 0.9
    assert 0.1 < rows[0]["share_sparse"] < 0.4


def test_an_overload_is_survived(domain_id, tmp_path):
    _, figures = run(domain_id, tmp_path, "overload")
    assert figures["off"]["rejected"] > 0
    assert figures["on"]["largest_separation_ms"] > 0
    assert figures["on"]["delay_ms_p99"] < figures["off"]["delay_ms_p99"]
    assert figures["on"]["alarms_lost"] == 0
