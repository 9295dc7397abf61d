"""A Spark source that makes its rows itself: what Spark can do at most with rows from Python.

It has the columns of ``format("evenflow")``, as many partitions, and batches of a fixed number of
rows; there is always a next batch. Nothing is read from anywhere, but every row is made: ids
differ, and no memory is given to Spark twice.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from evenflow.slices.consumer.arrow_batches import MOST_OCTETS, MOST_ROWS, SCHEMA, TIME
from evenflow.spark.columns import BASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

SENDER = b"sender-001"
SLICES = 32
OVERHEAD = len(SENDER) + 24
"""Bytes of a row besides its payload."""


class Generator(DataSource):
    """Options: ``rows`` of a batch, ``partitions``, ``bytes`` of a payload."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "evenflow-generator"

    def schema(self) -> str:
        """The columns, as DDL."""
        return BASE

    def streamReader(self, schema: StructType) -> GeneratorReader:  # noqa: ARG002, N802
        """The stream."""
        return GeneratorReader(self.options)


class GeneratorReader(DataSourceStreamReader):
    """Makes rows."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._rows = int(options["rows"])
        self._partitions = int(options["partitions"])
        self._octets = int(options["bytes"])

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Begin at 0."""
        return {"rows": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """One batch further."""
        return {"rows": start["rows"] + self._rows}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Equal shares."""
        bounds = np.linspace(start["rows"], end["rows"], self._partitions + 1).astype(int).tolist()
        return [InputPartition(bound) for bound in pairwise(bounds)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make a share of rows."""
        first, end = partition.value
        most = max(1, min(MOST_ROWS, MOST_OCTETS // (self._octets + OVERHEAD)))
        for start in range(first, end, most):
            yield self._make(start, min(end, start + most))

    def _make(self, start: int, end: int) -> pa.RecordBatch:
        numbers = np.arange(start, end, dtype=np.int64)
        columns: list[Any] = [
            pa.array((numbers % SLICES).astype(np.int32)),
            _runs(pa.string(), len(numbers), SENDER),
            pa.array(numbers),
            pa.array(numbers).view(TIME),
            _runs(pa.binary(), len(numbers), bytes(self._octets)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _runs(kind: pa.DataType, count: int, one: bytes) -> pa.Array:
    offsets = np.arange(count + 1, dtype=np.int32) * len(one)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(one * count)]
    return pa.Array.from_buffers(kind, count, buffers)
