"""A fleet watched by Spark: unexpected stops and deviations, found and answered.

    python examples/fleet/fleet.py --vehicles 200 --for 60

Starts, on this machine: a balancer, two serving nodes, a fleet of simulated vehicles, and a Spark
pipeline. Vehicles report position and speed twice a second into the topic ``fleet``. The pipeline
keeps, for every vehicle, the last eight seconds (stateful streaming): who did not move in all of
them has stopped, who was never near its road has left it. Each finding goes back into the domain as
an item of the topic ``alerts``, where the vehicle, here a node that prints, gets its answer. A
second query keeps a table of the fleet. In the end what was found is compared with what happened.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from vehicles import LANE_DEGREES, Fleet

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.slices.local import LocalCluster
from evenflow.slices.node import Node
from evenflow.slices.publisher import Publisher
from evenflow.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from evenflow.model.batch import Batch

FIELDS = "route INT, lat DOUBLE, lon DOUBLE, speed DOUBLE"
WINDOW, SLIDE, LATE = "8 seconds", "2 seconds", "2 seconds"
TROUBLE_EVERY_S = 5.0


def alerts_of(items: DataFrame) -> DataFrame:
    """The alerts, as items: the vehicle is the sender, the payload says what is the matter."""
    off = f.abs(f.col("lat") - 48 - f.col("route") * LANE_DEGREES)
    trouble = f.when(f.max("speed") < 0.5, "stop").when(f.min(off) > 0.002, "deviation")
    return (
        items.withWatermark("time", LATE)
        .groupBy("sender", f.window("time", WINDOW, SLIDE))
        .agg(trouble.alias("trouble"), f.count("*").alias("reports"))
        .where("trouble IS NOT NULL AND reports >= 8")
        .selectExpr("sender", "to_json(struct(trouble, window.end AS at)) AS payload")
    )


def fleet_of(items: DataFrame) -> DataFrame:
    """The table of the fleet: where every vehicle was last."""
    last = f.max_by(f.struct("lat", "lon", "speed"), "time")
    return items.groupBy("sender").agg(last.alias("last"), f.count("*").alias("reports"))


def read_fleet(spark: SparkSession, file: str, consumer: str) -> DataFrame:
    """The reports as a stream; every query is a consumer of its own."""
    return (
        spark.readStream.format("evenflow")
        .option("config", file)
        .option("topic", "fleet")
        .option("consumer", consumer)
        .option("fields", FIELDS)
        .load()
    )


def start_queries(spark: SparkSession, file: str, folder: Path) -> list[StreamingQuery]:
    """The findings into the topic ``alerts``, and the table of the fleet into memory."""
    alerts = (
        alerts_of(read_fleet(spark, file, "alerts"))
        .writeStream.format("evenflow")
        .option("config", file)
        .option("topic", "alerts")
        .option("name", "fleet-alerts")
        .option("ledger", str(folder / "ledger"))
        .option("checkpointLocation", str(folder / "alerts"))
    )
    table = (
        fleet_of(read_fleet(spark, file, "table"))
        .writeStream.format("memory")
        .queryName("fleet")
        .outputMode("complete")
        .option("checkpointLocation", str(folder / "table"))
    )
    return [alerts.start(), table.start()]


class Answers:
    """What the vehicles were told; the application of the node that serves them."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self.alerts = 0

    def __call__(self, batch: Batch) -> None:
        """Print an alert the first time, and remember it."""
        for item in batch:
            self.alerts += 1
            finding = (item.sender, json.loads(item.payload)["trouble"])
            if finding not in self.found:
                self.found.add(finding)
                print(f"{finding[0]}: {finding[1]}", flush=True)


def main() -> None:
    """Run the example and say how it went."""
    args = _arguments()
    config = Config.load(
        None,
        {
            "domain.id": args.domain,
            "topics": {"fleet": {"slices": 16, "served": True}, "alerts": {"slices": 4}},
        },
    )
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-fleet-") as name,
        LocalCluster(config, log_dir=Path(name)) as cluster,
        Participant(config.domain) as participant,
    ):
        folder = Path(name)
        file = folder / "fleet.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        cluster.start_balancer()
        for number in (1, 2):
            cluster.start(
                f"node-{number}", ["node", "--serve", "--topic", "fleet", "--name", f"n{number}"]
            )
        answers = Answers()
        node = Node("alerts", answers, name="vehicles", config=config, participant=participant)
        print("starting Spark", flush=True)
        spark = session("fleet")
        queries = start_queries(spark, str(file), folder)
        publisher = Publisher("fleet", config=config, participant=participant)
        fleet = Fleet(publisher, args.vehicles)
        fleet.start()
        _watch(queries, fleet, args.duration)
        publisher.close(60.0)
        summary(fleet, answers, spark.table("fleet").count())
        for query in queries:
            query.stop()
        spark.stop()
        node.close()


def _watch(queries: list[StreamingQuery], fleet: Fleet, seconds: float) -> None:
    """Make trouble now and then, until the time is over."""
    end = time.monotonic() + seconds
    next_trouble = time.monotonic() + TROUBLE_EVERY_S
    while time.monotonic() < end:
        for query in queries:
            if not query.isActive:
                query.awaitTermination()
        if time.monotonic() >= next_trouble and end - time.monotonic() > 20.0:
            next_trouble += TROUBLE_EVERY_S
            fleet.make_trouble(2)
        time.sleep(0.2)
    fleet.stop()


def summary(fleet: Fleet, answers: Answers, known: int) -> None:
    """Compare what was found with what happened."""
    happened = set(fleet.troubles)
    found = answers.found & happened
    print(
        f"{fleet.reports:,} reports of {known} vehicles, {len(happened)} troubles,"
        f" {len(found)} found, {len(answers.found - happened)} false, {answers.alerts} alerts",
        flush=True,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vehicles", type=int, default=200)
    parser.add_argument("--for", dest="duration", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--domain", type=int, default=41)
    return parser.parse_args()


if __name__ == "__main__":
    main()
