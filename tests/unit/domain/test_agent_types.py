"""Types declared at run time: our bytes are those of the standard encoding; damage is found."""

from __future__ import annotations

import math
import random
import struct
from contextlib import suppress
from typing import Any

import pytest
from cyclonedds.idl._support import Endianness
from hypothesis import given
from hypothesis import strategies as st

from evenflow.domain.agents.declaration import (
    KINDS,
    MOST_FIELDS,
    MOST_TEXT,
    TEXT,
    Declaration,
    DeclaredField,
    topic_fault,
)
from evenflow.domain.agents.plan import Plan
from evenflow.domain.agents.types import dds_type
from evenflow.errors import DecodeError, TypeRefused

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def values_of(kind: str) -> st.SearchStrategy[Any]:
    if kind == TEXT:
        return TEXTS
    if kind == "bool":
        return st.booleans()
    if kind.startswith("f"):
        return st.floats(allow_nan=False, width=int(kind[1:]))  # type: ignore[arg-type]
    bits = int(kind[1:])
    lowest = 0 if kind[0] == "u" else -(2 ** (bits - 1))
    return st.integers(lowest, lowest + 2**bits - 1)


@st.composite
def declared(draw: st.DrawFn) -> tuple[Declaration, list[Any]]:
    kinds = draw(st.lists(st.sampled_from([*KINDS, TEXT, TEXT]), min_size=1, max_size=12))
    fields = tuple(
        DeclaredField(f"f{number}", kind, draw(st.sampled_from([0, 80])) if kind == TEXT else 0)
        for number, kind in enumerate(kinds)
    )
    return Declaration("Reading", fields), [draw(values_of(kind)) for kind in kinds]


def stock_sample(declaration: Declaration, values: list[Any]) -> Any:
    type_ = dds_type(declaration)
    sample = type_.__new__(type_)
    for field, value in zip(declaration.fields, values, strict=True):
        setattr(sample, field.name, value)
    return sample


def padded(encoded: bytes) -> bytes:
    return encoded + bytes(-len(encoded) & 3)


@given(declared())
def test_values_are_encoded_as_the_stock_codec_does(drawn: tuple[Declaration, list[Any]]) -> None:
    declaration, values = drawn
    plan = Plan(declaration)
    stock = stock_sample(declaration, values).serialize(use_version_2=False)
    encoded = plan.encode(values)
    assert encoded[4:] == padded(stock)[4:]
    assert plan.decode(encoded) == tuple(values)


@given(declared(), st.booleans(), st.sampled_from([Endianness.Little, Endianness.Big]))
def test_whatever_encoding_a_writer_chooses_is_read(
    drawn: tuple[Declaration, list[Any]], version_2: bool, endianness: Endianness
) -> None:
    declaration, values = drawn
    sample = stock_sample(declaration, values)
    encoded = sample.serialize(endianness=endianness, use_version_2=version_2)
    assert Plan(declaration).decode(padded(encoded)) == tuple(values)


@given(declared(), st.randoms(use_true_random=False))
def test_damage_is_an_error_and_nothing_else(
    drawn: tuple[Declaration, list[Any]], chance: random.Random
) -> None:
    declaration, values = drawn
    plan = Plan(declaration)
    damaged = bytearray(plan.encode(values))
    for _ in range(chance.randint(1, 4)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    del damaged[chance.randint(0, len(damaged)) :]
    with suppress(DecodeError):
        plan.decode(bytes(damaged))


def test_a_sample_of_another_length_is_foreign() -> None:
    plan = Plan(Declaration("Two", (DeclaredField("a", "u32"), DeclaredField("b", "u8"))))
    encoded = plan.encode([1, 2])
    for wrong in (encoded[:7], encoded + bytes(4), b"\0\3" + encoded[2:], b""):
        with pytest.raises(DecodeError):
            plan.decode(wrong)


@pytest.mark.parametrize(
    "values", [[1], [1, 2, 3], ["1", "x"], [256, "x"], [1, b"x"], [1, "x" * 5]]
)
def test_what_is_no_value_of_the_type_is_refused(values: list[Any]) -> None:
    plan = Plan(Declaration("Pair", (DeclaredField("n", "u8"), DeclaredField("t", TEXT, 4))))
    with pytest.raises(ValueError, match="Pair"):
        plan.encode(values)


def test_a_number_that_its_float_cannot_hold_is_refused() -> None:
    plan = Plan(Declaration("Small", (DeclaredField("f", "f32"),)))
    assert math.isinf(plan.decode(plan.encode([math.inf]))[0])
    with pytest.raises(ValueError, match="Small"):
        plan.encode([1e300])


def test_a_zero_inside_a_text_does_not_end_it() -> None:
    plan = Plan(Declaration("Note", (DeclaredField("t", TEXT),)))
    assert plan.decode(plan.encode(["a\0b"])) == ("a?b",)


def test_a_plan_makes_one_call_for_all_numbers_between_texts() -> None:
    fields = (DeclaredField("a", "f64"), DeclaredField("b", "i32"), DeclaredField("c", "u8"))
    encoded = Plan(Declaration("Flat", fields)).encode([1.5, -2, 3])
    assert encoded == b"\0\1\0\0" + struct.pack("<diB3x", 1.5, -2, 3)


@pytest.mark.parametrize("name", ["", "9x", "a b", "a::", "a::b::c::d::e", "x" * 65, "ä"])
def test_names_that_no_type_can_have(name: str) -> None:
    with pytest.raises(TypeRefused):
        Declaration(name, (DeclaredField("a", "u8"),))


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (DeclaredField("a", "u8"), DeclaredField("a", "u16")),
        (DeclaredField("a b", "u8"),),
        (DeclaredField("_a", "u8"),),
        (DeclaredField("a", "u128"),),
        (DeclaredField("a", "u8", 3),),
        (DeclaredField("a", TEXT, MOST_TEXT + 1),),
        (DeclaredField("a", TEXT, -1),),
        tuple(DeclaredField(f"a{number}", "u8") for number in range(MOST_FIELDS + 1)),
    ],
)
def test_fields_that_no_type_can_have(fields: tuple[DeclaredField, ...]) -> None:
    with pytest.raises(TypeRefused):
        Declaration("Reading", fields)


@pytest.mark.parametrize("name", ["from", "class", "self", "None", "lambda"])
def test_a_field_may_be_called_like_a_word_of_python(name: str) -> None:
    declaration = Declaration("Reading", (DeclaredField(name, "u8"),))
    assert dds_type(declaration).__idl__.populate() is None


@pytest.mark.parametrize("name", ["evenflow/beats", "DCPSParticipant", "", "*", "a b", "x" * 101])
def test_topics_that_no_agent_may_have(name: str) -> None:
    assert topic_fault(name)


@pytest.mark.parametrize("name", ["temperature", "rt/chatter", "plant-1.north/t", "_x"])
def test_topics_that_an_agent_may_have(name: str) -> None:
    assert topic_fault(name) == ""
