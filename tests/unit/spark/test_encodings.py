"""Payloads become columns, and damaged ones nulls that are counted."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import ConfigError
from evenflow.spark.encodings import (
    ENCODINGS,
    AvroDecoder,
    Decoder,
    JsonDecoder,
    StructDecoder,
    avro_fields,
    decoder_for,
    parsed_avro,
)

FIELDS = pa.schema([("speed", pa.float64()), ("lane", pa.int32()), ("name", pa.string())])
NOTHING = dict.fromkeys(FIELDS.names)
PACKED = pa.schema(
    [
        ("speed", pa.float64()),
        ("lane", pa.int16()),
        ("stopped", pa.bool_()),
        ("seen", pa.timestamp("us", tz="UTC")),
    ]
)
FORM = struct.Struct("<dh?q")
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Report",
        "fields": [
            {"name": "speed", "type": "double"},
            {"name": "lane", "type": ["null", "int"]},
            {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "places", "type": {"type": "array", "items": "string"}},
        ],
    }
)
AVRO_FIELDS = pa.schema(
    [
        ("speed", pa.float64()),
        ("lane", pa.int32()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("places", pa.list_(pa.string())),
    ]
)
SEEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def table(decoder: Decoder, fields: pa.Schema, *payloads: bytes) -> pa.Table:
    columns = decoder.columns(pa.array(payloads, pa.binary()))
    for column, field in zip(columns, fields, strict=True):
        column.validate(full=True)
        assert column.type == field.type
        assert len(column) == len(payloads)
    return pa.Table.from_arrays(columns, schema=fields)


def rows(decoder: Decoder, fields: pa.Schema, *payloads: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(decoder, fields, *payloads).to_pylist()
    return found


def avro(record: dict[str, Any], schema: str = AVRO) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, parsed_avro(schema), record)
    return out.getvalue()


# -- JSON -----------------------------------------------------------------------------------------


def test_fields_of_an_object_become_columns() -> None:
    decoder = JsonDecoder(FIELDS)
    found = rows(
        decoder,
        FIELDS,
        b'{"speed": 1.5, "lane": 2, "name": "a", "more": [1]}',
        b'{"name":"b\\n","speed":3}',
    )
    assert found == [
        {"speed": 1.5, "lane": 2, "name": "a"},
        {"speed": 3.0, "lane": None, "name": "b\n"},
    ]
    assert decoder.damaged == 0


def test_a_damaged_object_gives_nulls_and_spoils_no_other() -> None:
    decoder = JsonDecoder(FIELDS)
    found = rows(
        decoder,
        FIELDS,
        b'{"speed": 1, "lane": 1}',
        b"\xff",
        b"",
        b"[1]",
        b'{"lane": "x", "speed": 2}',
        b"{}",
    )
    good = {"speed": 1.0, "lane": 1, "name": None}
    assert found == [good, NOTHING, NOTHING, NOTHING, {**NOTHING, "speed": 2}, NOTHING]
    assert decoder.damaged == 3


def test_two_objects_in_a_payload_are_no_object() -> None:
    found = rows(JsonDecoder(FIELDS), FIELDS, b'{"lane":1}\n{"lane":2}', b'{"lane":3}')
    assert found == [NOTHING, {**NOTHING, "lane": 3}]


# -- struct ---------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False),
            st.integers(-(2**15), 2**15 - 1),
            st.booleans(),
            st.integers(0, 2**50),
        ),
        max_size=20,
    ),
    st.integers(0, 3),
)
def test_packed_numbers_become_columns(packed: list[tuple[Any, ...]], skip: int) -> None:
    payloads = pa.array([b"?"] * skip + [FORM.pack(*row) for row in packed], pa.binary())
    columns = StructDecoder(PACKED).columns(payloads.slice(skip))
    found = [
        tuple(row) for row in zip(*(column.to_pylist() for column in columns[:3]), strict=True)
    ]
    assert found == [row[:3] for row in packed]
    assert columns[3].cast(pa.int64()).to_pylist() == [row[3] for row in packed]


def test_a_payload_of_another_length_gives_nulls_and_is_counted() -> None:
    decoder = StructDecoder(PACKED)
    good = FORM.pack(1.5, 3, True, 10)
    found = rows(decoder, PACKED, good, b"", good[:-1], good + b"x", good)
    assert [row["lane"] for row in found] == [3, None, None, None, 3]
    assert found[1] == dict.fromkeys(PACKED.names)
    assert decoder.damaged == 3
    assert rows(decoder, PACKED) == []


def test_a_struct_has_numbers_alone() -> None:
    with pytest.raises(ConfigError, match="name"):
        StructDecoder(FIELDS)


# -- Avro -----------------------------------------------------------------------------------------


def test_an_avro_record_becomes_columns() -> None:
    records = [
        {"speed": 1.5, "lane": 2, "seen": SEEN, "places": ["a", "b"]},
        {"speed": 2.5, "lane": None, "seen": SEEN, "places": []},
    ]
    decoder = AvroDecoder(AVRO_FIELDS, AVRO)
    assert rows(decoder, AVRO_FIELDS, *map(avro, records)) == records
    assert decoder.damaged == 0


def test_a_damaged_record_gives_nulls_and_is_counted() -> None:
    decoder = AvroDecoder(AVRO_FIELDS, AVRO)
    good = avro({"speed": 1.5, "lane": 2, "seen": SEEN, "places": ["a"]})
    found = rows(decoder, AVRO_FIELDS, b"", good[:-1], good, good + b"x")
    assert [row["speed"] for row in found] == [None, None, 1.5, None]
    assert decoder.damaged == 3


def test_the_columns_of_a_record_are_those_of_its_schema() -> None:
    assert avro_fields(AVRO) == (
        "`speed` DOUBLE, `lane` INT, `seen` TIMESTAMP, `places` ARRAY<STRING>"
    )


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "{",
        "{}",
        '"string"',
        '{"type": "record", "name": "x", "fields": [{"name": "a", "type": ["int", "string"]}]}',
    ],
)
def test_a_schema_that_makes_no_columns_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError, match="avroSchema"):
        avro_fields(schema)


# -- all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(payloads=st.lists(st.binary(max_size=40), max_size=8))
def test_no_payload_is_an_error(encoding: str, payloads: list[bytes]) -> None:
    fields = {"struct": PACKED, "avro": AVRO_FIELDS}.get(encoding, FIELDS)
    decoder = decoder_for(encoding, fields, AVRO)
    assert table(decoder, fields, *payloads).num_rows == len(payloads)
    assert decoder.damaged <= len(payloads)


RICH = pa.schema(
    [
        ("seen", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(10, 2)),
        ("at", pa.struct([("lane", pa.int32()), ("seen", pa.timestamp("us", tz="UTC"))])),
        ("lanes", pa.list_(pa.int32())),
        ("name", pa.string()),
    ]
)
HEALTHY = [
    b'{"seen": "2026-01-02T03:04:05Z", "day": "2026-01-02", "price": "1.25", "name": "a"}',
    b'{"at": {"lane": 3, "seen": "2026-01-02T03:04:05Z"}, "lanes": [1, 2], "name": "x\\ny"}',
    b'{"lanes": [],\n "name": ""}',
    b"{}",
]
ODD = [
    b"", b" ", b"{", b"}", b"[]", b"5", b"null", b'"x"', b"oops", b"{}{}", b'{"name":"a"}{"name":',
    b'{}},{"payload":{}', b'{"name":"x', b'y"}', b"\xff", b'{"day": 5, "lanes": "no", "at": 1}',
    b'{"day": "never", "seen": "never", "price": "never"}', b"\n", b'{"name": 5}',
]  # fmt: skip


@given(st.lists(st.sampled_from(HEALTHY + ODD), min_size=1, max_size=8))
def test_json_is_decoded_the_same_whatever_it_stands_beside(payloads: list[bytes]) -> None:
    decoder = JsonDecoder(RICH)
    together = rows(decoder, RICH, *payloads)
    alone = [JsonDecoder(RICH) for _ in payloads]
    assert together == [
        rows(one, RICH, payload)[0] for one, payload in zip(alone, payloads, strict=True)
    ]
    assert decoder.damaged == sum(one.damaged for one in alone)
