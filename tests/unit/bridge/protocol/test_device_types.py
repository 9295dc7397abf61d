"""Types of devices: in one line, and values into bytes and back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bridge.protocol.strategies import types

from evenflow.bridge.protocol.device_types import DeviceType, parse_type
from evenflow.domain.agents.declaration import Value
from evenflow.errors import DecodeError

_INTEGERS = {
    "i8": (-(1 << 7), (1 << 7) - 1),
    "i16": (-(1 << 15), (1 << 15) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
    "i64": (-(1 << 63), (1 << 63) - 1),
    "u8": (0, 255),
    "u16": (0, (1 << 16) - 1),
    "u32": (0, (1 << 32) - 1),
    "u64": (0, (1 << 64) - 1),
}


@st.composite
def samples(draw: st.DrawFn) -> tuple[DeviceType, tuple[Value, ...]]:
    made = draw(types())
    values: list[Value] = []
    for field in made.fields:
        if field.kind in _INTEGERS:
            values.append(draw(st.integers(*_INTEGERS[field.kind])))
        elif field.kind == "text":
            letters = st.characters(exclude_characters="\0", exclude_categories=("Cs",))
            text = draw(st.text(letters, max_size=field.most // 4))
            values.append(text)
        elif field.kind == "bool":
            values.append(draw(st.booleans()))
        else:
            values.append(draw(st.floats(width=32 if field.kind == "f32" else 64, allow_nan=False)))
    return made, tuple(values)


@given(samples())
def test_values_come_back(sample: tuple[DeviceType, tuple[Value, ...]]) -> None:
    made, values = sample
    assert made.unpack(made.pack(values)) == values


@given(types(), st.binary(max_size=300))
def test_noise_is_a_sample_or_refused(made: DeviceType, data: bytes) -> None:
    try:
        values = made.unpack(data)
    except DecodeError:
        return
    assert len(values) == len(made.fields)


@given(types())
def test_a_type_is_one_line(made: DeviceType) -> None:
    assert parse_type(str(made)) == made


def test_the_bytes_are_those_of_the_docs() -> None:
    made = parse_type("plant::Temperature(celsius f64, room text32, on bool)")
    assert made.pack((21.5, "cellar", True)).hex() == "40358000000000000663656c6c617201"
    assert math.isnan(made.unpack(made.pack((math.nan, "", False)))[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "", "T", "T()", "T(a)", "T(a b)", "T(a u8, a u8)", "9T(a u8)", "T(a text0)", "T(a text256)",
        "T(a u8, )", "T(a-b u8)", "T::(a u8)", "T(a u8))",
        "T(" + ", ".join(f"a{i} u8" for i in range(33)) + ")",
    ],
)  # fmt: skip
def test_what_is_no_type_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_type(line)


@pytest.mark.parametrize(
    "values", [(1,), (1, "x", 2), (300, "x"), (1, "toolong"), (1, 2), (1, "a\0")]
)
def test_values_that_do_not_fit_are_refused(values: tuple[Value, ...]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_type("T(a u8, b text3)").pack(values)
