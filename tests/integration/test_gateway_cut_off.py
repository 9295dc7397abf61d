"""A gateway that is cut off from the domain, and nodes that are cut off from all gateways."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.hosts import Hosts, require_hosts
from tests.integration.mobile_edge import SCHEME, Edge, until

from evenflow.access.keys import init_keys, signing_key
from evenflow.access.tokens import Allowed, issue
from evenflow.config import Config
from evenflow.errors import LinkLost
from evenflow.mobile.link.connection import Trust
from evenflow.mobile.link.dialing import open_link
from evenflow.processes import wait_until

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Connection

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

CUT_S = float(os.environ.get("EVENFLOW_TEST_CUT_S", "6"))
"""Seconds of a cut; longer than everybody's patience, which is made shorter accordingly."""
PYTHON = sys.executable
CLIENT = Path(__file__).parent / "mobile_client.py"


def test_a_gateway_that_loses_the_domain_keeps_what_it_has_accepted(
    tmp_path: Path, domain_id: int
) -> None:
    """Its client goes on; the stream is cut meanwhile, and goes on by another writer."""
    require_hosts()
    init_keys(tmp_path / "keys")
    token = issue(
        signing_key(tmp_path / "keys"), subject="car-1", allowed=Allowed(publish=("items",)),
        issued=time.time(), expires=time.time() + 3_600, id="0123456789abcdef",
    )  # fmt: skip
    with Hosts(["core", "edge"]) as hosts:
        files = {}
        for host in ("core", "edge"):
            config = Config.load(
                None,
                {
                    "domain.id": domain_id,
                    "domain.interface": hosts.addresses[host],
                    "topics.items.slices": 4,
                    "node.writer_silence_s": 2.0,
                    "access.dir": str(tmp_path / "keys"),
                    "gateway.state_dir": str(tmp_path / "gateways"),
                },
            )
            files[host] = tmp_path / f"{host}.toml"
            files[host].write_text(config.as_toml())
        evenflow = [PYTHON, "-m", "evenflow"]
        hosts.start("core", [*evenflow, "balancer", "--config", files["core"]], tmp_path / "b.log")
        hosts.start(
            "core",
            [*evenflow, "node", "--app", "evenflow.apps:echo", "--config", files["core"]],
            tmp_path / "node.log",
        )
        address = f"{SCHEME}://127.0.0.1:7501"
        log = tmp_path / "g1.log"
        hosts.start(
            "edge",
            [*evenflow, "gateway", "--name", "g1", "--listen", address, "--config", files["edge"]],
            log,
        )
        assert wait_until(lambda: "listens at" in log.read_text(), 30.0), log.read_text()
        trust = tmp_path / "keys" / "ca.pem"
        client = hosts.start(
            "edge",
            [PYTHON, CLIENT, address, "car-1", token, trust, tmp_path],
            tmp_path / "client.log",
        )

        def numbers() -> list[int]:
            lines = (tmp_path / "node.log").read_text().splitlines()
            return [int(line.split("\t")[3]) for line in lines if "\tcar-1\t" in line]

        assert wait_until(lambda: len(numbers()) > 20, 30.0), (tmp_path / "client.log").read_text()
        hosts.pull_cable("edge")
        before = len(numbers())
        time.sleep(CUT_S)
        assert client.poll() is None
        hosts.plug_in("edge")
        (tmp_path / "enough").touch()
        assert client.wait(120.0) == 0, (tmp_path / "client.log").read_text()
        count = int((tmp_path / "count").read_text())
        assert count > before + CUT_S * 10
        assert wait_until(lambda: len(numbers()) >= count, 60.0), f"{len(numbers())} of {count}"
        assert numbers() == list(range(count))


def test_a_node_that_reaches_no_gateway_for_long_loses_and_repeats_nothing(
    tmp_path: Path, domain_id: int
) -> None:
    with Edge(tmp_path, domain_id, **{"gateway.idle_s": 2.0, "gateway.keep_alive_s": 0.5}) as edge:
        for name in ("g1", "g2"):
            edge.start(name)
        asyncio.run(_cut_all(edge))


async def _cut_all(edge: Edge) -> None:
    """The node's links are held by a dialler that can be told to lose all of them."""
    trust = Trust(str(edge.folder / "keys" / "ca.pem"))
    made: list[Connection] = []
    dark = False

    async def dial(address: str, timeout_s: float) -> Connection:
        if dark:
            await asyncio.sleep(0.2)
            raise LinkLost("no network")
        made.append(await open_link(address, trust, timeout_s=timeout_s))
        return made[-1]

    client = await edge.connect("car-1", "g1", dialler=dial)
    for number in range(300):
        await client.publish(b"%d" % number)
        if number == 100:
            dark = True
            for link in made:
                await link.close("cut")
            await until(lambda: not client.gateway, "it is cut off")
        if 100 < number < 200:
            await asyncio.sleep(CUT_S / 100)
        if number == 200:
            dark = False
    await client.flush(30.0)
    assert client.stats.connections > 1
    await until(lambda: len(edge.items["car-1"]) >= 300, "everything arrives", 30.0)
    assert edge.items["car-1"] == list(range(300))
    await client.close()
