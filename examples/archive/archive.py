"""Every item of a topic, once, into Parquet: a job for any Spark cluster.

    spark-submit --master spark://host:7077 archive.py --topic fleet --into /shared/fleet

Says nothing of where Spark runs: `spark-submit` does (docs/cluster.md). Runs until it is stopped
(Ctrl-C, SIGTERM), or until it has `--items` of them; started again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import signal
import sys

from pyspark.sql import SparkSession

from evenflow.spark import register


def main() -> int:
    """Run the job."""
    args = _arguments()
    spark = SparkSession.builder.appName(f"archive-{args.topic}").getOrCreate()
    register(spark)
    source = spark.readStream.format("evenflow").option("topic", args.topic)
    if args.config:
        source = source.option("config", args.config)
    query = (
        source.option("consumer", f"archive-{args.topic}")
        .load()
        .writeStream.format("parquet")
        .option("path", args.into)
        .option("checkpointLocation", f"{args.into}.checkpoint")
        .trigger(processingTime=args.every)
        .start()
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    written = 0
    try:
        while query.isActive and not 0 < args.items <= written:
            query.awaitTermination(1)
            written = sum(int(batch["numInputRows"]) for batch in query.recentProgress)
        if query.exception():
            print(query.exception(), file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        pass
    finally:
        query.stop()
        spark.stop()
    print(f"{written:,} items written to {args.into}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--topic", required=True, help="the topic")
    parser.add_argument("--into", required=True, help="folder that driver and executors share")
    parser.add_argument("--config", help="the domain's configuration file")
    parser.add_argument("--every", default="1 second", help="how often to write (1 second)")
    parser.add_argument("--items", type=int, default=0, help="end after so many (never)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
