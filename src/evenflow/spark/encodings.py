"""How payloads are encoded, and how whole columns of them are decoded.

==========  =======================================  ==========================================
encoding    the columns are                          decoded by
==========  =======================================  ==========================================
``json``    fields of the object, by name            Arrow's JSON reader, a record batch at once
``struct``  numbers one after the other, packed,     NumPy, a record batch at once
            little-endian, as in Python's
            ``struct`` with ``<``
``avro``    fields of an Avro record (binary,        fastavro, item by item
            without header)
==========  =======================================  ==========================================

A payload that cannot be decoded gives a row whose decoded columns are null; it is counted, and
spoils no other. It never ends a query: it would end it again after every restart.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Protocol

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

JSON: Final = "json"
STRUCT: Final = "struct"
AVRO: Final = "avro"
ENCODINGS: Final = (JSON, STRUCT, AVRO)

_PAYLOAD: Final = "payload"
_PACKED: Final = {
    pa.bool_(): "u1",
    pa.int8(): "<i1",
    pa.int16(): "<i2",
    pa.int32(): "<i4",
    pa.int64(): "<i8",
    pa.float32(): "<f4",
    pa.float64(): "<f8",
    pa.timestamp("us", tz="UTC"): "<i8",
}


class Decoder(Protocol):
    """Turns payloads into columns."""

    damaged: int
    """Payloads that could not be decoded."""

    def columns(self, payloads: pa.BinaryArray) -> list[pa.Array]:
        """The columns of these payloads, in the order of the schema."""
        ...


def decoder_for(encoding: str, fields: pa.Schema, avro_schema: str = "") -> Decoder:
    """The decoder of an encoding; `ConfigError` when it has no such columns."""
    if encoding == STRUCT:
        return StructDecoder(fields)
    if encoding == AVRO:
        return AvroDecoder(fields, avro_schema)
    return JsonDecoder(fields)


class JsonDecoder:
    """Fields of JSON objects; one that is missing, or of another type, is null."""

    def __init__(self, fields: pa.Schema) -> None:
        self.damaged = 0
        self._fields = fields
        # Arrow's reader takes a date for a number of days only: it is read as text.
        read = [pa.field(f.name, pa.string() if f.type == pa.date32() else f.type) for f in fields]
        self._options = arrow_json.ParseOptions(
            explicit_schema=pa.schema([(_PAYLOAD, pa.struct(read))]),
            unexpected_field_behavior="ignore",
            newlines_in_values=True,
        )

    def columns(self, payloads: pa.BinaryArray) -> list[pa.Array]:
        """Decode all at once; only when one is damaged are they looked at one by one."""
        lines = payloads.to_pylist()
        try:
            return self._at_once(lines)
        except pa.ArrowException:
            return self._one_by_one(lines)

    def _at_once(self, lines: list[bytes]) -> list[pa.Array]:
        # Each in an object of its own: whatever a payload is, it makes a row or a fault.
        text = b"\n".join(b'{"%b":%b}' % (_PAYLOAD.encode(), line) for line in lines)
        table = arrow_json.read_json(pa.py_buffer(text), parse_options=self._options)
        if table.num_rows != len(lines):
            raise pa.ArrowInvalid("a payload of several objects")
        objects = table.column(_PAYLOAD).combine_chunks()
        columns = [
            pc.struct_field(objects, index).cast(field.type)
            for index, field in enumerate(self._fields)
        ]
        self.damaged += objects.null_count
        return columns

    def _one_by_one(self, lines: list[bytes]) -> list[pa.Array]:
        rows = [_object(line) for line in lines]
        self.damaged += rows.count(None)
        return _arrays(rows, self._fields)


class StructDecoder:
    """Numbers of fixed width, one after the other."""

    def __init__(self, fields: pa.Schema) -> None:
        self.damaged = 0
        self._fields = fields
        for field in fields:
            if field.type not in _PACKED:
                raise ConfigError(
                    "option fields",
                    field.name,
                    "must be BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE or TIMESTAMP"
                    f" in a struct, is {field.type}",
                )
        self._record = np.dtype([(field.name, _PACKED[field.type]) for field in fields])

    def columns(self, payloads: pa.BinaryArray) -> list[pa.Array]:
        """Take the bytes as a table."""
        fits = pc.equal(pc.binary_length(payloads), self._record.itemsize).to_numpy(
            zero_copy_only=False
        )
        rows = np.zeros(len(payloads), self._record)
        whole = payloads if fits.all() else payloads.filter(pa.array(fits))
        self.damaged += len(payloads) - len(whole)
        rows[fits] = np.frombuffer(_bytes_of(whole), self._record)
        return [self._column(field, rows, ~fits) for field in self._fields]

    def _column(self, field: pa.Field, rows: Any, lacking: Any) -> pa.Array:
        values = np.ascontiguousarray(rows[field.name])
        if pa.types.is_boolean(field.type):
            return pa.array(values != 0, mask=lacking)
        return pa.array(values, mask=lacking).cast(field.type)


class AvroDecoder:
    """Records of one Avro schema."""

    def __init__(self, fields: pa.Schema, schema: str) -> None:
        self.damaged = 0
        self._fields = fields
        self._schema = parsed_avro(schema)

    def columns(self, payloads: pa.BinaryArray) -> list[pa.Array]:
        """Decode item by item: records have no fixed width."""
        rows = [self._record(payload) for payload in payloads.to_pylist()]
        self.damaged += rows.count(None)
        return _arrays(rows, self._fields)

    def _record(self, payload: bytes) -> dict[str, Any] | None:
        source = BytesIO(payload)
        try:
            found = fastavro.schemaless_reader(source, self._schema, None)
        except Exception:  # noqa: BLE001 - whatever a decoder makes of foreign bytes
            return None
        whole = isinstance(found, dict) and source.tell() == len(payload)
        return found if whole else None  # type: ignore[return-value]


def _bytes_of(payloads: pa.BinaryArray) -> memoryview:
    """The bytes of all payloads, which lie one after the other."""
    _, offsets, data = payloads.buffers()
    if data is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, np.int32)[payloads.offset : payloads.offset + len(payloads) + 1]
    return memoryview(data)[places[0] : places[-1]]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _arrays(rows: Sequence[dict[str, Any] | None], fields: pa.Schema) -> list[pa.Array]:
    return [
        pa.array([_value((row or {}).get(field.name), field.type) for row in rows], field.type)
        for field in fields
    ]


def _value(value: Any, kind: pa.DataType) -> Any:
    """A value as one of a type; None when it is none."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return {field.name: _value(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_value(one, kind.value_type) for one in value]
    try:
        if isinstance(value, str) and not _is_text(kind):
            return pa.scalar(value).cast(kind).as_py()
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return value


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


# -- Avro schemas ---------------------------------------------------------------------------------

_AVRO: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "enum": "STRING",
    "bytes": "BINARY",
    "fixed": "BINARY",
    "date": "DATE",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
}


def parsed_avro(schema: str) -> dict[str, Any]:
    """An Avro record schema; `ConfigError` when it is none."""
    try:
        found: Any = fastavro.parse_schema(json.loads(schema))
    except Exception as error:  # noqa: BLE001 - fastavro's own errors have no common base
        raise ConfigError("option avroSchema", schema[:200], f"no Avro schema: {error}") from None
    if not isinstance(found, dict) or found.get("type") != "record":
        raise ConfigError("option avroSchema", schema[:200], "must be the schema of a record")
    return found


def avro_fields(schema: str) -> str:
    """The columns of an Avro record, as DDL."""
    fields = parsed_avro(schema)["fields"]
    return ", ".join(f"`{field['name']}` {_ddl(field['type'], field['name'])}" for field in fields)


def _ddl(kind: Any, name: str) -> str:
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        if len(others) == 1:
            return _ddl(others[0], name)
    elif isinstance(kind, str) and kind in _AVRO:
        return _AVRO[kind]
    elif isinstance(kind, dict):
        inner = kind["type"]
        if inner == "array":
            return f"ARRAY<{_ddl(kind['items'], name)}>"
        if inner == "map":
            return f"MAP<STRING, {_ddl(kind['values'], name)}>"
        if inner == "record":
            parts = (f"`{f['name']}`: {_ddl(f['type'], f['name'])}" for f in kind["fields"])
            return f"STRUCT<{', '.join(parts)}>"
        logical = kind.get("logicalType", "")
        return _ddl(logical if logical in _AVRO else inner, name)
    raise ConfigError("option avroSchema", name, f"a field of type {kind!r} cannot be a column")
