"""Several hosts and a Spark cluster, as docs/cluster.md has it, as far as one machine can."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest
from tests.integration.hosts import HUB, Hosts, require_hosts

from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
EVENFLOW = BIN / "evenflow"
pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    require_hosts()
    with Hosts(["left", "right"]) as hosts:
        yield hosts


def configure(hosts: Hosts, folder: Path, *, peers: bool) -> dict[str, Path]:
    """One configuration for all; only the interface is each host's own."""
    found = {}
    listed = json.dumps(list(hosts.addresses.values()) if peers else [])
    for host, address in hosts.addresses.items():
        found[host] = folder / f"{host}.toml"
        found[host].write_text(
            f'[domain]\nid = 7\ninterface = "{address}"\npeers = {listed}\n'
            '[topics.items]\nslices = 8\nserved = true\nassignment = "modulo:id"\n'
        )
    return found


def serve(hosts: Hosts, configs: dict[str, Path], folder: Path) -> None:
    """A balancer at the hub and a node at each other host."""
    hosts.start(HUB, [EVENFLOW, "balancer", "--config", configs[HUB]], folder / "balancer.log")
    for host in ("left", "right"):
        command = [EVENFLOW, "node", "--serve", "--topic", "items", "--name", host]
        hosts.start(host, [*command, "--config", configs[host]], folder / f"{host}.log")


def slices_of(hosts: Hosts, configs: dict[str, Path]) -> dict[str, int]:
    """How many slices each node holds, seen from the hub."""
    command = [EVENFLOW, "nodes", "--json", "--config", configs[HUB]]
    nodes = json.loads(hosts.run(HUB, command))["nodes"]
    return {NodeId(row["node"]).name: row["slices"] for row in nodes}


@pytest.mark.parametrize("peers", [False, True], ids=["multicast", "peers"])
def test_hosts_find_one_another(
    hosts: Hosts, tmp_path: Path, eventually: Callable[..., None], peers: bool
) -> None:
    configs = configure(hosts, tmp_path, peers=peers)
    serve(hosts, configs, tmp_path)
    eventually(
        lambda: slices_of(hosts, configs) == {"left": 4, "right": 4}, "slices are shared out"
    )
    hosts.pull_cable("left")
    eventually(lambda: slices_of(hosts, configs) == {"right": 8}, "the other host takes over")


@pytest.mark.spark
def test_a_spark_cluster_gets_every_item_once_though_a_host_is_cut_off(
    hosts: Hosts, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    configs = configure(hosts, tmp_path, peers=True)
    serve(hosts, configs, tmp_path)
    into, half = tmp_path / "archive", 2_000
    submit = [
        "env", f"PYSPARK_PYTHON={sys.executable}", BIN / "spark-submit",
        "--master", "local-cluster[2,1,1024]",
        "--conf", "spark.ui.enabled=false",
        "--conf", f"spark.driver.host={hosts.addresses[HUB]}",
        ROOT / "examples/archive/archive.py", "--topic", "items", "--into", into,
        "--config", configs[HUB], "--items", 2 * half,
    ]  # fmt: skip
    publish = [
        sys.executable, ROOT / "tests/integration/numbered.py", configs["right"], half,
    ]  # fmt: skip
    eventually(lambda: slices_of(hosts, configs) == {"left": 4, "right": 4}, "slices are shared")
    hosts.start("right", publish, tmp_path / "publisher.log")
    job = hosts.start(HUB, submit, tmp_path / "spark.log")

    def ids() -> Counter[int]:
        """What the committed files hold."""
        logs = sorted(into.glob("_spark_metadata/[0-9]*"))
        lines = [line for log in logs for line in log.read_text().splitlines()[1:]]
        files = [json.loads(line)["path"].removeprefix("file://") for line in lines]
        return Counter(ds.dataset(files).to_table(["id"])["id"].to_pylist()) if files else Counter()

    eventually(lambda: len(ids()) >= half, "the first half is written", 120)
    hosts.pull_cable("left")
    (tmp_path / "go").touch()
    eventually(lambda: job.poll() is not None, (tmp_path / "spark.log").read_text()[-2_000:], 90)
    assert job.returncode == 0, (tmp_path / "spark.log").read_text()[-3_000:]
    assert ids() == Counter(range(2 * half))
