"""Colour images to grayscale, on Spark: the evaluation of the MAPE-SDDL paper as a pipeline.

    python examples/images/images.py --images 500

Starts, on this machine: a balancer, two serving nodes, a camera that publishes colour images (JPEG,
about 7 kB each) into the topic ``images``, and a Spark query that turns each into grayscale and
publishes the result into the topic ``gray``, where a node receives it. In the end every image must
have come back, once.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from PIL import Image

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.processes import LocalCluster
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from evenflow.model.batch import Batch

WIDTH, HEIGHT = 160, 120
ANSWERED_WITHIN_S = 120.0


def to_gray(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn the payloads of record batches from colour JPEG into gray JPEG."""
    for batch in batches:
        payloads = []
        for payload in batch.column("payload").to_pylist():
            out = io.BytesIO()
            Image.open(io.BytesIO(payload)).convert("L").save(out, "JPEG")
            payloads.append(out.getvalue())
        columns = [batch.column("sender"), batch.column("id"), pa.array(payloads, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["sender", "id", "payload"])


def start_query(spark: SparkSession, file: str, folder: Path) -> StreamingQuery:
    """From the topic ``images`` to the topic ``gray``."""
    images: DataFrame = (
        spark.readStream.format("evenflow").option("config", file).option("topic", "images").load()
    )
    gray = images.select("sender", "id", "payload").mapInArrow(
        to_gray, "sender STRING, id BIGINT, payload BINARY"
    )
    return (
        gray.writeStream.format("evenflow")
        .option("config", file)
        .option("topic", "gray")
        .option("outbox", str(folder / "outbox"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )


class Album:
    """Receives gray images; the application of a node."""

    def __init__(self) -> None:
        self.gray: dict[int, int] = {}
        self.wrong = 0

    def __call__(self, batch: Batch) -> None:
        """Count every image, and those that are not gray."""
        for item in batch:
            self.gray[item.id] = self.gray.get(item.id, 0) + 1
            self.wrong += Image.open(io.BytesIO(item.payload)).mode != "L"


def photograph(publisher: Publisher, count: int) -> None:
    """Publish colour images, numbered from 0."""
    noise = np.random.default_rng(1)
    for number in range(count):
        pixels = noise.integers(0, 255, (HEIGHT // 8, WIDTH // 8, 3), np.uint8)
        picture = Image.fromarray(pixels).resize((WIDTH, HEIGHT))
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=90)
        publisher.publish(out.getvalue(), sender=f"camera-{number % 50}", id=number)


def main() -> int:
    """Run the example and say how it went."""
    args = _arguments()
    config = Config.load(
        None,
        {
            "domain.id": args.domain,
            "topics": {"images": {"slices": 16, "served": True}, "gray": {"slices": 4}},
        },
    )
    with (
        tempfile.TemporaryDirectory(prefix="evenflow-images-") as name,
        LocalCluster(config, log_dir=Path(name)) as cluster,
        Participant(config.domain) as participant,
    ):
        folder = Path(name)
        file = folder / "images.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        cluster.start_balancer()
        for number in (1, 2):
            serve = ["node", "--serve", "--topic", "images", "--name", f"n{number}"]
            cluster.start(f"node-{number}", serve)
        album = Album()
        node = Node("gray", album, name="album", config=config, participant=participant)
        print("starting Spark", flush=True)
        spark = session("images")
        query = start_query(spark, str(file), folder)
        publisher = Publisher("images", config=config, participant=participant)
        photograph(publisher, args.images)
        publisher.close(ANSWERED_WITHIN_S)
        deadline = time.monotonic() + ANSWERED_WITHIN_S
        while len(album.gray) < args.images and time.monotonic() < deadline:
            time.sleep(0.1)
        query.stop()
        spark.stop()
        node.close()
    lost = args.images - len(album.gray)
    repeated = sum(album.gray.values()) - len(album.gray)
    print(f"{args.images} images, {lost} lost, {repeated} repeated, {album.wrong} not gray")
    return 1 if lost or repeated or album.wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--domain", type=int, default=42)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
