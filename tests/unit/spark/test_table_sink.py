"""Tables that become items: units that do not depend on the order of rows, and none twice."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from evenflow.config import Config
from evenflow.errors import ConfigError, UsageError
from evenflow.spark import sink_publishers, table_sink
from evenflow.spark.options import SinkOptions
from evenflow.spark.source import EvenflowSource
from evenflow.spark.table_sink import TableWriter, table_options, units

PAYLOAD = StructType([StructField("payload", BinaryType())])


@dataclass
class Dying:
    """Takes the place of a publisher with an outbox; dies after some units."""

    left: int = 1_000_000
    newest_unit: int = -1
    payloads: list[bytes] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)

    def publish_unit(self, unit: int, payloads: Any, *, ids: Any, **_: Any) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        assert unit == self.newest_unit + 1
        self.newest_unit = unit
        self.payloads += payloads.to_pylist()
        self.ids += ids.to_pylist()

    def flush(self, timeout: float) -> None:
        """All of it is at the nodes."""


def batch(payloads: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch({"payload": pa.array(payloads, pa.binary())})


@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=40),
    st.integers(1, 60),
    st.integers(0, 2**32 - 1),
)
def test_the_same_rows_make_the_same_units_in_whatever_order_tasks_hand_them_over(
    payloads: list[bytes], octets: int, seed: int
) -> None:
    mixed = list(payloads)
    random.Random(seed).shuffle(mixed)
    one = list(units(pa.Table.from_batches([batch(payloads)]), octets))
    other = list(units(pa.Table.from_batches([batch([p]) for p in mixed]), octets))
    assert [unit.to_pydict() for unit in one] == [unit.to_pydict() for unit in other]
    found = pa.concat_tables(one)
    assert found.column("payload").to_pylist() == sorted(payloads)
    assert found.column("id").to_pylist() == list(range(len(payloads)))
    for unit in one:
        sizes = [len(payload) for payload in unit.column("payload").to_pylist()]
        assert len(sizes) == 1 or sum(sizes) <= octets


@given(
    st.lists(st.dictionaries(st.sampled_from("ab"), st.binary(max_size=1)), min_size=1),
    st.integers(0, 2**32 - 1),
)
def test_rows_that_differ_in_headers_alone_make_the_same_units(
    headers: list[dict[str, bytes]], seed: int
) -> None:
    mixed = list(headers)
    random.Random(seed).shuffle(mixed)
    kind = pa.map_(pa.string(), pa.binary())

    def of(maps: list[dict[str, bytes]]) -> list[Any]:
        column = pa.array([list(one.items()) for one in maps], kind)
        rows = pa.table({"payload": pa.array([b"x"] * len(maps)), "headers": column})
        return [[sorted(one) for one in part["headers"].to_pylist()] for part in units(rows, 3)]

    assert of(headers) == of(mixed)


@pytest.mark.parametrize("dies_after", [0, 1, 3])
def test_a_write_that_is_run_again_publishes_nothing_twice(
    dies_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = Dying(left=dies_after)
    opened = []
    monkeypatch.setattr(sink_publishers, "_opened", lambda _, at: opened.append(at) or outbox)
    monkeypatch.setattr(table_sink, "PUBLISHERS", sink_publishers.SinkPublishers())
    monkeypatch.setattr(table_sink, "UNIT_OCTETS", 4)
    monkeypatch.setattr(table_sink, "units", lambda rows: units(rows, 4))
    writer = TableWriter(SinkOptions("items", Config(), tmp_path, name="load"), PAYLOAD)
    payloads = [b"%02d" % number for number in range(20)]
    with pytest.raises(KeyboardInterrupt):
        writer.commit([writer.write(iter([batch(payloads)]))])
    outbox.left = 1_000
    for _ in range(2):
        parts = [batch(payloads[10:]), batch(payloads[:10])]
        writer.commit([*(writer.write(iter([part])) for part in parts), None])
    assert outbox.payloads == payloads
    assert outbox.ids == list(range(20))
    assert opened == [tmp_path / "items.load.table"]  # not a stream's


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(ConfigError, match="must name the write"):
        table_options({"topic": "items", "outbox": "here"})
    with pytest.raises(ConfigError, match="outlives the driver"):
        table_options({"topic": "items", "outbox": "", "name": "x"})
    assert table_options({"topic": "items"}).outbox is None
    source = EvenflowSource({"topic": "items"})
    with pytest.raises(UsageError, match="append"):
        source.writer(PAYLOAD, overwrite=True)
    with pytest.raises(UsageError, match="payload"):
        source.writer(StructType([StructField("speed", StringType())]), overwrite=False)
