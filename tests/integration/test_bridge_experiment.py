"""The experiment with bridges, as short as it goes: both modes, one bridge alone, what counts."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from evenflow.cli import main
from evenflow_experiments.bridge import load, rows

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]


def test_a_device_has_one_connection_and_in_the_baseline_one_at_each_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nsenter", "unshare"))):
        pytest.skip("a network of its own needs root and the commands ip, nsenter and unshare")
    monkeypatch.setattr(rows, "QUICK", ((2, 20),))
    monkeypatch.setattr(rows, "QUIET_S", 1.0)
    monkeypatch.setattr(load, "QUICK", (30,))
    file, picture = tmp_path / "out.json", tmp_path / "out.png"
    words = ["experiment", "bridge", "--part", "rows", "--part", "load", "--quick"]
    assert main([*words, "--json", str(file), "--plot", str(picture)]) == 0
    figures = json.loads(file.read_text())
    baseline, ring = figures["rows"]
    assert (baseline["mode"], ring["mode"]) == ("DDSB", "C-DDSB")
    assert (baseline["connections"], ring["connections"]) == (40, 20)
    assert (baseline["data_messages"], ring["data_messages"]) == (40, 20)
    assert ring["device_messages"] >= 4
    assert ring["rtps_packets"] > 0
    assert ring["ring_messages"] > 0
    [crowd] = figures["load"]
    assert (crowd["served_at_the_end"], crowd["relayed"]) == (30, 90)
    assert picture.exists()
