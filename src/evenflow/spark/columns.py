"""The columns of the source, and those decoded from payloads.

Every row has ``slice, sender, id, time, payload``. When the query names fields (option ``fields``,
as DDL), the payload is read as a JSON object and each field becomes a column behind these; a field
that is missing, or a payload that is no such object, gives null. Arrow's own JSON reader decodes a
whole record batch at once; only when a payload in it is damaged are its rows looked at one by one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyarrow import json as arrow_json

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE: Final = (
    "slice INT NOT NULL, sender STRING NOT NULL, id BIGINT NOT NULL, time TIMESTAMP NOT NULL, "
    "payload BINARY NOT NULL"
)
"""The columns of every row, as DDL; :data:`evenflow.slices.record.SCHEMA` in Spark's words."""
BASE_COLUMNS: Final = len(BASE.split(","))


def schema_of(fields: str) -> str:
    """The schema of a query that asks for these fields, as DDL."""
    return f"{BASE}, {fields}" if fields else BASE


def decoded(batches: Iterator[pa.RecordBatch], fields: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Add the fields of the payloads to every record batch."""
    for batch in batches:
        columns = _decode(batch.column("payload"), fields)
        schema = pa.schema([*batch.schema, *fields])
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema)


def _decode(payloads: pa.Array, fields: pa.Schema) -> list[Any]:
    lines = payloads.to_pylist()
    options = arrow_json.ParseOptions(
        explicit_schema=fields, unexpected_field_behavior="ignore", newlines_in_values=True
    )
    try:
        table = arrow_json.read_json(pa.py_buffer(b"\n".join(lines)), parse_options=options)
    except pa.ArrowException:
        return _decode_rows(lines, fields)
    if table.num_rows != len(lines):
        return _decode_rows(lines, fields)
    return [table.column(field.name).combine_chunks() for field in fields]


def _decode_rows(lines: list[bytes], fields: pa.Schema) -> list[Any]:
    rows = [_object(line) for line in lines]
    return [
        pa.array([_value(row.get(field.name), field.type) for row in rows], field.type)
        for field in fields
    ]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _value(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return value
