"""``evenflow experiment exactly-once``: numbered items through everything, with everything failing.

Numbered items flow from a publisher over DDS to three serving nodes and through a Spark query into
Parquet files, all real processes on this machine. Slices move between nodes all the time; after a
third of the items one node is killed with -9 and another one started; after two thirds the Spark
driver is killed with -9 while it works on a micro-batch, its JVM with it, and started again from
its checkpoint. In the end the ids in the files are counted: each must be there, once.
"""

from __future__ import annotations

import random
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich_click as click

from evenflow.domain.channels import MOVES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.model.messages import MoveRequest
from evenflow.processes import LocalCluster
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json
from evenflow_experiments.spark.query import QueryProcess

if TYPE_CHECKING:
    from evenflow.config import Config

HELP = """\
Numbered items through publisher, DDS, serving nodes and Spark into Parquet, while slices move, a
node is killed and the Spark driver is killed and started again: every id must arrive once."""

TOPIC = "items"
CHUNK = 1_000
MOVE_EVERY_S = 0.5
BATCHES = 25
"""Into about how many micro-batches the items are divided."""
BATCH_WITHIN_S = 240.0
SECONDS = 30.0
"""How long publishing is stretched, so that there is time to fail."""


@experiment("exactly-once", HELP)
@click.option("--items", metavar="N", type=int, default=0, help="items (1000000)")
@click.option("--seed", metavar="S", type=int, default=1, help="of the moves")
def exactly_once(given: Given, items: int, seed: int) -> int:
    """Run once and count."""
    items = items or (100_000 if given.quick else 1_000_000)
    config = given.config(
        {
            "domain.id": own_domain(),
            "topics": {TOPIC: {"slices": 60, "served": True, "assignment": "hash:id"}},
            "publisher.block_s": 120.0,
        }
    )
    seconds = SECONDS / 2 if given.quick else SECONDS
    with tempfile.TemporaryDirectory(prefix="evenflow-exactly-once-") as folder:
        trial = Trial(config, Path(folder), Progress("exactly-once"), seed)
        figures = trial.run(items, seconds)
    print_table(
        "Every id once",
        ["items", "lost", "repeated", "kills", "moves", "batches", "seconds"],
        [[figures[name] for name in
          ("items", "lost", "repeated", "kills", "moves", "batches", "seconds")]],
    )  # fmt: skip
    write_json(given.json, figures)
    return 1 if figures["lost"] or figures["repeated"] else 0


class Trial:
    """One run."""

    def __init__(self, config: Config, folder: Path, progress: Progress, seed: int) -> None:
        self._config = config
        self._folder = folder
        self._tell = progress
        self._random = random.Random(seed)
        self._kills = 0
        self._stop = threading.Event()
        self._file = folder / "evenflow.toml"
        self._file.write_text(config.as_toml(), encoding="utf-8")

    def run(self, items: int, seconds: float) -> dict[str, Any]:
        """Publish items over a number of seconds, let things fail, and count."""
        with (
            LocalCluster(self._config, log_dir=self._folder) as cluster,
            Participant(self._config.domain) as participant,
        ):
            cluster.start_balancer()
            for number in (1, 2, 3):
                serve(cluster, f"node-{number}")
            observer = Observer(participant)
            await_owners(observer, 3)
            mover = threading.Thread(target=self._move, args=(observer, participant), daemon=True)
            mover.start()
            started = time.monotonic()
            try:
                summary, batches = self._through(cluster, participant, items, seconds)
            finally:
                self._stop.set()
                mover.join()
            moves = sum(r.outcome == "done" for r in observer.view(TOPIC).receipts)
        return {
            "items": items,
            "lost": items - summary["distinct"],
            "repeated": summary["rows"] - summary["distinct"],
            "kills": self._kills,
            "moves": moves,
            "batches": batches,
            "seconds": round(time.monotonic() - started, 1),
        }

    def _through(
        self, cluster: LocalCluster, participant: Participant, items: int, seconds: float
    ) -> tuple[dict[str, Any], int]:
        query = self._start_query(items)
        publisher = Publisher(TOPIC, config=self._config, participant=participant)
        try:
            ids = np.arange(1, items + 1)
            third = items // 3
            self._publish(publisher, ids[:third], seconds / 3)
            query.wait_for("batch", BATCH_WITHIN_S)
            self._tell(f"{third:,} items published; kill -9 node-2")
            cluster.kill("node-2")
            serve(cluster, "node-4")
            self._kills += 1
            self._publish(publisher, ids[third : 2 * third], seconds / 3)
            query.wait_for("batch", BATCH_WITHIN_S)
            time.sleep(self._random.uniform(0.0, 0.5))  # into the middle of the next batch
            batches = len(query.hear())
            self._tell(f"{2 * third:,} items published; kill -9 Spark after {batches} batches")
            query.kill()
            self._kills += 1
            query = self._start_query(items)
            self._publish(publisher, ids[2 * third :], seconds / 3)
            self._tell(f"{items:,} items published; waiting until all are committed")
            publisher.close(180.0)
            summary = query.end()
            return summary, batches + len(query.hear())
        finally:
            query.kill()

    def _start_query(self, items: int) -> QueryProcess:
        return QueryProcess(
            "--option", "topic", TOPIC,
            "--option", "maxItemsPerTrigger", str(max(1, items // BATCHES)),
            "--option", "config", str(self._file),
            "--out", str(self._folder / "parquet"),
            "--checkpoint", str(self._folder / "checkpoint"),
            log=self._folder / "spark.log",
        ).await_start()  # fmt: skip

    def _publish(self, publisher: Publisher, ids: np.ndarray[Any, Any], seconds: float) -> None:
        pause = seconds * CHUNK / len(ids)
        due = time.monotonic()
        for start in range(0, len(ids), CHUNK):
            part = ids[start : start + CHUNK]
            payloads = part.astype("<i8").view(np.uint8).reshape(len(part), 8)
            publisher.publish_columns(payloads, ids=part, senders="counter")
            due += pause
            time.sleep(max(0.0, due - time.monotonic()))

    def _move(self, observer: Observer, participant: Participant) -> None:
        """Ask for a move of some slices between two nodes, again and again."""
        writer = participant.writer(MOVES)
        while not self._stop.is_set():
            observer.look(MOVE_EVERY_S)
            nodes = sorted(observer.view(TOPIC).nodes)
            if len(nodes) > 1:
                giver, taker = self._random.sample(nodes, 2)
                count = self._random.randint(1, 8)
                writer.write(MoveRequest(TOPIC, secrets.randbits(63), giver, taker, count, ()))


def serve(cluster: LocalCluster, name: str) -> None:
    """Start a serving node."""
    cluster.start(name, ["node", "--serve", "--topic", TOPIC, "--name", name])


def await_owners(observer: Observer, nodes: int, patience_s: float = 30.0) -> None:
    """Wait until this many nodes own all slices between them."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        observer.look(0.1)
        slice_map = observer.view(TOPIC).map
        owners = slice_map.by_node() if slice_map is not None else {}
        if len(owners) == nodes and "" not in owners:
            return
    raise ExperimentError("exactly-once", f"{nodes} nodes did not get slices in {patience_s:g} s")
