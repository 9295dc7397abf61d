"""The queries of the fleet: alerts for vehicles in trouble, and a table of all vehicles.

Both read the topic of reports, each as a consumer of its own. They are ordinary Structured
Streaming: every line below would read the same over any other source and sink.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from evenflow.fleet.rules import (
    ANSWERS,
    DEVIATION,
    FIRST_LATITUDE,
    LANE_DEGREES,
    LATE_S,
    OFF_DEGREES,
    SLIDE_S,
    SLOW_M_S,
    SPAN_S,
    STOP,
    WINDOW_S,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FIELDS: Final = "route INT, lat DOUBLE, lon DOUBLE, speed DOUBLE"
TABLE: Final = "fleet"
TABLE_EVERY: Final = "2 seconds"
WORD_BITS: Final = 64
WORDS: Final = tuple(f"ids_{number}" for number in range(8))
ROW_BITS: Final = WORD_BITS * len(WORDS)


def alerts_of(reports: DataFrame) -> DataFrame:
    """An item for every vehicle that was in trouble throughout a window; the vehicle's own name."""
    road = FIRST_LATITUDE + f.col("route") * LANE_DEGREES
    off = f.abs(f.col("lat") - road)
    trouble = f.when(f.max("speed") < SLOW_M_S, STOP).when(f.min(off) > OFF_DEGREES, DEVIATION)
    window = f.window("time", f"{WINDOW_S} seconds", f"{SLIDE_S} seconds")
    return (
        reports.withWatermark("time", f"{LATE_S} seconds")
        .groupBy("sender", window)
        .agg(trouble.alias("trouble"), f.min("time").alias("first"), f.max("time").alias("time"))
        .where(f"trouble IS NOT NULL AND time >= first + INTERVAL {SPAN_S} SECONDS")
        .withColumn("until", f.unix_micros("window.end"))
        .selectExpr("sender", "time", "to_json(struct(trouble, until)) AS payload")
    )


def table_of(reports: DataFrame) -> DataFrame:
    """Where every vehicle was last, how many reports it sent, and exactly which of them are here.

    Vehicles number their reports: a row has a bit for each of `ROW_BITS` of them, in columns of 64,
    and a vehicle that sends more gets another row. Whole numbers can be changed in place, so Spark
    compiles the aggregation; with its own bitmaps, which are binary, it would sort and copy.
    """
    place = f.expr(f"id % {ROW_BITS} DIV {WORD_BITS}")
    bit = f.expr(f"shiftleft(1L, int(id % {WORD_BITS}))")
    return reports.groupBy("sender", f.expr(f"id DIV {ROW_BITS}").alias("row")).agg(
        f.max("time").alias("time"),
        *(f.max_by(name, "time").alias(name) for name in ("route", "lat", "lon", "speed")),
        f.count("*").alias("reports"),
        *(
            f.bit_or(f.when(place == number, bit).otherwise(0)).alias(word)
            for number, word in enumerate(WORDS)
        ),
    )


def start_queries(
    spark: SparkSession, file: str, topic: str, folder: Path
) -> dict[str, StreamingQuery]:
    """Start both queries on a topic of reports; what they must remember goes to a folder."""

    def reports(consumer: str) -> DataFrame:
        options = {"config": file, "topic": topic, "consumer": consumer, "fields": FIELDS}
        return spark.readStream.format("evenflow").options(**options).load()

    alerts = (
        alerts_of(reports("alerts"))
        .writeStream.format("evenflow")
        .option("config", file)
        .option("topic", ANSWERS)
        .option("name", "fleet-alerts")
        .option("outbox", str(folder / "outbox"))
        .option("checkpointLocation", str(folder / "alerts"))
    )
    table = (
        table_of(reports("table"))
        .writeStream.format("memory")
        .queryName(TABLE)
        .outputMode("complete")
        .trigger(processingTime=TABLE_EVERY)  # alerts are in a hurry, the table is not
        .option("checkpointLocation", str(folder / "table"))
    )
    return {"alerts": alerts.start(), "table": table.start()}


def look_at_table(spark: SparkSession) -> dict[str, Any]:
    """The table of the fleet in a few numbers, counted by Spark."""
    newest = (
        spark.table(TABLE)
        .groupBy("sender")
        .agg(
            f.max_by("speed", "time").alias("speed"),
            f.sum("reports").alias("reports"),
            f.sum(reduce(add, map(f.bit_count, WORDS))).alias("distinct"),
        )
    )
    row = newest.agg(
        f.count("*").alias("vehicles"),
        f.count_if(f.col("speed") >= SLOW_M_S).alias("moving"),
        f.coalesce(f.sum("reports"), f.lit(0)).alias("reports"),
        f.coalesce(f.sum("distinct"), f.lit(0)).alias("distinct"),
    )
    return dict(row.collect()[0].asDict())
