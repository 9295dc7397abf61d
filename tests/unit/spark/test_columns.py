from __future__ import annotations

import pyarrow as pa

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.slices.record import SCHEMA, record_batch
from evenflow.spark.columns import BASE_COLUMNS, decoded, schema_of

FIELDS = pa.schema([("speed", pa.float64()), ("lane", pa.int32()), ("name", pa.string())])


def decode(*payloads: bytes) -> list[dict[str, object]]:
    items = [Item("s", i, 0, payload) for i, payload in enumerate(payloads)]
    batches = iter([record_batch([Batch(encode_items(1, 0, 1, 1, items))])])
    (found,) = decoded(batches, FIELDS)
    found.validate(full=True)
    assert found.schema.names == [*SCHEMA.names, *FIELDS.names]
    return [{name: row[name] for name in FIELDS.names} for row in found.to_pylist()]


def test_fields_of_the_payload_become_columns() -> None:
    found = decode(
        b'{"speed": 1.5, "lane": 2, "name": "a", "more": [1]}', b'{"name":"b\\n","speed":3}'
    )
    assert found == [
        {"speed": 1.5, "lane": 2, "name": "a"},
        {"speed": 3.0, "lane": None, "name": "b\n"},
    ]


def test_a_damaged_payload_gives_nulls_and_spoils_no_other() -> None:
    good = {"speed": 1.0, "lane": 1, "name": None}
    nothing = dict.fromkeys(FIELDS.names)
    found = decode(
        b'{"speed": 1, "lane": 1}', b"\xff", b"", b"[1]", b'{"lane": "x", "speed": 2}', b"{}"
    )
    assert found == [good, nothing, nothing, nothing, {**nothing, "speed": 2}, nothing]


def test_two_objects_in_a_payload_are_no_object() -> None:
    nothing = dict.fromkeys(FIELDS.names)
    assert decode(b'{"lane":1}\n{"lane":2}', b'{"lane":3}') == [nothing, {**nothing, "lane": 3}]


def test_the_schema_is_the_columns_of_an_item_and_the_fields() -> None:
    assert len(SCHEMA) == BASE_COLUMNS
    assert schema_of("") == schema_of("lane INT").removesuffix(", lane INT")
