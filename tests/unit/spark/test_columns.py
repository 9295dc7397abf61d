"""The columns of the source."""

from __future__ import annotations

import pyarrow as pa

from evenflow.model.batch import Item
from evenflow.model.sample import Sample
from evenflow.slices.consumer.arrow_batches import SCHEMA, record_batch
from evenflow.spark.columns import BASE_COLUMNS, decoded, schema_of, with_topic
from evenflow.spark.encodings import JsonDecoder
from evenflow.testing.samples import encode_items


def test_fields_are_added_behind_the_columns_of_an_item() -> None:
    fields = pa.schema([("speed", pa.float64()), ("lane", pa.int32())])
    items = [Item("s", i, 0, b'{"speed": 1, "lane": %d}' % i) for i in range(3)]
    batches = iter([record_batch(Sample(encode_items(1, 1, 1, {0: (1, items)})).batches())])
    (found,) = decoded(batches, fields, JsonDecoder(fields))
    found.validate(full=True)
    assert found.schema.names == [*SCHEMA.names, "speed", "lane"]
    assert [row["lane"] for row in found.to_pylist()] == [0, 1, 2]


def test_a_query_of_several_topics_has_their_names_first() -> None:
    items = [Item("s", i, 0, b"") for i in range(3)]
    batches = iter([record_batch(Sample(encode_items(1, 1, 1, {0: (1, items)})).batches())])
    (found,) = with_topic(batches, "fleet")
    found.validate(full=True)
    assert found.schema.names == ["topic", *SCHEMA.names]
    assert found.column("topic").to_pylist() == ["fleet"] * 3
    assert schema_of("lane INT", names_topics=True).startswith("topic STRING NOT NULL, slice INT")


def test_the_schema_is_the_columns_of_an_item_and_the_fields() -> None:
    assert len(SCHEMA) == BASE_COLUMNS
    assert schema_of("") == schema_of("lane INT").removesuffix(", lane INT")
